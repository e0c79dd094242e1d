/* read_node.c - one NodeProto: decoded, then made a node of ours.
 *
 * A node is a call of a function of the model (inlined by read_model.c), an
 * operator of the table onnx.def, or unknown to us: then it is kept with
 * its origin, and its outputs are what the file declares. */
#include "formats/onnx/read.h"
#include "graph/schema.h"
#include "ops/custom.h"

#include <string.h>

/* -- decoding -------------------------------------------------------------*/

/* Makes room for one item more than n: there is room for ONNX_FEW, then for
 * twice as many as before. */
static bool node_more(arena *mem, void **items, uint32_t n, size_t size)
{
    if (n < ONNX_FEW || (n & (n - 1)) != 0)
        return true;
    void *room = arena_array(mem, 2 * (size_t)n, size);
    if (!room)
        return false;
    memcpy(room, *items, n * size);
    *items = room;
    return true;
}
#define MORE(mem, items, n) \
    node_more(mem, (void **)&(items), n, sizeof *(items))

/* Only torch's two keys for the module matter. */
static clv_status node_metadata(wire w, proto *p, clv_err *e)
{
    text key, value;
    CLV_TRY(onnx_entry(w, &key, &value, e));
    if (text_is(key, PB_NAME_SCOPES))
        p->module = value;
    else if (text_is(key, "namespace"))
        p->namespace = value;
    return CLV_OK;
}

static clv_status node_field(reader *r, const wire_field *f, proto *p,
                             clv_err *e)
{
    bool ok = true;
    switch (f->number) {
    case PB_NODE_INPUT:
        if ((ok = MORE(&r->mem, p->ins, p->n_in)))
            p->ins[p->n_in++] = text_of(f->bytes);
        break;
    case PB_NODE_OUTPUT:
        if ((ok = MORE(&r->mem, p->outs, p->n_out)))
            p->outs[p->n_out++] = text_of(f->bytes);
        break;
    case PB_NODE_NAME:
        p->name = text_of(f->bytes);
        break;
    case PB_NODE_OP_TYPE:
        p->op = text_of(f->bytes);
        break;
    case PB_NODE_ATTRIBUTE:
        if ((ok = MORE(&r->mem, p->attrs, p->n_attrs)))
            p->attrs[p->n_attrs++] = f->bytes;
        break;
    case PB_NODE_DOMAIN:
        p->domain = text_of(f->bytes);
        break;
    case PB_NODE_OVERLOAD:
        p->overload = text_of(f->bytes);
        break;
    case PB_NODE_METADATA:
        return node_metadata(f->bytes, p, e);
    }
    return ok ? CLV_OK : clv__nomem(e);
}

clv_status onnx_node_read(reader *r, wire w, proto *p, clv_err *e)
{
    p->name = p->op = p->domain = p->overload = (text){NULL, 0};
    p->module = p->namespace = (text){NULL, 0};
    p->ins = p->few_ins;
    p->outs = p->few_outs;
    p->attrs = p->few_attrs;
    p->n_in = p->n_out = p->n_attrs = 0;
    p->offset = (size_t)(w.cur - w.file);
    p->all = w;
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.number > PB_NODE_LAST)
            continue;
        CLV_TRY(wire_expect(&w, &f, WIRE_BYTES, e));
        CLV_TRY(node_field(r, &f, p, e));
        if (p->n_in > ONNX_MAX_EDGES || p->n_out > ONNX_MAX_EDGES ||
            p->n_attrs > ONNX_MAX_ATTRS)
            return clv__fail(e, CLV_FORMAT,
                             "byte %zu: a node with more than %d inputs or "
                             "outputs, or %d attributes",
                             p->offset, ONNX_MAX_EDGES, ONNX_MAX_ATTRS);
    }
    if (p->op.n == 0)
        return wire_fail(&p->all, e, "a node without an operator");
    return CLV_OK;
}

/* -- what stored tensors are ----------------------------------------------*/

/* Makes room for the role of value v. */
static bool node_role_room(unit *u, uint32_t v)
{
    if (v < u->n_roles)
        return true;
    size_t n =
        u->g->n_values > 2 * u->n_roles ? u->g->n_values : 2 * u->n_roles;
    uint8_t *roles = clv__realloc(u->roles, n);
    if (!roles)
        return false;
    memset(roles + u->n_roles, 0, n - u->n_roles);
    u->roles = roles;
    u->n_roles = n;
    return true;
}

bool onnx_set_role(unit *u, uint32_t v, char role)
{
    if (!node_role_room(u, v))
        return false;
    u->roles[v] = (uint8_t)role;
    return true;
}

/* Models whose weights were taken out fill each with one number by a node of
 * its own. Such a weight becomes a stored one, and its node is marked dead. */
static clv_status node_absorb(clv_graph *g, uint32_t id, clv_err *e)
{
    clv_value *v = &g->values[id];
    if (v->producer == CLV_NONE || v->rank == CLV_NO_RANK)
        return CLV_OK;
    clv_node *n = &g->nodes[v->producer];
    const clv_value *shape = node_in(g, n, 0);
    if (n->op != CLV_OP_CONSTANT_OF_SHAPE || !shape || !value_is_weight(shape))
        return CLV_OK;
    double *fill = arena_alloc(&g->mem, sizeof *fill);
    v->data = NULL;
    clv_payload *data = clv__value_data(g, id);
    if (!fill || !data)
        return clv__nomem(e);
    *fill = attr_float(n, CLV_A_VALUE);
    data->fill = fill;
    n->flags |= ONNX_DEAD;
    v->kind = CLV_VALUE_CONST;
    v->flags &= (uint8_t)~CLV_V_FIXED;
    v->producer = CLV_NONE;
    return CLV_OK;
}

/* Warns, once, that weights are not looked for as far as they may be. */
static clv_status node_warn_deep(unit *u, const char *what, clv_err *e)
{
    if (u->deep)
        return CLV_OK;
    u->deep = true;
    return clv__graph_warn(u->g,
                           "weights behind more than %d %s in a row may not "
                           "count as parameters",
                           ONNX_MAX_VIEWS, what)
               ? CLV_OK
               : clv__nomem(e);
}

/* Sets *of to the value that it is a view of: a weight may be reshaped before
 * its use. Of a quantised table, rows are picked before they are dequantised.
 * Inference has noted where a view leads; a node that comes before its inputs
 * was not inferred, and its views are followed one by one. */
static clv_status node_behind_views(unit *u, uint32_t *of, char role,
                                    clv_err *e)
{
    const clv_graph *g = u->g;
    uint32_t v = *of;
    int steps = 0;
    if (role != 'c' && role != 'q' && g->values[v].view_of != CLV_NONE)
        v = g->values[v].view_of;
    for (; steps < ONNX_MAX_VIEWS && role != 'c'; steps++) {
        const clv_value *value = &g->values[v];
        if (value->kind != CLV_VALUE_ACTIVATION || value->producer == CLV_NONE)
            break;
        const clv_node *n = &g->nodes[value->producer];
        bool view = clv__ops[n->op].cls == CLV_CLASS_VIEW;
        bool rows = role == 'q' && n->op == CLV_OP_INDEX_SELECT;
        if (n->n_in == 0 || node_ins(g, n)[0] == CLV_NONE ||
            !(rows || (view && role != 'q')))
            break;
        v = node_ins(g, n)[0];
    }
    *of = v;
    return steps < ONNX_MAX_VIEWS ? CLV_OK : node_warn_deep(u, "views", e);
}

static clv_status node_mark_weight(unit *u, uint32_t v, char role, clv_err *e)
{
    clv_value *value = &u->g->values[v];
    if (!node_role_room(u, v))
        return clv__nomem(e);
    if (role == 'c' && !(value->kind == CLV_VALUE_PARAM && u->roles[v] == 'p'))
        CLV_TRY(onnx_contents(u->g, v, e));
    if (u->roles[v] == 'p')
        return CLV_OK;
    if (role == 'p' && u->roles[v] == ONNX_IN_NODE && u->stores &&
        onnx_is_even(value))
        return CLV_OK; /* ones and zeros that a norm without weights is given */
    u->roles[v] = (uint8_t)role;
    bool many = clv__numel(value) > 1;
    if (role == 'p' || (role == 'q' && many))
        value->kind = CLV_VALUE_PARAM;
    else if (role == 'b')
        value->kind = CLV_VALUE_BUFFER;
    else if (role == 'c')
        value->kind = CLV_VALUE_CONST;
    return CLV_OK;
}

/* The value of the enclosing graph that a body captures as its input v, or
 * CLV_NONE when v is no captured one. */
static uint32_t node_captured_by(const frame *f, uint32_t v)
{
    const unit *u = f->unit;
    for (uint32_t i = u->n_formal; i < u->g->n_inputs && f->outer; i++)
        if (u->g->inputs[i] == v)
            return u->captured[i - u->n_formal];
    return CLV_NONE;
}

static clv_status node_mark_part(frame *f, uint32_t v, int depth, clv_err *e);

/* Marks the stored parts of v as parameters where v is a parameter that a
 * Concat joins of them, as exporters put the gates of a recurrent layer in
 * another order. */
static clv_status node_mark_parts(frame *f, uint32_t v, int depth, clv_err *e)
{
    unit *u = f->unit;
    const clv_node *n = &u->g->nodes[u->g->values[v].producer];
    if (!node_role_room(u, v))
        return clv__nomem(e);
    if (n->op != CLV_OP_CAT || u->roles[v] == 'p')
        return CLV_OK;
    if (depth == 0)
        return node_warn_deep(u, "Concat", e);
    u->roles[v] = 'p';
    for (uint32_t i = 0; i < n->n_in; i++)
        CLV_TRY(node_mark_part(f, node_ins(u->g, n)[i], depth - 1, e));
    return CLV_OK;
}

static clv_status node_mark_part(frame *f, uint32_t v, int depth, clv_err *e)
{
    for (; v != CLV_NONE; f = f->outer) {
        CLV_TRY(node_behind_views(f->unit, &v, 'p', e));
        const clv_value *value = &f->unit->g->values[v];
        if (value_is_weight(value))
            return node_mark_weight(f->unit, v, 'p', e);
        if (value->producer != CLV_NONE)
            return node_mark_parts(f, v, depth, e);
        v = node_captured_by(f, v);
    }
    return CLV_OK;
}

/* Reads the list behind a Cast, as files in half precision store scales: the
 * Cast is inferred again, now that its input is known. */
static clv_status node_read_cast(unit *u, uint32_t cast, clv_err *e)
{
    const clv_node *n = &u->g->nodes[cast];
    uint32_t from = n->n_in ? node_ins(u->g, n)[0] : CLV_NONE;
    if (n->op != CLV_OP_CAST || from == CLV_NONE ||
        !value_is_weight(&u->g->values[from]))
        return CLV_OK;
    CLV_TRY(onnx_contents(u->g, from, e));
    return clv__infer_node(u->g, cast, e);
}

/* Notes what a reader takes value v for. A reader that takes it for a parameter
 * outweighs the others. A captured value is marked in the enclosing graph. */
static clv_status node_mark_role(frame *f, uint32_t v, char role, clv_err *e)
{
    unit *u = f->unit;
    CLV_TRY(node_behind_views(u, &v, role, e));
    clv_value *value = &u->g->values[v];
    if (value->kind == CLV_VALUE_INPUT) {
        uint32_t outer = node_captured_by(f, v);
        return outer == CLV_NONE ? CLV_OK
                                 : node_mark_role(f->outer, outer, role, e);
    }
    if (value->kind == CLV_VALUE_ACTIVATION && value->producer != CLV_NONE) {
        if (role == 'p')
            CLV_TRY(node_mark_parts(f, v, ONNX_MAX_VIEWS, e));
        if (role != 'c' && role != 'q')
            CLV_TRY(node_absorb(u->g, v, e));
        if (role == 'c')
            CLV_TRY(node_read_cast(u, value->producer, e));
        value = &u->g->values[v];
    }
    return value_is_weight(value) ? node_mark_weight(u, v, role, e) : CLV_OK;
}

static clv_status node_mark_roles(draft *d, clv_err *e)
{
    for (uint32_t i = 0; i < d->n_in; i++) {
        char role = d->row ? onnx_role(d->row, i) : 'x';
        if (d->ins[i] != CLV_NONE && role != 'x')
            CLV_TRY(node_mark_role(d->f, d->ins[i], role, e));
    }
    return CLV_OK;
}

/* -- building -------------------------------------------------------------*/

static const char *node_name(draft *d)
{
    text name = d->p->name.n ? d->p->name : d->p->op;
    char *own = onnx_name(&d->r->mem, name);
    if (!own || !d->f->prefix.n)
        return own;
    return arena_printf(&d->r->mem, "%.*s/%s", TEXT(d->f->prefix), own);
}

static const char *node_origin(draft *d)
{
    onnx_domain from = onnx_domain_of(d->p->domain);
    if (d->row && (from == ONNX_AI || from == ONNX_CLEAVE))
        return d->row->name;
    if (!d->p->domain.n)
        return onnx_name(&d->g->mem, d->p->op);
    const char *domain = onnx_name(&d->g->mem, d->p->domain);
    const char *op = onnx_name(&d->g->mem, d->p->op);
    return domain && op ? arena_printf(&d->g->mem, "%s.%s", domain, op) : NULL;
}

/* Infers a node of a branch. What fails here is not told: its If infers the
 * branch again, unless it is never taken. */
static clv_status node_infer_branch(unit *u, uint32_t id, clv_err *e)
{
    clv_err untold = {0};
    clv_status s = clv__infer_node(u->g, id, &untold);
    u->unordered = s != CLV_OK;
    return s == CLV_NOMEM ? clv__nomem(e) : CLV_OK;
}

/* Nodes are inferred as they come, so that mapping functions see shapes. A
 * node that comes before its inputs puts that off to the end. */
static clv_status node_infer(unit *u, uint32_t id, clv_err *e)
{
    const clv_graph *g = u->g;
    const clv_node *n = &g->nodes[id];
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        if (v && v->kind == CLV_VALUE_ACTIVATION && v->producer == CLV_NONE)
            u->unordered = true;
    }
    if (u->unordered)
        return CLV_OK;
    return u->branch ? node_infer_branch(u, id, e)
                     : clv__infer_node(u->g, id, e);
}

/* Why a node that says more than our attributes do must not be run. */
static const char *node_untold(const draft *d, clv_op op, const clv_attr *attrs,
                               uint32_t n)
{
    for (uint32_t i = 0; op != CLV_OP_UNKNOWN && i < n; i++)
        if (attrs[i].key == CLV_A_OTHER &&
            !onnx_attr_understood(d->r, &attrs[i]))
            return arena_printf(&d->g->mem,
                                "attribute '%.60s' is not carried over",
                                attrs[i].name);
    return NULL;
}

clv_status draft_emit(draft *d, clv_op op, const char *suffix,
                      const uint32_t *ins, uint32_t n_in, const clv_attr *attrs,
                      uint32_t n_attrs, const uint32_t *outs, uint32_t n_out,
                      uint32_t *out, clv_err *e)
{
    clv_graph *g = d->g;
    const char *name =
        *suffix ? arena_printf(&d->r->mem, "%s/%s", d->name, suffix) : d->name;
    clv_attr *own = n_attrs ? arena_array(&g->mem, n_attrs, sizeof *own) : NULL;
    const char *origin = node_origin(d);
    uint32_t id =
        name && origin && (own || !n_attrs)
            ? clv__node_add(g, op, name, d->scope, ins, n_in, outs, n_out)
            : CLV_NONE;
    if (id == CLV_NONE)
        return clv__nomem(e);
    for (uint32_t i = 0; i < n_attrs; i++) {
        own[i] = attrs[i];
        if (op != CLV_OP_UNKNOWN && own[i].key != CLV_A_OTHER &&
            !clv__attr_spec(op, (clv_attr_key)own[i].key))
            own[i].key = CLV_A_OTHER; /* means nothing to this operator */
    }
    g->nodes[id].attrs = own;
    if (attrs == d->attrs)
        g->nodes[id].counted_only = d->counted_only
                                        ? d->counted_only
                                        : node_untold(d, op, attrs, n_attrs);
    g->nodes[id].n_attrs = (uint8_t)n_attrs;
    g->nodes[id].origin = origin;
    if (op == CLV_OP_UNKNOWN)
        g->nodes[id].custom = clv__custom_row(g, origin);
    if (out)
        *out = node_outs(g, &g->nodes[id])[0];
    return node_infer(d->f->unit, id, e);
}

static clv_status node_resolve_edges(draft *d, clv_err *e)
{
    const proto *p = d->p;
    d->ins = arena_array(&d->r->mem, p->n_in + ONNX_MORE_INS, sizeof *d->ins);
    d->outs = arena_array(&d->r->mem, p->n_out + 1, sizeof *d->outs);
    if (!d->ins || !d->outs)
        return clv__nomem(e);
    for (uint32_t i = 0; i < p->n_in + ONNX_MORE_INS; i++)
        d->ins[i] = CLV_NONE;
    for (uint32_t i = 0; i < p->n_in; i++) {
        if (!p->ins[i].n)
            continue;
        CLV_TRY(onnx_lookup(d->f, p->ins[i], &d->ins[i], e));
        if (d->ins[i] == CLV_NONE)
            return clv__fail(e, CLV_FORMAT,
                             "byte %zu: node '%s': input '%.*s' is not defined",
                             p->offset, d->name, TEXT(p->ins[i]));
        if (d->ins[i] == ONNX_ABSENT) {
            d->ins[i] = CLV_NONE;
            continue;
        }
        d->n_in = i + 1; /* absent inputs at the end are dropped */
    }
    for (uint32_t i = 0; i < p->n_out; i++) {
        uint32_t v =
            p->outs[i].n
                ? strmap_get(&d->f->names, p->outs[i].s, p->outs[i].n)
                : clv__value_add(d->g, NULL, CLV_VALUE_ACTIVATION, CLV_NODTYPE);
        if (v == CLV_NONE)
            return clv__nomem(e);
        d->outs[d->n_out++] = v;
    }
    if (d->n_out == 0) { /* rules rely on a first output */
        d->outs[0] =
            clv__value_add(d->g, NULL, CLV_VALUE_ACTIVATION, CLV_NODTYPE);
        d->n_out = 1;
    }
    return d->outs[0] == CLV_NONE ? clv__nomem(e) : CLV_OK;
}

/* An operator with bodies keeps its absent inputs: what the bodies capture
 * comes after them. Scan had sequence lengths first before opset 9. */
static void node_keep_places(draft *d)
{
    uint32_t least = d->op == CLV_OP_LOOP ? 2 : d->op == CLV_OP_IF ? 1 : 0;
    if (clv__ops[d->op].category != CLV_CAT_CONTROL)
        return;
    uint32_t formal = d->p->n_in > least ? d->p->n_in : least;
    while (d->n_in < formal)
        d->ins[d->n_in++] = CLV_NONE;
    if (d->op == CLV_OP_SCAN && d->opset < 9 && d->n_in)
        memmove(d->ins, d->ins + 1, --d->n_in * sizeof *d->ins);
}

/* Mapping functions rely on the first input of operators that have one. */
static clv_status node_check_first(const draft *d, clv_err *e)
{
    const clv_input_spec *first = clv__schema_of(d->op)->inputs;
    if (first->name && first->need == CLV_NEED_IN &&
        (d->n_in == 0 || d->ins[0] == CLV_NONE) &&
        clv__ops[d->op].category != CLV_CAT_CONTROL)
        return clv__fail(e, CLV_SHAPE, "input 0 (%s) is missing", first->name);
    return CLV_OK;
}

static clv_status node_build(draft *d, clv_err *e)
{
    CLV_TRY(node_resolve_edges(d, e));
    node_keep_places(d);
    CLV_TRY(onnx_attrs_read(d, e));
    CLV_TRY(node_mark_roles(d, e));
    if (d->row && d->row->map) {
        CLV_TRY(node_check_first(d, e));
        CLV_TRY(d->row->map(d, e));
    }
    if (d->done)
        return CLV_OK;
    return draft_emit(d, d->op, "", d->ins, d->n_in, d->attrs, d->n_attrs,
                      d->outs, d->n_out, NULL, e);
}

clv_status onnx_node_add(reader *r, frame *f, const proto *p, clv_err *e)
{
    const onnx_op *row = onnx_op_of(r, p);
    clv_attr attrs[ONNX_ATTR_ROOM];
    draft d = {.r = r,
               .f = f,
               .p = p,
               .row = row,
               .g = f->unit->g,
               .opset = f->opset[onnx_domain_of(p->domain)],
               .op = row ? (clv_op)row->op : CLV_OP_UNKNOWN,
               .attrs = attrs};
    d.name = node_name(&d);
    d.scope = onnx_scope(f, p);
    if (!d.name || d.scope == CLV_NONE)
        return clv__nomem(e);
    clv_status s = node_build(&d, e);
    if (s != CLV_OK && s != CLV_FORMAT)
        clv__err_prefix(e, "byte %zu: node '%s'", p->offset, d.name);
    return s;
}
