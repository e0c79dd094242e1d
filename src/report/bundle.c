/* bundle.c - writes a cut as a folder.
 *
 * Values are named by their number in the whole graph, so that partitions can
 * be stitched together again; names are there for people. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "cleave/bundle.h"
#include "backend/backend.h"
#include "cleave/capability.h"
#include "cleave/export.h"
#include "cleave/placement.h"
#include "cleave/service.h"
#include "core/jsonw.h"
#include "cut/cut.h"
#include "plan/bundle.h"
#include "report/handover.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- parts ----------------------------------------------------------------*/

static void bundle_put_ids(jsonw *w, const char *key, const uint32_t *v,
                           uint32_t n)
{
    jsonw_array_flat(w, key);
    for (uint32_t i = 0; i < n; i++)
        if (v[i] == CLV_NONE)
            jsonw_null(w, NULL);
        else
            jsonw_int(w, NULL, v[i]);
    jsonw_end(w);
}

static const char *kind_name(const clv_value *v)
{
    static const char *const names[] = {"activation", "input", "param",
                                        "buffer", "const"};
    return names[v->kind];
}

static void bundle_put_value(jsonw *w, const clv_graph *g, uint32_t v)
{
    const clv_value *x = &g->values[v];
    char name[160];
    jsonw_object_flat(w, NULL);
    jsonw_int(w, "id", v);
    jsonw_str(w, "name", clv__value_name(g, v, name, sizeof name));
    jsonw_str(w, "kind", kind_name(x));
    jsonw_str(w, "dtype", clv_dtype_name((clv_dtype)x->dtype));
    if (x->rank == CLV_NO_RANK)
        jsonw_null(w, "shape");
    else
        jsonw_ints(w, "shape", x->dims, x->rank);
    jsonw_end(w);
}

static const char *side_name(const clv_cut *c, uint32_t node)
{
    static const char *const names[] = {"", "cpu", "accelerator", "either"};
    return c->capability ? names[c->capability->sides[node]] : "either";
}

/* `after`: the stateful node that must not run after this one, or CLV_NONE. */
static void bundle_put_node(jsonw *w, const clv_cut *c, uint32_t i,
                            uint32_t after)
{
    const clv_graph *g = c->p->g;
    const clv_node *n = &g->nodes[i];
    jsonw_object(w, NULL);
    jsonw_int(w, "id", i);
    jsonw_str(w, "name", n->name);
    jsonw_str(w, "op", clv__ops[n->op].name);
    jsonw_str(w, "origin", n->origin ? n->origin : "");
    jsonw_str(w, "module", g->scopes[n->scope].path);
    jsonw_str(w, "side", side_name(c, i));
    if (after != CLV_NONE)
        jsonw_int(w, "after", after);
    bundle_put_ids(w, "inputs", node_ins(g, n), n->n_in);
    bundle_put_ids(w, "outputs", node_outs(g, n), n->n_out);
    jsonw_object_flat(w, "attributes");
    for (uint32_t k = 0; k < n->n_attrs; k++)
        clv__json_attr(w, &n->attrs[k]);
    jsonw_end(w);
    jsonw_end(w);
}

static void put_part(const clv_cut *c, uint32_t k, const uint32_t *after,
                     clv_buf *out)
{
    const clv_graph *g = c->p->g;
    const clv_subgraph *s = &c->subs[k];
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_int(&w, "partition", k);
    jsonw_str(&w, "device", s->device);
    jsonw_array(&w, "values");
    for (uint32_t i = 0; i < s->n_inputs; i++)
        bundle_put_value(&w, g, s->inputs[i]);
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const clv_node *n = &g->nodes[s->nodes[i]];
        for (uint32_t o = 0; o < n->n_out; o++)
            bundle_put_value(&w, g, node_outs(g, n)[o]);
    }
    jsonw_end(&w);
    jsonw_array(&w, "nodes");
    for (uint32_t i = 0; i < s->n_nodes; i++)
        bundle_put_node(&w, c, s->nodes[i], after[s->nodes[i]]);
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
}

/* -- the manifest ---------------------------------------------------------*/

/* A partition's ONNX file; no bytes when it has none. */
typedef struct part_file {
    int64_t bytes;
    uint32_t crc;
    const char *why; /* it has none */
} part_file;

/* Writes those of the partition's inputs that its file takes as inputs. */
static void bundle_put_feeds(jsonw *w, const clv_graph *g,
                             const clv_subgraph *s)
{
    jsonw_array_flat(w, "feeds");
    for (uint32_t i = 0; i < s->n_inputs; i++)
        if (clv__cut_fed(g, s->inputs[i]))
            jsonw_int(w, NULL, s->inputs[i]);
    jsonw_end(w);
}

/* Seconds that the planner predicts for partition k, 0 when it does not. */
static double bundle_seconds(const clv_cut *c, uint32_t k)
{
    const clv_pipeline_info *p = c->pipeline;
    return p && !strcmp(p->unit, "s") ? p->stages[k].cost : 0;
}

static void put_entry(jsonw *w, const clv_cut *c, uint32_t k, const char *file,
                      const char *onnx, part_file at)
{
    const clv_subgraph *s = &c->subs[k];
    jsonw_object(w, NULL);
    jsonw_int(w, "id", k);
    jsonw_str(w, "file", file);
    jsonw_str(w, "onnx", onnx);
    jsonw_str(w, "device", s->device);
    bundle_put_ids(w, "nodes", s->nodes, s->n_nodes);
    bundle_put_ids(w, "inputs", s->inputs, s->n_inputs);
    bundle_put_ids(w, "outputs", s->outputs, s->n_outputs);
    bundle_put_ids(w, "depends_on", s->depends_on, s->n_depends_on);
    jsonw_int(w, "flops", s->cost.flops);
    jsonw_int(w, "macs", s->cost.macs);
    jsonw_int(w, "params", s->cost.params);
    jsonw_int(w, "input_bytes", s->cost.bytes_in);
    jsonw_int(w, "output_bytes", s->cost.bytes_out);
    jsonw_int(w, "weight_bytes", s->cost.bytes_weights);
    jsonw_str(w, "reason", clv_reason_name(s->reason));
    jsonw_str(w, "detail", s->detail);
    bundle_put_feeds(w, c->p->g, s);
    jsonw_num(w, "seconds", bundle_seconds(c, k));
    jsonw_int(w, "file_bytes", at.bytes);
    jsonw_int(w, "crc32", at.crc);
    if (at.why)
        jsonw_str(w, "no_onnx", at.why);
    jsonw_end(w);
}

/* Writes the values that a partition takes or gives, each once. */
static void bundle_put_borders(jsonw *w, const clv_cut *c, bool *seen)
{
    const clv_graph *g = c->p->g;
    jsonw_array(w, "values");
    for (uint32_t k = 0; k < c->n_subs; k++) {
        const clv_subgraph *s = &c->subs[k];
        for (uint32_t i = 0; i < s->n_inputs + s->n_outputs; i++) {
            uint32_t v =
                i < s->n_inputs ? s->inputs[i] : s->outputs[i - s->n_inputs];
            if (!seen[v] && !value_is_weight(&g->values[v]))
                bundle_put_value(w, g, v);
            seen[v] = true;
        }
    }
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (!seen[g->inputs[i]])
            bundle_put_value(w, g, g->inputs[i]);
    jsonw_end(w);
}

static void part_name(uint32_t k, const char *ending, char *buf, size_t size)
{
    snprintf(buf, size, "partition_%03u.%s", k, ending);
}

static void put_manifest(const clv_cut *c, const part_file *onnx_file,
                         bool *seen, clv_buf *out)
{
    const clv_graph *g = c->p->g;
    char file[40], onnx[40];
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_str(&w, "model", clv_graph_name(g));
    jsonw_str(&w, "strategy", c->strategy);
    jsonw_str(&w, "cleave", clv_version());
    jsonw_int(&w, "nodes", g->n_nodes);
    bundle_put_ids(&w, "inputs", g->inputs, g->n_inputs);
    bundle_put_ids(&w, "outputs", g->outputs, g->n_outputs);
    jsonw_array(&w, "partitions"); /* in the order they run */
    for (uint32_t k = 0; k < c->n_subs; k++) {
        part_name(k, "json", file, sizeof file);
        part_name(k, "onnx", onnx, sizeof onnx);
        put_entry(&w, c, k, file, onnx_file[k].bytes ? onnx : NULL,
                  onnx_file[k]);
    }
    jsonw_end(&w);
    bundle_put_borders(&w, c, seen);
    jsonw_end(&w);
    jsonw_finish(&w);
}

/* -- files ----------------------------------------------------------------*/

static clv_status bundle_save(const char *dir, const char *name, clv_buf *text,
                              clv_err *e)
{
    char path[4096];
    clv_status s = CLV_OK;
    if (text->failed)
        return clv__nomem(e);
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = n > 0 && (size_t)n < sizeof path ? fopen(path, "wb") : NULL;
    if (!f)
        return clv__fail(e, CLV_IO, "cannot write '%s': %s", name,
                         strerror(errno));
    if (fwrite(text->text, 1, text->len, f) != text->len)
        s = clv__fail(e, CLV_IO, "cannot write '%s': %s", name,
                      strerror(errno));
    if (fclose(f) != 0 && s == CLV_OK)
        s = clv__fail(e, CLV_IO, "cannot write '%s': %s", name,
                      strerror(errno));
    return s;
}

/* The opsets that are tried, in this order: older libraries read the first;
 * some operators have a form in the second alone. */
static const int64_t bundle_opsets[] = {17, 21};

/* Writes the partition as ONNX. An operator without an ONNX form is not a
 * failure: the manifest then names no file, and says why. */
static clv_status save_onnx(const clv_cut *c, uint32_t k, const char *dir,
                            arena *mem, part_file *out, clv_err *e)
{
    char name[40], path[4200];
    clv_graph *part;
    clv_status s = CLV_UNSUPPORTED;
    CLV_TRY(clv__cut_extract(c, k, &part, e));
    part_name(k, "onnx", name, sizeof name);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    for (size_t i = 0; i < sizeof bundle_opsets / sizeof *bundle_opsets &&
                       s == CLV_UNSUPPORTED;
         i++) {
        const clv_onnx_opts o = {.size = sizeof o, .opset = bundle_opsets[i]};
        clv_err why = {0};
        s = clv_export_onnx(part, path, &o, &why);
        if (s == CLV_UNSUPPORTED && !out->why)
            out->why = arena_strndup(mem, why.msg, strlen(why.msg));
        else if (s != CLV_OK && s != CLV_UNSUPPORTED && e)
            *e = why;
    }
    clv_graph_free(part);
    if (s == CLV_UNSUPPORTED)
        return out->why ? CLV_OK : clv__nomem(e);
    if (s != CLV_OK)
        return s;
    out->why = NULL;
    return clv__bundle_sum(path, &out->bytes, &out->crc, e);
}

/* With `whole`, a partition without an ONNX file is a failure. */
static clv_status bundle_fill(const clv_cut *c, const char *dir, bool whole,
                              clv_err *e)
{
    clv_status s = CLV_OK;
    char name[40];
    clv_buf text = {0};
    arena mem = {0};
    part_file *onnx =
        arena_zalloc(&mem, ((size_t)c->n_subs + 1) * sizeof *onnx);
    bool *seen = arena_zalloc(&mem, (size_t)c->p->g->n_values + 1);
    const uint32_t *after = clv__stateful_before(c->p->g, &mem);
    if (!onnx || !seen || !after)
        s = clv__nomem(e);
    for (uint32_t k = 0; k < c->n_subs && s == CLV_OK; k++) {
        text.len = 0;
        part_name(k, "json", name, sizeof name);
        put_part(c, k, after, &text);
        s = bundle_save(dir, name, &text, e);
        if (s == CLV_OK)
            s = save_onnx(c, k, dir, &mem, &onnx[k], e);
        if (s == CLV_OK && whole && !onnx[k].bytes)
            s = clv__fail(e, CLV_UNSUPPORTED,
                          "partition %u has no form in ONNX, which this "
                          "engine loads: %.300s",
                          k, onnx[k].why);
    }
    if (s == CLV_OK) {
        text.len = 0;
        put_manifest(c, onnx, seen, &text);
        s = bundle_save(dir, "manifest.json", &text, e);
    }
    clv_buf_free(&text);
    arena_free(&mem);
    return s;
}

static int bundle_remove(const char *path, const struct stat *st, int kind,
                         struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path), 0;
}

/* Removes what a failed write left behind. */
static void bundle_clear(const char *dir)
{
    enum { OPEN_FOLDERS = 8 };
    nftw(dir, bundle_remove, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

clv_status clv_bundle_write(const clv_cut *c, const char *dir, clv_err *err)
{
    return clv_bundle_write_for(c, dir, NULL, err);
}

clv_status clv_bundle_write_for(const clv_cut *c, const char *dir,
                                const char *engine, clv_err *err)
{
    char temporary[4096];
    clv__err_clear(err);
    CLV_NEED(c, err);
    CLV_NEED(dir, err);
    const handover_engine *to = engine ? clv__handover_find(engine, err) : NULL;
    if (engine && !to)
        return CLV_USAGE;
    size_t len = strlen(dir);
    while (len > 1 && dir[len - 1] == '/')
        len--;
    int n = snprintf(temporary, sizeof temporary, "%.*s.XXXXXX", (int)len, dir);
    if (n < 0 || (size_t)n >= sizeof temporary || len == 0)
        return clv__fail(err, CLV_IO, "'%.100s' is no folder's name", dir);
    if (!mkdtemp(temporary))
        return clv__fail(err, CLV_IO, "cannot make a folder beside '%s': %s",
                         dir, strerror(errno));
    clv_unfinished(temporary);
    clv_status s =
        !to || to->parts ? bundle_fill(c, temporary, to != NULL, err) : CLV_OK;
    if (s == CLV_OK && to)
        s = clv__handover_write(to, c, temporary, err);
    mode_t mask = umask(0);
    umask(mask);
    if (s == CLV_OK &&
        (chmod(temporary, 0777 & ~mask) != 0 || rename(temporary, dir) != 0))
        s = clv__fail(err, CLV_IO, "cannot make '%s': %s", dir,
                      errno == ENOTEMPTY || errno == EEXIST
                          ? "it is there already, and not empty"
                          : strerror(errno));
    if (s != CLV_OK)
        bundle_clear(temporary);
    clv_finished(temporary);
    return s;
}
