/* ref.c - what the plain C kernels can run, and the backend that says so.
 *
 * It compiles nothing: a model runs on these kernels whatever no other backend
 * takes, and all of it when this backend is chosen. */
#include "backend/backend.h"
#include "backend/kernel.h"

#include <stdio.h>

bool clv__ref_supports(const clv_graph *g, uint32_t id, clv_why *why)
{
    const clv_node *n = &g->nodes[id];
    bool control = clv__ops[n->op].category == CLV_CAT_CONTROL;
    const char *other = n->counted_only;
    if (other || (!control && !clv__kernel_of((clv_op)n->op))) {
        snprintf(why->text, sizeof why->text, "%s",
                 other ? other : "no kernel");
        return false;
    }
    bool lists =
        control || clv__kernel_makes((clv_op)n->op) || n->op == CLV_OP_IDENTITY;
    bool texts = control || clv__kernel_moves((clv_op)n->op);
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        uint32_t v = node_ins(g, n)[i];
        if (v == CLV_NONE || (i >= n->n_in && !clv__is_read(g, v)))
            continue;
        bool list = g->values[v].flags & CLV_V_FORM;
        bool text = g->values[v].dtype == CLV_STRING;
        if (dtype_class_of((clv_dtype)g->values[v].dtype) == CLASS_COMPLEX) {
            snprintf(why->text, sizeof why->text,
                     "no kernel for complex numbers");
            return false;
        }
        if ((list && !lists) || (text && !texts)) {
            snprintf(why->text, sizeof why->text, "no kernel for %s",
                     list ? "sequences and optionals" : "type string");
            return false;
        }
    }
    return true;
}

/* A node with bodies needs all of theirs, but for a branch that is never taken,
 * which is not inferred. */
static bool bodies_run(const clv_node *n, clv_why *why)
{
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        const clv_graph *body =
            n->attrs[i].type == CLV_ATTR_GRAPH ? n->attrs[i].u.body : NULL;
        for (uint32_t id = 0; body && body->inferred && id < body->n_nodes;
             id++)
            if (!clv__ref_supports(body, id, why) ||
                !bodies_run(&body->nodes[id], why))
                return false;
    }
    return true;
}

static clv_answer ref_supports(clv_backend *b, const clv_graph *g,
                               uint32_t node, clv_why *why)
{
    (void)b;
    return clv__ref_supports(g, node, why) && bodies_run(&g->nodes[node], why)
               ? CLV_YES
               : CLV_NO;
}

const clv_backend_type clv__ref_type = {
    .name = "ref",
    .about = "the plain C kernels: slow, and the check of all others",
    .supports = ref_supports,
};
