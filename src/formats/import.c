/* import.c - what all readers of model files do alike: a graph that is named
 * after the file and borrows from its mapping, and texts made fit to print. */
#include "formats/formats.h"
#include "ops/build.h"

#include <string.h>

/* True when one of eight bytes is a control character (below ' ', or 0x7f), and
 * sometimes when none is: a byte of 0x80 and more, or one above a control
 * character, may set the top bit of the difference too. */
static bool import_suspect(const char *s)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t w;
    memcpy(&w, s, 8);
    return ((w - ' ' * ones) | ((w ^ 0x7f * ones) - ones)) & 0x80 * ones;
}

/* Replaces the control characters of a name, which ends up in tables and
 * messages. It looks at eight bytes at a time, and at the last ones twice. */
void clv__import_scrub(char *s, size_t n)
{
    size_t i = 0;
    while (i + 8 <= n && !import_suspect(s + i))
        i += 8;
    if (n >= 8 && i + 8 > n && !import_suspect(s + n - 8))
        return;
    for (; i < n; i++)
        if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
            s[i] = '?';
}

bool clv__import_is_buffer(const char *name, size_t n)
{
#define NAME(s) \
    { \
        s, sizeof(s) - 1 \
    }
    static const struct {
        const char *s;
        size_t n;
    } names[] = {NAME("running_mean"),
                 NAME("running_var"),
                 NAME("num_batches_tracked"),
                 NAME("position_ids"),
                 NAME("anchors"),
                 NAME("anchor_grid"),
                 NAME("inv_freq"),
                 NAME("attn_mask"),
                 NAME("relative_coords_table")};
#undef NAME
    size_t last = n;
    while (last && name[last - 1] != '.')
        last--;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (n - last == names[i].n &&
            !memcmp(names[i].s, name + last, n - last))
            return true;
    return false;
}

/* What the graph borrows its weights from. */
static void import_release(void *owner)
{
    clv__mapping_close(owner);
    clv__free(owner);
}

static clv_status import_own_map(clv_graph *g, clv_mapping map, clv_err *e)
{
    clv_mapping *own = clv__alloc(sizeof *own);
    if (!own)
        return clv__nomem(e);
    *own = map;
    g->owner = own;
    g->release = import_release;
    g->file = map.borrowed ? NULL : map.data;
    g->file_size = map.size;
    return CLV_OK;
}

/* "dir/resnet50.onnx" is called resnet50. */
static bool import_name(clv_graph *g, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t n = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    g->holds_weights = true;
    g->name = arena_strndup(&g->mem, base, n);
    g->folder =
        slash ? arena_strndup(&g->mem, path, (size_t)(slash - path) + 1) : "./";
    return g->name && g->folder;
}

clv_status clv__import_begin(clv_mapping map, const char *path,
                             const char *format, const clv_open_opts *opts,
                             clv_graph **g, clv_err *e)
{
    clv_status s = clv__build_new("", format, opts, g, e);
    if (s == CLV_OK && !import_name(*g, path))
        s = clv__nomem(e);
    if (s == CLV_OK)
        s = import_own_map(*g, map, e);
    if (s != CLV_OK) {
        clv_graph_free(*g);
        *g = NULL;
        clv__mapping_close(&map);
    }
    return s;
}

/* Gives outputs that are the second or a later result of a node the name by
 * which reports show them ("while:1"): files are named after them. */
static bool import_name_outputs(clv_graph *g)
{
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        char buf[300];
        clv_value *v = &g->values[g->outputs[i]];
        if (v->name || v->producer == CLV_NONE ||
            node_outs(g, &g->nodes[v->producer])[0] == g->outputs[i])
            continue;
        const char *name = clv__value_name(g, g->outputs[i], buf, sizeof buf);
        v->name = arena_strndup(&g->mem, name, strlen(name));
        if (!v->name)
            return false;
    }
    return true;
}

clv_status clv__import_end(clv_graph *g, clv_status s, clv_graph **out,
                           clv_err *e)
{
    *out = NULL;
    if (s == CLV_OK && !import_name_outputs(g))
        s = clv__nomem(e);
    if (s != CLV_OK && e)
        clv__import_scrub(e->msg, strlen(e->msg));
    if (s != CLV_OK) {
        clv_graph_free(g);
        return s;
    }
    /* What was read is in the graph; weights come back when they are needed. */
    clv__mapping_unpeek(g->owner);
    clv__mapping_drop(g->file, g->file_size, g->file, g->file_size);
    *out = g;
    return CLV_OK;
}
