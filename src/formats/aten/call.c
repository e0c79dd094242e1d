/* call.c - one call becomes one node.
 *
 *   1. pick     x[1] of a list of results is one of them: no node is made
 *   2. read     the row says which operator, inputs and attributes it is
 *   3. build    the node, its results as torch described them
 *   4. note     what an operator in place wrote to: whoever names that tensor
 *               later means what was written */
#include "core/limits.h"
#include "formats/aten/row.h"

#include <stdio.h>
#include <string.h>

/* -- what is made ---------------------------------------------------------*/

static bool call_made(aten_builder *b, uint32_t v)
{
    if (!CLV_GROW(b->made, b->n_made, b->cap_made))
        return false;
    b->made[b->n_made++] = v;
    return true;
}

/* The integer of a bound of x[a:b], counted from the end when it is negative,
 * within 0 and n. */
static int64_t call_bound(const aten_arg *arg, int64_t otherwise, int64_t n)
{
    int64_t i = arg->kind == ATEN_INT ? arg->u.i : otherwise;
    if (i < 0)
        i += n;
    return i < 0 ? 0 : i > n ? n : i;
}

/* x[1] or x[1:3] of a list: puts those of its tensors in b->made. Leaves it
 * empty for anything else. */
static bool call_pick(aten_builder *b, const aten_call *c)
{
    if (c->n_args != 2 || c->args[0].kind != ATEN_LIST ||
        c->args[1].kind != ATEN_LIST || c->args[1].n != 1)
        return true;
    const aten_arg *list = &c->args[0], *at = c->args[1].u.items;
    int64_t n = list->n, from = 0, to = 0;
    if (at->kind == ATEN_INT && at->u.i >= -n && at->u.i < n) {
        from = call_bound(at, 0, n);
        to = from + 1;
    } else if (at->kind == ATEN_SLICE && at->n == 3 &&
               at->u.items[2].kind == ATEN_NONE) {
        from = call_bound(&at->u.items[0], 0, n);
        to = call_bound(&at->u.items[1], n, n);
    }
    for (int64_t i = from; i < to; i++)
        if (list->u.items[i].kind == ATEN_TENSOR &&
            !call_made(b, list->u.items[i].u.value))
            return false;
    return true;
}

/* -- in place -------------------------------------------------------------*/

uint32_t clv__aten_latest(aten_builder *b, uint32_t v)
{
    while (v < b->n_latest && b->latest[v] != CLV_NONE) {
        uint32_t next = b->latest[v];
        if (next < b->n_latest && b->latest[next] != CLV_NONE)
            b->latest[v] = b->latest[next]; /* shorter for the next reader */
        v = next;
    }
    return v;
}

/* Whether the name says that the call writes to its first tensor: torch's names
 * end in _, Python's operators begin with i. */
static bool call_in_place(const char *target)
{
    static const char *const names[] = {"iadd", "isub", "imul",    "itruediv",
                                        "iand", "ior",  "imatmul", "setitem"};
    const char *name = strncmp(target, "aten.", 5) ? target : target + 5;
    const char *dot = strchr(name, '.');
    size_t n = dot ? (size_t)(dot - name) : strlen(name);
    bool yes = n > 1 && name[n - 1] == '_' && name[0] != '_' &&
               strcmp(name, "and_") && strcmp(name, "or_");
    for (size_t i = 0; !yes && i < sizeof names / sizeof *names; i++)
        yes = *names[i] == *name && !strcmp(names[i], name);
    return yes;
}

/* Whoever reads value v later reads `now`. */
static bool call_replace(aten_builder *b, uint32_t v, uint32_t now)
{
    if (!CLV_RESERVE(b->latest, v + 1u, b->cap_latest))
        return false;
    while (b->n_latest <= v)
        b->latest[b->n_latest++] = CLV_NONE;
    b->latest[v] = now;
    return true;
}

/* The attributes of the operator that puts back what a slice or a selection
 * took out. False when it is neither, or takes from several axes at once. */
static bool call_put_back(const clv_node *n, clv_attr *attrs, uint32_t *count,
                          clv_op *op)
{
    static const clv_attr_key keys[] = {CLV_A_AXES, CLV_A_START, CLV_A_END,
                                        CLV_A_STEP, CLV_A_AXIS,  CLV_A_INDEX};
    bool slice = n->op == CLV_OP_SLICE;
    *op = slice ? CLV_OP_SLICE_SCATTER : CLV_OP_SELECT_SCATTER;
    *count = 0;
    if ((!slice && n->op != CLV_OP_SELECT) || n->counted_only || n->n_in != 1)
        return false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const clv_attr *from = attr_get(n, keys[i]);
        if (!from)
            continue;
        bool list = from->type == CLV_ATTR_INTS;
        if ((list && from->n != 1) || (!list && from->type != CLV_ATTR_INT))
            return false;
        clv_attr_key key = keys[i] == CLV_A_AXES ? CLV_A_AXIS : keys[i];
        attrs[*count] = (clv_attr){.name = clv__attr_name(key),
                                   .key = (uint8_t)key,
                                   .type = CLV_ATTR_INT};
        attrs[(*count)++].u.i = list ? from->u.ints[0] : from->u.i;
    }
    return true;
}

/* What was written to a part of a tensor was written to the tensor: adds the
 * node that puts the part `now` back, for every tensor that v is a part of. */
static bool call_write_through(aten_builder *b, uint32_t v, uint32_t now)
{
    enum { PARTS_OF_PARTS = 64 };
    clv_graph *g = b->g;
    for (int i = 0; i < PARTS_OF_PARTS; i++) {
        clv_attr attrs[4];
        uint32_t n_attrs, from = g->values[v].producer;
        clv_op op;
        if (from == CLV_NONE ||
            !call_put_back(&g->nodes[from], attrs, &n_attrs, &op))
            return true;
        uint32_t whole = node_ins(g, &g->nodes[from])[0];
        uint32_t ins[2] = {clv__aten_latest(b, whole), now};
        uint32_t id = clv__node_add(g, op, g->nodes[b->node].name,
                                    g->nodes[b->node].scope, ins, 2, NULL, 1);
        if (id == CLV_NONE)
            return false;
        g->nodes[id].origin = g->nodes[b->node].origin;
        g->nodes[id].source = g->nodes[b->node].source;
        now = node_outs(g, &g->nodes[id])[0];
        value_like(&g->values[now], &g->values[whole]);
        if (!clv__aten_set_attrs(g, &g->nodes[id], attrs, n_attrs, "") ||
            !call_replace(b, ins[0], now))
            return false;
        b->writes[b->n_writes - 1].node = id;
        v = ins[0];
    }
    return true;
}

/* Whoever reads value v later reads what the node made. */
static bool call_note_write(aten_builder *b, uint32_t v, uint32_t node)
{
    uint32_t now = node_outs(b->g, &b->g->nodes[node])[0];
    if (!CLV_GROW(b->writes, b->n_writes, b->cap_writes) ||
        !call_replace(b, v, now))
        return false;
    b->writes[b->n_writes++] = (struct aten_write){node, v};
    return call_write_through(b, v, now);
}

/* The value of the first argument; CLV_NONE when it is no tensor. */
static uint32_t call_first(const aten_reading *r)
{
    const aten_call *c = r->call;
    return c->n_args && c->args[0].kind == ATEN_TENSOR
               ? clv__aten_latest(r->b, c->args[0].u.value)
               : CLV_NONE;
}

/* -- reading --------------------------------------------------------------*/

static void call_all_tensors(aten_reading *r)
{
    for (uint32_t i = 0; i < r->call->n_args; i++)
        clv__aten_put_tensors(r, &r->call->args[i]);
    for (uint32_t i = 0; i < r->call->n_named; i++)
        clv__aten_put_tensors(r, &r->call->named[i].value);
}

/* Starts to read a call. Attributes are not cleared: n_attrs of them count. */
static void call_begin(aten_reading *r, aten_builder *b, const aten_call *c)
{
    r->b = b;
    r->call = c;
    r->row = NULL;
    r->op = CLV_OP_UNKNOWN;
    r->ins = NULL;
    r->n_ins = r->n_attrs = 0;
    r->cap_ins = 0;
    r->writes = r->first_only = r->common = r->no_memory = false;
    r->why[0] = '\0';
}

/* A tensor that went into no attribute is still waited for: a call that is
 * counted only keeps it as one more input, where its operator has room. */
static void call_keep_edges(aten_reading *r)
{
    aten_reading all;
    if (!r->row || !r->why[0])
        return;
    call_begin(&all, r->b, r->call);
    call_all_tensors(&all);
    r->no_memory |= all.no_memory;
    for (uint32_t i = 0; i < all.n_ins; i++) {
        bool seen = r->n_ins >= clv__schema_of(r->op)->max_in;
        for (uint32_t k = 0; !seen && k < r->n_ins; k++)
            seen = r->ins[k] == all.ins[i];
        if (!seen)
            clv__aten_put_input(r, all.ins[i]);
    }
    clv__free(all.ins);
}

static void call_read(aten_reading *r, const char *plain)
{
    if (!r->row)
        call_all_tensors(r);
    else if (!strcmp(plain, "getitem"))
        clv__aten_read_index(r);
    else
        clv__aten_read(r);
    if (r->first_only && r->call->n_results > 1 && r->call->others_used)
        clv__aten_counted(r, "only its first result can be made");
    call_keep_edges(r);
}

/* -- building -------------------------------------------------------------*/

/* The last size of a value; 0 when it is not known. */
static int64_t call_width(const clv_value *v)
{
    return v->rank && v->rank != CLV_NO_RANK ? v->dims[v->rank - 1] : 0;
}

/* An attribute whose value the result gives: the shape of x.view(x.size(0),
 * -1), the type of x.to(y). `size` is the shape without batch and channels,
 * `hidden` the width of a recurrent layer's last state, `proj` that of an
 * LSTM's output where it is another, `bins` the length of a histogram. */
static clv_attr call_result_attr(const clv_graph *g, const clv_node *n,
                                 clv_attr_key key)
{
    const clv_value *y = node_out(g, n, 0);
    const clv_value *state = node_out(g, n, n->n_out - 1u);
    clv_attr a = {.name = clv__attr_name(key), .key = (uint8_t)key};
    uint8_t skip = key == CLV_A_SIZE && y->rank > 2 ? 2 : 0;
    a.type = CLV_ATTR_INT;
    if (key == CLV_A_DTYPE) {
        a.u.i = y->dtype;
    } else if (key == CLV_A_BINS) {
        a.u.i = call_width(y);
    } else if (key == CLV_A_HIDDEN) {
        a.u.i = call_width(state);
    } else if (key == CLV_A_PROJ) {
        int64_t given = n->n_out > 1 ? call_width(node_out(g, n, 1)) : 0;
        a.u.i = given == call_width(state) ? 0 : given;
    } else {
        a.type = CLV_ATTR_INTS;
        a.n = (uint32_t)(y->rank - skip);
        a.u.ints = y->dims + skip;
    }
    return a;
}

static void call_put_result_attrs(aten_reading *r, const clv_node *n)
{
    const clv_graph *g = r->b->g;
    bool scaled = false; /* the scales say exactly what the size rounds */
    if (!r->row || !r->row->asks_result)
        return;
    for (uint32_t i = 0; i < r->n_attrs; i++)
        scaled |= r->attrs[i].key == CLV_A_SCALES;
    for (uint32_t i = 0; i < r->row->n_words; i++) {
        const aten_word *w = &r->row->words[i];
        clv_attr_key key = w->kind == WORD_RESULT ? w->key : CLV_A_OTHER;
        if (key == CLV_A_OTHER || node_out(g, n, 0)->rank == CLV_NO_RANK ||
            r->n_attrs == ATEN_MAX_ATTRS || (key == CLV_A_SIZE && scaled))
            continue;
        r->attrs[r->n_attrs++] = call_result_attr(g, n, key);
    }
}

/* A call from a layer of torch.nn goes by the layer's path, any other inside a
 * module by path and operator, the rest by torch's own name. */
static char *call_name(const aten_reading *r, const char *plain)
{
    const aten_call *c = r->call;
    arena *mem = &r->b->g->mem;
    const char *path = c->path ? c->path : "", *cls = c->cls ? c->cls : "";
    if (!path[0])
        return arena_strndup(mem, c->name, strlen(c->name));
    size_t n = strlen(path), more = strlen(plain);
    if (c->module || strstr(cls, "torch.nn.modules."))
        return arena_strndup(mem, path, n);
    char *own = arena_alloc(mem, n + more + 2);
    if (!own)
        return NULL;
    memcpy(own, path, n);
    own[n] = '.';
    memcpy(own + n + 1, plain, more + 1);
    return own;
}

static bool call_set_type(clv_graph *g, uint32_t v, const aten_type *t)
{
    if (t->rank > CLV_MAX_RANK)
        return true;
    g->values[v].dtype = (uint8_t)t->dtype;
    return clv__value_set_shape(g, v, t->rank, t->dims);
}

/* x[i] = y returns nothing; what it makes is another x. */
static void call_set_like_first(const aten_reading *r, clv_value *y)
{
    uint32_t v = call_first(r);
    if (v != CLV_NONE) {
        const clv_value *x = &r->b->g->values[v];
        y->dtype = x->dtype;
        y->rank = x->rank;
        y->dims = x->dims;
    }
}

/* How many results the call has. */
static uint32_t call_count(const aten_reading *r)
{
    uint32_t said = r->b->infer ? clv__aten_count(r) : 0;
    return said ? said : r->call->n_results;
}

/* Types that attributes are read off, where nobody saw the results. */
static bool call_set_untold(const aten_reading *r, const clv_node *n,
                            const char *plain)
{
    int64_t dims[CLV_MAX_RANK];
    for (uint32_t i = 0; i < n->n_out; i++) {
        aten_type t = clv__aten_untold(r, plain, i, dims);
        if (t.rank != CLV_NO_RANK &&
            !call_set_type(r->b->g, node_outs(r->b->g, n)[i], &t))
            return false;
    }
    return true;
}

/* Adds the node of a call that was read, its results as torch saw them. */
static bool call_add(aten_reading *r, const char *plain)
{
    clv_graph *g = r->b->g;
    const aten_call *c = r->call;
    const char *name = call_name(r, plain);
    uint32_t scope = clv__scope_path(g, c->path ? c->path : "");
    uint32_t told = call_count(r), n_out = told ? told : 1;
    if (!name || scope == CLV_NONE)
        return false;
    uint32_t id =
        clv__node_add(g, r->op, name, scope, r->ins, r->n_ins, NULL, n_out);
    if (id == CLV_NONE)
        return false;
    clv_node *n = &g->nodes[id];
    n->origin = arena_strndup(&g->mem, c->target, strlen(c->target));
    if (c->source)
        n->source = arena_strndup(&g->mem, c->source, strlen(c->source));
    for (uint32_t i = 0; i < c->n_results && c->results; i++)
        if (!call_set_type(g, node_outs(g, n)[i], &c->results[i]))
            return false;
    if (r->b->infer && !call_set_untold(r, n, plain))
        return false;
    if (!strcmp(plain, "setitem"))
        call_set_like_first(r, node_out(g, n, 0));
    call_put_result_attrs(r, n);
    r->b->node = id;
    for (uint32_t i = 0; i < n_out; i++)
        if (!call_made(r->b, node_outs(g, n)[i]))
            return false;
    return n->origin && clv__aten_set_attrs(g, n, r->attrs, r->n_attrs, r->why);
}

static bool call_build(aten_builder *b, const aten_call *c)
{
    char plain[256];
    aten_reading r;
    call_begin(&r, b, c);
    clv__aten_plain(c->target, plain, sizeof plain);
    if (!strcmp(plain, "getitem") && !call_pick(b, c))
        return false;
    if (b->n_made)
        return true;
    if (!clv__aten_find(b, c, plain, &r.row))
        return false;
    r.op = r.row ? r.row->op : CLV_OP_UNKNOWN;
    call_read(&r, plain);
    if (r.row && !r.no_memory)
        clv__aten_promote(&r);
    uint32_t first = call_first(&r);
    bool ok = !r.no_memory && call_add(&r, plain);
    if (ok && first != CLV_NONE && (r.writes || call_in_place(c->target)))
        ok = call_note_write(b, first, b->node);
    clv__free(r.ins);
    return ok;
}

/* -- entry ----------------------------------------------------------------*/

/* Whether the graph has every value that the argument names. */
static bool call_knows(const clv_graph *g, const aten_arg *arg)
{
    bool ok = arg->kind != ATEN_TENSOR || arg->u.value < g->n_values;
    for (uint32_t i = 0; ok && arg->kind == ATEN_LIST && i < arg->n; i++)
        ok = call_knows(g, &arg->u.items[i]);
    return ok;
}

/* Infers the node just made. A row that reads attributes off a result which
 * nobody saw leaves it without some: the node is unknown then. */
static clv_status call_infer(aten_builder *b, const aten_call *call, clv_err *e)
{
    clv_graph *g = b->g;
    clv_node *n = &g->nodes[b->node];
    clv_err why = {0};
    clv_status s = clv__infer_node(g, b->node, &why);
    if (s == CLV_SHAPE || clv__is_final(s))
        return clv__fail(e, s, "%s", why.msg);
    if (s != CLV_OK) {
        n->op = CLV_OP_UNKNOWN;
        if (!clv__graph_warn(g, "%s", why.msg))
            return clv__nomem(e);
    }
    for (uint32_t i = 0; n->counted_only && i < n->n_out; i++)
        node_out(g, n, i)->data = NULL;
    clv_dtype asked = clv__aten_asked(call);
    if (asked != CLV_NODTYPE && n->n_out)
        node_out(g, n, 0)->dtype = (uint8_t)asked;
    return CLV_OK;
}

clv_status clv__aten_call(aten_builder *b, const aten_call *call, clv_err *e)
{
    bool known = true;
    b->node = CLV_NONE;
    b->n_made = 0;
    for (uint32_t i = 0; i < call->n_args; i++)
        known = known && call_knows(b->g, &call->args[i]);
    for (uint32_t i = 0; i < call->n_named; i++)
        known = known && call_knows(b->g, &call->named[i].value);
    for (uint32_t i = 0; i < call->n_members; i++)
        known = known && call_knows(b->g, &call->members[i].value);
    if (!known)
        return clv__fail(e, CLV_FORMAT, "%s '%s' reads no value of the graph",
                         call->target, call->name);
    bool done;
    CLV_TRY(clv__aten_several(b, call, &done, e));
    if (done)
        return CLV_OK;
    if (!call_build(b, call))
        return clv__nomem(e);
    return b->infer && b->node != CLV_NONE ? call_infer(b, call, e) : CLV_OK;
}

void clv__aten_free(aten_builder *b)
{
    clv__free(b->made);
    clv__free(b->writes);
    clv__free(b->latest);
    clv__aten_rows_free(b->rows);
    *b = (aten_builder){.g = b->g, .node = CLV_NONE};
}

/* -- paths ----------------------------------------------------------------*/

void clv__aten_path(char *path)
{
    char *to = path;
    const char *p = path;
    if (!strncmp(p, "L['self']", 9) || !strncmp(p, "L['fn']", 7))
        p = strchr(p, ']') + 1;
    while (*p) {
        if (!strncmp(p, "._modules[", 10))
            p += 9;
        if (*p == '[' || *p == '.') {
            if (to > path)
                *to++ = '.';
            p++;
        } else if (*p == ']' || *p == '\'' || *p == '"') {
            p++;
        } else {
            *to++ = *p++;
        }
    }
    *to = '\0';
}

/* Whether a frame's file is one of torch's, or no file at all. */
static bool source_is_torch(const char *file, size_t len)
{
    static const char *const parts[] = {"-packages/torch/", "<eval_with_key>"};
    bool yes = len > 6 && !strncmp(file, "torch/", 6);
    for (size_t i = 0; !yes && i < sizeof parts / sizeof *parts; i++) {
        const char *at = strstr(file, parts[i]);
        yes = at && at < file + len;
    }
    return yes;
}

bool clv__aten_source(const char *trace, char *buf, size_t size)
{
    const char *best = NULL, *mark = "File \"";
    for (const char *p = trace; (p = strstr(p, mark));) {
        p += strlen(mark);
        size_t len = strcspn(p, "\"");
        bool inner = best && source_is_torch(p, len) &&
                     !source_is_torch(best, strcspn(best, "\""));
        if (!inner)
            best = p;
    }
    if (!best)
        return false;
    size_t len = strcspn(best, "\"");
    const char *base = best;
    for (const char *p = best; p < best + len; p++)
        if (*p == '/' || *p == '\\')
            base = p + 1;
    int line = 0;
    sscanf(best + len, "\", line %d", &line);
    snprintf(buf, size, "%.*s:%d", (int)(best + len - base), base, line);
    return true;
}
