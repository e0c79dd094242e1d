/* read.c - a torch.export archive, from its bytes to a graph.
 *
 *   1. find      the program, and where weights lie: in entries of their own
 *                (torch 2.8 and later), or in archives of torch.save within
 *                (2.1 to 2.7)
 *   2. symbols   sizes that the program leaves open get a value: the user's,
 *                or that of the export
 *   3. walk      inputs, nodes, outputs; weights when they are first read
 *   4. finish    shapes are compared with those the program states */
#include "formats/pt2/pt2.h"

#include "formats/formats.h"
#include "formats/pickle/pickle.h"

#include <stdio.h>
#include <string.h>

/* An argument of the program that is a weight. */
typedef struct pt2_weight {
    const char *arg, *name;
    clv_value_kind kind;
    const json *meta; /* in the graph */
    bool used;
} pt2_weight;

/* Where tensors lie, by name: a table of entries, or a pickled dict. */
typedef struct pt2_table {
    strmap names;
    const json **configs;
    pickle_file file;
} pt2_table;

typedef struct pt2_file {
    pt2_reader r;
    pt2_table weights, constants;
} pt2_file;

/* -- finding --------------------------------------------------------------*/

static clv_status file_json(pt2_reader *r, const zip_entry *x,
                            const json **root, clv_err *e)
{
    const uint8_t *text;
    size_t n;
    CLV_TRY(clv__archive_read(&r->zip, x, &r->mem, &text, &n, e));
    clv_status s = json_parse(&r->mem, (const char *)text, n, root, e);
    if (s != CLV_OK)
        clv__err_prefix(e, "byte %zu: '%.*s'", (size_t)(x->data - r->zip.bytes),
                        (int)x->name_size, x->name);
    return s;
}

/* The entry called folder/NAME + end for the program NAME, or else the only one
 * that begins and ends so. */
static const zip_entry *file_entry(const pt2_reader *r, const char *folder,
                                   const char *end)
{
    size_t a = strlen(folder), b = strlen(end);
    for (uint32_t i = 0; i < r->zip.n; i++) {
        size_t len;
        const char *name = clv__archive_name(&r->zip, i, &len);
        if (len > a + b && !memcmp(name, folder, a) &&
            !memcmp(name + len - b, end, b))
            return &r->zip.entries[i];
    }
    return NULL;
}

/* Reads a table of tensors by its newer or older name. */
static clv_status file_config(pt2_reader *r, const char *folder,
                              const char *end, const char *older, pt2_table *t,
                              clv_err *e)
{
    const json *root = NULL;
    const zip_entry *x = file_entry(r, folder, end);
    if (!x)
        x = file_entry(r, folder, older);
    if (x)
        CLV_TRY(file_json(r, x, &root, e));
    if (json_get(root, "config"))
        root = json_get(root, "config");
    return pt2_index(&r->mem, root, &t->names, &t->configs) ? CLV_OK
                                                            : clv__nomem(e);
}

/* Finds the tensors of a pickled dict by their names. */
static bool file_index_pickle(pt2_table *t)
{
    uint32_t n;
    pickle_node *const *pairs = pickle_pairs(t->file.root, &n);
    for (uint32_t i = 0; i < n; i++) {
        const char *name = pickle_text(pairs[2 * i], NULL);
        if (name && !strmap_put(&t->names, name, strlen(name), i))
            return false;
    }
    return true;
}

static clv_status file_pickle(pt2_reader *r, const char *name, pt2_table *t,
                              clv_err *e)
{
    char text[96];
    const zip_entry *x = NULL;
    static const char *const ends[] = {".pt", ".json", ""};
    for (size_t i = 0; !x && i < sizeof ends / sizeof *ends; i++) {
        snprintf(text, sizeof text, "%s%s", name, ends[i]);
        x = clv__archive_find(&r->zip, text);
    }
    if (!x || x->size == 0)
        return CLV_OK;
    if (x->method != 0)
        return clv__fail(e, CLV_UNSUPPORTED, "'%s' is deflated", text);
    clv_status s = pickle_open(x->data, x->packed, &t->file, e);
    if (s != CLV_OK)
        clv__err_prefix(e, "byte %zu: '%s'", (size_t)(x->data - r->zip.bytes),
                        text);
    else if (!file_index_pickle(t))
        s = clv__nomem(e);
    return s;
}

static clv_status file_find_old(pt2_file *f, clv_err *e)
{
    pt2_reader *r = &f->r;
    const zip_entry *x =
        clv__archive_find(&r->zip, "serialized_exported_program.json");
    if (!x)
        return clv__fail(e, CLV_UNSUPPORTED,
                         "no exported program in the archive (compiled "
                         "packages have none)");
    CLV_TRY(file_json(r, x, &r->program, e));
    CLV_TRY(file_pickle(r, "serialized_state_dict", &f->weights, e));
    return file_pickle(r, "serialized_constants", &f->constants, e);
}

static clv_status file_find(pt2_file *f, clv_err *e)
{
    pt2_reader *r = &f->r;
    const zip_entry *x = clv__archive_find(&r->zip, "models/model.json");
    if (!x)
        x = file_entry(r, "models/", ".json");
    if (!x)
        return file_find_old(f, e);
    CLV_TRY(file_json(r, x, &r->program, e));
    CLV_TRY(file_config(r, "data/weights/", "_weights_config.json",
                        "_model_param_config.json", &f->weights, e));
    return file_config(r, "data/constants/", "_constants_config.json",
                       "_model_constants_config.json", &f->constants, e);
}

/* -- weights --------------------------------------------------------------*/

/* A weight that has an entry of its own. */
static clv_status weight_in_entry(pt2_file *f, const char *folder,
                                  const json *config, torch_tensor *t,
                                  clv_err *e)
{
    pt2_reader *r = &f->r;
    char name[512];
    const char *path = json_string(config, "path_name", "");
    snprintf(name, sizeof name, "%s%s", folder, path);
    const zip_entry *x = clv__archive_find(&r->zip, name);
    const json *meta = json_get(config, "tensor_meta");
    if (meta)
        CLV_TRY(pt2_type(r, meta, path, t, e));
    if (!x)
        return clv__fail(e, CLV_FORMAT, "no entry '%s' in the archive", name);
    if (x->method != 0)
        return clv__fail(e, CLV_UNSUPPORTED, "'%s' is deflated", name);
    if (json_bool(config, "use_pickle", false)) {
        pickle_file p = {0};
        clv_status s = pickle_open(x->data, x->packed, &p, e);
        if (s == CLV_OK && !pickle_tensor(&p, p.root, t))
            s = clv__fail(e, CLV_FORMAT, "'%s' holds no tensor", name);
        pickle_close(&p);
        return s;
    }
    t->bytes = x->packed ? x->data : NULL;
    t->size = x->packed;
    return CLV_OK;
}

/* Finds tensor w in a table. *found stays as it is when it is not there. */
static clv_status weight_in(pt2_file *f, const pt2_table *table,
                            const char *folder, const pt2_weight *w,
                            torch_tensor *t, bool *found, clv_err *e)
{
    uint32_t count, i = strmap_get(&table->names, w->name, strlen(w->name));
    if (*found || i == CLV_NONE)
        return CLV_OK;
    *found = true;
    if (table->configs)
        return weight_in_entry(f, folder, table->configs[i], t, e);
    pickle_node *const *pairs = pickle_pairs(table->file.root, &count);
    torch_tensor stored;
    if (pickle_tensor(&table->file, pairs[2 * i + 1], &stored))
        *t = stored;
    return CLV_OK;
}

/* Type, shape and place of a weight; one that was saved without its contents
 * has no bytes. */
static clv_status weight_find(pt2_reader *r, const pt2_weight *w,
                              torch_tensor *t, clv_err *e)
{
    bool found = false;
    pt2_file *f = (pt2_file *)r; /* of which r is the first member */
    CLV_TRY(pt2_type(r, w->meta, w->name, t, e));
    CLV_TRY(weight_in(f, &f->weights, "data/weights/", w, t, &found, e));
    return weight_in(f, &f->constants, "data/constants/", w, t, &found, e);
}

clv_status pt2_weight_of(pt2_reader *r, const char *name, uint32_t *v,
                         clv_err *e)
{
    torch_tensor t;
    uint32_t i = strmap_get(&r->params, name, strlen(name));
    *v = CLV_NONE;
    if (i == CLV_NONE)
        return CLV_OK;
    pt2_weight *w = &r->specs[i];
    CLV_TRY(weight_find(r, w, &t, e));
    CLV_TRY(clv__torch_weight(&r->weights, w->name, w->kind, &t, v, e));
    w->used = true;
    return CLV_OK;
}

/* -- signature ------------------------------------------------------------*/

static clv_status spec_add(pt2_reader *r, pt2_scope *top, const char *arg,
                           const char *name, clv_value_kind kind, clv_err *e)
{
    uint32_t i = arg ? strmap_get(&top->metas, arg, strlen(arg)) : CLV_NONE;
    if (i == CLV_NONE || !name)
        return CLV_OK;
    r->specs[r->n_specs] = (pt2_weight){
        .arg = arg, .name = name, .kind = kind, .meta = top->meta_list[i]};
    return strmap_put(&r->params, arg, strlen(arg), r->n_specs++)
               ? CLV_OK
               : clv__nomem(e);
}

static const struct spec_kind {
    const char *key, *name; /* of the spec, and of the weight's name in it */
    const char *older;      /* a table of names by argument, schema 1 */
    clv_value_kind kind;
} spec_kinds[] = {
    {"parameter", "parameter_name", "inputs_to_parameters", CLV_VALUE_PARAM},
    {"buffer", "buffer_name", "inputs_to_buffers", CLV_VALUE_BUFFER},
    {"tensor_constant", "tensor_constant_name",
     "inputs_to_lifted_tensor_constants", CLV_VALUE_CONST},
};
enum { SPEC_KINDS = sizeof spec_kinds / sizeof *spec_kinds };

static clv_status spec_read(pt2_reader *r, pt2_scope *top, const json *spec,
                            clv_err *e)
{
    const json *m = pt2_union(spec);
    for (int k = 0; m && k < SPEC_KINDS; k++)
        if (!strcmp(m->key, spec_kinds[k].key))
            return spec_add(r, top,
                            json_string(json_get(m, "arg"), "name", NULL),
                            json_string(m, spec_kinds[k].name, NULL),
                            spec_kinds[k].kind, e);
    return CLV_OK;
}

/* Reads which arguments are weights. */
static clv_status spec_all(pt2_reader *r, pt2_scope *top, clv_err *e)
{
    const json *module = json_get(r->program, "graph_module");
    const json *sig = json_get(module, "signature");
    const json *specs = json_get(sig, "input_specs");
    const json *inputs = json_get(top->graph, "inputs");
    uint32_t n = (specs ? specs->n : 0) + (inputs ? inputs->n : 0);
    for (int k = 0; k < SPEC_KINDS; k++) {
        const json *old = json_get(sig, spec_kinds[k].older);
        n += old ? old->n : 0;
    }
    r->specs = arena_array(&r->mem, n + 1u, sizeof *r->specs);
    if (!r->specs)
        return clv__nomem(e);
    for (const json *m = specs ? specs->child : NULL; m; m = m->next)
        CLV_TRY(spec_read(r, top, m, e));
    for (int k = 0; !specs && k < SPEC_KINDS; k++) {
        const json *old = json_get(sig, spec_kinds[k].older);
        for (const json *m = old ? old->child : NULL; m; m = m->next)
            if (m->key && m->type == JSON_STRING)
                CLV_TRY(
                    spec_add(r, top, m->key, m->u.s, spec_kinds[k].kind, e));
    }
    return CLV_OK;
}

/* -- symbols --------------------------------------------------------------*/

/* Notes the symbol that a size is, with the value it had at the export. */
static clv_status symbols_note(pt2_reader *r, const json *size, clv_err *e)
{
    const json *m = pt2_union(size);
    const char *expr = json_string(m, "expr_str", NULL), *name;
    const json *hint = pt2_union(json_get(m, "hint"));
    size_t len;
    if (!expr || !pt2_symbol_alone(expr, &name, &len))
        return CLV_OK;
    uint32_t i = strmap_get(&r->symbols.names, name, len);
    if (i == CLV_NONE) {
        char *own = arena_strndup(&r->mem, name, len);
        i = own ? pt2_symbol_at(&r->symbols, own, len) : CLV_NONE;
    }
    if (i == CLV_NONE)
        return clv__nomem(e);
    pt2_symbol *s = &r->symbols.list[i];
    if (!s->known && hint && hint->type == JSON_INT) {
        s->value = hint->u.i;
        s->known = true;
    }
    return CLV_OK;
}

static clv_status symbols_ranges(pt2_reader *r, clv_err *e)
{
    const json *all = json_get(r->program, "range_constraints");
    for (const json *m = all ? all->child : NULL; m; m = m->next) {
        uint32_t i = m->key ? pt2_symbol_at(&r->symbols, m->key, strlen(m->key))
                            : CLV_NONE;
        if (i == CLV_NONE)
            return clv__nomem(e);
        r->symbols.list[i].min = json_int(m, "min_val", 0);
        r->symbols.list[i].max = json_int(m, "max_val", INT64_MAX);
    }
    return CLV_OK;
}

static clv_status symbols_all(pt2_reader *r, const pt2_scope *top, clv_err *e)
{
    const json *metas = json_get(top->graph, "tensor_values");
    const json *syms = json_get(top->graph, "sym_int_values");
    for (const json *m = metas ? metas->child : NULL; m; m = m->next) {
        const json *sizes = json_get(m, "sizes");
        for (const json *d = sizes ? sizes->child : NULL; d; d = d->next)
            CLV_TRY(symbols_note(r, d, e));
    }
    for (const json *m = syms ? syms->child : NULL; m; m = m->next)
        CLV_TRY(symbols_note(r, m, e));
    return symbols_ranges(r, e);
}

static clv_status symbols_out_of_range(const pt2_symbol *s, int64_t value,
                                       clv_err *e)
{
    char most[32] = "";
    if (s->max != INT64_MAX)
        snprintf(most, sizeof most, " to %lld", (long long)s->max);
    return clv__about(e,
                      clv__fail(e, CLV_SHAPE,
                                "dimension '%s' is given as %lld; it was "
                                "exported for %lld%s",
                                s->name, (long long)value, (long long)s->min,
                                *most ? most : " and more"),
                      CLV_SUBJECT_DIM, s->name);
}

/* Sets a symbol to what the user wants; two wishes must agree. */
static clv_status symbols_set(pt2_reader *r, pt2_symbol *s, int64_t value,
                              clv_err *e)
{
    if (s->given && s->value != value)
        return clv__fail(e, CLV_SHAPE, "dimension '%s' would be %lld and %lld",
                         s->name, (long long)s->value, (long long)value);
    if (value < s->min || value > s->max)
        return symbols_out_of_range(s, value, e);
    r->symbols.moved |= !s->known || s->value != value;
    s->value = value;
    s->known = s->given = true;
    return CLV_OK;
}

static clv_status symbols_given(pt2_reader *r, clv_err *e)
{
    for (size_t i = 0; r->opts && i < r->opts->n_dims; i++) {
        const clv_dim_arg *d = &r->opts->dims[i];
        uint32_t k = strmap_get(&r->symbols.names, d->name, strlen(d->name));
        if (k == CLV_NONE)
            return clv__about(e,
                              clv__fail(e, CLV_USAGE,
                                        "no dimension '%s' in the program",
                                        d->name),
                              CLV_SUBJECT_DIM, d->name);
        CLV_TRY(symbols_set(r, &r->symbols.list[k], d->value, e));
    }
    return CLV_OK;
}

/* -- inputs ---------------------------------------------------------------*/

/* One size of an input: sets the symbol that it is, or checks that the program
 * has that size. */
static clv_status input_size(pt2_reader *r, const json *size, int64_t was,
                             int64_t want, const char *name, uint32_t axis,
                             clv_err *e)
{
    const char *expr = json_string(pt2_union(size), "expr_str", NULL), *symbol;
    size_t len;
    int64_t now = was;
    if (expr && pt2_symbol_alone(expr, &symbol, &len)) {
        uint32_t i = strmap_get(&r->symbols.names, symbol, len);
        return want == was && r->symbols.list[i].given
                   ? CLV_OK
                   : symbols_set(r, &r->symbols.list[i], want, e);
    }
    if (expr && r->symbols.moved)
        pt2_symbol_eval(&r->symbols, expr, &now);
    if (now == want)
        return CLV_OK;
    if (expr && pt2_symbol_solve(&r->symbols, expr, want)) {
        r->symbols.moved = true;
        return CLV_OK;
    }
    return clv__about(
        e,
        clv__fail(e, CLV_SHAPE,
                  "input '%s' has size %lld on axis %u and was exported for "
                  "%lld alone; torch.export.export leaves sizes open with "
                  "dynamic_shapes",
                  name, (long long)want, axis, (long long)now),
        CLV_SUBJECT_SIZES, name);
}

/* The shape of data that will be fed to input `place`, called name. */
static const clv_data_arg *input_data(const pt2_reader *r, const char *name,
                                      uint32_t place)
{
    for (size_t i = 0; r->opts && i < r->opts->n_data; i++) {
        const clv_data_arg *d = &r->opts->data[i];
        if (d->name ? !strcmp(d->name, name) : d->place == place)
            return d;
    }
    return NULL;
}

/* Takes the shape that the user wants for an input. */
static clv_status input_want(pt2_reader *r, const json *meta, const char *name,
                             uint32_t place, clv_err *e)
{
    torch_tensor t;
    uint32_t axis = 0;
    CLV_TRY(pt2_type(r, meta, name, &t, e));
    clv_build_input in = {.name = name,
                          .name_len = strlen(name),
                          .first = place == 0,
                          .rank = t.rank};
    memcpy(in.dims, t.dims, sizeof in.dims);
    CLV_TRY(clv__build_shape(r->opts, &in, e));
    bool asked = memcmp(in.dims, t.dims, t.rank * sizeof *in.dims) != 0;
    const clv_data_arg *data = input_data(r, name, place);
    if (!asked && data && data->rank == t.rank)
        memcpy(in.dims, data->dims, t.rank * sizeof *in.dims);
    const json *sizes = json_get(meta, "sizes");
    for (const json *d = sizes ? sizes->child : NULL; d; d = d->next, axis++)
        if (asked || data || in.dims[axis] != t.dims[axis])
            CLV_TRY(
                input_size(r, d, t.dims[axis], in.dims[axis], name, axis, e));
    return CLV_OK;
}

/* Keeps the names of symbols beside the sizes. */
static clv_status input_name_axes(pt2_reader *r, const json *meta, uint32_t v,
                                  clv_err *e)
{
    clv_graph *g = r->g;
    const json *sizes = json_get(meta, "sizes");
    const char **names =
        arena_zalloc(&g->mem, (CLV_MAX_RANK + 1) * sizeof *names);
    uint32_t axis = 0;
    bool any = false;
    if (!names)
        return clv__nomem(e);
    for (const json *d = sizes ? sizes->child : NULL; d; d = d->next, axis++) {
        const char *expr = json_string(pt2_union(d), "expr_str", NULL), *name;
        size_t len;
        if (!expr || !pt2_symbol_alone(expr, &name, &len))
            continue;
        names[axis] = arena_strndup(&g->mem, name, len);
        any = true;
    }
    clv_payload *data = any ? clv__value_data(g, v) : NULL;
    if (any && !data)
        return clv__nomem(e);
    if (any)
        data->dim_names = names;
    return CLV_OK;
}

static clv_status input_add(pt2_scope *top, const char *name, const json *meta,
                            clv_err *e)
{
    clv_graph *g = top->r->g;
    aten_type t;
    CLV_TRY(pt2_result(top, name, &t, e));
    char *own = arena_strndup(&g->mem, name, strlen(name));
    uint32_t v =
        own ? clv__value_add(g, own, CLV_VALUE_INPUT, t.dtype) : CLV_NONE;
    if (v == CLV_NONE || !clv__value_set_shape(g, v, t.rank, t.dims) ||
        !strmap_put(&top->values, name, strlen(name), v))
        return clv__nomem(e);
    return input_name_axes(top->r, meta, v, e);
}

/* Calls for every input that is a tensor and no weight. First all sizes are
 * settled, then the inputs are added. */
static clv_status input_all(pt2_scope *top, bool add, clv_err *e)
{
    const json *inputs = json_get(top->graph, "inputs");
    uint32_t place = 0;
    for (const json *m = inputs ? inputs->child : NULL; m; m = m->next) {
        const char *name = json_string(json_get(m, "as_tensor"), "name", NULL);
        uint32_t i =
            name ? strmap_get(&top->metas, name, strlen(name)) : CLV_NONE;
        if (!name ||
            strmap_get(&top->r->params, name, strlen(name)) != CLV_NONE)
            continue;
        if (i == CLV_NONE)
            return clv__fail(e, CLV_FORMAT, "line %u: input '%s' has no type",
                             m->line, name);
        const json *meta = top->meta_list[i];
        if (add)
            CLV_TRY(input_add(top, name, meta, e));
        else
            CLV_TRY(input_want(top->r, meta, name, place, e));
        place++;
    }
    return CLV_OK;
}

/* -- outputs --------------------------------------------------------------*/

/* Whether an output is the user's: not what is written back to a buffer. */
static bool output_is_users(const json *spec)
{
    const json *kind = pt2_union(spec);
    return !kind || !strcmp(kind->key, "user_output") ||
           !strcmp(kind->key, "loss_output");
}

static clv_status output_all(pt2_scope *top, clv_err *e)
{
    pt2_reader *r = top->r;
    const json *specs =
        json_get(json_get(json_get(r->program, "graph_module"), "signature"),
                 "output_specs");
    const json *outputs = json_get(top->graph, "outputs");
    const json *spec = specs ? specs->child : NULL;
    uint32_t v;
    for (const json *m = outputs ? outputs->child : NULL; m; m = m->next) {
        const char *name = json_string(json_get(m, "as_tensor"), "name", NULL);
        bool users = output_is_users(spec);
        spec = spec ? spec->next : NULL;
        if (!name || !users)
            continue;
        CLV_TRY(pt2_value(top, name, &v, e));
        if (v == CLV_NONE)
            return clv__fail(e, CLV_FORMAT,
                             "line %u: output '%s' is not defined", m->line,
                             name);
        if (!clv__graph_output(r->g, clv__aten_latest(top->b, v)))
            return clv__nomem(e);
    }
    return CLV_OK;
}

/* The same of parameters that were handed to a branch that is not taken. */
static clv_status output_unread(clv_graph *g, clv_err *e)
{
    bool *read = clv__zalloc((size_t)g->n_values + 1);
    if (!read)
        return clv__nomem(e);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_in; k++)
            if (node_ins(g, &g->nodes[i])[k] != CLV_NONE)
                read[node_ins(g, &g->nodes[i])[k]] = true;
    for (uint32_t v = 0; v < g->n_values; v++)
        if (g->values[v].kind == CLV_VALUE_PARAM && !read[v] &&
            !(g->values[v].flags & CLV_V_OUTPUT))
            g->unused_params =
                sat_add(g->unused_params, clv__numel(&g->values[v]));
    clv__free(read);
    return CLV_OK;
}

/* Parameters that no operator reads belong to the model all the same. */
static clv_status output_unused(pt2_reader *r, clv_err *e)
{
    for (uint32_t i = 0; i < r->n_specs; i++) {
        const pt2_weight *w = &r->specs[i];
        torch_tensor t;
        int64_t n;
        if (w->used || w->kind != CLV_VALUE_PARAM)
            continue;
        CLV_TRY(weight_find(r, w, &t, e));
        if (clv__torch_known(&r->weights, &t))
            continue;
        CLV_TRY(clv__torch_numel(&t, &n, e));
        r->g->unused_params = sat_add(r->g->unused_params, n);
    }
    return output_unread(r->g, e);
}

/* -- the way in -----------------------------------------------------------*/

static clv_status file_walk(pt2_scope *top, clv_err *e)
{
    pt2_reader *r = top->r;
    top->top = true;
    CLV_TRY(spec_all(r, top, e));
    CLV_TRY(symbols_all(r, top, e));
    CLV_TRY(symbols_given(r, e));
    CLV_TRY(input_all(top, false, e));
    CLV_TRY(input_all(top, true, e));
    CLV_TRY(pt2_nodes(top, e));
    CLV_TRY(output_all(top, e));
    CLV_TRY(output_unused(r, e));
    if (r->unbacked &&
        !clv__graph_warn(r->g, "sizes that only the data tells are taken as 1"))
        return clv__nomem(e);
    return clv__aten_finish(top->b, e);
}

static clv_status file_read(pt2_file *f, clv_err *e)
{
    pt2_reader *r = &f->r;
    aten_builder b = {.g = r->g};
    pt2_scope top;
    CLV_TRY(file_find(f, e));
    const json *graph = json_get(json_get(r->program, "graph_module"), "graph");
    clv_status s = pt2_scope_open(&top, r, &b, graph, 0, e);
    if (s == CLV_OK)
        s = file_walk(&top, e);
    pt2_scope_close(&top);
    clv__aten_free(&b);
    return s;
}

static void file_close(pt2_file *f)
{
    pickle_close(&f->weights.file);
    pickle_close(&f->constants.file);
    strmap_free(&f->weights.names);
    strmap_free(&f->constants.names);
    pt2_symbols_free(&f->r.symbols);
    strmap_free(&f->r.params);
    clv__torch_weights_free(&f->r.weights);
    clv__archive_close(&f->r.zip);
    arena_free(&f->r.mem);
}

bool clv__pt2_knows(const clv_mapping *map, const char *path)
{
    (void)path;
    return clv__archive_has(map->data, map->size, "archive_format") ||
           clv__archive_has(map->data, map->size,
                            "serialized_exported_program.json");
}

clv_status clv__pt2_load(clv_mapping map, const char *path,
                         const clv_open_opts *opts, clv_graph **out, clv_err *e)
{
    clv_graph *g;
    CLV_TRY(clv__import_begin(map, path, "pt2", opts, &g, e));
    pt2_file f = {.r = {.g = g, .opts = opts}};
    f.r.weights = (torch_weights){.g = g, .opts = opts, .allowed = map.size};
    clv_status s = clv__archive_open(map.data, map.size, &f.r.zip, e);
    if (s == CLV_OK)
        s = file_read(&f, e);
    file_close(&f);
    return clv__import_end(g, s, out, e);
}
