/* part.c - opens a partition's file and compiles it. */
#include "rank.h"

#include <stdlib.h>
#include <string.h>

/* The backend that --backend names for part k; NULL: none. */
static const char *part_asked(const rank_world *w, uint32_t k)
{
    const char *found = NULL;
    for (uint32_t i = 0; i < w->o.n_backend; i++) {
        char *end;
        const char *text = w->o.backend[i];
        unsigned long part = strtoul(text, &end, 10);
        if (end == text || *end != '=')
            found = text;
        else if (part == k)
            return end + 1;
    }
    return found;
}

static const char *part_backend(const rank_world *w, uint32_t k,
                                const clv_graph *g)
{
    const char *asked = part_asked(w, k);
    const char *device = w->plan->parts[k].device;
    if (!strcmp(device, "cpu") && strcmp(w->plan->strategy, "pipeline"))
        return "cpu"; /* the other device of the cut is the backend */
    if (!asked && (!strcmp(device, "onednn") || !strcmp(device, "ort")))
        return device;
    return asked ? asked : clv_model_usual(g);
}

clv_status rank_part_open(const rank_world *w, uint32_t k, rank_part *p,
                          clv_err *err)
{
    clv_status s = clv_bundle_part_open(w->bundle, k, &p->g, err);
    if (s != CLV_OK)
        return s;
    p->name = part_backend(w, k, p->g);
    if (strcmp(p->name, "cpu"))
        s = clv_backend_open(p->name, NULL, &p->backend, err);
    const clv_model_opts opts = {
        .size = sizeof opts, .backend = p->backend, .threads = w->threads};
    if (s == CLV_OK)
        s = clv_model_new(p->g, &opts, &p->model, err);
    if (s == CLV_OK)
        s = clv_context_new(p->model, &p->context, err);
    return s;
}

void rank_part_close(rank_part *p)
{
    clv_context_free(p->context);
    clv_model_free(p->model);
    clv_backend_free(p->backend);
    clv_graph_free(p->g);
    *p = (rank_part){0};
}
