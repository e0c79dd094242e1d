/* cmd_validate.c - our count of one or many models against other tools'. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct batch {
    clv_graph **graphs;
    clv_validation **results;
    const char **names;
    uint32_t n;
} batch;

static void validate_report(const void *result, const clv_report_opts *o,
                            clv_buf *out)
{
    const batch *b = result;
    clv_report_validation((const clv_validation *const *)b->results, b->names,
                          b->n, o, out);
}

static clv_status validate_add_model(const options *o, const char *model,
                                     batch *b, clv_err *err)
{
    clv_status s = open_model(o, model, &b->graphs[b->n], err);
    if (s == CLV_OK)
        s = clv_validation_new(b->graphs[b->n], &b->results[b->n], err);
    if (s != CLV_OK) {
        clv_graph_free(b->graphs[b->n]);
        return s;
    }
    b->names[b->n] = clv_graph_name(b->graphs[b->n]);
    b->n++;
    return CLV_OK;
}

/* Adds the models of the arguments; `all` is every model of the zoo. */
static clv_status add_models(const options *o, batch *b, clv_err *err)
{
    clv_status s = CLV_OK;
    for (size_t i = 0; s == CLV_OK && i < o->args.n; i++) {
        if (strcmp(o->args.items[i], "all")) {
            s = validate_add_model(o, o->args.items[i], b, err);
            continue;
        }
        const clv_zoo_model *m;
        for (uint32_t k = 0; s == CLV_OK && (m = clv_zoo_at(k)); k++)
            s = validate_add_model(o, m->name, b, err);
    }
    return s;
}

static size_t most_models(const options *o)
{
    size_t n = 0, zoo = 0;
    while (clv_zoo_at((uint32_t)zoo))
        zoo++;
    for (size_t i = 0; i < o->args.n; i++)
        n += strcmp(o->args.items[i], "all") ? 1 : zoo;
    return n;
}

clv_status cmd_validate(const options *o, clv_err *err)
{
    size_t n = most_models(o);
    batch b = {malloc(n * sizeof *b.graphs), malloc(n * sizeof *b.results),
               malloc(n * sizeof *b.names), 0};
    clv_status s = b.graphs && b.results && b.names
                       ? add_models(o, &b, err)
                       : fail(err, CLV_NOMEM, "out of memory");
    if (s == CLV_OK)
        s = emit(o, validate_report, &b, err);
    for (uint32_t i = 0; i < b.n; i++) {
        clv_validation_free(b.results[i]);
        clv_graph_free(b.graphs[i]);
    }
    free(b.graphs);
    free(b.results);
    free(b.names);
    return s;
}
