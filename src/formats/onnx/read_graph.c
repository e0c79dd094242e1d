/* read_graph.c - GraphProto, and the nodes of functions, in passes:
 *
 *   1. all fields: where those of each kind lie; stored tensors
 *   2. inputs that are not stored tensors too (files before IR 4 list every
 *      initializer among the inputs)
 *   3. every node's outputs get their values, so that nodes may come in any
 *      order; a Constant is its value, an Identity of a stored tensor is
 *      another name for it
 *   4. declared shapes
 *   5. nodes, each after those whose outputs it reads, so that mapping
 *      functions see shapes; names that a body does not define are captured
 *      from outside
 *   6. outputs
 *
 * The message is walked anew for each pass, from the first field that matters
 * to the last, so that nothing has to be kept of it but which nodes are done.
 */
#include "formats/onnx/read.h"

#include <string.h>

void onnx_unit_free(unit *u)
{
    clv__free(u->declared);
    clv__free(u->roles);
    clv__free(u->captured);
}

/* Removes the nodes that are marked dead. */
static void graph_bury(clv_graph *g)
{
    uint32_t kept = 0;
    for (uint32_t id = 0; id < g->n_nodes; id++) {
        if (g->nodes[id].flags & ONNX_DEAD)
            continue;
        g->nodes[kept] = g->nodes[id];
        for (uint32_t i = 0; i < g->nodes[kept].n_out; i++)
            node_out(g, &g->nodes[kept], i)->producer = kept;
        kept++;
    }
    g->n_nodes = kept;
}

clv_status onnx_finish(unit *u, clv_err *e)
{
    graph_bury(u->g);
    return clv__build_finish(
        u->g, u->unordered ? CLV_BUILT_BARE : CLV_BUILT_INFERRED, e);
}

/* -- names ----------------------------------------------------------------*/

static clv_status graph_define(frame *f, text name, uint32_t v, clv_err *e)
{
    bool added;
    if (!strmap_add(&f->names, name.s, name.n, v, &added))
        return clv__nomem(e);
    if (!added)
        return clv__fail(e, CLV_FORMAT, "'%.*s' is defined twice", TEXT(name));
    return CLV_OK;
}

/* A value of an enclosing graph becomes one more input of this one. */
static clv_status graph_capture(frame *f, text name, uint32_t outer,
                                uint32_t *value, clv_err *e)
{
    unit *u = f->unit;
    const clv_value *from = &f->outer->unit->g->values[outer];
    char *own = onnx_name(&u->g->mem, name);
    uint32_t v =
        own ? clv__value_add(u->g, own, CLV_VALUE_INPUT, (clv_dtype)from->dtype)
            : CLV_NONE;
    if (v == CLV_NONE || !CLV_GROW(u->captured, u->n_captured, u->cap_captured))
        return clv__nomem(e);
    u->captured[u->n_captured++] = outer;
    value_like(&u->g->values[v], from);
    u->g->values[v].data = from->data;
    *value = v;
    return strmap_put(&f->names, name.s, name.n, v) ? CLV_OK : clv__nomem(e);
}

clv_status onnx_lookup(frame *f, text name, uint32_t *value, clv_err *e)
{
    *value = strmap_get(&f->names, name.s, name.n);
    if (*value != CLV_NONE || !f->outer)
        return CLV_OK;
    uint32_t outer;
    CLV_TRY(onnx_lookup(f->outer, name, &outer, e));
    if (outer == CLV_NONE || outer == ONNX_ABSENT ||
        f->unit == f->outer->unit) {
        *value = outer;
        return CLV_OK;
    }
    return graph_capture(f, name, outer, value, e);
}

/* Limits how many entries a table is made for at once. A file may claim more
 * than it has; a table that needs more grows. */
static size_t graph_bounded(size_t n)
{
    return n < ONNX_RESERVED ? n : ONNX_RESERVED;
}

static clv_status graph_reserve(frame *f, size_t names, clv_err *e)
{
    names = graph_bounded(names);
    return strmap_reserve(&f->names, names) &&
                   clv__graph_reserve(f->unit->g, 0, names)
               ? CLV_OK
               : clv__nomem(e);
}

/* -- 1. fields and stored tensors -----------------------------------------*/

static clv_status graph_initializer(reader *r, frame *f,
                                    const wire_field *field, clv_err *e)
{
    text name = {NULL, 0};
    uint32_t v;
    size_t at = (size_t)(field->bytes.cur - field->bytes.file);
    CLV_TRY(field->number == PB_GRAPH_INITIALIZER
                ? onnx_tensor(r, f->unit, field->bytes, &name, true, &v, e)
                : onnx_sparse(r, f->unit, field->bytes, &name, &v, e));
    clv_status s = graph_define(f, name, v, e);
    if (s == CLV_FORMAT)
        clv__err_prefix(e, "byte %zu", at);
    return s;
}

/* Where the fields of each number lie in a message. */
typedef struct fields {
    wire of[PB_GRAPH_END]; /* from the first to the end of the last */
    size_t n[PB_GRAPH_END];
} fields;

static bool graph_is_stored(uint32_t number)
{
    return number == PB_GRAPH_INITIALIZER ||
           number == PB_GRAPH_SPARSE_INITIALIZER;
}

/* Finds the fields of a graph or function, and reads a graph's stored tensors
 * on the way: their heads lie far apart, so that this is the only time. */
static clv_status graph_find_fields(reader *r, frame *graph, wire w,
                                    fields *all, clv_err *e)
{
    size_t stored = 0;
    *all = (fields){0};
    onnx_near(r, &w);
    while (wire_left(&w)) {
        wire start = w;
        wire_field field;
        CLV_TRY(onnx_next(r, &w, &field, e));
        if (field.number >= PB_GRAPH_END)
            continue;
        wire *of = &all->of[field.number];
        if (all->n[field.number]++ == 0)
            *of = start;
        of->end = w.cur;
        if (!graph || !graph_is_stored(field.number) ||
            field.type != WIRE_BYTES)
            continue;
        if (stored++ == 0) /* there are about as many as nodes */
            CLV_TRY(graph_reserve(graph, 2 * all->n[PB_GRAPH_NODE], e));
        CLV_TRY(graph_initializer(r, graph, &field, e));
    }
    return CLV_OK;
}

/* -- 2. inputs ------------------------------------------------------------*/

/* The declared shape; what it leaves open is 0 until the node says more. */
static clv_status graph_typed_input(clv_graph *g, uint32_t v,
                                    const onnx_type *t, clv_err *e)
{
    int64_t dims[CLV_MAX_RANK];
    if (t->rank > CLV_MAX_RANK)
        return CLV_OK;
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = t->dims[i] < 0 ? 0 : t->dims[i];
    return clv__value_set_shape(g, v, t->rank, dims) ? CLV_OK : clv__nomem(e);
}

static clv_status graph_input(reader *r, frame *f, wire w, clv_err *e)
{
    clv_graph *g = f->unit->g;
    size_t at = (size_t)(w.cur - w.file);
    const int64_t one = 1;
    text name;
    onnx_type t;
    CLV_TRY(onnx_value_info(w, &name, &t, e));
    uint32_t old = strmap_get(&f->names, name.s, name.n);
    if (old != CLV_NONE && g->values[old].kind != CLV_VALUE_INPUT)
        return CLV_OK; /* an initializer that may be overridden */
    char *own = onnx_name(&g->mem, name);
    uint32_t v =
        own ? clv__value_add(g, own, CLV_VALUE_INPUT, onnx_counted(r, t.dtype))
            : CLV_NONE;
    if (v == CLV_NONE)
        return clv__nomem(e);
    clv_status s = graph_define(f, name, v, e);
    if (s == CLV_FORMAT)
        clv__err_prefix(e, "byte %zu: input", at);
    if (s == CLV_OK && f->unit->typed && t.rank != CLV_NO_RANK)
        return graph_typed_input(g, v, &t, e);
    if (s == CLV_OK && f->unit->loop && g->n_inputs <= 2 && t.rank == 1)
        return clv__value_set_shape(g, v, 1, &one) ? CLV_OK : clv__nomem(e);
    if (s != CLV_OK || f->outer)
        return s; /* a body's inputs get their shapes from its node */
    return onnx_bind_input(r, g, v, &t, e);
}

static clv_status graph_inputs(reader *r, frame *f, wire w, clv_err *e)
{
    while (wire_left(&w)) {
        wire_field field;
        CLV_TRY(wire_next(&w, &field, e));
        if (field.number == PB_GRAPH_INPUT && field.type == WIRE_BYTES)
            CLV_TRY(graph_input(r, f, field.bytes, e));
    }
    f->unit->n_formal = f->unit->g->n_inputs;
    return CLV_OK;
}

/* -- 3. outputs of nodes --------------------------------------------------*/

static bool graph_is_op(const proto *p, const char *op)
{
    return text_is(p->op, op) && onnx_domain_of(p->domain) == ONNX_AI;
}

/* The attribute sparse_value. */
static clv_status graph_sparse_value(reader *r, frame *f, const proto *p,
                                     uint32_t *v, clv_err *e)
{
    for (uint32_t i = 0; i < p->n_attrs; i++)
        for (wire w = p->attrs[i]; wire_left(&w);) {
            wire_field field;
            CLV_TRY(wire_next(&w, &field, e));
            text name = {"", 0};
            if (field.number == PB_ATTR_SPARSE && field.type == WIRE_BYTES)
                CLV_TRY(onnx_sparse(r, f->unit, field.bytes, &name, v, e));
        }
    return CLV_OK;
}

/* A Constant's value from whichever attribute holds it. */
static clv_status graph_constant(reader *r, frame *f, const proto *p,
                                 clv_err *e)
{
    clv_graph *g = f->unit->g;
    text name = p->n_out ? p->outs[0] : (text){"", 0};
    clv_attr room[ONNX_ATTR_ROOM];
    draft d = {.r = r, .f = f, .p = p, .g = g, .attrs = room};
    CLV_TRY(onnx_attrs_read(&d, e));
    uint32_t v = CLV_NONE;
    for (uint32_t i = 0; i < d.n_attrs; i++)
        if (d.attrs[i].type == CLV_ATTR_TENSOR)
            v = d.attrs[i].u.value;
    if (v == CLV_NONE)
        CLV_TRY(graph_sparse_value(r, f, p, &v, e));
    if (v == CLV_NONE)
        CLV_TRY(onnx_const_attr(g, d.attrs, d.n_attrs, &v, e));
    if (v == CLV_NONE)
        return wire_fail(&p->all, e, "a Constant without a value");
    g->values[v].name = onnx_name(&g->mem, name);
    if (!g->values[v].name)
        return clv__nomem(e);
    return name.n ? graph_define(f, name, v, e) : CLV_OK;
}

/* Makes the output of an Identity another name for the stored tensor that it
 * copies, and sets *done. */
static clv_status graph_alias(frame *f, const proto *p, bool *done, clv_err *e)
{
    if (p->n_in != 1 || p->n_out != 1 || !graph_is_op(p, "Identity"))
        return CLV_OK;
    uint32_t v = strmap_get(&f->names, p->ins[0].s, p->ins[0].n);
    if (v >= ONNX_ABSENT || !value_is_weight(&f->unit->g->values[v]))
        return CLV_OK;
    *done = true;
    return graph_define(f, p->outs[0], v, e);
}

/* Whether the inputs of a node are defined before it. */
static bool graph_in_order(const frame *f, const proto *p)
{
    for (uint32_t i = 0; i < p->n_in; i++) {
        bool found = !p->ins[i].n;
        for (const frame *at = f; at && !found; at = at->outer)
            found =
                strmap_get(&at->names, p->ins[i].s, p->ins[i].n) != CLV_NONE;
        if (!found)
            return false;
    }
    return true;
}

static clv_status graph_declare_node(reader *r, frame *f, const proto *p,
                                     bool *done, clv_err *e)
{
    clv_graph *g = f->unit->g;
    CLV_TRY(graph_alias(f, p, done, e));
    f->shuffled |= !graph_in_order(f, p);
    if (*done)
        return CLV_OK;
    if ((*done = graph_is_op(p, "Constant")))
        return graph_constant(r, f, p, e);
    for (uint32_t i = 0; i < p->n_out; i++) {
        text name = p->outs[i];
        if (!name.n)
            continue;
        uint32_t v = f->fn ? strmap_get(&f->results, name.s, name.n) : CLV_NONE;
        if (v == CLV_NONE) {
            char *own = onnx_name(&g->mem, name);
            v = own ? clv__value_add(g, own, CLV_VALUE_ACTIVATION, CLV_NODTYPE)
                    : CLV_NONE;
        }
        if (v == CLV_NONE)
            return clv__nomem(e);
        CLV_TRY(graph_define(f, name, v, e));
    }
    return CLV_OK;
}

/* The nodes of a graph or a function, and which of them are done. */
typedef struct nodes {
    wire w;
    uint32_t number; /* of the field they are */
    bool *done;
    size_t n;
} nodes;

static clv_status graph_find_nodes(reader *r, const fields *all,
                                   uint32_t number, nodes *out, clv_err *e)
{
    size_t n = all->n[number];
    *out = (nodes){all->of[number], number, arena_zalloc(&r->mem, n), n};
    return out->done ? CLV_OK : clv__nomem(e);
}

static size_t graph_nodes_left(const nodes *all)
{
    size_t left = 0;
    for (size_t i = 0; i < all->n; i++)
        left += !all->done[i];
    return left;
}

/* Runs `fn` on every node that is not done. */
typedef clv_status node_fn(reader *r, frame *f, const proto *p, bool *done,
                           clv_err *e);

static clv_status graph_one_node(reader *r, frame *f, wire w, node_fn *fn,
                                 bool *done, clv_err *e)
{
    arena_mark mark = arena_save(&r->mem);
    proto p;
    CLV_TRY(onnx_node_read(r, w, &p, e));
    clv_status s = fn(r, f, &p, done, e);
    arena_rewind(&r->mem, mark);
    if (s == CLV_FORMAT && e && strncmp(e->msg, "byte ", 5))
        clv__err_prefix(e, "byte %zu: node '%.*s'", p.offset,
                        TEXT(p.name.n ? p.name : p.op));
    return s;
}

static clv_status graph_each_node(reader *r, frame *f, const nodes *all,
                                  node_fn *fn, clv_err *e)
{
    bool *next = all->done;
    for (wire w = all->w; wire_left(&w);) {
        wire_field field;
        CLV_TRY(wire_next(&w, &field, e));
        if (field.number != all->number || field.type != WIRE_BYTES)
            continue;
        bool *done = next++;
        if (!*done)
            CLV_TRY(graph_one_node(r, f, field.bytes, fn, done, e));
    }
    return CLV_OK;
}

/* -- 5. nodes -------------------------------------------------------------*/

static clv_status graph_add_node(reader *r, frame *f, const proto *p,
                                 bool *done, clv_err *e)
{
    *done = true;
    if (r->budget-- == 0)
        return clv__fail(e, CLV_FORMAT,
                         "the functions of this model expand without measure");
    bool own = onnx_domain_of(p->domain) == ONNX_CLEAVE &&
               onnx_op_find(p->domain, p->op);
    onnx_function *fn = own ? NULL : onnx_function_find(r, p);
    if (fn)
        return onnx_inline(r, f, p, fn, e);
    return onnx_node_add(r, f, p, e);
}

/* Nodes that are not in order: where each lies, and the nodes whose outputs it
 * reads, read[first[i]] to read[first[i + 1] - 1]. */
typedef struct shuffled {
    wire *at;
    size_t n, n_read;
    uint32_t *first, *read;
    strmap made; /* names of outputs to nodes */
} shuffled;

static clv_status graph_find_shuffled(reader *r, const nodes *all, shuffled *s,
                                      clv_err *e)
{
    bool *next = all->done;
    s->at = arena_array(&r->mem, all->n + 1, sizeof *s->at);
    s->first = arena_array(&r->mem, all->n + 1, sizeof *s->first);
    if (!s->at || !s->first)
        return clv__nomem(e);
    for (wire w = all->w; wire_left(&w);) {
        wire_field field;
        CLV_TRY(wire_next(&w, &field, e));
        if (field.number != all->number || field.type != WIRE_BYTES || *next++)
            continue;
        arena_mark mark = arena_save(&r->mem);
        proto p;
        CLV_TRY(onnx_node_read(r, field.bytes, &p, e));
        for (uint32_t i = 0; i < p.n_out; i++)
            if (p.outs[i].n &&
                !strmap_put(&s->made, p.outs[i].s, p.outs[i].n, (uint32_t)s->n))
                return clv__nomem(e);
        s->n_read += p.n_in;
        s->at[s->n++] = field.bytes;
        arena_rewind(&r->mem, mark);
    }
    return CLV_OK;
}

static clv_status graph_find_reads(reader *r, shuffled *s, clv_err *e)
{
    uint32_t n = 0;
    s->read = arena_array(&r->mem, s->n_read + 1, sizeof *s->read);
    if (!s->read)
        return clv__nomem(e);
    for (size_t i = 0; i < s->n; i++) {
        arena_mark mark = arena_save(&r->mem);
        proto p;
        CLV_TRY(onnx_node_read(r, s->at[i], &p, e));
        s->first[i] = n;
        for (uint32_t k = 0; k < p.n_in; k++) {
            uint32_t from = strmap_get(&s->made, p.ins[k].s, p.ins[k].n);
            if (p.ins[k].n && from != CLV_NONE)
                s->read[n++] = from;
        }
        arena_rewind(&r->mem, mark);
    }
    s->first[s->n] = n;
    return CLV_OK;
}

/* Adds the nodes in the order of the file, each after what it reads: a search
 * in depth, whose path is `path` and whose next edges are `edge`. A cycle is
 * cut anywhere; the graph's order complains of it later. */
static clv_status graph_add_in_order(reader *r, frame *f, const shuffled *s,
                                     clv_err *e)
{
    uint32_t *path = arena_array(&r->mem, s->n + 1, sizeof *path);
    uint32_t *edge = arena_array(&r->mem, s->n + 1, sizeof *edge);
    bool *seen = arena_zalloc(&r->mem, s->n + 1), done;
    if (!path || !edge || !seen)
        return clv__nomem(e);
    memcpy(edge, s->first, s->n * sizeof *edge);
    for (uint32_t i = 0; i < s->n; i++) {
        size_t depth = 0;
        if (!seen[i])
            path[depth++] = i;
        seen[i] = true;
        while (depth) {
            uint32_t at = path[depth - 1];
            if (edge[at] < s->first[at + 1]) {
                uint32_t from = s->read[edge[at]++];
                if (!seen[from])
                    path[depth++] = from;
                seen[from] = true;
                continue;
            }
            CLV_TRY(graph_one_node(r, f, s->at[at], graph_add_node, &done, e));
            depth--;
        }
    }
    return CLV_OK;
}

static clv_status graph_add_nodes(reader *r, frame *f, const nodes *all,
                                  clv_err *e)
{
    if (!f->shuffled)
        return graph_each_node(r, f, all, graph_add_node, e);
    shuffled s = {0};
    clv_status st = graph_find_shuffled(r, all, &s, e);
    if (st == CLV_OK)
        st = graph_find_reads(r, &s, e);
    strmap_free(&s.made);
    return st == CLV_OK ? graph_add_in_order(r, f, &s, e) : st;
}

clv_status onnx_nodes(reader *r, frame *f, wire w, uint32_t number, clv_err *e)
{
    fields all;
    nodes own;
    CLV_TRY(graph_find_fields(r, NULL, w, &all, e));
    CLV_TRY(graph_find_nodes(r, &all, number, &own, e));
    CLV_TRY(graph_each_node(r, f, &own, graph_declare_node, e));
    return graph_add_nodes(r, f, &own, e);
}

/* -- 4. and 6. ------------------------------------------------------------*/

static clv_status graph_declared_shapes(reader *r, frame *f, const fields *all,
                                        uint32_t number, clv_err *e)
{
    for (wire w = all->of[number]; wire_left(&w);) {
        wire_field field;
        CLV_TRY(wire_next(&w, &field, e));
        if (field.number != number || field.type != WIRE_BYTES)
            continue;
        text name;
        onnx_type t;
        CLV_TRY(onnx_value_info(field.bytes, &name, &t, e));
        uint32_t v = strmap_get(&f->names, name.s, name.n);
        if (v != CLV_NONE)
            CLV_TRY(onnx_declare(r, f->unit, v, &t, e));
    }
    return CLV_OK;
}

static clv_status graph_outputs(frame *f, wire w, clv_err *e)
{
    while (wire_left(&w)) {
        wire_field field;
        CLV_TRY(wire_next(&w, &field, e));
        if (field.number != PB_GRAPH_OUTPUT || field.type != WIRE_BYTES)
            continue;
        text name;
        onnx_type t;
        uint32_t v;
        CLV_TRY(onnx_value_info(field.bytes, &name, &t, e));
        CLV_TRY(onnx_lookup(f, name, &v, e));
        if (v >= ONNX_ABSENT)
            return clv__fail(
                e, CLV_FORMAT, "byte %zu: output '%.*s' is not defined",
                (size_t)(field.bytes.cur - field.bytes.file), TEXT(name));
        if (!clv__graph_output(f->unit->g, v))
            return clv__nomem(e);
    }
    return CLV_OK;
}

clv_status onnx_graph(reader *r, frame *f, wire w, clv_err *e)
{
    fields all;
    nodes own;
    CLV_TRY(graph_find_fields(r, f, w, &all, e));
    size_t names = all.n[PB_GRAPH_NODE] + all.n[PB_GRAPH_INITIALIZER] +
                   all.n[PB_GRAPH_INPUT];
    CLV_TRY(graph_reserve(f, names, e));
    if (!f->outer)
        CLV_TRY(onnx_learn_symbols(r, f, all.of[PB_GRAPH_INPUT], e));
    CLV_TRY(graph_inputs(r, f, all.of[PB_GRAPH_INPUT], e));
    CLV_TRY(graph_find_nodes(r, &all, PB_GRAPH_NODE, &own, e));
    CLV_TRY(graph_each_node(r, f, &own, graph_declare_node, e));
    CLV_TRY(graph_declared_shapes(r, f, &all, PB_GRAPH_OUTPUT, e));
    CLV_TRY(graph_declared_shapes(r, f, &all, PB_GRAPH_VALUE_INFO, e));
    if (!clv__graph_reserve(f->unit->g, graph_bounded(graph_nodes_left(&own)),
                            graph_bounded(names)))
        return clv__nomem(e);
    CLV_TRY(graph_add_nodes(r, f, &own, e));
    if (!f->outer)
        CLV_TRY(onnx_signature(f, all.of[PB_GRAPH_METADATA], e));
    return graph_outputs(f, all.of[PB_GRAPH_OUTPUT], e);
}

/* -- bodies ---------------------------------------------------------------*/

static clv_status graph_append_captured(draft *d, const unit *u, clv_err *e)
{
    if (u->n_captured == 0)
        return CLV_OK;
    if (d->n_in + u->n_captured > ONNX_MAX_EDGES)
        return clv__fail(e, CLV_FORMAT,
                         "the body uses %zu outer values; with the inputs of "
                         "its node at most %d",
                         u->n_captured, ONNX_MAX_EDGES);
    uint32_t n = d->n_in + (uint32_t)u->n_captured;
    uint32_t *ins = arena_array(&d->r->mem, n + ONNX_MORE_INS, sizeof *ins);
    if (!ins)
        return clv__nomem(e);
    if (d->n_in)
        memcpy(ins, d->ins, d->n_in * sizeof *ins);
    memcpy(ins + d->n_in, u->captured, u->n_captured * sizeof *ins);
    d->ins = ins;
    d->n_in = n;
    return CLV_OK;
}

clv_status onnx_body(draft *d, wire w, clv_graph **body, clv_err *e)
{
    if (d->f->depth >= ONNX_MAX_DEPTH)
        return clv__fail(e, CLV_FORMAT, "bodies nested deeper than %d",
                         ONNX_MAX_DEPTH);
    CLV_TRY(clv__build_body(d->g, d->name ? d->name : "", body, e));
    unit u = {.g = *body,
              .unordered = d->op != CLV_OP_IF || d->f->unit->unordered,
              .branch = d->op == CLV_OP_IF,
              .each = d->op == CLV_OP_SEQUENCE_MAP,
              .typed = d->op == CLV_OP_BEAM_SEARCH,
              .loop = d->op == CLV_OP_LOOP};
    frame f = {.unit = &u,
               .outer = d->f,
               .bound = d->f->bound,
               .n_bound = d->f->n_bound,
               .caller = d->f->caller,
               .opset = d->f->opset,
               .depth = d->f->depth + 1};
    clv_status s = onnx_graph(d->r, &f, w, e);
    graph_bury(u.g);
    if (s == CLV_OK)
        s = graph_append_captured(d, &u, e);
    strmap_free(&f.names);
    onnx_unit_free(&u);
    return s;
}

/* The message of graph attribute `name`; false when there is none. */
static clv_status graph_attr(const draft *d, const char *name, wire *w,
                             bool *found, clv_err *e)
{
    *found = false;
    for (uint32_t i = 0; i < d->p->n_attrs && !*found; i++) {
        onnx_attr a;
        CLV_TRY(onnx_attr_read(d->p->attrs[i], &a, e));
        *found = a.type == PB_TYPE_GRAPH && text_is(a.name, name);
        *w = a.graph;
    }
    return CLV_OK;
}

/* The name of the only input or output of a graph; CLV_FORMAT: not one. */
static clv_status graph_only(uint32_t number, const fields *all, text *name,
                             clv_err *e)
{
    onnx_type t;
    if (all->n[number] != 1)
        return clv__fail(e, CLV_FORMAT,
                         "a graph of %zu inputs or outputs, not one",
                         all->n[number]);
    for (wire w = all->of[number]; wire_left(&w);) {
        wire_field field;
        CLV_TRY(wire_next(&w, &field, e));
        if (field.number == number && field.type == WIRE_BYTES)
            return onnx_value_info(field.bytes, name, &t, e);
    }
    return clv__fail(e, CLV_FORMAT, "a graph without inputs or outputs");
}

static clv_status graph_inline(reader *r, frame *f, wire w, uint32_t *value,
                               clv_err *e)
{
    fields all;
    nodes own;
    text in, out;
    CLV_TRY(graph_find_fields(r, f, w, &all, e));
    CLV_TRY(graph_only(PB_GRAPH_INPUT, &all, &in, e));
    CLV_TRY(graph_only(PB_GRAPH_OUTPUT, &all, &out, e));
    CLV_TRY(graph_define(f, in, *value, e));
    CLV_TRY(graph_find_nodes(r, &all, PB_GRAPH_NODE, &own, e));
    CLV_TRY(graph_each_node(r, f, &own, graph_declare_node, e));
    CLV_TRY(graph_add_nodes(r, f, &own, e));
    CLV_TRY(onnx_lookup(f, out, value, e));
    return *value < ONNX_ABSENT
               ? CLV_OK
               : clv__fail(e, CLV_FORMAT, "output '%.*s' is not defined",
                           TEXT(out));
}

clv_status draft_inline(draft *d, const char *name, uint32_t *value, clv_err *e)
{
    wire w;
    bool found;
    CLV_TRY(graph_attr(d, name, &w, &found, e));
    if (!found)
        return CLV_OK;
    if (d->f->depth >= ONNX_MAX_DEPTH)
        return clv__fail(e, CLV_FORMAT, "bodies nested deeper than %d",
                         ONNX_MAX_DEPTH);
    frame f = {.unit = d->f->unit,
               .outer = d->f,
               .bound = d->f->bound,
               .n_bound = d->f->n_bound,
               .caller = d->f->caller,
               .opset = d->f->opset,
               .scope = d->scope,
               .prefix = {d->name, d->name ? strlen(d->name) : 0},
               .depth = d->f->depth + 1};
    clv_status s = graph_inline(d->r, &f, w, value, e);
    strmap_free(&f.names);
    return s;
}
