/* read_scope.c - the module a node came from.
 *
 * torch writes it in one of three ways; each of these is in layer1.0.conv1:
 *
 *   name_scopes   ['', 'layer1', 'layer1.0', 'layer1.0.conv1', 'conv2d']
 *   namespace     : Net/layer1: List/layer1.0.conv1: Conv2d/conv2d: aten.conv2d
 *   node name     /layer1/layer1.0/conv1/Conv          (the older exporter)
 *
 * In the first two the last item is the operation, and the one before it is
 * the whole path of the module. In the third, each item is relative to the one
 * before it, but a member of a list repeats the list's name. */
#include "formats/onnx/read.h"

#include <string.h>

/* The item before the last of a Python list of quoted strings. */
static text scope_from_list(text t)
{
    text last = {NULL, 0}, before = {NULL, 0};
    for (size_t i = 0; i < t.n; i++) {
        if (t.s[i] != '\'' && t.s[i] != '"')
            continue;
        const char *from = t.s + i + 1;
        const char *to = memchr(from, t.s[i], t.n - i - 1);
        if (!to)
            break;
        before = last;
        last = (text){from, (size_t)(to - from)};
        i = (size_t)(to - t.s);
    }
    return before;
}

/* The part before the last "/", from its own "/" to its ": ". */
static text scope_from_namespace(text t)
{
    size_t end = t.n;
    while (end > 0 && t.s[end - 1] != '/')
        end--;
    if (end == 0)
        return (text){NULL, 0};
    size_t from = end - 1;
    while (from > 0 && t.s[from - 1] != '/')
        from--;
    size_t to = from;
    while (to < end - 1 && t.s[to] != ':')
        to++;
    return (text){t.s + from, to - from};
}

/* Adds scopes for a dotted path that is not terminated. */
static uint32_t scope_add_path(clv_graph *g, uint32_t scope, text path)
{
    for (size_t i = 0; i < path.n && scope != CLV_NONE;) {
        size_t from = i;
        while (i < path.n && path.s[i] != '.')
            i++;
        if (i > from)
            scope = clv__scope_add(g, scope, path.s + from, i - from);
        i++;
    }
    return scope;
}

/* "/a/a.0/b/Conv": the items but the last; "a.0" replaces "a". */
static uint32_t scope_from_node_name(clv_graph *g, uint32_t scope, text t)
{
    text last = {NULL, 0};
    size_t i = 1;
    for (;;) {
        size_t from = i;
        while (i < t.n && t.s[i] != '/')
            i++;
        if (i >= t.n || scope == CLV_NONE)
            return scope; /* the last item is the operator */
        text item = {t.s + from, i - from};
        i++;
        text rest = item;
        if (last.n && item.n > last.n + 1 && item.s[last.n] == '.' &&
            !memcmp(item.s, last.s, last.n)) {
            rest.s += last.n + 1;
            rest.n -= last.n + 1;
        }
        scope = scope_add_path(g, scope, rest);
        last = item;
    }
}

static bool scope_is_plain(text t)
{
    for (size_t i = 0; i < t.n; i++)
        if ((unsigned char)t.s[i] < ' ' || t.s[i] == 0x7f)
            return false;
    return true;
}

/* What of a node says its module. */
static text scope_path(const proto *p)
{
    if (p->module.n)
        return scope_from_list(p->module);
    if (p->namespace.n)
        return scope_from_namespace(p->namespace);
    size_t n = p->name.n;
    if (n < 2 || p->name.s[0] != '/')
        return (text){NULL, 0};
    while (p->name.s[n - 1] != '/')
        n--;
    return (text){p->name.s, n}; /* up to the operator */
}

uint32_t onnx_scope(frame *f, const proto *p)
{
    clv_graph *g = f->unit->g;
    text path = scope_path(p);
    if (!path.n)
        return f->scope;
    if (f->last_path.n == path.n && !memcmp(f->last_path.s, path.s, path.n))
        return f->last_scope;
    if (!scope_is_plain(path))
        return f->scope;
    uint32_t scope = p->module.n || p->namespace.n
                         ? scope_add_path(g, f->scope, path)
                         : scope_from_node_name(g, f->scope, path);
    f->last_path = path;
    f->last_scope = scope;
    return scope;
}
