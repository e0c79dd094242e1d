/* value.c - what the nodes of a pickle are. */
#include "formats/pickle/pickle.h"

#include <string.h>

pickle_node *const *pickle_pairs(const pickle_node *n, uint32_t *count)
{
    *count = 0;
    bool dict = n && (n->kind == PICKLE_DICT || n->kind == PICKLE_OBJECT);
    if (!dict || !n->u.items)
        return NULL;
    *count = n->n / 2;
    return n->u.items;
}

pickle_node *const *pickle_items(const pickle_node *n, uint32_t *count)
{
    bool list = n && (n->kind == PICKLE_LIST || n->kind == PICKLE_TUPLE ||
                      n->kind == PICKLE_SET);
    *count = list ? n->n : 0;
    return list ? n->u.items : NULL;
}

static const pickle_node *value_find(const pickle_node *n, const char *key)
{
    uint32_t count;
    pickle_node *const *pairs = pickle_pairs(n, &count);
    for (uint32_t i = count; i-- > 0;) /* the last of several counts */
        if (pairs[2 * i]->kind == PICKLE_STRING && *pairs[2 * i]->u.s == *key &&
            !strcmp(pairs[2 * i]->u.s, key))
            return pairs[2 * i + 1];
    return NULL;
}

const pickle_node *pickle_get(const pickle_node *n, const char *key)
{
    const pickle_node *found = value_find(n, key);
    if (!found && n && n->state)
        found = value_find(n->state, key);
    return found;
}

bool pickle_int(const pickle_node *n, int64_t *out)
{
    *out = n && n->kind == PICKLE_INT    ? n->u.i
           : n && n->kind == PICKLE_BOOL ? n->u.b
                                         : 0;
    return n && (n->kind == PICKLE_INT || n->kind == PICKLE_BOOL);
}

bool pickle_number(const pickle_node *n, double *out)
{
    int64_t i;
    bool whole = pickle_int(n, &i);
    *out = whole ? (double)i : n && n->kind == PICKLE_FLOAT ? n->u.f : 0;
    return whole || (n && n->kind == PICKLE_FLOAT);
}

bool pickle_true(const pickle_node *n, bool otherwise)
{
    int64_t i;
    return pickle_int(n, &i) ? i != 0 : otherwise;
}

const char *pickle_text(const pickle_node *n, const char *otherwise)
{
    return n && n->kind == PICKLE_STRING ? n->u.s : otherwise;
}

int pickle_ints(const pickle_node *n, int64_t *out, int max)
{
    uint32_t count;
    pickle_node *const *items = pickle_items(n, &count);
    if (max > 0 && pickle_int(n, out))
        return 1;
    bool list = n && (n->kind == PICKLE_LIST || n->kind == PICKLE_TUPLE);
    if (!list || count > (uint32_t)max)
        return -1;
    for (uint32_t i = 0; i < count; i++)
        if (!pickle_int(items[i], &out[i]))
            return -1;
    return (int)count;
}

const char *pickle_class_path(const pickle_node *n)
{
    const pickle_node *c = n && n->kind == PICKLE_OBJECT ? n->cls : n;
    return c && c->kind == PICKLE_GLOBAL ? c->u.s : "";
}

const char *pickle_class(const pickle_node *n)
{
    const char *path = pickle_class_path(n), *at = path + strlen(path);
    while (at > path && at[-1] != ' ' && at[-1] != '.') /* of a class within */
        at--;
    return at;
}
