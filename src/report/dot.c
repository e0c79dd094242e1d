/* dot.c - the subgraphs of a cut as a Graphviz graph.
 *
 *   box     a subgraph: name, pattern, FLOPs; colour by bottleneck
 *   thick   the critical path
 *   rank    a stage: boxes side by side may run at the same time
 *
 * Folded along modules, a run of equal modules (same operators on the same
 * shapes, each reading the one before) is one box, "layer3.1 - layer3.5  x5".
 */
#include "cut/cut.h"
#include "report/svg.h"
#include "report/text.h"

#include <string.h>

typedef struct box {
    uint32_t first, last; /* subgraphs */
} box;

typedef struct drawing {
    const clv_concurrency_info *a;
    const clv_cut *c;
    const clv_graph *g;
    const clv_subgraph *subs;
    bool modules;
    uint32_t *box_of; /* per subgraph */
    uint32_t *before; /* the subgraph before it on the critical path */
    box *boxes;
    uint32_t n_boxes;
    clv_buf *out;
} drawing;

#define CRITICAL "#a4262c"

/* -- boxes ----------------------------------------------------------------*/

static bool make_boxes(drawing *d)
{
    uint32_t n = d->a->subgraphs;
    d->box_of = clv__alloc(((size_t)n + 1) * sizeof *d->box_of);
    d->boxes = clv__alloc(((size_t)n + 1) * sizeof *d->boxes);
    d->before = clv__alloc(((size_t)n + 1) * sizeof *d->before);
    if (!d->box_of || !d->boxes || !d->before)
        return false;
    memset(d->before, 0xff, ((size_t)n + 1) * sizeof *d->before);
    for (uint32_t i = 1; i < d->a->n_critical; i++)
        d->before[d->a->critical[i]] = d->a->critical[i - 1];
    for (uint32_t k = 0; k < n; k++) {
        if (k == 0 || !d->modules || !clv__cut_repeats(d->c, k))
            d->boxes[d->n_boxes++].first = k;
        d->boxes[d->n_boxes - 1].last = k;
        d->box_of[k] = d->n_boxes - 1;
    }
    return true;
}

/* -- text -----------------------------------------------------------------*/

/* Writes text inside a quoted string of DOT. A model's names may hold
 * anything. */
static void dot_put_text(clv_buf *out, const char *text)
{
    while (*text) {
        uint32_t code;
        size_t n = clv__utf8(text, &code);
        if (n == 0)
            clv_buf_add(out, "\ufffd", 3);
        else if (code == '"' || code == '\\')
            clv_buf_printf(out, "\\%c", (char)code);
        else if (code >= ' ' && code != 0x7f)
            clv_buf_add(out, text, n);
        text += n ? n : 1;
    }
}

static const char *dot_name_of(const drawing *d, uint32_t k)
{
    const clv_subgraph *s = &d->subs[k];
    return d->modules ? s->detail : clv_graph_node(d->g, s->nodes[0]).name;
}

/* Writes the pattern of a box, unless its name says so already. */
static void put_kind(const drawing *d, const box *b)
{
    const clv_subgraph *s = &d->subs[b->first];
    if (d->modules && s->n_nodes > 1)
        clv_buf_printf(d->out, "\\n%u operators%s", s->n_nodes,
                       b->last > b->first ? " each" : "");
    else if (strcmp(s->pattern, dot_name_of(d, b->first)) != 0) {
        clv_buf_printf(d->out, "\\n");
        dot_put_text(d->out, s->pattern);
    }
    if (*s->device) {
        clv_buf_printf(d->out, "\\n");
        dot_put_text(d->out, s->device);
    }
}

static void put_cost(const drawing *d, const clv_subgraph *s)
{
    char n[TEXT_MAX], m[TEXT_MAX];
    const char *flops = text_count(s->cost.flops, n);
    if (s->cost.trust == CLV_TRUST_FREE)
        clv_buf_printf(d->out, "\\nfree");
    else
        clv_buf_printf(d->out, "\\n%s%sFLOPs, %s", flops,
                       strchr(flops, ' ') ? "" : " ",
                       text_bytes(s->bytes_external, m));
}

static void dot_put_label(const drawing *d, const box *b)
{
    uint32_t times = b->last - b->first + 1;
    dot_put_text(d->out, dot_name_of(d, b->first));
    if (times > 1) {
        clv_buf_printf(d->out, " \u2026 ");
        dot_put_text(d->out, dot_name_of(d, b->last));
        clv_buf_printf(d->out, "   \u00d7%u", times);
    }
    put_kind(d, b);
    put_cost(d, &d->subs[b->first]);
}

static void put_box(const drawing *d, uint32_t i)
{
    const box *b = &d->boxes[i];
    const clv_subgraph *s = &d->subs[b->first];
    bool critical = d->a->tasks[b->first].critical;
    clv_buf_printf(d->out, "  s%u [label=\"", i);
    dot_put_label(d, b);
    clv_buf_printf(d->out, "\", fillcolor=\"%s\"%s%s];\n",
                   s->cost.trust == CLV_TRUST_FREE
                       ? "#eeeeee"
                       : clv__bottleneck_fill(s->bottleneck),
                   critical ? ", penwidth=2.6, color=\"" CRITICAL "\"" : "",
                   b->last > b->first ? ", peripheries=2" : "");
}

/* -- edges ----------------------------------------------------------------*/

static void put_edges(const drawing *d, uint32_t k)
{
    const clv_subgraph *s = &d->subs[k];
    for (uint32_t i = 0; i < s->n_depends_on; i++) {
        uint32_t from = d->box_of[s->depends_on[i]], to = d->box_of[k];
        if (from == to)
            continue;
        bool path = d->before[k] == s->depends_on[i];
        clv_buf_printf(d->out, "  s%u -> s%u%s;\n", from, to,
                       path ? " [penwidth=2.6, color=\"" CRITICAL "\"]" : "");
    }
}

/* Boxes of one stage side by side. */
static void put_ranks(const drawing *d)
{
    for (uint32_t i = 0; i < d->a->n_stages && !d->modules; i++) {
        const clv_stage *s = &d->a->stages[i];
        if (s->n < 2)
            continue;
        clv_buf_printf(d->out, "  {rank=same;");
        for (uint32_t j = 0; j < s->n; j++)
            clv_buf_printf(d->out, " s%u;", d->box_of[s->subgraphs[j]]);
        clv_buf_printf(d->out, "}\n");
    }
}

/* -- inputs, outputs, head ------------------------------------------------*/

static void dot_put_value(const drawing *d, char kind, uint32_t i,
                          uint32_t value)
{
    clv_value_info v = clv_graph_value(d->g, value);
    char shape[TEXT_MAX];
    clv_buf_printf(d->out, "  %c%u [shape=plain, style=\"\", label=\"", kind,
                   i);
    dot_put_text(d->out, v.name);
    clv_buf_printf(d->out, " ");
    dot_put_text(d->out, text_shape(&v, shape));
    clv_buf_printf(d->out, "\"];\n");
}

static void put_inputs(const drawing *d)
{
    uint32_t n;
    const uint32_t *values = clv_graph_inputs(d->g, &n);
    for (uint32_t i = 0; i < n; i++) {
        dot_put_value(d, 'i', i, values[i]);
        for (uint32_t k = 0; k < d->a->subgraphs; k++)
            for (uint32_t j = 0; j < d->subs[k].n_inputs; j++)
                if (d->subs[k].inputs[j] == values[i])
                    clv_buf_printf(d->out, "  i%u -> s%u;\n", i, d->box_of[k]);
    }
}

static void put_outputs(const drawing *d, const clv_cut *c)
{
    uint32_t n;
    const uint32_t *values = clv_graph_outputs(d->g, &n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t maker = clv_graph_value(d->g, values[i]).producer;
        if (maker == CLV_NONE)
            continue;
        dot_put_value(d, 'o', i, values[i]);
        clv_buf_printf(d->out, "  s%u -> o%u;\n",
                       d->box_of[clv_cut_subgraph_of(c, maker)], i);
    }
}

static void dot_put_head(const drawing *d, const clv_cut *c)
{
    char part[TEXT_MAX];
    clv_buf_printf(d->out, "strict digraph \"");
    dot_put_text(d->out, clv_graph_name(d->g));
    clv_buf_printf(
        d->out,
        "\" {\n"
        "  graph [fontname=\"Helvetica,Arial,sans-serif\", fontsize=13, "
        "labelloc=t, nodesep=0.35, ranksep=0.35];\n"
        "  node [fontname=\"Helvetica,Arial,sans-serif\", fontsize=11, "
        "shape=box, style=\"rounded,filled\", color=\"#777777\", "
        "margin=\"0.12,0.06\"];\n"
        "  edge [color=\"#777777\", arrowsize=0.7];\n"
        "  label=<<table border=\"0\" cellspacing=\"4\"><tr><td "
        "colspan=\"5\"><b>");
    svg_escape(d->out, clv_graph_name(d->g));
    clv_buf_printf(d->out,
                   "</b>: %u %s (%s), %u stages, critical path %s of "
                   "FLOPs</td></tr><tr>",
                   d->a->subgraphs, d->modules ? "modules" : "subgraphs",
                   d->modules ? "folded" : clv_cut_strategy(c), d->a->n_stages,
                   text_percent(d->a->critical_flops, d->a->flops, part));
    for (int i = 0; i < CLV_BOTTLENECK_COUNT; i++)
        clv_buf_printf(d->out, "<td bgcolor=\"%s\">%s</td>",
                       clv__bottleneck_fill((clv_bottleneck)i),
                       clv__bottleneck_words((clv_bottleneck)i));
    clv_buf_printf(d->out,
                   "<td><font color=\"%s\"><b>critical path</b></font>"
                   "</td></tr></table>>;\n",
                   CRITICAL);
}

void clv_report_dot(const clv_concurrency *a, clv_buf *out)
{
    const clv_cut *c = clv_concurrency_cut(a);
    uint32_t n;
    drawing d = {.a = clv_concurrency_get(a),
                 .c = c,
                 .g = clv_profile_graph(clv_cut_profile(c)),
                 .subs = clv_cut_subgraphs(c, &n),
                 .modules = !strcmp(clv_cut_strategy(c), "module"),
                 .out = out};
    if (make_boxes(&d)) {
        dot_put_head(&d, c);
        put_inputs(&d);
        for (uint32_t i = 0; i < d.n_boxes; i++)
            put_box(&d, i);
        for (uint32_t k = 0; k < n; k++)
            put_edges(&d, k);
        put_ranks(&d);
        put_outputs(&d, c);
        clv_buf_printf(out, "}\n");
    } else {
        out->failed = true;
    }
    clv__free(d.before);
    clv__free(d.boxes);
    clv__free(d.box_of);
}
