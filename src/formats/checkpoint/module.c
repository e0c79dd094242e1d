/* module.c - see module.h. */
#include "formats/checkpoint/module.h"

#include <stdio.h>
#include <string.h>

enum { MODULE_MAX_DEPTH = 48 };

/* -- values ---------------------------------------------------------------*/

m_val m_none(void)
{
    return (m_val){.v = CLV_NONE};
}

m_val m_one(uint32_t v)
{
    return (m_val){.v = v, .n = 1};
}

m_val m_at(m_val x, uint32_t i)
{
    if (i >= x.n)
        return m_none();
    return m_one(x.more ? x.more[i] : x.v);
}

m_val m_fail(module_walk *w, clv_status s)
{
    if (w->status == CLV_OK)
        w->status = s;
    return m_none();
}

static bool module_failed(const module_walk *w)
{
    return w->status != CLV_OK;
}

static const clv_value *module_value(const module_walk *w, m_val x)
{
    return x.v == CLV_NONE ? NULL : &w->b.g->values[x.v];
}

uint32_t m_rank(const module_walk *w, m_val x)
{
    const clv_value *v = module_value(w, x);
    return v ? v->rank : CLV_NO_RANK;
}

int64_t m_dim(const module_walk *w, m_val x, uint32_t axis)
{
    const clv_value *v = module_value(w, x);
    return v && v->rank != CLV_NO_RANK && axis < v->rank ? v->dims[axis] : 0;
}

/* -- members --------------------------------------------------------------*/

static const pickle_node *module_state(const pickle_node *m, const char *part,
                                       const char *name)
{
    return pickle_get(pickle_get(m, part), name);
}

const pickle_node *m_child(const pickle_node *m, const char *name)
{
    const pickle_node *c = module_state(m, "_modules", name);
    return c && c->kind == PICKLE_OBJECT ? c : NULL;
}

/* Where a module keeps its members. */
typedef struct module_parts {
    const pickle_node *m, *params, *buffers;
} module_parts;

static module_parts module_parts_of(const pickle_node *m)
{
    return (module_parts){m, pickle_get(m, "_parameters"),
                          pickle_get(m, "_buffers")};
}

static const pickle_node *module_part(const module_parts *p, const char *name)
{
    const pickle_node *n = pickle_get(p->m, name);
    if (!n)
        n = pickle_get(p->params, name);
    if (!n)
        n = pickle_get(p->buffers, name);
    return n ? n : m_child(p->m, name);
}

const pickle_node *m_member(const pickle_node *m, const char *name)
{
    module_parts p = module_parts_of(m);
    return module_part(&p, name);
}

int64_t m_int(const pickle_node *m, const char *name, int64_t otherwise)
{
    int64_t i;
    return pickle_int(pickle_get(m, name), &i) ? i : otherwise;
}

bool m_flag(const pickle_node *m, const char *name)
{
    return pickle_true(pickle_get(m, name), false);
}

pickle_node *const *m_children(const pickle_node *m, uint32_t *n)
{
    return pickle_pairs(pickle_get(m, "_modules"), n);
}

/* -- paths ----------------------------------------------------------------*/

/* "model.0" and "conv" make "model.0.conv"; what does not fit is left out. */
static void module_join(char *buf, size_t size, const char *a, const char *b)
{
    size_t n = strlen(a), more = strlen(b);
    n = n < size ? n : size - 1;
    memmove(buf, a, n);
    if (n && n + 1 < size)
        buf[n++] = '.';
    more = more < size - n ? more : size - n - 1;
    memcpy(buf + n, b, more);
    buf[n + more] = '\0';
}

/* -- weights --------------------------------------------------------------*/

static uint32_t module_weight(module_walk *w, const pickle_node *node,
                              const char *name)
{
    torch_tensor t;
    uint32_t v = CLV_NONE;
    char path[640];
    if (module_failed(w) || !pickle_tensor(w->file, node, &t))
        return CLV_NONE;
    module_join(path, sizeof path, w->path, name);
    clv_value_kind kind =
        pickle_is_parameter(node) ? CLV_VALUE_PARAM : CLV_VALUE_BUFFER;
    m_fail(w, clv__torch_weight(&w->weights, path, kind, &t, &v, w->e));
    return v;
}

m_val m_param(module_walk *w, const pickle_node *m, const char *name)
{
    uint32_t v = module_weight(w, m_member(m, name), name);
    return v == CLV_NONE ? m_none() : m_one(v);
}

/* Weights of a dict of them. Those that are there already are read. */
static void module_unused_weights(module_walk *w, const pickle_node *dict)
{
    uint32_t n;
    clv_graph *g = w->b.g;
    pickle_node *const *all = pickle_pairs(dict, &n);
    for (uint32_t i = 0; i < n; i++) {
        const char *name = pickle_text(all[2 * i], "weight");
        uint32_t before = g->n_values, v = CLV_NONE;
        if (strcmp(name, "num_batches_tracked") != 0)
            v = module_weight(w, all[2 * i + 1], name);
        if (v != CLV_NONE && g->n_values > before &&
            g->values[v].kind == CLV_VALUE_PARAM)
            g->unused_params =
                sat_add(g->unused_params, clv__numel(&g->values[v]));
    }
}

void m_unused(module_walk *w, const pickle_node *m, const char *name)
{
    uint32_t n;
    size_t len = strlen(w->path);
    if (module_failed(w) || !m || m->kind != PICKLE_OBJECT || !w->steps ||
        w->depth >= MODULE_MAX_DEPTH || len + strlen(name) + 2 > sizeof w->path)
        return;
    w->steps--;
    w->depth++;
    snprintf(w->path + len, sizeof w->path - len, "%s%s", len ? "." : "", name);
    module_unused_weights(w, pickle_get(m, "_parameters"));
    module_unused_weights(w, pickle_get(m, "_buffers"));
    pickle_node *const *children = m_children(m, &n);
    for (uint32_t i = 0; i < n; i++)
        m_unused(w, children[2 * i + 1], pickle_text(children[2 * i], "?"));
    w->path[len] = '\0';
    w->depth--;
}

/* -- calls ----------------------------------------------------------------*/

static m_val module_made(module_walk *w)
{
    const aten_builder *b = &w->b;
    if (b->n_made == 0)
        return m_none();
    uint32_t *all = arena_array(&w->mem, b->n_made, sizeof *all);
    if (!all)
        return m_fail(w, clv__nomem(w->e));
    memcpy(all, b->made, b->n_made * sizeof *all);
    return (m_val){.v = all[0], .more = all, .n = b->n_made};
}

static m_val module_call(module_walk *w, aten_call *call)
{
    if (module_failed(w))
        return m_none();
    call->path = w->path;
    clv_status s = clv__aten_call(&w->b, call, w->e);
    return s == CLV_OK ? module_made(w) : m_fail(w, s);
}

m_val m_fn(module_walk *w, const char *name, const aten_arg *args, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (args[i].kind == ATEN_TENSOR && args[i].u.value == CLV_NONE)
            return m_none();
    char target[64];
    module_join(target, sizeof target, "aten", name);
    return module_call(
        w, &(aten_call){
               .target = target, .name = name, .args = args, .n_args = n});
}

m_val m_topk(module_walk *w, m_val x, int64_t k, int64_t axis)
{
    aten_arg args[3] = {{ATEN_TENSOR, 0, {.value = x.v}},
                        {ATEN_INT, 0, {.i = k}},
                        {ATEN_INT, 0, {.i = axis}}};
    if (x.v == CLV_NONE)
        return m_none();
    return module_call(w, &(aten_call){.target = "aten.topk",
                                       .name = "topk",
                                       .args = args,
                                       .n_args = 3,
                                       .n_results = 2,
                                       .others_used = true});
}

m_val m_float(module_walk *w, m_val x)
{
    const clv_value *v = module_value(w, x);
    if (!v)
        return m_none();
    aten_arg arg = {ATEN_TENSOR, 0, {.value = x.v}};
    aten_type type = {CLV_FLOAT32, v->rank, v->dims};
    return module_call(w, &(aten_call){.target = "aten.float",
                                       .name = "float",
                                       .args = &arg,
                                       .n_args = 1,
                                       .results = &type,
                                       .n_results = 1});
}

/* A member as an argument of a row. */
static bool module_arg(module_walk *w, const pickle_node *n, const char *name,
                       aten_arg *out)
{
    int64_t ints[CLV_MAX_RANK];
    *out = (aten_arg){.kind = ATEN_OTHER};
    switch (n->kind) {
    case PICKLE_NONE:
        out->kind = ATEN_NONE;
        return true;
    case PICKLE_BOOL:
        *out = (aten_arg){ATEN_BOOL, 0, {.b = n->u.b}};
        break;
    case PICKLE_INT:
        *out = (aten_arg){ATEN_INT, 0, {.i = n->u.i}};
        break;
    case PICKLE_FLOAT:
        *out = (aten_arg){ATEN_FLOAT, 0, {.f = n->u.f}};
        break;
    case PICKLE_STRING:
        *out = (aten_arg){ATEN_STRING, 0, {.s = n->u.s}};
        break;
    case PICKLE_LIST:
    case PICKLE_TUPLE: {
        int count = pickle_ints(n, ints, CLV_MAX_RANK);
        aten_arg *items =
            count < 0 ? NULL
                      : arena_array(&w->mem, (size_t)count + 1, sizeof *items);
        for (int i = 0; items && i < count; i++)
            items[i] = (aten_arg){ATEN_INT, 0, {.i = ints[i]}};
        if (items)
            *out = (aten_arg){ATEN_LIST, (uint32_t)count, {.items = items}};
        break;
    }
    default: {
        uint32_t v = module_weight(w, n, name);
        if (v != CLV_NONE)
            *out = (aten_arg){ATEN_TENSOR, 0, {.value = v}};
    }
    }
    return !module_failed(w);
}

/* "out_proj.weight" is a member of a child. */
static const pickle_node *module_dotted(const module_parts *p, const char *name)
{
    const char *dot = strchr(name, '.');
    char first[64];
    if (!dot || (size_t)(dot - name) >= sizeof first)
        return module_part(p, name);
    memcpy(first, name, (size_t)(dot - name));
    first[dot - name] = '\0';
    return m_member(m_child(p->m, first), dot + 1);
}

/* A layer of torch.nn, by the `count` members that its row reads. Models are
 * evaluated, whatever they were doing when they were saved. */
static m_val module_leaf(module_walk *w, const pickle_node *m,
                         const char *const *names, uint32_t count, m_val x)
{
    aten_named members[ATEN_MAX_MEMBERS];
    aten_arg args[8];
    module_parts parts = module_parts_of(m);
    aten_call call = {
        .target = pickle_class(m), .module = true, .name = w->path};
    for (uint32_t i = 0; i < count; i++) {
        const pickle_node *n = module_dotted(&parts, names[i]);
        aten_named *one = &members[call.n_members];
        if (!n)
            continue;
        one->name = names[i];
        if (!module_arg(w, n, one->name, &one->value))
            return m_none();
        if (!strcmp(one->name, "training"))
            one->value = (aten_arg){.kind = ATEN_BOOL};
        call.n_members++;
    }
    for (uint32_t i = 0; i < x.n && i < 8; i++)
        args[call.n_args++] =
            (aten_arg){ATEN_TENSOR, 0, {.value = m_at(x, i).v}};
    call.members = members;
    call.args = args;
    return module_call(w, &call);
}

m_val m_unknown(module_walk *w, const pickle_node *m, m_val x)
{
    enum { READ = 64 };
    aten_arg args[READ];
    uint32_t n = 0, count;
    for (uint32_t i = 0; i < x.n && n < READ; i++)
        if (m_at(x, i).v != CLV_NONE)
            args[n++] = (aten_arg){ATEN_TENSOR, 0, {.value = m_at(x, i).v}};
    pickle_node *const *own =
        pickle_pairs(pickle_get(m, "_parameters"), &count);
    for (uint32_t i = 0; i < count && n < READ; i++) {
        uint32_t v =
            module_weight(w, own[2 * i + 1], pickle_text(own[2 * i], "weight"));
        if (v != CLV_NONE)
            args[n++] = (aten_arg){ATEN_TENSOR, 0, {.value = v}};
    }
    char target[128];
    snprintf(target, sizeof target, "module.%s", pickle_class(m));
    m_val y = module_call(w, &(aten_call){.target = target,
                                          .name = pickle_class(m),
                                          .args = args,
                                          .n_args = n});
    /* its children hold weights all the same */
    pickle_node *const *children = m_children(m, &count);
    for (uint32_t i = 0; i < count && w->depth < MODULE_MAX_DEPTH; i++) {
        size_t len = strlen(w->path);
        snprintf(w->path + len, sizeof w->path - len, ".%s",
                 pickle_text(children[2 * i], "?"));
        w->depth++;
        if (w->steps && children[2 * i + 1]->kind == PICKLE_OBJECT) {
            w->steps--;
            m_unknown(w, children[2 * i + 1], m_none());
        }
        w->depth--;
        w->path[len] = '\0';
    }
    return y;
}

/* -- modules --------------------------------------------------------------*/

static m_val module_sequential(module_walk *w, const pickle_node *m, m_val x)
{
    uint32_t n;
    pickle_node *const *children = m_children(m, &n);
    for (uint32_t i = 0; i < n; i++)
        x = m_forward(w, children[2 * i + 1], pickle_text(children[2 * i], "?"),
                      x);
    return x;
}

static m_val module_dispatch(module_walk *w, const pickle_node *m, m_val x)
{
    const char *cls = pickle_class(m), *names[ATEN_MAX_MEMBERS];
    uint32_t n;
    module_fn *fn = module_forward(cls);
    if (fn)
        return fn(w, m, x);
    if (!strcmp(cls, "Sequential"))
        return module_sequential(w, m, x);
    if (!clv__aten_members(&w->b, cls, names, &n))
        return m_fail(w, clv__nomem(w->e));
    bool plain = !strncmp(pickle_class_path(m), "torch.nn", 8);
    bool leaf = n || !strcmp(cls, "Identity") || !strcmp(cls, "Sigmoid") ||
                !strcmp(cls, "Tanh");
    return plain && leaf ? module_leaf(w, m, names, n, x) : m_unknown(w, m, x);
}

m_val m_forward(module_walk *w, const pickle_node *m, const char *name, m_val x)
{
    size_t len = strlen(w->path), more = strlen(name);
    if (module_failed(w) || !m)
        return m_none();
    if (w->depth >= MODULE_MAX_DEPTH || w->steps == 0 ||
        len + more + 2 > sizeof w->path)
        return m_fail(w,
                      clv__fail(w->e, CLV_FORMAT,
                                "modules nested without end at '%s'", w->path));
    w->steps--;
    w->depth++;
    module_join(w->path, sizeof w->path, w->path, name);
    m_val y = module_dispatch(w, m, x);
    w->path[len] = '\0';
    w->depth--;
    return y;
}

m_val m_run(module_walk *w, const pickle_node *m, const char *name, m_val x)
{
    const pickle_node *c = m_child(m, name);
    if (!c && !module_failed(w))
        return m_fail(w, clv__fail(w->e, CLV_FORMAT,
                                   "module '%s' (%s) has no '%s'", w->path,
                                   pickle_class(m), name));
    return m_forward(w, c, name, x);
}

/* -- words ----------------------------------------------------------------*/

static aten_arg word_tensor(m_val x)
{
    return (aten_arg){ATEN_TENSOR, 0, {.value = x.v}};
}

static aten_arg word_int(int64_t i)
{
    return (aten_arg){ATEN_INT, 0, {.i = i}};
}

static aten_arg word_ints(module_walk *w, const int64_t *v, uint32_t n)
{
    aten_arg *items = arena_array(&w->mem, n + 1u, sizeof *items);
    if (!items)
        m_fail(w, clv__nomem(w->e));
    for (uint32_t i = 0; items && i < n; i++)
        items[i] = word_int(v[i]);
    return (aten_arg){ATEN_LIST, items ? n : 0, {.items = items}};
}

m_val m_cat(module_walk *w, const m_val *list, uint32_t n, int64_t axis)
{
    aten_arg *items = arena_array(&w->mem, n + 1u, sizeof *items);
    if (!items)
        return m_fail(w, clv__nomem(w->e));
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].v == CLV_NONE)
            return m_none();
        items[i] = word_tensor(list[i]);
    }
    aten_arg args[2] = {{ATEN_LIST, n, {.items = items}}, word_int(axis)};
    return m_fn(w, "cat", args, 2);
}

m_val m_binary(module_walk *w, const char *fn, m_val a, m_val b)
{
    aten_arg args[2] = {word_tensor(a), word_tensor(b)};
    return m_fn(w, fn, args, 2);
}

m_val m_add(module_walk *w, m_val a, m_val b)
{
    return m_binary(w, "add", a, b);
}

m_val m_scale(module_walk *w, const char *fn, m_val a, double k)
{
    aten_arg args[2] = {word_tensor(a), {ATEN_FLOAT, 0, {.f = k}}};
    return m_fn(w, fn, args, 2);
}

m_val m_unary(module_walk *w, const char *fn, m_val a)
{
    aten_arg arg = word_tensor(a);
    return m_fn(w, fn, &arg, 1);
}

m_val m_chunk(module_walk *w, m_val x, int64_t n, int64_t axis)
{
    aten_arg args[3] = {word_tensor(x), word_int(n), word_int(axis)};
    return m_fn(w, "chunk", args, 3);
}

m_val m_split(module_walk *w, m_val x, const int64_t *sizes, uint32_t n,
              int64_t axis)
{
    aten_arg args[3] = {word_tensor(x), word_ints(w, sizes, n), word_int(axis)};
    return m_fn(w, "split_with_sizes", args, 3);
}

m_val m_view(module_walk *w, m_val x, const int64_t *dims, uint32_t n)
{
    aten_arg args[2] = {word_tensor(x), word_ints(w, dims, n)};
    return m_fn(w, "view", args, 2);
}

m_val m_expand(module_walk *w, m_val x, const int64_t *dims, uint32_t n)
{
    aten_arg args[2] = {word_tensor(x), word_ints(w, dims, n)};
    return m_fn(w, "expand", args, 2);
}

m_val m_transpose(module_walk *w, m_val x, int64_t a, int64_t b)
{
    aten_arg args[3] = {word_tensor(x), word_int(a), word_int(b)};
    return m_fn(w, "transpose", args, 3);
}

m_val m_permute(module_walk *w, m_val x, const int64_t *perm, uint32_t n)
{
    aten_arg args[2] = {word_tensor(x), word_ints(w, perm, n)};
    return m_fn(w, "permute", args, 2);
}

m_val m_softmax(module_walk *w, m_val x, int64_t axis)
{
    aten_arg args[2] = {word_tensor(x), word_int(axis)};
    return m_fn(w, "softmax", args, 2);
}

m_val m_slice(module_walk *w, m_val x, int64_t axis, int64_t start, int64_t end,
              int64_t step)
{
    aten_arg args[5] = {word_tensor(x), word_int(axis), word_int(start),
                        word_int(end), word_int(step)};
    return m_fn(w, "slice", args, 5);
}

m_val m_const(module_walk *w, const char *name, const float *data,
              const int64_t *dims, uint32_t rank)
{
    clv_graph *g = w->b.g;
    char path[640];
    if (module_failed(w))
        return m_none();
    module_join(path, sizeof path, w->path, name);
    char *own = arena_strndup(&g->mem, path, strlen(path));
    uint32_t v =
        own ? clv__value_add(g, own, CLV_VALUE_CONST, CLV_FLOAT32) : CLV_NONE;
    clv_payload *p = v != CLV_NONE && clv__value_set_shape(g, v, rank, dims)
                         ? clv__value_data(g, v)
                         : NULL;
    size_t bytes = p ? (size_t)clv__bytes(&g->values[v]) : 0;
    void *copy = p ? arena_alloc(&g->mem, bytes + 1) : NULL;
    if (!copy)
        return m_fail(w, clv__nomem(w->e));
    memcpy(copy, data, bytes);
    p->bytes = copy;
    p->size = bytes;
    return m_one(v);
}
