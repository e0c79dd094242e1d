/* read.c - reading graphs: sizes, names, attributes, the public walk. */
#include "graph/graph.h"

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
        n = sat_mul(n, v->dims[i]); /* CLV_SAT times 0 is 0 again */
    return n;
}

int64_t clv__bytes(const clv_value *v)
{
    int64_t n = clv__numel(v);
    int64_t bytes = n == CLV_SAT ? -1 : clv_dtype_bytes(v->dtype, n);
    return bytes < 0 ? CLV_SAT : bytes;
}

int64_t clv__held_bytes(const clv_value *v)
{
    clv_value as = {.dims = v->dims,
                    .rank = v->rank,
                    .flags = v->flags,
                    .count = v->count,
                    .dtype = (uint8_t)value_held(v)};
    return clv__bytes(&as);
}

/* "3 of " before the shape of a sequence's tensors. */
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
    for (int i = 0; i < CLV_A_OTHER; i++)
        if (attr_names[i][0] == name[0] && !strcmp(attr_names[i], name))
            return (clv_attr_key)i;
    return CLV_A_OTHER;
}

/* -- the public walk ------------------------------------------------------*/

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

clv_node_info clv_graph_node(const clv_graph *g, uint32_t node)
{
    const clv_node *n = &g->nodes[node];
    return (clv_node_info){
        .name = n->name,
        .op = op_names[n->op],
        .module = g->scopes[n->scope].path,
        .origin = n->origin ? n->origin : op_names[n->op],
        .source = n->source ? n->source : "",
        .inputs = node_ins(g, n),
        .outputs = node_outs(g, n),
        .n_inputs = n->n_in,
        .n_outputs = n->n_out,
    };
}

clv_value_info clv_graph_value(const clv_graph *g, uint32_t value)
{
    const clv_value *v = &g->values[value];
    const char *name = v->name;
    if (!name && v->producer != CLV_NONE)
        name = g->nodes[v->producer].name;
    return (clv_value_info){
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
}

uint32_t clv_graph_inputs(const clv_graph *g, const uint32_t **values)
{
    *values = g->inputs;
    return g->n_inputs;
}

uint32_t clv_graph_outputs(const clv_graph *g, const uint32_t **values)
{
    *values = g->outputs;
    return g->n_outputs;
}

const char *clv_graph_warning(const clv_graph *g, uint32_t i)
{
    return i < g->n_warnings ? g->warnings[i] : NULL;
}
