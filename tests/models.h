/* models.h - what tests over tables of models share. */
#ifndef CLEAVE_TESTS_MODELS_H
#define CLEAVE_TESTS_MODELS_H

#include "check.h"
#include "cleave.h"

#include <stdlib.h>

static inline bool in_zoo(const char *name)
{
    const clv_zoo_model *m;
    for (uint32_t i = 0; (m = clv_zoo_at(i)); i++)
        if (!strcmp(m->name, name))
            return true;
    return false;
}

/* "1x3x224x224" */
static inline uint32_t read_shape(const char *text, int64_t *dims)
{
    uint32_t rank = 0;
    for (char *end; rank < 8; text = end + 1) {
        dims[rank++] = strtoll(text, &end, 10);
        if (*end != 'x')
            break;
    }
    return rank;
}

/* Opens a model; NULL, and a failed check, when that does not work. */
static inline clv_graph *open_model(const char *name, const clv_open_opts *opts)
{
    clv_graph *g;
    clv_err err;
    clv_status s = clv_graph_open(name, opts, &g, &err);
    check_that(s == CLV_OK, __FILE__, __LINE__, "%s: %s", name, err.msg);
    return g;
}

/* The same at a shape as read_shape reads it. */
static inline clv_graph *open_at(const char *model, const char *shape_text)
{
    int64_t dims[8];
    clv_shape_arg shape = {NULL, dims, read_shape(shape_text, dims)};
    return open_model(model, &(clv_open_opts){.size = sizeof(clv_open_opts),
                                              .shapes = &shape,
                                              .n_shapes = 1});
}

#endif
