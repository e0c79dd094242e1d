/* read.c - a TFLite file, from its bytes to a graph.
 *
 * The first subgraph is the model; others are run by its operators. Operators
 * stand in the order in which they run. The name of a tensor is the path that
 * TensorFlow gave the operator, from which modules are made. */
#include "formats/tflite/tflite.h"

#include "core/limits.h"
#include "formats/formats.h"

#include <string.h>

/* Fields of the tables, by number. */
enum {
    MODEL_VERSION = 0,
    MODEL_CODES = 1,
    MODEL_SUBGRAPHS = 2,
    MODEL_BUFFERS = 4,
    MODEL_GROUPS = 8,
    MODEL_EXTERNAL = 9,
    SUBGRAPH_INPUTS = 1,
    SUBGRAPH_OUTPUTS = 2,
    SUBGRAPH_OPERATORS = 3,
    CODE_OLD = 0,
    CODE_CUSTOM = 1,
    CODE_NEW = 3,
    OPERATOR_CODE = 0,
    OPERATOR_INPUTS = 1,
    OPERATOR_OUTPUTS = 2,
    OPERATOR_OPTIONS_TYPE = 3,
    OPERATOR_OPTIONS = 4,
    OPERATOR_OPTIONS2_TYPE = 11,
    OPERATOR_OPTIONS2 = 12,
    TENSOR_SIGNATURE = 7,
    SCHEMA_VERSION = 3,
    CUSTOM_OPERATOR = 32
};

/* Sizes that are left open. */
enum { COLOURS = 4, PICTURE = 224, LARGEST = 1 << 20 };

static const tfl_row tfl_rows[] = {
#define BUILTIN(code, name, op, map, arg, share) \
    [code] = {name, CLV_OP_##op, map, arg, TFL_SHARE_##share},
#include "formats/tflite/tflite.def"
#undef BUILTIN
};

const tfl_row *tfl_row_of(int64_t code)
{
    return code >= 0 && code < (int64_t)(sizeof tfl_rows / sizeof *tfl_rows)
               ? &tfl_rows[code]
               : NULL;
}

bool clv__tflite_row(size_t i, const char **name, clv_op *op)
{
    const tfl_row *row = tfl_row_of((int64_t)i);
    if (!row)
        return false;
    *name = row->name;
    *op = row->op;
    return true;
}

/* -- failures -------------------------------------------------------------*/

bool tfl_failed(const tfl_model *m)
{
    return m->f.status != CLV_OK;
}

clv_status tfl_fail(tfl_model *m, clv_status s, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (tfl_failed(m))
        return m->f.status;
    va_start(ap, fmt);
    clv_vformat(text, sizeof text, fmt, ap);
    va_end(ap);
    return m->f.status = clv__fail(m->f.e, s, "%s", text);
}

bool tfl_nomem(tfl_model *m)
{
    if (!tfl_failed(m))
        m->f.status = clv__nomem(m->f.e);
    return false;
}

/* -- subgraphs ------------------------------------------------------------*/

static flat_vector read_ports(tfl_scope *s, bool output)
{
    return flat_list(&s->m->f, s->is,
                     output ? SUBGRAPH_OUTPUTS : SUBGRAPH_INPUTS, 4);
}

uint32_t tfl_ports(tfl_scope *s, bool output)
{
    return read_ports(s, output).n;
}

uint32_t tfl_port(tfl_scope *s, bool output, uint32_t i)
{
    flat_vector v = read_ports(s, output);
    int64_t at = i < v.n ? flat_i32_at(&s->m->f, v, i) : -1;
    if (i < v.n && (at < -1 || at >= s->n_tensors))
        flat_fail(&s->m->f, v.at, "%s %u of a subgraph is tensor %lld of %u",
                  output ? "output" : "input", i, (long long)at, s->n_tensors);
    return at < 0 || at >= s->n_tensors ? CLV_NONE : (uint32_t)at;
}

clv_status tfl_open(tfl_scope *s, tfl_model *m, clv_graph *g, int64_t index,
                    int depth)
{
    *s = (tfl_scope){.m = m, .g = g, .depth = depth};
    if (index < 0 || index >= m->subgraphs.n)
        return flat_fail(&m->f, m->subgraphs.at, "subgraph %lld of %u",
                         (long long)index, m->subgraphs.n);
    if (depth > TFL_MAX_DEPTH)
        return flat_fail(&m->f, m->subgraphs.at,
                         "subgraph %lld: more than %d subgraphs in each other",
                         (long long)index, TFL_MAX_DEPTH);
    s->is = flat_item(&m->f, m->subgraphs, (uint32_t)index);
    return tfl_tensors(s);
}

/* -- operators ------------------------------------------------------------*/

/* The module of an operator and its own name, from the path of a tensor:
 * "net/block_1/conv/Conv2D;net/block_1/bn" is Conv2D in net.block_1.conv. */
static bool read_name(tfl_call *c, const char *path)
{
    char scope[512];
    size_t n = strcspn(path, ";"), last = 0, len = 0;
    for (size_t i = 0; i < n; i++)
        if (path[i] == '/')
            last = i;
    for (size_t i = 0; i < last && len + 1 < sizeof scope; i++)
        scope[len++] = path[i] == '/' ? '.' : path[i] == '.' ? '_' : path[i];
    while (len && scope[len - 1] == '.')
        len--;
    scope[len] = '\0';
    c->name = arena_strndup(&c->g->mem, path, n ? n : strlen(path));
    c->scope = len ? clv__scope_path(c->g, scope) : 0;
    return (c->name && c->scope != CLV_NONE) || tfl_nomem(c->m);
}

/* The row of an operator and what it is called in the file. */
static bool read_code(tfl_call *c)
{
    tfl_model *m = c->m;
    flat *f = &m->f;
    uint32_t at = flat_u32(f, c->is, OPERATOR_CODE);
    if (at >= m->codes.n) {
        flat_fail(f, c->is.at, "an operator of code %u of %u", at, m->codes.n);
        return false;
    }
    flat_table code = flat_item(f, m->codes, at);
    int64_t old = flat_i8(f, code, CODE_OLD, 0);
    int64_t new = flat_i32(f, code, CODE_NEW, 0);
    int64_t id = old > new ? old : new;
    flat_text custom = flat_string(f, code, CODE_CUSTOM);
    c->row = tfl_row_of(id);
    if (f->status != CLV_OK)
        return false;
    char *name = NULL;
    if (!c->row)
        name = arena_printf(&c->g->mem, "BUILTIN_%lld", (long long)id);
    else if (id == CUSTOM_OPERATOR && custom.n)
        name = arena_strndup(&c->g->mem, custom.s, custom.n);
    else
        name = arena_strndup(&c->g->mem, c->row->name, strlen(c->row->name));
    if (!name)
        return tfl_nomem(m);
    clv__import_scrub(name, strlen(name));
    c->origin = name;
    return true;
}

/* Every operand and result is a tensor of the subgraph. */
static bool read_edges(tfl_call *c)
{
    flat *f = &c->m->f;
    c->ins = flat_list(f, c->is, OPERATOR_INPUTS, 4);
    c->outs = flat_list(f, c->is, OPERATOR_OUTPUTS, 4);
    uint64_t bytes = 4ull * ((uint64_t)c->ins.n + c->outs.n);
    if (f->status == CLV_OK && bytes > f->left)
        flat_fail(f, c->is.at,
                  "operators share their lists of tensors too "
                  "often");
    if (f->status != CLV_OK)
        return false;
    f->left -= bytes;
    for (uint32_t i = 0; i < c->ins.n + c->outs.n; i++) {
        bool in = i < c->ins.n;
        int64_t at = in ? flat_i32_at(f, c->ins, i)
                        : flat_i32_at(f, c->outs, i - c->ins.n);
        if (at < -1 || at >= c->s->n_tensors) {
            flat_fail(f, (in ? c->ins : c->outs).at,
                      "%s names tensor %lld of "
                      "%u",
                      c->origin, (long long)at, c->s->n_tensors);
            return false;
        }
    }
    return true;
}

static bool read_operator(tfl_scope *s, flat_vector all, uint32_t i)
{
    flat *f = &s->m->f;
    tfl_call c = {.s = s, .m = s->m, .g = s->g, .is = flat_item(f, all, i)};
    if (!read_code(&c) || !read_edges(&c))
        return false;
    c.opts = flat_sub(f, c.is, OPERATOR_OPTIONS);
    if (flat_i8(f, c.is, OPERATOR_OPTIONS2_TYPE, 0))
        c.opts = flat_sub(f, c.is, OPERATOR_OPTIONS2);
    uint32_t at = tfl_out(&c, 0);
    if (!read_name(&c, at == CLV_NONE ? c.origin : s->tensors[at].name))
        return false;
    if (c.row)
        c.row->map(&c);
    else
        tfl_unknown(&c);
    for (uint32_t k = 0; !tfl_failed(s->m) && k < c.outs.n; k++) {
        uint32_t o = tfl_out(&c, k);
        tfl_tensor *t = o == CLV_NONE ? NULL : &s->tensors[o];
        if (t && t->value == CLV_NONE && t->first == CLV_NONE)
            t->variable = true; /* nobody computes it here: zeros */
    }
    return !tfl_failed(s->m);
}

clv_status tfl_operators(tfl_scope *s)
{
    flat_vector all = flat_list(&s->m->f, s->is, SUBGRAPH_OPERATORS, 4);
    for (uint32_t i = 0; i < all.n; i++)
        if (!read_operator(s, all, i))
            break;
    return s->m->f.status;
}

/* -- inputs and outputs ---------------------------------------------------*/

/* Sizes that the file leaves open are those of the data that will be fed. */
static void read_data_sizes(tfl_scope *s, const tfl_tensor *t, uint32_t place,
                            clv_build_input *in)
{
    const clv_open_opts *opts = s->m->opts;
    flat *f = &s->m->f;
    flat_vector open = flat_list(f, t->is, TENSOR_SIGNATURE, 4);
    for (size_t i = 0; opts && i < opts->n_data; i++) {
        const clv_data_arg *d = &opts->data[i];
        bool mine = d->name ? !strcmp(d->name, t->name) : d->place == place;
        for (uint32_t k = 0;
             mine && d->rank == in->rank && k < in->rank && k < open.n; k++)
            if (flat_i32_at(f, open, k) < 0)
                in->dims[k] = d->dims[k];
    }
}

/* A size that nobody gives is m->open. Batches stay as they are. */
static bool read_open_sizes(tfl_scope *s, const tfl_tensor *t,
                            clv_build_input *in)
{
    tfl_model *m = s->m;
    const clv_open_opts *o = m->opts;
    flat_vector open = flat_list(&m->f, t->is, TENSOR_SIGNATURE, 4);
    bool asked = o && (o->n_shapes || o->n_data);
    bool is_open[CLV_MAX_RANK] = {false};
    for (uint32_t k = in->rank > 1; !asked && k < in->rank && k < open.n; k++) {
        is_open[k] = flat_i32_at(&m->f, open, k) < 0;
        m->n_open += is_open[k];
        if (!is_open[k] || !m->open)
            continue;
        in->dims[k] = m->open;
        if (!clv__graph_warn_about(
                s->g, CLV_SUBJECT_SIZES, t->name,
                "input '%s': axis %u has no size and is taken as %lld", t->name,
                k, (long long)m->open))
            return tfl_nomem(m);
    }
    m->picture |= in->rank == 4 && is_open[1] && is_open[2] &&
                  in->dims[3] > 0 && in->dims[3] <= COLOURS;
    return true;
}

static clv_status read_main_input(tfl_scope *s, uint32_t place, bool first)
{
    tfl_model *m = s->m;
    uint32_t at = tfl_port(s, false, place);
    if (at == CLV_NONE || tfl_failed(m))
        return m->f.status;
    tfl_tensor *t = &s->tensors[at];
    clv_build_input in = {.name = t->name,
                          .name_len = strlen(t->name),
                          .first = first,
                          .rank = t->rank};
    if (t->value != CLV_NONE)
        return flat_fail(&m->f, s->is.at, "tensor '%s' is an input twice",
                         t->name);
    if (t->dtype == CLV_NODTYPE)
        return flat_fail(&m->f, t->is.at, "input '%s' is no tensor of numbers",
                         t->name);
    if (t->rank != CLV_NO_RANK)
        memcpy(in.dims, t->dims, sizeof in.dims);
    read_data_sizes(s, t, place, &in);
    if (in.rank != CLV_NO_RANK && !read_open_sizes(s, t, &in))
        return m->f.status;
    clv_status st = clv__build_shape(m->opts, &in, m->f.e);
    if (st != CLV_OK)
        return m->f.status = st;
    m->resized |= in.rank != t->rank ||
                  (in.rank != CLV_NO_RANK &&
                   memcmp(in.dims, t->dims, in.rank * sizeof *in.dims));
    t->value = clv__value_add(s->g, t->name, CLV_VALUE_INPUT,
                              clv__build_dtype(m->opts, t->dtype));
    if (t->value == CLV_NONE ||
        (in.rank != CLV_NO_RANK &&
         !clv__value_set_shape(s->g, t->value, in.rank, in.dims)))
        return m->f.status = clv__nomem(m->f.e);
    if (in.rank != CLV_NO_RANK &&
        clv__bytes(&s->g->values[t->value]) == CLV_SAT)
        return tfl_fail(m, CLV_OVERFLOW,
                        "input '%s': its size does not fit 64 bits", t->name);
    return CLV_OK;
}

/* An output is a value with the tensor's name that some node makes. */
static clv_status read_main_output(tfl_scope *s, uint32_t place)
{
    uint32_t at = tfl_port(s, true, place);
    uint32_t v = at == CLV_NONE ? CLV_NONE : tfl_value(s, at);
    if (v == CLV_NONE)
        return s->m->f.status;
    clv_value *value = &s->g->values[v];
    if (value->kind == CLV_VALUE_ACTIVATION && !value->name)
        value->name = s->tensors[at].name;
    return clv__graph_output(s->g, v)
               ? CLV_OK
               : (s->m->f.status = clv__nomem(s->m->f.e));
}

static clv_status read_dims_asked(const tfl_model *m)
{
    const clv_open_opts *opts = m->opts;
    if (!opts || !opts->n_dims)
        return CLV_OK;
    return clv__about(m->f.e,
                      clv__fail(m->f.e, CLV_USAGE,
                                "dimension '%s': a TFLite model has no named "
                                "ones",
                                opts->dims[0].name),
                      CLV_SUBJECT_DIM, opts->dims[0].name);
}

/* -- the way in -----------------------------------------------------------*/

static clv_status read_head(tfl_model *m)
{
    flat *f = &m->f;
    flat_table root = flat_root(f);
    uint32_t version = flat_u32(f, root, MODEL_VERSION);
    if (f->status == CLV_OK && version != SCHEMA_VERSION)
        return flat_fail(f, root.at, "schema version %u, only %d is read",
                         version, SCHEMA_VERSION);
    m->codes = flat_list(f, root, MODEL_CODES, 4);
    m->subgraphs = flat_list(f, root, MODEL_SUBGRAPHS, 4);
    m->buffers = flat_list(f, root, MODEL_BUFFERS, 4);
    m->groups = flat_list(f, root, MODEL_GROUPS, 4);
    m->external = flat_list(f, root, MODEL_EXTERNAL, 4);
    if (f->status == CLV_OK && m->subgraphs.n == 0)
        return flat_fail(f, root.at, "the model has no subgraph");
    return f->status;
}

static clv_status read_main(tfl_model *m, tfl_scope *s)
{
    int64_t subgraph;
    CLV_TRY(tfl_signature(m, &subgraph));
    CLV_TRY(tfl_open(s, m, m->g, subgraph, 0));
    uint32_t n_in = tfl_ports(s, false), n_out = tfl_ports(s, true);
    for (uint32_t i = 0; i < n_in; i++)
        CLV_TRY(read_main_input(s, i, i == 0));
    CLV_TRY(tfl_operators(s));
    for (uint32_t i = 0; i < n_out; i++)
        CLV_TRY(read_main_output(s, i));
    return m->f.status;
}

static clv_status read_model(tfl_model *m)
{
    tfl_scope s;
    CLV_TRY(read_dims_asked(m));
    CLV_TRY(read_head(m));
    CLV_TRY(read_main(m, &s));
    CLV_TRY(clv__build_finish(m->g, CLV_BUILT_INFERRED, m->f.e));
    return tfl_arena(&s, &m->g->planned);
}

bool clv__tflite_knows(const clv_mapping *map, const char *path)
{
    (void)path;
    return map->size >= 8 && !memcmp(map->data + 4, "TFL3", 4);
}

/* One load of a file, which may be read several times with other sizes. */
typedef struct read_load {
    const clv_mapping *map;
    const char *path;
    const clv_open_opts *opts;
    clv_graph *g; /* of the last attempt, or NULL */
    tfl_model said;
} read_load;

/* Reads the file with its open sizes as `open`. */
static clv_status read_attempt(read_load *l, int64_t open, clv_err *e)
{
    clv_mapping view = *l->map; /* stays open for the next attempt */
    view.borrowed = true;
    view.file = 0;
    clv_graph_free(l->g);
    l->g = NULL;
    CLV_TRY(clv__import_begin(view, l->path, "tflite", l->opts, &l->g, e));
    l->g->file = l->map->borrowed ? NULL : l->map->data;
    tfl_model m = {
        .f = flat_open(l->map, e), .g = l->g, .opts = l->opts, .open = open};
    clv_status s = read_model(&m);
    clv__free(m.variables);
    strmap_free(&m.known);
    arena_free(&m.mem);
    l->said = m;
    return s;
}

/* The smallest size that every operator accepts: a power of two, then what lies
 * between it and the one before. 0 when there is none. */
static int64_t read_smallest(read_load *l)
{
    int64_t high = 2, low;
    while (high <= LARGEST && read_attempt(l, high, NULL) == CLV_SHAPE)
        high *= 2;
    if (high > LARGEST || l->said.f.status != CLV_OK)
        return 0;
    for (low = high / 2; high - low > 1;) {
        int64_t middle = low + (high - low) / 2;
        clv_status s = read_attempt(l, middle, NULL);
        if (s == CLV_OK)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* Sizes that the file leaves open stand there as 1, which for a picture makes
 * no sense and which some graphs refuse. */
static clv_status read_with_sizes(read_load *l, clv_err *e)
{
    clv_status s = read_attempt(l, 0, e);
    bool misfit = s == CLV_SHAPE || l->said.misfit;
    if (!l->said.n_open || (!misfit && !l->said.picture) ||
        (s != CLV_OK && s != CLV_SHAPE))
        return s;
    clv__err_clear(e);
    if (l->said.picture && read_attempt(l, PICTURE, NULL) == CLV_OK)
        return CLV_OK;
    return read_attempt(l, read_smallest(l), e);
}

clv_status clv__tflite_load(clv_mapping map, const char *path,
                            const clv_open_opts *opts, clv_graph **out,
                            clv_err *e)
{
    read_load l = {.map = &map, .path = path, .opts = opts};
    clv_status s = read_with_sizes(&l, e);
    if (l.g)
        *(clv_mapping *)l.g->owner = map;
    else
        clv__mapping_close(&map);
    return clv__import_end(l.g, s, out, e);
}
