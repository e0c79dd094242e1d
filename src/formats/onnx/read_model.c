/* read_model.c - ModelProto: versions, functions of the model, the graph. The
 * way in is at the end; read.h tells the whole story.
 *
 * A call of a function is replaced by the function's nodes. The inputs of the
 * function become other names for the call's inputs, its outputs are the
 * call's outputs, and an attribute that refers to one of the call is bound to
 * it. Calls may nest. A function that calls itself is an error, and so is a
 * model that expands out of proportion to its file. */
#include "formats/onnx/read.h"

#include <stdio.h>
#include <string.h>

char *onnx_name(arena *mem, text t)
{
    char *own = arena_strndup(mem, t.s, t.n);
    if (own)
        clv__import_scrub(own, t.n);
    return own;
}

/* -- opsets ---------------------------------------------------------------*/

/* OperatorSetIdProto into a table of versions by domain. */
static clv_status model_opset(wire w, int32_t *opset, clv_err *e)
{
    text domain = {"", 0};
    int64_t version = 1;
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.number == PB_OPSET_DOMAIN)
            domain = text_of(f.bytes);
        else if (f.number == PB_OPSET_VERSION && f.type == WIRE_VARINT)
            version = (int64_t)f.value;
    }
    if (version < 1)
        version = 1;
    opset[onnx_domain_of(domain)] =
        version > INT32_MAX ? INT32_MAX : (int32_t)version;
    return CLV_OK;
}

static void model_default_opsets(int32_t *opset)
{
    for (int i = 0; i < ONNX_DOMAINS; i++)
        opset[i] = 1;
}

/* -- functions ------------------------------------------------------------*/

static clv_status model_add_function(reader *r, wire w, clv_err *e)
{
    onnx_function fn = {.body = w, .next = CLV_NONE};
    memcpy(fn.opset, r->opset, sizeof fn.opset);
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.number == PB_FUNCTION_NAME)
            fn.name = text_of(f.bytes);
        else if (f.number == PB_FUNCTION_DOMAIN)
            fn.domain = text_of(f.bytes);
        else if (f.number == PB_FUNCTION_OVERLOAD)
            fn.overload = text_of(f.bytes);
        else if (f.number == PB_FUNCTION_OPSET_IMPORT && f.type == WIRE_BYTES)
            CLV_TRY(model_opset(f.bytes, fn.opset, e));
    }
    fn.next = strmap_get(&r->function_names, fn.name.s, fn.name.n);
    if (!CLV_GROW(r->functions, r->n_functions, r->cap_functions) ||
        !strmap_put(&r->function_names, fn.name.s, fn.name.n,
                    (uint32_t)r->n_functions))
        return clv__nomem(e);
    r->functions[r->n_functions++] = fn;
    return CLV_OK;
}

static bool model_same_text(text a, text b)
{
    return a.n == b.n && (a.n == 0 || !memcmp(a.s, b.s, a.n));
}

onnx_function *onnx_function_find(reader *r, const proto *p)
{
    if (r->n_functions == 0)
        return NULL;
    uint32_t i = strmap_get(&r->function_names, p->op.s, p->op.n);
    for (; i != CLV_NONE; i = r->functions[i].next)
        if (model_same_text(r->functions[i].domain, p->domain) &&
            model_same_text(r->functions[i].overload, p->overload))
            return &r->functions[i];
    return NULL;
}

/* -- inlining -------------------------------------------------------------*/

static clv_status model_bind_input(frame *caller, const proto *p, uint32_t i,
                                   frame *f, text name, clv_err *e)
{
    uint32_t v = CLV_NONE;
    if (i < p->n_in && p->ins[i].n) {
        CLV_TRY(onnx_lookup(caller, p->ins[i], &v, e));
        if (v == CLV_NONE)
            return clv__fail(e, CLV_FORMAT, "input '%.*s' is not defined",
                             TEXT(p->ins[i]));
    }
    if (!strmap_put(&f->names, name.s, name.n, v == CLV_NONE ? ONNX_ABSENT : v))
        return clv__nomem(e);
    return CLV_OK;
}

static clv_status model_bind_output(frame *caller, const proto *p, uint32_t i,
                                    frame *f, text name, clv_err *e)
{
    if (i >= p->n_out || !p->outs[i].n)
        return CLV_OK; /* nobody asked for it */
    uint32_t v = strmap_get(&caller->names, p->outs[i].s, p->outs[i].n);
    return strmap_put(&f->results, name.s, name.n, v) ? CLV_OK : clv__nomem(e);
}

/* Binds the attributes of the call, and behind them the defaults that the
 * function has for those which the call leaves out. */
static clv_status model_bind_attrs(reader *r, const proto *p, frame *f,
                                   clv_err *e)
{
    size_t n = p->n_attrs;
    for (wire w = f->fn->body; wire_left(&w);) {
        wire_field field;
        CLV_TRY(wire_next(&w, &field, e));
        n += field.number == PB_FUNCTION_ATTRIBUTE_PROTO;
    }
    if (n > ONNX_MAX_EDGES)
        return clv__fail(e, CLV_FORMAT, "a function of %zu attributes", n);
    onnx_attr *bound = arena_array(&r->mem, n, sizeof *bound);
    if (!bound)
        return clv__nomem(e);
    for (; f->n_bound < p->n_attrs; f->n_bound++)
        CLV_TRY(onnx_attr_read(p->attrs[f->n_bound], &bound[f->n_bound], e));
    for (wire w = f->fn->body; wire_left(&w);) {
        wire_field field;
        CLV_TRY(wire_next(&w, &field, e));
        if (field.number == PB_FUNCTION_ATTRIBUTE_PROTO &&
            field.type == WIRE_BYTES)
            CLV_TRY(onnx_attr_read(field.bytes, &bound[f->n_bound++], e));
    }
    f->bound = bound;
    return CLV_OK;
}

static clv_status model_bind_call(reader *r, frame *caller, const proto *p,
                                  frame *f, clv_err *e)
{
    uint32_t in = 0, out = 0;
    for (wire w = f->fn->body; wire_left(&w);) {
        wire_field field;
        CLV_TRY(wire_next(&w, &field, e));
        text name = text_of(field.bytes);
        if (field.number == PB_FUNCTION_INPUT)
            CLV_TRY(model_bind_input(caller, p, in++, f, name, e));
        else if (field.number == PB_FUNCTION_OUTPUT)
            CLV_TRY(model_bind_output(caller, p, out++, f, name, e));
    }
    return model_bind_attrs(r, p, f, e);
}

/* Where a function's output is one of its inputs or a constant, an Identity
 * copies it to the call's output. */
static clv_status model_hand_through(reader *r, frame *f, const proto *p,
                                     text name, clv_err *e)
{
    uint32_t want = strmap_get(&f->results, name.s, name.n);
    uint32_t v = strmap_get(&f->names, name.s, name.n);
    if (want == CLV_NONE || v == want)
        return CLV_OK;
    if (v >= ONNX_ABSENT)
        return clv__fail(e, CLV_FORMAT,
                         "function '%.*s': output '%.*s' is not defined",
                         TEXT(f->fn->name), TEXT(name));
    draft d = {.r = r,
               .f = f,
               .p = p,
               .g = f->unit->g,
               .scope = f->scope,
               .name = "Identity"};
    return draft_emit(&d, CLV_OP_IDENTITY, "", &v, 1, NULL, 0, &want, 1, NULL,
                      e);
}

static clv_status model_inline_body(reader *r, frame *caller, const proto *p,
                                    frame *f, clv_err *e)
{
    CLV_TRY(model_bind_call(r, caller, p, f, e));
    CLV_TRY(onnx_nodes(r, f, f->fn->body, PB_FUNCTION_NODE, e));
    for (wire w = f->fn->body; wire_left(&w);) {
        wire_field field;
        CLV_TRY(wire_next(&w, &field, e));
        if (field.number == PB_FUNCTION_OUTPUT)
            CLV_TRY(model_hand_through(r, f, p, text_of(field.bytes), e));
    }
    return CLV_OK;
}

clv_status onnx_inline(reader *r, frame *caller, const proto *p,
                       onnx_function *fn, clv_err *e)
{
    if (fn->active)
        return clv__fail(e, CLV_FORMAT, "function '%.*s' calls itself",
                         TEXT(fn->name));
    if (caller->depth >= ONNX_MAX_DEPTH)
        return clv__fail(e, CLV_FORMAT, "functions nested deeper than %d",
                         ONNX_MAX_DEPTH);
    text name = p->name.n ? p->name : p->op;
    const char *prefix = caller->prefix.n
                             ? arena_printf(&r->mem, "%.*s/%.*s",
                                            TEXT(caller->prefix), TEXT(name))
                             : onnx_name(&r->mem, name);
    frame f = {.unit = caller->unit,
               .fn = fn,
               .caller = caller,
               .opset = fn->opset,
               .scope = onnx_scope(caller, p),
               .depth = caller->depth + 1};
    if (!prefix || f.scope == CLV_NONE)
        return clv__nomem(e);
    f.prefix = (text){prefix, strlen(prefix)};
    fn->active = true;
    clv_status s = model_inline_body(r, caller, p, &f, e);
    fn->active = false;
    strmap_free(&f.names);
    strmap_free(&f.results);
    return s;
}

/* -- the model ------------------------------------------------------------*/

static clv_status model_field(reader *r, const wire *w, const wire_field *f,
                              wire *graph, clv_err *e)
{
    switch (f->number) {
    case PB_MODEL_IR_VERSION:
        r->ir_version = (int64_t)f->value;
        return wire_expect(w, f, WIRE_VARINT, e);
    case PB_MODEL_GRAPH:
        *graph = f->bytes;
        return wire_expect(w, f, WIRE_BYTES, e);
    case PB_MODEL_OPSET_IMPORT:
        CLV_TRY(wire_expect(w, f, WIRE_BYTES, e));
        return model_opset(f->bytes, r->opset, e);
    case PB_MODEL_METADATA:
        CLV_TRY(wire_expect(w, f, WIRE_BYTES, e));
        return onnx_size_metadata(r, f->bytes, e);
    default:
        return CLV_OK;
    }
}

static clv_status model_functions(reader *r, wire w, clv_err *e)
{
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.number == PB_MODEL_FUNCTIONS && f.type == WIRE_BYTES)
            CLV_TRY(model_add_function(r, f.bytes, e));
    }
    return CLV_OK;
}

static clv_status model_check_versions(reader *r, clv_graph *g, clv_err *e)
{
    bool ok = true;
    if (r->ir_version > ONNX_NEWEST_IR)
        ok = clv__graph_warn(g,
                             "IR version %lld is newer than %d, the newest "
                             "known here",
                             (long long)r->ir_version, ONNX_NEWEST_IR);
    if (r->opset[ONNX_AI] > ONNX_NEWEST_OPSET)
        ok = ok && clv__graph_warn(g,
                                   "opset %d is newer than %d, the newest "
                                   "known here",
                                   r->opset[ONNX_AI], ONNX_NEWEST_OPSET);
    return ok ? CLV_OK : clv__nomem(e);
}

/* A graph in several pieces, as protobuf allows, is their bytes one after the
 * other. No exporter writes it so: they are copied, and offsets count from the
 * first. */
static clv_status model_join_graph(wire w, clv_graph *g, wire *graph,
                                   clv_err *e)
{
    size_t pieces = 0, total = 0;
    for (wire at = w; wire_left(&at);) {
        wire_field f;
        CLV_TRY(wire_next(&at, &f, e));
        pieces += f.number == PB_MODEL_GRAPH;
        total += f.number == PB_MODEL_GRAPH ? wire_left(&f.bytes) : 0;
    }
    if (pieces < 2)
        return CLV_OK;
    uint8_t *all = arena_alloc(&g->mem, total), *end = all;
    if (!all)
        return clv__nomem(e);
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        size_t n = f.number == PB_MODEL_GRAPH ? wire_left(&f.bytes) : 0;
        if (n)
            memcpy(end, f.bytes.cur, n);
        end += n;
    }
    *graph = wire_over(all, total);
    return CLV_OK;
}

static clv_status model_read(reader *r, clv_graph *g, clv_err *e)
{
    wire w = wire_over(r->map.data, r->map.size), whole = w;
    wire graph = {NULL, NULL, w.file};
    if (!wire_left(&w))
        return clv__fail(e, CLV_FORMAT, "the file is empty");
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        CLV_TRY(model_field(r, &w, &f, &graph, e));
    }
    if (!graph.cur)
        return clv__fail(e, CLV_FORMAT, "no graph in the file");
    CLV_TRY(model_join_graph(whole, g, &graph, e));
    CLV_TRY(model_functions(r, whole, e));
    CLV_TRY(model_check_versions(r, g, e));

    r->graph = graph;
    unit u = {.g = g};
    frame f = {.unit = &u, .opset = r->opset};
    clv_status s = onnx_graph(r, &f, graph, e);
    strmap_free(&f.names);
    if (s == CLV_OK)
        s = onnx_check_dims(r, g, e);
    if (s == CLV_OK)
        s = onnx_finish(&u, e);
    if (s == CLV_OK)
        s = onnx_modules(g, e);
    if (s == CLV_OK)
        s = onnx_compare(&u, &r->sizes->differ, e);
    onnx_unit_free(&u);
    return s;
}

static void model_reader_free(reader *r)
{
    strmap_free(&r->symbols);
    strmap_free(&r->function_names);
    clv__free(r->bound);
    clv__free(r->functions);
    arena_free(&r->mem);
}

/* -- the way in -----------------------------------------------------------*/

/* Adds to an error about shapes which sizes were chosen here. */
static void model_say_open(const open_sizes *o, clv_err *e)
{
    enum { SHOWN = 3 };
    if (!o->n || !e || e->code != CLV_SHAPE)
        return;
    for (size_t i = 0; i < o->n && i < SHOWN; i++) {
        const open_size *s = &o->of[i];
        size_t n = strlen(e->msg);
        if (s->symbol.n)
            snprintf(e->msg + n, sizeof e->msg - n, "%s'%.*s'",
                     i ? ", " : "; open sizes, of which none tried fits: ",
                     TEXT(s->symbol));
        else
            snprintf(e->msg + n, sizeof e->msg - n, "%saxis %u of '%.*s'",
                     i ? ", " : "; open sizes, of which none tried fits: ",
                     s->axis, TEXT(s->input));
    }
    char input[64];
    snprintf(input, sizeof input, "%.*s", TEXT(o->of[0].input));
    clv__about(e, CLV_SHAPE, CLV_SUBJECT_SIZES, input);
}

/* One load of a file, which may be read several times with other sizes. */
typedef struct model_load {
    const clv_mapping *map;
    const char *path;
    const clv_open_opts *opts;
    open_sizes sizes;
    clv_graph *g; /* of the last attempt that succeeded, or NULL */
} model_load;

static clv_status model_attempt(void *ctx, uint32_t *reached, clv_err *e)
{
    static const clv_open_opts none = {0};
    model_load *l = ctx;
    clv_graph *g;
    clv_graph_free(l->g);
    l->g = NULL;
    clv_mapping view = *l->map; /* stays open for the next attempt */
    view.borrowed = true;
    view.file = 0;
    CLV_TRY(clv__import_begin(view, l->path, "onnx", l->opts, &g, e));
    g->file = l->map->borrowed ? NULL : l->map->data;
    reader r = {.map = *l->map,
                .opts = l->opts ? l->opts : &none,
                .sizes = &l->sizes,
                .budget = ONNX_BUDGET + l->map->size / ONNX_BUDGET_BYTES};
    model_default_opsets(r.opset);
    clv_status s = model_read(&r, g, e);
    model_reader_free(&r);
    *reached = g->n_nodes;
    if (s == CLV_OK)
        l->g = g;
    else
        clv_graph_free(g);
    return s;
}

clv_status clv__onnx_load(clv_mapping map, const char *path,
                          const clv_open_opts *opts, clv_graph **out,
                          clv_err *e)
{
    model_load l = {.map = &map, .path = path, .opts = opts};
    clv_status s = onnx_find_sizes(&l.sizes, model_attempt, &l, e);
    if (s == CLV_OK)
        *(clv_mapping *)l.g->owner = map;
    else
        clv__mapping_close(&map);
    if (s != CLV_OK)
        model_say_open(&l.sizes, e);
    arena_free(&l.sizes.mem);
    clv__free(l.sizes.of);
    return clv__import_end(l.g, s, out, e);
}

/* ONNX has no magic number. The file's name tells, or else that it begins with
 * a version and goes on with fields of a ModelProto up to the graph. */
enum { HIGHEST_IR = 99 };

/* A version, then the tag of another field of the model. A TFLite file may have
 * such an offset at its start, and then says what it is. */
bool clv__onnx_begins(const clv_mapping *map)
{
    const uint8_t *p = map->data;
    return map->size > 8 && p[0] == (PB_MODEL_IR_VERSION << 3 | WIRE_VARINT) &&
           p[1] > 0 && p[1] <= HIGHEST_IR && p[2] >> 3 > PB_MODEL_IR_VERSION &&
           p[2] >> 3 <= PB_MODEL_OPSET_IMPORT && memcmp(p + 4, "TFL3", 4) != 0;
}

bool clv__onnx_knows(const clv_mapping *map, const char *path)
{
    size_t n = strlen(path);
    if (n > 5 && !strcmp(path + n - 5, ".onnx"))
        return true;
    enum { LOOKED_AT = 16 };
    wire w = wire_over(map->data, map->size);
    for (int i = 0; i < LOOKED_AT && wire_left(&w); i++) {
        wire_field f;
        if (wire_next(&w, &f, NULL) != CLV_OK || f.number > PB_MODEL_LAST)
            return false;
        if (i == 0 && (f.number != PB_MODEL_IR_VERSION ||
                       f.type != WIRE_VARINT || f.value > HIGHEST_IR))
            return false;
        if (f.number == PB_MODEL_GRAPH)
            return f.type == WIRE_BYTES;
    }
    return false;
}
