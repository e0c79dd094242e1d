/* rules.c - a backend described by a JSON file of what it runs.
 *
 *   {"name": "mine", "default": "deny",
 *    "allow": ["relu", {"op": "conv2d", "attributes": {"kernel": {"max":
 * 11}}}], "deny":  [{"op": "conv2d", "rank": 3, "reason": "no 1-D images"}]}
 *
 * An entry is an operator's name, or an object that limits it. A node is
 * supported if an allow entry (or the default) takes it and no deny entry
 * does. An allow entry takes a node when every tensor and every element of an
 * attribute is within its limits; a deny entry when any of them is. The tree of
 * the file is checked once, on opening, and then read as it is: answers are
 * cached per configuration, so there is nothing to gain from compiling it. */
#include "backend/backend.h"
#include "core/json.h"

#include <stdio.h>
#include <string.h>

typedef struct rules {
    const char *name;
    bool allow_all; /* "default": "allow" */
    const json *allow, *deny;
} rules;

/* One node put to one entry. */
typedef struct question {
    const clv_graph *g;
    const clv_node *n;
    bool every; /* allow: all must hold; deny: one is enough */
    clv_why *why;
} question;

/* -- ranges: 3, [1, 2, 4], {"min": 1, "max": 8} ---------------------------*/

static bool is_number(const json *v)
{
    return v->type == JSON_INT || v->type == JSON_NUMBER;
}

static double rules_number(const json *v)
{
    return v->type == JSON_INT ? (double)v->u.i : v->u.d;
}

static clv_status bad(const json *v, const char *what, clv_err *e)
{
    return clv__fail(e, CLV_FORMAT, "line %u: '%.80s' %s", v->line,
                     v->key ? v->key : "entry", what);
}

static clv_status check_range(const json *v, clv_err *e)
{
    if (is_number(v))
        return CLV_OK;
    if (v->type != JSON_ARRAY && v->type != JSON_OBJECT)
        return bad(v, "must be a number, a list of them, or {min, max}", e);
    for (const json *m = v->child; m; m = m->next) {
        if (!is_number(m))
            return bad(m, "must be a number", e);
        if (m->key && strcmp(m->key, "min") && strcmp(m->key, "max"))
            return bad(m, "is unknown in a range (min or max)", e);
    }
    return v->child ? CLV_OK : bad(v, "is empty", e);
}

static bool in_range(const json *r, double x)
{
    if (is_number(r))
        return x == rules_number(r);
    bool inside = r->type == JSON_OBJECT;
    for (const json *m = r->child; m; m = m->next) {
        if (r->type == JSON_ARRAY)
            inside = inside || x == rules_number(m);
        else if (strcmp(m->key, "min") == 0)
            inside = inside && x >= rules_number(m);
        else
            inside = inside && x <= rules_number(m);
    }
    return inside;
}

static void rules_put(clv_why *w, const char *text)
{
    strncat(w->text, text, sizeof w->text - strlen(w->text) - 1);
}

static void put_number(clv_why *w, double x)
{
    char buf[40];
    clv_format(buf, sizeof buf, "%.12g", x);
    rules_put(w, buf);
}

static void put_range(clv_why *w, const json *r)
{
    if (is_number(r)) {
        put_number(w, rules_number(r));
        return;
    }
    rules_put(w, r->type == JSON_ARRAY ? "one of" : "");
    for (const json *m = r->child; m; m = m->next) {
        rules_put(w, r->type == JSON_ARRAY        ? " "
                     : strcmp(m->key, "min") == 0 ? "at least "
                                                  : "at most ");
        put_number(w, rules_number(m));
        rules_put(w, m->next ? (r->type == JSON_ARRAY ? "," : " and ") : "");
    }
}

/* Whether x is inside; tells why a rule that wants it there does not hold. */
static bool within(const question *q, const char *what, const json *r, double x)
{
    if (in_range(r, x))
        return true;
    if (q->every) {
        snprintf(q->why->text, sizeof q->why->text, "%.60s is ", what);
        put_number(q->why, x);
        rules_put(q->why, ", not ");
        put_range(q->why, r);
    }
    return false;
}

/* -- the tensors of a node: activations in and out ------------------------*/

typedef bool tensor_fn(const question *q, const json *limit,
                       const clv_value *v);

static bool over_tensors(const question *q, const json *limit, tensor_fn *fn)
{
    const clv_node *n = q->n;
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        const clv_value *v =
            i < n->n_in ? node_in(q->g, n, i) : node_out(q->g, n, i - n->n_in);
        if (!v || value_is_weight(v) || v->rank == CLV_NO_RANK)
            continue;
        if (fn(q, limit, v) != q->every)
            return !q->every;
    }
    return q->every;
}

static bool in_words(const json *words, const char *word)
{
    if (words->type == JSON_STRING)
        return strcmp(words->u.s, word) == 0;
    for (const json *m = words->child; m; m = m->next)
        if (strcmp(m->u.s, word) == 0)
            return true;
    return false;
}

static bool tensor_dtype(const question *q, const json *limit,
                         const clv_value *v)
{
    const char *name = clv_dtype_name((clv_dtype)v->dtype);
    bool holds = false;
    for (const json *m = limit->type == JSON_ARRAY ? limit->child : limit;
         m && !holds; m = limit->type == JSON_ARRAY ? m->next : NULL)
        holds = clv_dtype_find(m->u.s) == (clv_dtype)v->dtype;
    if (!holds && q->every)
        snprintf(q->why->text, sizeof q->why->text, "type %s is not allowed",
                 name);
    return holds;
}

static bool tensor_rank(const question *q, const json *limit,
                        const clv_value *v)
{
    return within(q, "rank", limit, v->rank);
}

static bool tensor_dims(const question *q, const json *limit,
                        const clv_value *v)
{
    for (uint32_t i = 0; i < v->rank; i++)
        if (within(q, "a dimension", limit, (double)v->dims[i]) != q->every)
            return !q->every;
    return q->every;
}

static bool tensor_elements(const question *q, const json *limit,
                            const clv_value *v)
{
    return within(q, "the number of elements", limit, (double)clv__numel(v));
}

/* Axis by axis; null is any. A tensor of another rank is outside. */
static bool tensor_shape(const question *q, const json *limit,
                         const clv_value *v)
{
    if (limit->n != v->rank) {
        if (q->every)
            snprintf(q->why->text, sizeof q->why->text, "rank is %u, not %u",
                     (unsigned)v->rank, limit->n);
        return false;
    }
    uint32_t i = 0;
    for (const json *m = limit->child; m; m = m->next, i++)
        if (m->type != JSON_NULL &&
            !within(q, "a dimension", m, (double)v->dims[i]))
            return false;
    return true;
}

/* -- attributes -----------------------------------------------------------*/

/* What an attribute is worth when it is not written down. */
static uint32_t implied(const question *q, const char *name, int64_t *out)
{
    const clv_node *n = q->n;
    const clv_value *x = node_in(q->g, n, 0), *w = node_in(q->g, n, 1);
    bool conv = clv__ops[n->op].category == CLV_CAT_CONV;
    if (!conv || !w || w->rank == CLV_NO_RANK || w->rank < 3)
        return 0;
    if (strcmp(name, "kernel") == 0) {
        memcpy(out, w->dims + 2, (w->rank - 2u) * sizeof *out);
        return w->rank - 2u;
    }
    int64_t groups = attr_int(n, CLV_A_GROUPS);
    if (strcmp(name, "depthwise") == 0)
        *out = groups > 1 && x && x->rank > 1 && x->rank != CLV_NO_RANK &&
               x->dims[1] == groups;
    else if (strcmp(name, "padding") == 0)
        *out = 0;
    else if (!strcmp(name, "stride") || !strcmp(name, "dilation") ||
             !strcmp(name, "groups"))
        *out = 1;
    else
        return 0;
    return 1;
}

static const clv_attr *find_attr(const clv_node *n, const char *name)
{
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        const clv_attr *a = &n->attrs[i];
        const char *have = a->key < CLV_A_OTHER
                               ? clv__attr_name((clv_attr_key)a->key)
                               : a->name;
        if (have && strcmp(have, name) == 0)
            return a;
    }
    return NULL;
}

static bool over_ints(const question *q, const json *limit, const int64_t *v,
                      uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (within(q, limit->key, limit, (double)v[i]) != q->every)
            return !q->every;
    return q->every;
}

static bool is_words(const json *v)
{
    return v->type == JSON_STRING ||
           (v->type == JSON_ARRAY && v->child && v->child->type == JSON_STRING);
}

/* An attribute that is absent and implies nothing limits nothing. */
static bool one_attribute(const question *q, const json *limit)
{
    const clv_attr *a = find_attr(q->n, limit->key);
    int64_t value[CLV_MAX_RANK];
    if (!a) {
        uint32_t n = is_words(limit) ? 0 : implied(q, limit->key, value);
        return n ? over_ints(q, limit, value, n) : q->every;
    }
    if (is_words(limit)) {
        bool holds = a->type == CLV_ATTR_STRING && in_words(limit, a->u.s);
        if (!holds && q->every)
            snprintf(q->why->text, sizeof q->why->text,
                     "%.60s is '%.80s', which is not allowed", limit->key,
                     a->type == CLV_ATTR_STRING ? a->u.s : "no text");
        return holds;
    }
    if (a->type == CLV_ATTR_INT)
        return over_ints(q, limit, &a->u.i, 1);
    if (a->type == CLV_ATTR_INTS)
        return over_ints(q, limit, a->u.ints, a->n);
    if (a->type == CLV_ATTR_FLOAT)
        return within(q, limit->key, limit, a->u.f);
    return q->every;
}

/* -- the limits an entry may set ------------------------------------------*/

static bool holds_dtype(const question *q, const json *v)
{
    return over_tensors(q, v, tensor_dtype);
}

static bool holds_rank(const question *q, const json *v)
{
    return over_tensors(q, v, tensor_rank);
}

static bool holds_dims(const question *q, const json *v)
{
    return over_tensors(q, v, tensor_dims);
}

static bool holds_elements(const question *q, const json *v)
{
    return over_tensors(q, v, tensor_elements);
}

static bool holds_shape(const question *q, const json *v)
{
    return over_tensors(q, v, tensor_shape);
}

static bool holds_attributes(const question *q, const json *v)
{
    for (const json *m = v->child; m; m = m->next)
        if (!one_attribute(q, m))
            return false;
    return true;
}

/* These inputs must be weights or constants. */
static bool holds_constant(const question *q, const json *v)
{
    for (const json *m = v->child; m; m = m->next) {
        const clv_value *x = node_in(q->g, q->n, (uint32_t)m->u.i);
        bool constant = !x || value_is_weight(x);
        if (!constant && q->every)
            snprintf(q->why->text, sizeof q->why->text,
                     "input %u is not constant", (unsigned)m->u.i);
        if (constant != q->every)
            return !q->every;
    }
    return q->every;
}

static bool holds_always(const question *q, const json *v)
{
    (void)q, (void)v;
    return true;
}

static clv_status check_words(const json *v, clv_err *e)
{
    if (v->type == JSON_STRING)
        return CLV_OK;
    for (const json *m = v->type == JSON_ARRAY ? v->child : NULL; m;
         m = m->next)
        if (m->type != JSON_STRING)
            return bad(v, "must be text or a list of texts", e);
    return v->type == JSON_ARRAY && v->child
               ? CLV_OK
               : bad(v, "must be text or a list of texts", e);
}

static clv_status rules_check_text(const json *v, clv_err *e)
{
    return v->type == JSON_STRING ? CLV_OK : bad(v, "must be text", e);
}

/* Plain lower-case names must be operators of ours: a slip is told. Others
 * may be foreign ("com.acme::Warp") and are taken as they are. */
static clv_status check_name(const json *v, clv_err *e)
{
    const char *s = v->u.s;
    if (clv__names_operator(s) ||
        s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_")])
        return CLV_OK;
    clv_status st = clv__unknown_operator(s, CLV_FORMAT, e);
    clv__err_prefix(e, "line %u", v->line);
    return st;
}

static clv_status check_names(const json *v, clv_err *e)
{
    CLV_TRY(check_words(v, e));
    if (v->type == JSON_STRING)
        return check_name(v, e);
    for (const json *m = v->child; m; m = m->next)
        CLV_TRY(check_name(m, e));
    return CLV_OK;
}

static clv_status check_dtype(const json *v, clv_err *e)
{
    CLV_TRY(check_words(v, e));
    for (const json *m = v->type == JSON_ARRAY ? v->child : v; m;
         m = v->type == JSON_ARRAY ? m->next : NULL)
        if (clv_dtype_find(m->u.s) == CLV_NODTYPE)
            return clv__fail(e, CLV_FORMAT,
                             "line %u: no type is called '%.80s'", m->line,
                             m->u.s);
    return CLV_OK;
}

static clv_status check_shape(const json *v, clv_err *e)
{
    if (v->type != JSON_ARRAY || v->n > CLV_MAX_RANK)
        return bad(v, "must be a list with a range (or null) per axis", e);
    for (const json *m = v->child; m; m = m->next)
        if (m->type != JSON_NULL)
            CLV_TRY(check_range(m, e));
    return CLV_OK;
}

static clv_status check_attributes(const json *v, clv_err *e)
{
    if (v->type != JSON_OBJECT)
        return bad(v, "must be an object of attributes", e);
    for (const json *m = v->child; m; m = m->next)
        CLV_TRY(is_words(m) ? check_words(m, e) : check_range(m, e));
    return CLV_OK;
}

static clv_status check_constant(const json *v, clv_err *e)
{
    if (v->type != JSON_ARRAY)
        return bad(v, "must be a list of input numbers", e);
    for (const json *m = v->child; m; m = m->next)
        if (m->type != JSON_INT || m->u.i < 0 || m->u.i > 255)
            return bad(v, "must be a list of input numbers", e);
    return CLV_OK;
}

static const struct limit {
    const char *key;
    clv_status (*check)(const json *v, clv_err *e);
    bool (*holds)(const question *q, const json *v);
} limits[] = {
    {"op", check_names, holds_always},
    {"dtype", check_dtype, holds_dtype},
    {"rank", check_range, holds_rank},
    {"dims", check_range, holds_dims},
    {"elements", check_range, holds_elements},
    {"shape", check_shape, holds_shape},
    {"attributes", check_attributes, holds_attributes},
    {"constant", check_constant, holds_constant},
    {"reason", rules_check_text, holds_always},
    {"source", rules_check_text, holds_always},
};

static const struct limit *limit_of(const char *key)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (strcmp(limits[i].key, key) == 0)
            return &limits[i];
    return NULL;
}

/* -- entries --------------------------------------------------------------*/

static bool names(const json *op, const clv_node *n)
{
    if (op->type == JSON_STRING)
        return clv__names_node(op->u.s, n);
    for (const json *m = op->child; m; m = m->next)
        if (clv__names_node(m->u.s, n))
            return true;
    return false;
}

/* An object without "op" is about every operator. */
static bool about(const json *entry, const clv_node *n)
{
    const json *op = entry->type == JSON_STRING ? entry : json_get(entry, "op");
    return !op || names(op, n);
}

static bool rules_takes(const question *q, const json *entry)
{
    if (entry->type == JSON_STRING)
        return true;
    for (const json *m = entry->child; m; m = m->next)
        if (!limit_of(m->key)->holds(q, m))
            return false;
    return true;
}

static bool denied(const rules *r, const clv_graph *g, const clv_node *n,
                   clv_why *why)
{
    question q = {g, n, false, why};
    for (const json *m = r->deny ? r->deny->child : NULL; m; m = m->next) {
        if (!about(m, n) || !rules_takes(&q, m))
            continue;
        snprintf(why->text, sizeof why->text, "%s",
                 json_string(m, "reason", "denied by the rules"));
        return true;
    }
    return false;
}

static clv_answer allowed(const rules *r, const clv_graph *g, const clv_node *n,
                          clv_why *why)
{
    question q = {g, n, true, why};
    bool named = false;
    for (const json *m = r->allow ? r->allow->child : NULL; m; m = m->next) {
        if (!about(m, n))
            continue;
        if (rules_takes(&q, m))
            return CLV_YES;
        const char *reason = json_string(m, "reason", NULL);
        if (reason)
            snprintf(why->text, sizeof why->text, "%s", reason);
        named = true;
    }
    if (named)
        return CLV_NO;
    if (r->allow_all)
        return CLV_YES;
    snprintf(why->text, sizeof why->text, "not in the allow list");
    return CLV_UNNAMED;
}

static clv_answer rules_supports(clv_backend *b, const clv_graph *g,
                                 uint32_t node, clv_why *why)
{
    const rules *r = b->state;
    const clv_node *n = &g->nodes[node];
    return denied(r, g, n, why) ? CLV_NO : allowed(r, g, n, why);
}

/* -- opening --------------------------------------------------------------*/

static clv_status check_entries(const json *list, clv_err *e)
{
    if (list->type != JSON_ARRAY)
        return bad(list, "must be a list of names and objects", e);
    for (const json *m = list->child; m; m = m->next) {
        if (m->type == JSON_STRING) {
            CLV_TRY(check_name(m, e));
            continue;
        }
        if (m->type != JSON_OBJECT)
            return bad(list, "must be a list of names and objects", e);
        for (const json *v = m->child; v; v = v->next) {
            const struct limit *l = limit_of(v->key);
            if (!l)
                return bad(v, "is unknown in an entry", e);
            CLV_TRY(l->check(v, e));
        }
    }
    return CLV_OK;
}

static clv_status read_key(rules *r, const json *v, clv_err *e)
{
    if (strcmp(v->key, "allow") == 0 || strcmp(v->key, "deny") == 0) {
        *(v->key[0] == 'a' ? &r->allow : &r->deny) = v;
        return check_entries(v, e);
    }
    if (strcmp(v->key, "name") == 0) {
        CLV_TRY(rules_check_text(v, e));
        r->name = v->u.s;
        return *r->name ? CLV_OK : bad(v, "is empty", e);
    }
    if (strcmp(v->key, "default") == 0) {
        const char *s = v->type == JSON_STRING ? v->u.s : "";
        r->allow_all = strcmp(s, "allow") == 0;
        return r->allow_all || strcmp(s, "deny") == 0
                   ? CLV_OK
                   : bad(v, "must be \"allow\" or \"deny\"", e);
    }
    if (!strcmp(v->key, "about") || !strcmp(v->key, "source"))
        return check_words(v, e);
    return bad(v, "is unknown (name, default, allow, deny, about, source)", e);
}

static clv_status read_rules(clv_backend *b, const char *text, size_t len,
                             clv_err *e)
{
    const json *root;
    rules *r = arena_zalloc(&b->mem, sizeof *r);
    if (!r)
        return clv__nomem(e);
    CLV_TRY(json_parse(&b->mem, text, len, &root, e));
    if (root->type != JSON_OBJECT)
        return clv__fail(e, CLV_FORMAT, "line %u: expected an object",
                         root->line);
    for (const json *v = root->child; v; v = v->next)
        CLV_TRY(read_key(r, v, e));
    if (!json_get(root, "default"))
        return clv__fail(e, CLV_FORMAT,
                         "line %u: 'default' is missing (allow or deny)",
                         root->line);
    b->state = r;
    b->name = r->name ? r->name : "rules";
    b->about = json_string(root, "about", "a rules file");
    return CLV_OK;
}

const clv_backend_type clv__rules_type = {
    .name = "rules",
    .about = "a JSON file of rules",
    .supports = rules_supports,
};

clv_status clv__rules_open(clv_backend *b, const char *where, const char *text,
                           size_t len, clv_err *e)
{
    b->type = &clv__rules_type;
    clv_status s = read_rules(b, text, len, e);
    if (s != CLV_OK)
        clv__err_prefix(e, "%s", where);
    return s;
}
