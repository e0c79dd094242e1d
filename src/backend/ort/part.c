/* part.c - a subgraph as an ONNX model in memory. */
#include "backend/ort/ort.h"
#include "core/limits.h"
#include "cut/cut.h"
#include "formats/formats.h"

#include <string.h>

/* The opsets that are tried, in this order: older libraries read the first;
 * some operators have a form in the second alone. */
static const int64_t part_opsets[] = {17, 21};

/* Values whose size or number is found while running, lists and texts stay with
 * the kernels of the library. */
static clv_status part_check(const clv_graph *g, const clv_node *n, clv_err *e)
{
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        uint32_t v = node_ins(g, n)[i]; /* outputs follow inputs */
        if (v == CLV_NONE)
            continue;
        const clv_value *x = &g->values[v];
        if (x->flags & CLV_V_FORM || x->dtype == CLV_STRING)
            return clv__fail(e, CLV_UNSUPPORTED, "lists and texts stay here");
        if (x->rank == CLV_NO_RANK || x->flags & CLV_V_BOUND)
            return clv__fail(e, CLV_UNSUPPORTED,
                             "a size of it depends on the data");
    }
    return CLV_OK;
}

/* Gives every value a name that no other has: calls of one function that was
 * taken apart share those of its body. */
static bool part_rename(clv_graph *part)
{
    for (uint32_t v = 0; v < part->n_values; v++) {
        const char *name = arena_printf(&part->mem, "v%u", v);
        if (!name)
            return false;
        part->values[v].name = name;
    }
    return true;
}

/* Lists the values at the border of `part`, whose numbers of[] gives. */
static bool part_border(ort_part *p, const clv_graph *g, const clv_graph *part,
                        const uint32_t *of, const clv_subject *s)
{
    p->inputs = arena_array(&p->mem, part->n_inputs + 1u, sizeof *p->inputs);
    p->input_names =
        arena_array(&p->mem, part->n_inputs + 1u, sizeof *p->input_names);
    p->outputs = arena_array(&p->mem, s->n_outputs + 1u, sizeof *p->outputs);
    p->output_names =
        arena_array(&p->mem, s->n_outputs + 1u, sizeof *p->output_names);
    uint32_t *back = arena_array(&p->mem, part->n_values + 1u, sizeof *back);
    if (!p->inputs || !p->input_names || !p->outputs || !p->output_names ||
        !back)
        return false;
    for (uint32_t v = 0; v < g->n_values; v++)
        if (of[v] != CLV_NONE)
            back[of[v]] = v;
    for (uint32_t i = 0; i < part->n_inputs; i++) {
        const char *name = part->values[part->inputs[i]].name;
        p->inputs[i] = back[part->inputs[i]];
        p->input_names[i] = arena_strndup(&p->mem, name, strlen(name));
        if (!p->input_names[i])
            return false;
    }
    for (uint32_t i = 0; i < s->n_outputs; i++) {
        const char *name = part->values[of[s->outputs[i]]].name;
        p->outputs[i] = s->outputs[i];
        p->output_names[i] = arena_strndup(&p->mem, name, strlen(name));
        if (!p->output_names[i])
            return false;
    }
    p->n_inputs = part->n_inputs;
    p->n_outputs = s->n_outputs;
    return true;
}

/* The contents of values by their numbers in the part; NULL: no memory. */
static clv_tensor *part_tensors(ort_part *p, const clv_graph *g,
                                const clv_graph *part, const uint32_t *of,
                                const clv_subject *s)
{
    clv_tensor *t =
        arena_zalloc(&p->mem, ((size_t)part->n_values + 1) * sizeof *t);
    for (uint32_t v = 0; t && s->tensor && v < g->n_values; v++)
        if (of[v] != CLV_NONE)
            t[of[v]] = s->tensor[v];
    return t;
}

static clv_status part_write(ort_part *p, const clv_graph *part,
                             const clv_tensor *tensor, clv_err *e)
{
    clv_status s = CLV_OK;
    for (size_t i = 0; i < sizeof part_opsets / sizeof *part_opsets; i++) {
        clv_err why = {0};
        p->bytes.len = 0;
        s = clv__onnx_bytes(part, tensor, part_opsets[i], &p->bytes, &why);
        if (s == CLV_OK)
            return CLV_OK;
        if (i == 0 || clv__is_final(s))
            *e = why;
        if (clv__is_final(s))
            return s;
    }
    return e->code;
}

clv_status ort_part_make(const clv_subject *s, ort_part *p, clv_err *e)
{
    const clv_graph *g = s->g;
    const clv_extract what = {.nodes = s->nodes,
                              .n_nodes = s->n_nodes,
                              .outputs = s->outputs,
                              .n_outputs = s->n_outputs,
                              .tensor = s->tensor};
    clv_graph *part = NULL;
    clv_err why = {0}; /* the caller may have none */
    *p = (ort_part){0};
    for (uint32_t i = 0; i < s->n_nodes; i++)
        CLV_TRY(part_check(g, &g->nodes[s->nodes[i]], e));
    uint32_t *of = arena_array(&p->mem, g->n_values + (size_t)1, sizeof *of);
    clv_status st =
        of ? clv__extract(g, &what, of, &part, &why) : clv__nomem(&why);
    if (st == CLV_OK) {
        clv_tensor *tensor = part_tensors(p, g, part, of, s);
        st = tensor && part_rename(part) && part_border(p, g, part, of, s)
                 ? part_write(p, part, tensor, &why)
                 : clv__nomem(&why);
    }
    clv_graph_free(part);
    if (st == CLV_OK)
        return CLV_OK;
    ort_part_free(p);
    return clv__fail(e, st, "%s", why.msg);
}

void ort_part_free(ort_part *p)
{
    clv_buf_free(&p->bytes);
    arena_free(&p->mem);
    *p = (ort_part){0};
}
