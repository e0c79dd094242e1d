/* weights.c - where the numbers of weights are.
 *
 * Most stay in the mapped model file. What is listed number by number, known
 * from folding, drawn from a seed, or not aligned for its type gets memory of
 * its own. */
#include "core/mapping.h"
#include "formats/onnx/tensor_pb.h"
#include "ops/seeded.h"
#include "run/run.h"

#include <string.h>

/* -- memory of our own ----------------------------------------------------*/

static clv_status own(weight_store *w, clv_tensor *t, const char *name,
                      clv_err *e)
{
    int64_t bytes = clv_tensor_bytes(t);
    if (bytes < 0)
        return clv__fail(e, CLV_OVERFLOW, "a weight that does not fit");
    if (!CLV_GROW(w->own, w->n_own, w->cap_own) ||
        !(t->data = clv__zalloc((size_t)bytes + 1)))
        return clv__nomem(e);
    w->own[w->n_own++] = *t;
    w->bytes = sat_add(w->bytes, bytes);
    if (name &&
        !strmap_put(&w->names, name, strlen(name), (uint32_t)w->n_own - 1))
        return clv__nomem(e);
    return CLV_OK;
}

clv_status clv__weight_own(weight_store *w, clv_tensor *t, clv_err *e)
{
    return own(w, t, NULL, e);
}

static bool same_type(const clv_tensor *a, const clv_tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims);
}

/* The same weight of the graph that this one is like, in its file or drawn. */
static bool borrow_stored(weight_store *w, const clv_graph *g, uint32_t v,
                          clv_tensor *t)
{
    const char *name = g->values[v].name;
    if (!w->borrowed || g != w->tables[0].g || !name || !name[0] ||
        w->like->seed != w->seed)
        return false;
    uint32_t i = strmap_get(&w->likes, name, strlen(name));
    const clv_tensor *of = i == CLV_NONE ? NULL : &w->like->tables[0].t[i];
    if (!of || !of->data || of->dtype == CLV_STRING || !same_type(of, t))
        return false;
    t->data = of->data;
    w->borrowed[v] =
        !w->like->like || (w->like->borrowed && w->like->borrowed[i]);
    return true;
}

/* Names of what may be borrowed; a name that two values have is none. */
static clv_status list_likes(weight_store *w, const clv_graph *g, clv_err *e)
{
    const clv_graph *of = w->like->tables[0].g;
    w->borrowed = arena_zalloc(&w->mem, (size_t)g->n_values + 1);
    if (!w->borrowed)
        return clv__nomem(e);
    for (uint32_t v = 0; v < of->n_values; v++) {
        const char *name = of->values[v].name;
        if (!name || !name[0] || !value_is_weight(&of->values[v]))
            continue;
        bool twice = strmap_get(&w->likes, name, strlen(name)) != CLV_NONE;
        if (!strmap_put(&w->likes, name, strlen(name), twice ? CLV_NONE : v))
            return clv__nomem(e);
    }
    return CLV_OK;
}

/* The same weight in the store that this one is like. */
static bool borrow(const weight_store *w, const char *name, clv_tensor *t)
{
    uint32_t i = w->like && name
                     ? strmap_get(&w->like->names, name, strlen(name))
                     : CLV_NONE;
    if (i == CLV_NONE || !same_type(&w->like->own[i], t) ||
        w->like->seed != w->seed)
        return false;
    t->data = w->like->own[i].data;
    return true;
}

bool clv__weight_is_aligned(const clv_tensor *t)
{
    size_t size = clv__element_bytes(t);
    return size <= 1 || (uintptr_t)t->data % (size < 8 ? size : 8) == 0;
}

clv_status clv__weight_align(weight_store *w, clv_tensor *t, clv_err *e)
{
    if (clv__weight_is_aligned(t))
        return CLV_OK;
    const void *from = t->data;
    CLV_TRY(own(w, t, NULL, e));
    memcpy(t->data, from, (size_t)clv_tensor_bytes(t));
    return CLV_OK;
}

static clv_status from_list(weight_store *w, const clv_payload *p,
                            clv_tensor *t, clv_err *e)
{
    if (p->n != clv_tensor_numel(t))
        return CLV_OK; /* nothing known after all */
    CLV_TRY(own(w, t, NULL, e));
    for (uint32_t i = 0; i < p->n; i++)
        if (p->ints)
            put_i(t, i, p->ints[i]);
        else
            put_f(t, i, p->floats[i]);
    return CLV_OK;
}

static clv_status from_proto(weight_store *w, const clv_payload *p,
                             clv_tensor *t, clv_err *e)
{
    clv_tensor read;
    CLV_TRY((p->sparse ? clv__sparse_pb : clv__tensor_pb)(
        p->proto, (size_t)p->proto_size, &read, e));
    bool fits = read.dtype == t->dtype &&
                clv_tensor_bytes(&read) == clv_tensor_bytes(t);
    if (fits && t->dtype == CLV_STRING) { /* the block has the texts too */
        if (!CLV_GROW(w->own, w->n_own, w->cap_own))
            return clv__free(read.data), clv__nomem(e);
        t->data = read.data;
        w->own[w->n_own++] = *t;
        return CLV_OK;
    }
    clv_status s = fits ? own(w, t, NULL, e)
                        : clv__fail(e, CLV_FORMAT, "its shape differs");
    if (s == CLV_OK)
        memcpy(t->data, read.data, (size_t)clv_tensor_bytes(t));
    clv__free(read.data);
    return s;
}

static clv_status seeded(weight_store *w, const clv_graph *g, uint32_t v,
                         clv_tensor *t, clv_err *e)
{
    const char *name = g->values[v].name;
    const clv_payload *p = g->values[v].data;
    if (g->holds_weights && !w->draw && !(p && p->fill))
        return clv__about(
            e, clv__fail(e, CLV_NOT_FOUND, "the file has no data of it"),
            CLV_SUBJECT_WEIGHTS, name ? name : "");
    if (borrow(w, name, t))
        return CLV_OK;
    CLV_TRY(own(w, t, name, e));
    clv__weight_fill(g, v, w->seed, 0, clv_tensor_numel(t), t->data);
    return CLV_OK;
}

/* Data in a file of its own, which may not be there. */
static clv_status from_file(weight_store *w, const clv_graph *g,
                            const char *folder, uint32_t v, clv_tensor *t,
                            clv_err *e)
{
    const clv_payload *p = g->values[v].data;
    const char *name = g->values[v].name;
    const void *data;
    clv_err untold = {0};
    clv_status s = clv__external_at(&w->files, folder, p, clv_tensor_bytes(t),
                                    &data, w->draw ? &untold : e);
    if (s == CLV_NOT_FOUND && w->draw)
        return seeded(w, g, v, t, e);
    if (s == CLV_NOT_FOUND)
        return clv__about(e, s, CLV_SUBJECT_WEIGHTS, name ? name : "");
    if (s != CLV_OK)
        return w->draw ? clv__fail(e, s, "%s", untold.msg) : s;
    t->data = (void *)(uintptr_t)data;
    return CLV_OK;
}

/* -- tables ---------------------------------------------------------------*/

/* A file or a live module must hold its weights; a zoo model never does. */
static clv_status find_weight(weight_store *w, const clv_graph *g,
                              const char *folder, uint32_t v, clv_tensor *t,
                              clv_err *e)
{
    const clv_payload *p = g->values[v].data;
    bool weight = value_is_weight(&g->values[v]);
    bool texts = t->dtype == CLV_STRING; /* which a file lists, or not at all */
    if (weight && borrow_stored(w, g, v, t))
        return CLV_OK;
    if (texts && !(p && p->proto) && clv_tensor_numel(t) != 0)
        return weight ? clv__fail(e, CLV_FORMAT, "its texts are not listed")
                      : CLV_OK;
    if (p && p->bytes && !texts && (int64_t)p->size == clv_tensor_bytes(t))
        return t->data = (void *)(uintptr_t)p->bytes, CLV_OK;
    if (p && p->bytes && !texts)
        return clv__fail(e, CLV_FORMAT, "its data is not as long as its shape");
    if (p && p->file && !texts)
        return from_file(w, g, folder, v, t, e);
    if (p && (p->ints || p->floats))
        return from_list(w, p, t, e);
    if (p && p->proto)
        return from_proto(w, p, t, e);
    if (!weight)
        return CLV_OK;
    if (clv_tensor_numel(t) == 0)
        return own(w, t, NULL, e);
    return seeded(w, g, v, t, e);
}

static clv_status fill_table(weight_store *w, const clv_graph *g,
                             const char *folder, clv_tensor *table, clv_err *e)
{
    char buf[128];
    for (uint32_t v = 0; v < g->n_values; v++) {
        const clv_value *value = &g->values[v];
        clv_tensor *t = &table[v];
        *t = (clv_tensor){.dtype = (clv_dtype)value->dtype};
        if (value->rank == CLV_NO_RANK || value->flags & CLV_V_FORM)
            continue;
        t->rank = value->rank;
        if (value->rank)
            memcpy(t->dims, value->dims, value->rank * sizeof *t->dims);
        bool folded = value->kind == CLV_VALUE_ACTIVATION && value->data &&
                      !(value->flags & CLV_V_BOUND);
        if (!clv__is_read(g, v) || !(value_is_weight(value) || folded))
            continue;
        clv_status s = find_weight(w, g, folder, v, t, e);
        if (s != CLV_OK) {
            clv__err_prefix(e, "weight '%s'",
                            clv__value_name(g, v, buf, sizeof buf));
            return s;
        }
    }
    return CLV_OK;
}

static clv_status add_tables(weight_store *w, const clv_graph *g,
                             const char *folder, clv_err *e)
{
    if (!g->inferred) /* a branch that is never taken */
        return CLV_OK;
    clv_tensor *t = arena_array(&w->mem, (size_t)g->n_values + 1, sizeof *t);
    if (!t || !CLV_GROW(w->tables, w->n_tables, w->cap_tables))
        return clv__nomem(e);
    w->tables[w->n_tables++] = (weight_table){g, t};
    CLV_TRY(fill_table(w, g, folder, t, e));
    for (uint32_t i = 0; i < g->n_bodies; i++)
        CLV_TRY(add_tables(w, g->bodies[i], folder, e));
    for (uint32_t v = 0; g != w->tables[0].g && v < g->n_values; v++)
        if (t[v].data)
            CLV_TRY(clv__weight_align(w, &t[v], e));
    return CLV_OK;
}

clv_status clv__weights_new(const clv_graph *g, const clv_model_opts *o,
                            weight_store *like, weight_store **out, clv_err *e)
{
    *out = NULL;
    weight_store *w = clv__zalloc(sizeof *w);
    if (!w)
        return clv__nomem(e);
    atomic_init(&w->users, 1);
    w->seed = o->seed;
    w->draw = o->draw_weights;
    w->like = like;
    if (like)
        atomic_fetch_add(&like->users, 1);
    clv_status s = like ? list_likes(w, g, e) : CLV_OK;
    if (!like)
        clv__mapping_fetch(g->file, g->file_size);
    if (s == CLV_OK)
        s = add_tables(w, g, g->folder, e);
    if (s != CLV_OK) {
        clv__weights_free(w);
        return s;
    }
    *out = w;
    return CLV_OK;
}

void clv__weights_free(weight_store *w)
{
    if (!w || atomic_fetch_sub(&w->users, 1) > 1)
        return;
    for (size_t i = 0; i < w->n_own; i++)
        clv__free(w->own[i].data);
    clv__external_close(&w->files);
    clv__weights_free(w->like);
    strmap_free(&w->names);
    strmap_free(&w->likes);
    clv__free(w->own);
    clv__free(w->packs);
    clv__free(w->tables);
    arena_free(&w->mem);
    clv__free(w);
}

enum { DROP_LARGE = 65536 }; /* bytes whose pages are worth giving back */

int64_t clv__weight_drop(const weight_store *w, const clv_graph *g,
                         const clv_tensor *t)
{
    int64_t bytes = clv_tensor_bytes(t);
    if (!t->data || bytes < DROP_LARGE)
        return 0;
    clv__mapping_drop(g->file, g->file_size, t->data, (size_t)bytes);
    clv__external_drop(&w->files, t->data, (size_t)bytes);
    return bytes;
}

const clv_tensor *clv__weights_of(const weight_store *w, const clv_graph *g)
{
    for (size_t i = 0; i < w->n_tables; i++)
        if (w->tables[i].g == g)
            return w->tables[i].t;
    return NULL;
}
