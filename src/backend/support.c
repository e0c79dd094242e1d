/* support.c - a backend's answers for a whole graph, one per configuration.
 *
 * Nodes with the same configuration (operator, types, shapes, attributes,
 * known contents of small inputs) share an answer. A node that does no work
 * (a view, arithmetic on shapes, a constant) may run on either side unless the
 * backend names it as unsupported. What the user forces comes last. */
#include "backend/backend.h"
#include "core/json.h"
#include "core/jsonw.h"

#include <stdio.h>
#include <string.h>

struct clv_support {
    arena mem;
    const clv_graph *g;
    clv_support_info info;
    clv_node_support *nodes;
    clv_answer *answer;  /* per configuration, as is reason */
    const char **reason; /* why not; "" */
};

/* -- configurations -------------------------------------------------------*/

void clv__json_attr(jsonw *w, const clv_attr *a)
{
    const char *name =
        a->key < CLV_A_OTHER ? clv__attr_name((clv_attr_key)a->key) : a->name;
    switch ((clv_attr_type)a->type) {
    case CLV_ATTR_INT:
        jsonw_int(w, name, a->u.i);
        break;
    case CLV_ATTR_FLOAT:
        jsonw_num(w, name, a->u.f);
        break;
    case CLV_ATTR_STRING:
        jsonw_str(w, name, a->u.s);
        break;
    case CLV_ATTR_INTS:
        jsonw_ints(w, name, a->u.ints, a->n);
        break;
    case CLV_ATTR_FLOATS:
        jsonw_array(w, name);
        for (uint32_t i = 0; i < a->n; i++)
            jsonw_num(w, NULL, a->u.floats[i]);
        jsonw_end(w);
        break;
    case CLV_ATTR_STRINGS:
        jsonw_array(w, name);
        for (uint32_t i = 0; i < a->n; i++)
            jsonw_str(w, NULL, a->u.strings[i]);
        jsonw_end(w);
        break;
    case CLV_ATTR_TENSOR:
    case CLV_ATTR_GRAPH:
        jsonw_null(w, name);
        break;
    }
}

/* `unread` is said of outputs that nobody reads. */
static void support_write_value(jsonw *w, const clv_value *v, bool unread)
{
    if (!v) {
        jsonw_null(w, NULL);
        return;
    }
    jsonw_object(w, NULL);
    jsonw_str(w, "dtype", clv_dtype_name((clv_dtype)v->dtype));
    if (v->rank == CLV_NO_RANK)
        jsonw_null(w, "shape");
    else
        jsonw_ints(w, "shape", v->dims, v->rank);
    jsonw_bool(w, "weight", value_is_weight(v));
    if (v->data && v->data->ints && v->data->n <= 16)
        jsonw_ints(w, "values", v->data->ints, v->data->n);
    if (unread)
        jsonw_bool(w, "unread", true);
    jsonw_end(w);
}

void clv__query(const clv_graph *g, uint32_t node, clv_buf *out)
{
    const clv_node *n = &g->nodes[node];
    jsonw w;
    jsonw_start(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "op", clv__ops[n->op].name);
    jsonw_str(&w, "origin", clv__op_at_source(n));
    jsonw_array(&w, "inputs");
    for (uint32_t i = 0; i < n->n_in; i++)
        support_write_value(&w, node_in(g, n, i), false);
    jsonw_end(&w);
    jsonw_array(&w, "outputs");
    for (uint32_t i = 0; i < n->n_out; i++)
        support_write_value(&w, node_out(g, n, i),
                            !clv__is_read(g, node_outs(g, n)[i]));
    jsonw_end(&w);
    jsonw_object(&w, "attributes");
    for (uint32_t i = 0; i < n->n_attrs; i++)
        clv__json_attr(&w, &n->attrs[i]);
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
}

typedef struct config_set {
    strmap index;
    const char **query; /* text, without the newline */
    uint32_t *node;     /* the first that has it */
    uint32_t n;
    size_t cap_query, cap_node;
} config_set;

static void free_configs(config_set *c)
{
    strmap_free(&c->index);
    clv__free(c->query);
    clv__free(c->node);
}

/* The configuration of a node, new or seen before; CLV_NONE: no memory. */
static uint32_t intern(config_set *c, arena *a, const clv_graph *g,
                       uint32_t node, clv_buf *buf)
{
    buf->len = 0;
    clv__query(g, node, buf);
    if (buf->failed)
        return CLV_NONE;
    size_t len =
        buf->len && buf->text[buf->len - 1] == '\n' ? buf->len - 1 : buf->len;
    uint32_t at = strmap_get(&c->index, buf->text, len);
    if (at != CLV_NONE)
        return at;
    char *text = arena_strndup(a, buf->text, len);
    if (!text || !CLV_GROW(c->query, c->n, c->cap_query) ||
        !CLV_GROW(c->node, c->n, c->cap_node) ||
        !strmap_put(&c->index, text, len, c->n))
        return CLV_NONE;
    c->query[c->n] = text;
    c->node[c->n] = node;
    return c->n++;
}

/* -- asking ---------------------------------------------------------------*/

static clv_status ask(clv_backend *b, const clv_graph *g, const config_set *c,
                      clv_answer *answer, clv_why *why, clv_err *e)
{
    if (b->type->ask)
        return b->type->ask(b, c->query, c->n, answer, why, e);
    for (uint32_t i = 0; i < c->n; i++) {
        const char *counted = g->nodes[c->node[i]].counted_only;
        if (counted && b->type->compile) {
            answer[i] = CLV_NO;
            snprintf(why[i].text, sizeof why[i].text, "%s", counted);
        } else {
            answer[i] = b->type->supports(b, g, c->node[i], &why[i]);
        }
        if (answer[i] == CLV_NO_ANSWER)
            return clv__nomem(e);
    }
    return CLV_OK;
}

/* No work at run time: a view, or a result that inference already knows. */
static bool does_nothing(const clv_graph *g, const clv_node *n)
{
    if (clv__ops[n->op].cls == CLV_CLASS_VIEW)
        return true;
    for (uint32_t i = 0; i < n->n_out; i++) {
        const clv_payload *d = node_out(g, n, i)->data;
        if (!d || (!d->ints && !d->floats))
            return false;
    }
    return n->n_out > 0;
}

static clv_side support_side(bool nothing, clv_answer answer)
{
    if (nothing)
        return answer == CLV_NO ? CLV_SIDE_CPU : CLV_SIDE_EITHER;
    return answer == CLV_YES ? CLV_SIDE_ACCELERATOR : CLV_SIDE_CPU;
}

static clv_status fill(clv_support *s, clv_backend *b, config_set *c,
                       arena *scratch, clv_err *e)
{
    const clv_graph *g = s->g;
    clv_why *why = arena_zalloc(scratch, (c->n + 1) * sizeof *why);
    s->answer = arena_zalloc(&s->mem, (c->n + 1) * sizeof *s->answer);
    s->reason = arena_array(&s->mem, c->n + 1, sizeof *s->reason);
    if (!s->answer || !why || !s->reason)
        return clv__nomem(e);
    CLV_TRY(ask(b, g, c, s->answer, why, e));
    for (uint32_t i = 0; i < c->n; i++)
        if (!(s->reason[i] =
                  arena_strndup(&s->mem, why[i].text, strlen(why[i].text))))
            return clv__nomem(e);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        clv_node_support *at = &s->nodes[i];
        bool nothing = does_nothing(g, &g->nodes[i]);
        at->side = support_side(nothing, s->answer[at->config]);
        at->arithmetic = !nothing;
        at->supported = (at->side & CLV_SIDE_ACCELERATOR) != 0;
        at->reason = at->supported ? "" : s->reason[at->config];
        s->info.total += at->arithmetic;
        s->info.supported += at->arithmetic && at->supported;
    }
    return CLV_OK;
}

static clv_status collect(clv_support *s, config_set *c, arena *scratch,
                          clv_err *e)
{
    clv_buf buf = {0};
    uint32_t i;
    for (i = 0; i < s->g->n_nodes; i++) {
        s->nodes[i].config = intern(c, scratch, s->g, i, &buf);
        if (s->nodes[i].config == CLV_NONE)
            break;
    }
    clv_buf_free(&buf);
    return i < s->g->n_nodes ? clv__nomem(e) : CLV_OK;
}

static clv_status support_build(clv_support *s, clv_backend *b, clv_err *e)
{
    arena scratch = {0};
    config_set c = {0};
    uint32_t n = s->g->n_nodes;
    s->nodes = arena_zalloc(&s->mem, ((size_t)n + 1) * sizeof *s->nodes);
    char *device = arena_strndup(&s->mem, b->name, strlen(b->name));
    clv_status st = s->nodes && device ? CLV_OK : clv__nomem(e);
    if (st == CLV_OK)
        st = collect(s, &c, &scratch, e);
    if (st == CLV_OK)
        st = fill(s, b, &c, &scratch, e);
    s->info.size = sizeof s->info;
    s->info.device = device;
    s->info.nodes = s->nodes;
    s->info.n_nodes = n;
    s->info.n_configs = c.n;
    s->info.percentage =
        s->info.total ? 100.0 * s->info.supported / s->info.total : 100;
    free_configs(&c);
    arena_free(&scratch);
    return st;
}

clv_status clv_support_new(clv_backend *b, const clv_graph *g,
                           clv_support **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(b, err);
    CLV_NEED(g, err);
    CLV_TRY(clv__need_inferred(g, __func__, err));
    clv_support *s = clv__zalloc(sizeof *s);
    if (!s)
        return clv__nomem(err);
    s->g = g;
    clv_status st = support_build(s, b, err);
    if (st != CLV_OK) {
        clv_support_free(s);
        return st;
    }
    *out = s;
    return CLV_OK;
}

void clv_support_free(clv_support *s)
{
    if (!s)
        return;
    arena_free(&s->mem);
    clv__free(s);
}

const clv_support_info *clv_support_get(const clv_support *s)
{
    return &s->info;
}

clv_answer clv__support_answer(const clv_support *s, uint32_t node,
                               const char **why)
{
    uint32_t config = s->nodes[node].config;
    *why = s->reason[config];
    return s->answer[config];
}

/* -- what the user forces -------------------------------------------------*/

static void force(clv_node_support *at, clv_side side, const char *reason)
{
    at->side = side;
    at->forced = true;
    at->reason = side == CLV_SIDE_CPU ? reason : "";
}

static clv_status check_force(const clv_support *s, const char *what,
                              clv_side side, clv_err *err)
{
    clv__err_clear(err);
    CLV_NEED(s, err);
    CLV_NEED(what, err);
    if ((unsigned)side < CLV_SIDE_CPU || (unsigned)side > CLV_SIDE_EITHER)
        return clv__fail(err, CLV_USAGE, "'%.80s': there is no side %u", what,
                         (unsigned)side);
    return CLV_OK;
}

clv_status clv_support_force_op(clv_support *s, const char *name, clv_side side,
                                clv_err *err)
{
    CLV_TRY(check_force(s, name, side, err));
    bool any = false;
    for (uint32_t i = 0; i < s->g->n_nodes; i++)
        if (clv__names_node(name, &s->g->nodes[i])) {
            force(&s->nodes[i], side, "sent to the CPU by operator");
            any = true;
        }
    if (any || clv__names_operator(name))
        return CLV_OK;
    return clv__unknown_operator(name, CLV_USAGE, err);
}

clv_status clv__support_demote(clv_support *s, uint32_t node, const char *why,
                               clv_err *e)
{
    const char *own = arena_strndup(&s->mem, why, strlen(why));
    if (!own)
        return clv__nomem(e);
    force(&s->nodes[node], CLV_SIDE_CPU, own);
    return CLV_OK;
}

clv_status clv_support_force_nodes(clv_support *s, const char *pattern,
                                   clv_side side, clv_err *err)
{
    CLV_TRY(check_force(s, pattern, side, err));
    bool any = false;
    for (uint32_t i = 0; i < s->g->n_nodes; i++)
        if (clv__node_matches(s->g, &s->g->nodes[i], pattern)) {
            force(&s->nodes[i], side, "sent to the CPU by name");
            any = true;
        }
    if (any)
        return CLV_OK;
    return clv__fail(err, CLV_NOT_FOUND, "no node or module matches '%.200s'",
                     pattern);
}

/* -- overrides ------------------------------------------------------------*/

static clv_status read_side(const json *v, clv_side *side, clv_err *e)
{
    const char *s = v->type == JSON_STRING ? v->u.s : "";
    *side = strcmp(s, "cpu") == 0           ? CLV_SIDE_CPU
            : strcmp(s, "accelerator") == 0 ? CLV_SIDE_ACCELERATOR
            : strcmp(s, "either") == 0      ? CLV_SIDE_EITHER
                                            : (clv_side)0;
    if (*side)
        return CLV_OK;
    return clv__fail(e, CLV_FORMAT,
                     "line %u: '%.80s' must be \"cpu\", \"accelerator\" or "
                     "\"either\"",
                     v->line, v->key);
}

typedef clv_status force_fn(clv_support *s, const char *what, clv_side side,
                            clv_err *err);

static clv_status override_all(clv_support *s, const json *table, force_fn *fn,
                               clv_err *e)
{
    if (table->type != JSON_OBJECT)
        return clv__fail(e, CLV_FORMAT, "line %u: '%.80s' must be an object",
                         table->line, table->key);
    for (const json *v = table->child; v; v = v->next) {
        clv_side side;
        CLV_TRY(read_side(v, &side, e));
        clv_status st = fn(s, v->key, side, e);
        if (st != CLV_OK) {
            clv__err_prefix(e, "line %u", v->line);
            return st;
        }
    }
    return CLV_OK;
}

static clv_status override_root(clv_support *s, const json *root, clv_err *e)
{
    if (root->type != JSON_OBJECT)
        return clv__fail(e, CLV_FORMAT, "line %u: expected an object",
                         root->line);
    for (const json *v = root->child; v; v = v->next) {
        if (strcmp(v->key, "ops") == 0)
            CLV_TRY(override_all(s, v, clv_support_force_op, e));
        else if (strcmp(v->key, "nodes") == 0)
            CLV_TRY(override_all(s, v, clv_support_force_nodes, e));
        else
            return clv__fail(e, CLV_FORMAT,
                             "line %u: unknown key '%.80s' (ops or nodes)",
                             v->line, v->key);
    }
    return CLV_OK;
}

clv_status clv_support_overrides(clv_support *s, const char *path, clv_err *err)
{
    arena scratch = {0};
    const char *text;
    const json *root;
    size_t len;
    clv__err_clear(err);
    CLV_NEED(s, err);
    CLV_NEED(path, err);
    clv_status st = clv__read_text(&scratch, path, &text, &len, err);
    if (st == CLV_OK) {
        st = json_parse(&scratch, text, len, &root, err);
        if (st == CLV_OK)
            st = override_root(s, root, err);
        if (st != CLV_OK)
            clv__err_prefix(err, "%s", path);
    }
    arena_free(&scratch);
    return st;
}
