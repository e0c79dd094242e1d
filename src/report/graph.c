/* graph.c - a graph as data: the whole of it as JSON (docs/graph-json.md), and
 * its costs as overlays that Netron and Model Explorer show on the nodes. */
#include "analysis/profile.h"
#include "cleave/report.h"
#include "core/jsonw.h"
#include "report/html.h"

static void graph_put_value(jsonw *w, const clv_graph *g, uint32_t id)
{
    static const char *const kinds[] = {"activation", "input", "parameter",
                                        "buffer", "constant"};
    const clv_value *v = &g->values[id];
    char buf[512];
    jsonw_object(w, NULL);
    jsonw_int(w, "id", id);
    jsonw_str(w, "name", clv__value_name(g, id, buf, sizeof buf));
    jsonw_str(w, "kind", kinds[v->kind]);
    jsonw_str(w, "dtype", clv_dtype_name((clv_dtype)v->dtype));
    if (v->rank == CLV_NO_RANK)
        jsonw_null(w, "shape");
    else
        jsonw_ints(w, "shape", v->dims, v->rank);
    if (v->data && v->data->dim_names && v->rank != CLV_NO_RANK)
        jsonw_strs(w, "dims", v->data->dim_names, v->rank);
    if (v->view_of != CLV_NONE)
        jsonw_int(w, "view_of", v->view_of);
    if (v->flags & CLV_V_BOUND)
        jsonw_bool(w, "bound", true);
    if (v->flags & CLV_V_OPTIONAL)
        jsonw_bool(w, "optional", true);
    if (v->flags & CLV_V_SEQUENCE && v->count == CLV_NONE)
        jsonw_null(w, "sequence");
    else if (v->flags & CLV_V_SEQUENCE)
        jsonw_int(w, "sequence", v->count);
    jsonw_end(w);
}

static void put_attr(jsonw *w, const clv_attr *a)
{
    switch (a->type) {
    case CLV_ATTR_INT:
        jsonw_int(w, a->name, a->u.i);
        break;
    case CLV_ATTR_FLOAT:
        jsonw_num(w, a->name, a->u.f);
        break;
    case CLV_ATTR_STRING:
        jsonw_str(w, a->name, a->u.s);
        break;
    case CLV_ATTR_INTS:
        jsonw_ints(w, a->name, a->u.ints, a->n);
        break;
    case CLV_ATTR_FLOATS:
        jsonw_array_flat(w, a->name);
        for (uint32_t i = 0; i < a->n; i++)
            jsonw_num(w, NULL, a->u.floats[i]);
        jsonw_end(w);
        break;
    case CLV_ATTR_STRINGS:
        jsonw_array_flat(w, a->name);
        for (uint32_t i = 0; i < a->n; i++)
            jsonw_str(w, NULL, a->u.strings[i]);
        jsonw_end(w);
        break;
    case CLV_ATTR_TENSOR:
        jsonw_int(w, a->name, a->u.value);
        break;
    default: /* a body: its size says that it is there */
        jsonw_object_flat(w, a->name);
        jsonw_int(w, "operators", a->u.body->n_nodes);
        jsonw_end(w);
    }
}

static void graph_put_ids(jsonw *w, const char *key, const uint32_t *ids,
                          uint32_t n)
{
    jsonw_array_flat(w, key);
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] == CLV_NONE)
            jsonw_null(w, NULL);
        else
            jsonw_int(w, NULL, ids[i]);
    jsonw_end(w);
}

/* The value that is told for v: of a node that is not drawn, the same output of
 * the one that is drawn for it. */
static uint32_t told_value(const clv_graph *g, const clv_layout_info *l,
                           uint32_t v)
{
    if (!l || v == CLV_NONE || g->values[v].producer == CLV_NONE)
        return v;
    const clv_node *maker = &g->nodes[g->values[v].producer];
    const clv_node *drawn = &g->nodes[l->row_node[l->row[maker - g->nodes]]];
    for (uint32_t k = 0; k < maker->n_out && k < drawn->n_out; k++)
        if (node_outs(g, maker)[k] == v)
            return node_outs(g, drawn)[k];
    return v;
}

static void graph_put_inputs(jsonw *w, const clv_graph *g,
                             const clv_layout_info *l, const clv_node *n)
{
    jsonw_array_flat(w, "inputs");
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t v = told_value(g, l, node_ins(g, n)[i]);
        if (v == CLV_NONE)
            jsonw_null(w, NULL);
        else
            jsonw_int(w, NULL, v);
    }
    jsonw_end(w);
}

static void graph_put_node(jsonw *w, const clv_graph *g,
                           const clv_layout_info *l, uint32_t id)
{
    const clv_node *n = &g->nodes[id];
    jsonw_object(w, NULL);
    jsonw_int(w, "id", l ? l->row[id] : id);
    jsonw_str(w, "name", n->name);
    jsonw_str(w, "op", clv__ops[n->op].name);
    jsonw_str(w, "module", g->scopes[n->scope].path);
    if (n->origin)
        jsonw_str(w, "origin", n->origin);
    if (n->source)
        jsonw_str(w, "source", n->source);
    graph_put_inputs(w, g, l, n);
    graph_put_ids(w, "outputs", node_outs(g, n), n->n_out);
    jsonw_object_flat(w, "attributes");
    for (uint32_t i = 0; i < n->n_attrs; i++)
        put_attr(w, &n->attrs[i]);
    jsonw_end(w);
    jsonw_end(w);
}

/* Values that the nodes drawn read and write, and those of the model. */
static uint8_t *told_values(const clv_graph *g, const clv_layout_info *l)
{
    uint8_t *told = clv__zalloc((size_t)g->n_values + 1);
    for (uint32_t r = 0; told && r < l->n_rows; r++) {
        const clv_node *n = &g->nodes[l->row_node[r]];
        for (uint32_t i = 0; i < n->n_in; i++)
            if (node_ins(g, n)[i] != CLV_NONE)
                told[told_value(g, l, node_ins(g, n)[i])] = 1;
        for (uint32_t i = 0; i < n->n_out; i++)
            if (node_outs(g, n)[i] != CLV_NONE)
                told[node_outs(g, n)[i]] = 1;
    }
    for (uint32_t i = 0; told && i < g->n_inputs; i++)
        told[g->inputs[i]] = 1;
    for (uint32_t i = 0; told && i < g->n_outputs; i++)
        if (g->outputs[i] != CLV_NONE)
            told[g->outputs[i]] = 1;
    return told;
}

void clv_report_graph(const clv_graph *g, clv_buf *out)
{
    clv__report_graph(g, NULL, out);
}

void clv__report_graph(const clv_graph *g, const clv_layout_info *l,
                       clv_buf *out)
{
    uint8_t *told = NULL;
    jsonw w;
    l = l && l->n_rows ? l : NULL;
    if (l && !(told = told_values(g, l))) {
        out->failed = true;
        return;
    }
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_str(&w, "model", g->name);
    jsonw_str(&w, "source", g->format);
    graph_put_ids(&w, "inputs", g->inputs, g->n_inputs);
    graph_put_ids(&w, "outputs", g->outputs, g->n_outputs);
    jsonw_array(&w, "values");
    for (uint32_t v = 0; v < g->n_values; v++)
        if (!told || told[v])
            graph_put_value(&w, g, v);
    jsonw_end(&w);
    jsonw_array(&w, "nodes");
    for (uint32_t i = 0; i < (l ? l->n_rows : g->n_nodes); i++)
        graph_put_node(&w, g, l, l ? l->row_node[i] : i);
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
    clv__free(told);
}

/* -- Netron ---------------------------------------------------------------*/

/* Netron lists metrics and metadata apart, each an entry by kind of thing and
 * its name there. A model has none. */
static void netron_begin(jsonw *w, const char *node, const char *name)
{
    jsonw_object_flat(w, NULL);
    jsonw_str(w, "kind", node ? "node" : "model");
    jsonw_str(w, "target", node ? node : "");
    jsonw_str(w, "name", name);
}

static void netron_metric(jsonw *w, const char *node, const char *name,
                          int64_t value)
{
    netron_begin(w, node, name);
    jsonw_int(w, "value", value);
    jsonw_end(w);
}

static void netron_text(jsonw *w, const char *node, const char *name,
                        const char *value)
{
    netron_begin(w, node, name);
    jsonw_str(w, "value", value);
    jsonw_end(w);
}

static void netron_metrics(jsonw *w, const clv_profile *p)
{
    const clv_totals *t = clv_profile_totals(p);
    netron_metric(w, NULL, "parameters", t->params);
    netron_metric(w, NULL, "MACs", t->macs);
    netron_metric(w, NULL, "FLOPs", t->flops);
    netron_metric(w, NULL, "bytes", t->memory);
    for (uint32_t i = 0; i < p->g->n_nodes; i++) {
        const char *name = p->g->nodes[i].name;
        const clv_layer *l = &p->layers[i];
        netron_metric(w, name, "parameters", l->cost.params);
        netron_metric(w, name, "MACs", l->cost.macs);
        netron_metric(w, name, "FLOPs", l->cost.flops);
        netron_metric(w, name, "bytes", l->memory);
    }
}

static void netron_metadata(jsonw *w, const clv_profile *p)
{
    for (uint32_t i = 0; i < p->g->n_nodes; i++) {
        clv_node_info f = clv_graph_node(p->g, i);
        const clv_layer *l = &p->layers[i];
        netron_text(w, f.name, "operator", f.op);
        netron_text(w, f.name, "module", f.module);
        netron_text(w, f.name, "bottleneck",
                    clv_bottleneck_name(l->bottleneck));
        netron_text(w, f.name, "trust", clv_trust_name(l->cost.trust));
    }
}

void clv_report_netron(const clv_profile *p, clv_buf *out)
{
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "signature", "netron:attachment");
    jsonw_array(&w, "metadata");
    netron_metadata(&w, p);
    jsonw_end(&w);
    jsonw_array(&w, "metrics");
    netron_metrics(&w, p);
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
}

void clv_report_explorer(const clv_profile *p, clv_buf *out)
{
    static const char *const ends[] = {"#eef2f7", "#10587a"};
    const clv_graph *g = p->g;
    char name[512];
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "name", "FLOPs");
    jsonw_object(&w, "results");
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const clv_node *n = &g->nodes[i];
        if (!n->n_out || node_outs(g, n)[0] == CLV_NONE)
            continue; /* the viewer finds a node by its outputs */
        jsonw_object_flat(
            &w, clv__value_name(g, node_outs(g, n)[0], name, sizeof name));
        jsonw_int(&w, "value", p->layers[i].cost.flops);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_array(&w, "gradient");
    for (int i = 0; i < 2; i++) {
        jsonw_object_flat(&w, NULL);
        jsonw_int(&w, "stop", i);
        jsonw_str(&w, "bgColor", ends[i]);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
}
