/* read.c - reads graphs: sizes, names, attributes, and the public walk. */
#include "graph/schema.h"

#include <stdio.h>
#include <string.h>

static const char *const op_names[CLV_OP_COUNT] = {
#define OP(kind, name, ...) [CLV_OP_##kind] = name,
#include "ops/ops.def"
#undef OP
};

static const char *const attr_names[] = {
#define ATTR(key, name) [CLV_A_##key] = name,
#include "graph/attrs.def"
#undef ATTR
};

int64_t clv__numel(const clv_value *v)
{
    int64_t n =
        v->flags & CLV_V_SEQUENCE && v->count != CLV_NONE ? v->count : 1;
    if (v->rank == CLV_NO_RANK)
        return n ? CLV_SAT : 0;
    for (int i = 0; i < v->rank; i++)
        n = sat_mul(n, v->dims[i]); /* CLV_SAT times 0 is 0, as it should be */
    return n;
}

/* The bytes of v in type t. */
static int64_t bytes_in(const clv_value *v, clv_dtype t)
{
    int64_t n = clv__numel(v);
    int64_t bytes = n == CLV_SAT ? -1 : clv_dtype_bytes(t, n);
    return bytes < 0 ? CLV_SAT : bytes;
}

int64_t clv__bytes(const clv_value *v)
{
    return bytes_in(v, v->dtype);
}

int64_t clv__held_bytes(const clv_value *v)
{
    return bytes_in(v, value_held(v));
}

/* Writes "3 of ", which comes before the shape of a sequence's tensors. */
static size_t form_text(const clv_value *v, char *buf, size_t size)
{
    size_t n = 0;
    *buf = '\0';
    if (v->flags & CLV_V_OPTIONAL)
        n += (size_t)snprintf(buf, size, "optional ");
    if (v->flags & CLV_V_SEQUENCE && v->count == CLV_NONE)
        n += (size_t)snprintf(buf + n, size - n, "any of ");
    else if (v->flags & CLV_V_SEQUENCE)
        n += (size_t)snprintf(buf + n, size - n, "%u of ", v->count);
    return n;
}

const char *clv__shape_text(const clv_value *v, char *buf, size_t size)
{
    size_t n = form_text(v, buf, size);
    if (v->rank == CLV_NO_RANK) {
        snprintf(buf + n, size - n, "[?]");
        return buf;
    }
    n += (size_t)snprintf(buf + n, size - n, "[");
    for (int i = 0; i < v->rank && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%lld", i ? ", " : "",
                              (long long)v->dims[i]);
    if (n < size)
        snprintf(buf + n, size - n, "]");
    return buf;
}

const char *clv__value_name(const clv_graph *g, uint32_t v, char *buf,
                            size_t size)
{
    const clv_value *value = &g->values[v];
    if (value->name)
        return value->name;
    if (value->producer == CLV_NONE) {
        snprintf(buf, size, "value%u", v);
        return buf;
    }
    const clv_node *n = &g->nodes[value->producer];
    uint32_t i = 0;
    while (i < n->n_out && node_outs(g, n)[i] != v)
        i++;
    if (i == 0)
        return n->name;
    snprintf(buf, size, "%s:%u", n->name, i);
    return buf;
}

/* -- operators and attributes ---------------------------------------------*/

const char *clv__op_at_source(const clv_node *n)
{
    return n->origin ? n->origin : op_names[n->op];
}

const char *clv__op_origin(const clv_node *n)
{
    return n->origin ? n->origin : "";
}

const char *clv__op_shown(const clv_node *n)
{
    return n->op == CLV_OP_UNKNOWN ? clv__op_at_source(n) : op_names[n->op];
}

void clv__node_label(clv_node *to, const clv_node *from)
{
    to->origin = from->origin;
    to->source = from->source;
    to->custom = from->custom;
}

const char *clv__op_name(clv_op op)
{
    return op_names[op];
}

clv_op clv__op_find(const char *name)
{
    for (int op = 0; op < CLV_OP_COUNT; op++)
        if (!strcmp(op_names[op], name))
            return (clv_op)op;
    return CLV_OP_UNKNOWN;
}

const char *clv__attr_name(clv_attr_key key)
{
    return attr_names[key];
}

clv_attr_key clv__attr_find(const char *name)
{
    int low = 0, high = CLV_A_OTHER; /* it lies in [low, high), if anywhere */
    while (low < high) {
        int middle = (low + high) / 2;
        int side = strcmp(name, attr_names[middle]);
        if (side == 0)
            return (clv_attr_key)middle;
        if (side < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return CLV_A_OTHER;
}

/* -- the public walk ------------------------------------------------------*/

#define FILL(type, out, full, err) \
    clv__fill_sized(out, full, sizeof(type), #type, err)

static clv_status check_id(uint32_t id, uint32_t n, const char *what,
                           clv_err *e)
{
    if (id < n)
        return CLV_OK;
    return clv__fail(e, CLV_USAGE, "there is no %s %u: there are %u", what, id,
                     n);
}

const char *clv_graph_name(const clv_graph *g)
{
    return g->name;
}

const char *clv_graph_source(const clv_graph *g)
{
    return g->format;
}

uint32_t clv_graph_num_nodes(const clv_graph *g)
{
    return g->n_nodes;
}

uint32_t clv_graph_num_values(const clv_graph *g)
{
    return g->n_values;
}

clv_status clv_graph_get_node(const clv_graph *g, uint32_t node,
                              clv_node_info *out, clv_err *err)
{
    clv_node_info full = {
        .name = "", .op = "", .module = "", .origin = "", .source = ""};
    clv__err_clear(err);
    CLV_NEED(g, err);
    CLV_NEED(out, err);
    if (node >= g->n_nodes) {
        CLV_TRY(FILL(clv_node_info, out, &full, err));
        return check_id(node, g->n_nodes, "node", err);
    }
    const clv_node *n = &g->nodes[node];
    full = (clv_node_info){
        .name = n->name,
        .op = op_names[n->op],
        .module = g->scopes[n->scope].path,
        .origin = n->origin ? n->origin : op_names[n->op],
        .source = n->source ? n->source : "",
        .inputs = node_ins(g, n),
        .outputs = node_outs(g, n),
        .n_inputs = n->n_in,
        .n_outputs = n->n_out,
        .n_attrs = n->n_attrs,
        .times = clv__node_times(g, n),
    };
    return FILL(clv_node_info, out, &full, err);
}

clv_status clv_graph_get_value(const clv_graph *g, uint32_t value,
                               clv_value_info *out, clv_err *err)
{
    clv_value_info full = {.name = "", .rank = CLV_NONE, .producer = CLV_NONE};
    clv__err_clear(err);
    CLV_NEED(g, err);
    CLV_NEED(out, err);
    if (value >= g->n_values) {
        CLV_TRY(FILL(clv_value_info, out, &full, err));
        return check_id(value, g->n_values, "value", err);
    }
    const clv_value *v = &g->values[value];
    const char *name = v->name;
    if (!name && v->producer != CLV_NONE)
        name = g->nodes[v->producer].name;
    full = (clv_value_info){
        .name = name ? name : "",
        .kind = (clv_value_kind)v->kind,
        .dtype = (clv_dtype)v->dtype,
        .rank = v->rank == CLV_NO_RANK ? CLV_NONE : v->rank,
        .dims = v->dims,
        .producer = v->producer,
        .dim_names = v->data ? v->data->dim_names : NULL,
        .optional = v->flags & CLV_V_OPTIONAL,
        .sequence = v->flags & CLV_V_SEQUENCE,
        .count = v->count,
    };
    return FILL(clv_value_info, out, &full, err);
}

static clv_attr_info attr_info(const clv_attr *a)
{
    clv_attr_info full = {
        .name = a->name, .type = (clv_attr_type)a->type, .n = a->n};
    switch (full.type) {
    case CLV_ATTR_INT:
        full.u.i = a->u.i;
        break;
    case CLV_ATTR_FLOAT:
        full.u.f = a->u.f;
        break;
    case CLV_ATTR_STRING:
        full.u.s = a->u.s;
        break;
    case CLV_ATTR_INTS:
        full.u.ints = a->u.ints;
        break;
    case CLV_ATTR_FLOATS:
        full.u.floats = a->u.floats;
        break;
    case CLV_ATTR_STRINGS:
        full.u.strings = a->u.strings;
        break;
    case CLV_ATTR_TENSOR:
        full.u.value = a->u.value;
        break;
    case CLV_ATTR_GRAPH:
        full.u.body = a->u.body;
        break;
    }
    return full;
}

clv_status clv_graph_attr(const clv_graph *g, uint32_t node, const char *name,
                          clv_attr_info *out, clv_err *err)
{
    clv__err_clear(err);
    CLV_NEED(g, err);
    CLV_NEED(name, err);
    CLV_NEED(out, err);
    CLV_TRY(check_id(node, g->n_nodes, "node", err));
    const clv_node *n = &g->nodes[node];
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (!strcmp(n->attrs[i].name, name))
            return clv_graph_attr_at(g, node, i, out, err);
    clv_attr left_out;
    if (clv__attr_default(n, clv__attr_find(name), &left_out)) {
        const clv_attr_info full = attr_info(&left_out);
        return FILL(clv_attr_info, out, &full, err);
    }
    return clv__fail(err, CLV_NOT_FOUND, "node '%s' (%s) has no attribute '%s'",
                     n->name, op_names[n->op], name);
}

clv_status clv_graph_attr_at(const clv_graph *g, uint32_t node, uint32_t i,
                             clv_attr_info *out, clv_err *err)
{
    clv__err_clear(err);
    CLV_NEED(g, err);
    CLV_NEED(out, err);
    CLV_TRY(check_id(node, g->n_nodes, "node", err));
    CLV_TRY(check_id(i, g->nodes[node].n_attrs, "attribute", err));
    const clv_attr_info full = attr_info(&g->nodes[node].attrs[i]);
    return FILL(clv_attr_info, out, &full, err);
}

clv_status clv_graph_constant(const clv_graph *g, uint32_t value,
                              clv_constant_info *out, clv_err *err)
{
    char name[128];
    clv__err_clear(err);
    CLV_NEED(g, err);
    CLV_NEED(out, err);
    CLV_TRY(check_id(value, g->n_values, "value", err));
    const clv_payload *p = g->values[value].data;
    if (!p || !(p->ints || p->floats || p->fill || p->bytes))
        return clv__fail(err, CLV_NOT_FOUND, "value '%s' is not known here",
                         clv__value_name(g, value, name, sizeof name));
    const clv_constant_info full = {.dtype = value_held(&g->values[value]),
                                    .ints = p->ints,
                                    .floats = p->floats,
                                    .n = p->ints || p->floats ? p->n : 0,
                                    .fill = p->fill,
                                    .bytes = p->bytes,
                                    .n_bytes = p->bytes ? p->size : 0};
    return FILL(clv_constant_info, out, &full, err);
}

static const uint32_t *id_list(const uint32_t *ids, uint32_t n, uint32_t *count)
{
    clv__set_count(count, n);
    return ids;
}

const uint32_t *clv_graph_inputs(const clv_graph *g, uint32_t *count)
{
    return id_list(g->inputs, g->n_inputs, count);
}

const uint32_t *clv_graph_outputs(const clv_graph *g, uint32_t *count)
{
    return id_list(g->outputs, g->n_outputs, count);
}

const char *clv_graph_warning(const clv_graph *g, uint32_t i)
{
    return i < g->n_warnings ? g->warnings[i].text : NULL;
}

clv_subject_kind clv_graph_warning_about(const clv_graph *g, uint32_t i,
                                         const char **subject)
{
    bool there = i < g->n_warnings;
    if (subject)
        *subject = there ? g->warnings[i].subject : "";
    return there ? g->warnings[i].about : CLV_SUBJECT_NONE;
}

bool clv__node_matches(const clv_graph *g, const clv_node *n,
                       const char *pattern)
{
    if (clv__glob(pattern, n->name))
        return true;
    for (uint32_t k = n->scope; k != CLV_NONE && k != 0;
         k = g->scopes[k].parent)
        if (clv__glob(pattern, g->scopes[k].path))
            return true;
    return false;
}
