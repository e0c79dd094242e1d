/* handover_layers.c - cuts for engines that place whole modules: PyTorch's
 * pipelining, DeepSpeed, vLLM, llama.cpp, device maps of Hugging Face. */
#include "report/handover.h"

#include "core/jsonw.h"

#include <stdlib.h>
#include <string.h>

/* -- layers that repeat ---------------------------------------------------*/

/* Splits "a.layers.12.b" after a number at place `at`: the length of
 * "a.layers." and the number. Returns false when no part is a number. */
static bool layers_number(const char *path, size_t *prefix, uint32_t *number)
{
    for (const char *p = path; p; p = strchr(p, '.')) {
        p += *p == '.';
        const char *digits = p;
        while (*digits && *digits != '.' && !(*digits >= '0' && *digits <= '9'))
            digits++; /* encoder_layer_3 counts too */
        char *end;
        unsigned long n = strtoul(digits, &end, 10);
        if (end != digits && (!*end || *end == '.') && n < 100000) {
            *prefix = (size_t)(digits - path);
            *number = (uint32_t)n;
            return true;
        }
    }
    return false;
}

static bool layers_same(const char *path, const char *prefix, size_t len,
                        uint32_t *number)
{
    size_t n;
    return layers_number(path, &n, number) && n == len &&
           !strncmp(path, prefix, n);
}

/* Finds the prefix with the most layers. */
static void layers_longest(const clv_graph *g, const char **prefix, size_t *len,
                           uint32_t *count)
{
    *count = 0;
    const char *last = NULL;
    size_t last_len = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const char *path = g->scopes[g->nodes[i].scope].path;
        size_t n;
        uint32_t number;
        if (!layers_number(path, &n, &number) ||
            (last && n == last_len && !strncmp(path, last, n) &&
             number < *count))
            continue;
        last = path;
        last_len = n;
        if (number + 1 > *count) {
            *count = number + 1;
            *prefix = path;
            *len = n;
        }
    }
}

clv_status clv__handover_layers(handover *h, handover_layers *out, clv_err *e)
{
    const clv_graph *g = h->g;
    const char *prefix = NULL;
    size_t len = 0;
    layers_longest(g, &prefix, &len, &out->n);
    if (out->n < 2)
        return clv__fail(e, CLV_UNSUPPORTED,
                         "this engine places whole layers, and '%.80s' has no "
                         "layers that repeat",
                         h->model);
    uint32_t subs = h->c->n_subs;
    double *share =
        arena_zalloc(&h->mem, ((size_t)out->n * subs + 1) * sizeof *share);
    out->of = arena_zalloc(&h->mem, ((size_t)out->n + 1) * sizeof *out->of);
    out->counts =
        arena_zalloc(&h->mem, ((size_t)subs + 1) * sizeof *out->counts);
    out->prefix = arena_strndup(&h->mem, prefix, len);
    if (!share || !out->of || !out->counts || !out->prefix)
        return clv__nomem(e);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t number;
        if (layers_same(g->scopes[g->nodes[i].scope].path, prefix, len,
                        &number) &&
            number < out->n)
            share[number * subs + h->c->of[i]] +=
                1 + (double)h->c->p->layers[i].cost.flops;
    }
    for (uint32_t l = 0; l < out->n; l++) {
        for (uint32_t k = 1; k < subs; k++)
            if (share[l * subs + k] > share[l * subs + out->of[l]])
                out->of[l] = k;
        if (!(share[l * subs + out->of[l]] > 0))
            return clv__fail(e, CLV_UNSUPPORTED,
                             "this engine places whole layers, and '%.80s' has "
                             "no '%.80s%u'",
                             h->model, out->prefix, l);
        out->counts[out->of[l]]++;
        if (l && out->of[l] < out->of[l - 1])
            return clv__fail(
                e, CLV_UNSUPPORTED,
                "this engine takes layers in order: cut by stages of a "
                "pipeline");
    }
    return CLV_OK;
}

static void layers_put_counts(const handover *h, const handover_layers *l,
                              clv_buf *b)
{
    for (uint32_t k = 0; k < h->c->n_subs; k++)
        clv_buf_printf(b, "%s%u", k ? "," : "", l->counts[k]);
}

static clv_status layers_save(handover *h, const char *name, clv_buf *b,
                              clv_err *e)
{
    clv_status s = clv__handover_save(h, name, b, e);
    clv_buf_free(b);
    return s;
}

/* -- engines --------------------------------------------------------------*/

clv_status handover_vllm(handover *h, clv_err *e)
{
    handover_layers l = {0};
    clv_buf b = {0};
    CLV_TRY(clv__handover_layers(h, &l, e));
    clv_buf_printf(&b, "VLLM_PP_LAYER_PARTITION=");
    layers_put_counts(h, &l, &b);
    clv_buf_printf(&b, "\n");
    return layers_save(h, "vllm.env", &b, e);
}

clv_status handover_deepspeed(handover *h, clv_err *e)
{
    handover_layers l = {0};
    clv_buf b = {0};
    CLV_TRY(clv__handover_layers(h, &l, e));
    clv_buf_printf(&b,
                   "# Layers of each stage, for a PipelineModule whose list is "
                   "these layers alone.\n"
                   "# DeepSpeed's partition_method takes no list: assign "
                   "module.parts after\n"
                   "# construction, or override _partition_layers with it.\n"
                   "num_stages = %u\nlayer_counts = [",
                   h->c->n_subs);
    layers_put_counts(h, &l, &b);
    clv_buf_printf(&b, "]\nparts = [0");
    for (uint32_t k = 0, sum = 0; k < h->c->n_subs; k++)
        clv_buf_printf(&b, ", %u", sum += l.counts[k]);
    clv_buf_printf(&b, "]\n");
    return layers_save(h, "deepspeed_parts.py", &b, e);
}

/* The layers of subgraph k as a pattern: 4|5|6. */
static void layers_put_pattern(const handover_layers *l, uint32_t k, clv_buf *b)
{
    bool any = false;
    for (uint32_t i = 0; i < l->n; i++)
        if (l->of[i] == k) {
            clv_buf_printf(b, "%s%u", any ? "|" : "", i);
            any = true;
        }
}

clv_status handover_llama_cpp(handover *h, clv_err *e)
{
    handover_layers l = {0};
    clv_buf b = {0};
    CLV_TRY(clv__handover_layers(h, &l, e));
    uint32_t on_cpu = 0;
    for (uint32_t k = 0; k < h->c->n_subs; k++)
        on_cpu += !strcmp(h->c->subs[k].device, "cpu") ? l.counts[k] : 0;
    /* -ngl counts the output layer too. */
    clv_buf_printf(&b, "-ngl %u", l.n + 1);
    if (!on_cpu) {
        clv_buf_printf(&b, " --tensor-split ");
        layers_put_counts(h, &l, &b);
    }
    for (uint32_t k = 0; k < h->c->n_subs; k++) {
        if (strcmp(h->c->subs[k].device, "cpu") || !l.counts[k])
            continue;
        clv_buf_printf(&b, " -ot 'blk\\.(");
        layers_put_pattern(&l, k, &b);
        clv_buf_printf(&b, ")\\..*=CPU'");
    }
    clv_buf_printf(&b, "\n");
    return layers_save(h, "llama.args", &b, e);
}

/* -- modules --------------------------------------------------------------*/

static const uint32_t HOME_NONE = CLV_NONE - 1;

/* The subgraph that holds all nodes below a module; CLV_NONE: several;
 * HOME_NONE: it has no nodes. */
static uint32_t modules_home(const handover *h, const uint32_t *of,
                             const char *path)
{
    uint32_t home = HOME_NONE;
    size_t n = strlen(path);
    for (uint32_t i = 0; i < h->g->n_nodes; i++) {
        const char *p = h->g->scopes[h->g->nodes[i].scope].path;
        if (strncmp(p, path, n) || (n && p[n] && p[n] != '.'))
            continue;
        if (home != HOME_NONE && home != of[i])
            return CLV_NONE;
        home = of[i];
    }
    return home;
}

/* Per node its subgraph, where layers that repeat are kept whole: what is added
 * to itself inside of a layer must be on one device. */
static clv_status modules_whole(handover *h, uint32_t **out, clv_err *e)
{
    handover_layers l = {0};
    clv_err why = {0};
    uint32_t *of = arena_array(&h->mem, (size_t)h->g->n_nodes + 1, sizeof *of);
    *out = of;
    if (!of)
        return clv__nomem(e);
    bool whole = clv__handover_layers(h, &l, &why) == CLV_OK;
    for (uint32_t i = 0; i < h->g->n_nodes; i++) {
        uint32_t number;
        const char *path = h->g->scopes[h->g->nodes[i].scope].path;
        of[i] = h->c->of[i];
        if (whole && layers_same(path, l.prefix, strlen(l.prefix), &number) &&
            number < l.n)
            of[i] = l.of[number];
    }
    return CLV_OK;
}

/* Writes the weights that belong to a module in several parts. */
static void modules_put_weights(const handover *h, const uint32_t *of,
                                const uint32_t *home, jsonw *w)
{
    const clv_graph *g = h->g;
    for (uint32_t v = 0; v < g->n_values; v++) {
        const clv_value *x = &g->values[v];
        if (!value_is_weight(x) || x->kind == CLV_VALUE_CONST || !x->name ||
            g->user_first[v] == g->user_first[v + 1])
            continue;
        const char *dot = strrchr(x->name, '.');
        size_t n = dot ? (size_t)(dot - x->name) : 0;
        for (uint32_t s = 0; s < g->n_scopes; s++)
            if (strlen(g->scopes[s].path) == n &&
                !strncmp(g->scopes[s].path, x->name, n) && home[s] == CLV_NONE)
                jsonw_int(w, x->name, of[g->users[g->user_first[v]]]);
    }
}

/* A device map: each module that lies in one subgraph and whose parent does
 * not, and the weights of those that lie in several. */
clv_status handover_hf(handover *h, clv_err *e)
{
    const clv_graph *g = h->g;
    clv_buf b = {0};
    jsonw w;
    uint32_t *of;
    uint32_t *home =
        arena_array(&h->mem, (size_t)g->n_scopes + 1, sizeof *home);
    if (!home)
        return clv__nomem(e);
    CLV_TRY(modules_whole(h, &of, e));
    for (uint32_t s = 0; s < g->n_scopes; s++)
        home[s] = modules_home(h, of, g->scopes[s].path);
    jsonw_start(&w, &b, JSONW_PRETTY);
    jsonw_object(&w, NULL);
    for (uint32_t s = 0; s < g->n_scopes; s++) {
        uint32_t up = g->scopes[s].parent;
        if (home[s] < HOME_NONE && (up == CLV_NONE || home[up] == CLV_NONE))
            jsonw_int(&w, g->scopes[s].path, home[s]);
    }
    modules_put_weights(h, of, home, &w);
    jsonw_end(&w);
    jsonw_finish(&w);
    return layers_save(h, "device_map.json", &b, e);
}

/* The first module that begins at or after the first node of subgraph k. */
static const char *modules_begin(const handover *h, uint32_t k)
{
    const clv_graph *g = h->g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const char *path = g->scopes[g->nodes[i].scope].path;
        if (h->c->of[i] < k || !*path)
            continue;
        bool first = true, leaf = true;
        size_t n = strlen(path);
        for (uint32_t j = 0; j < i && first; j++)
            first = strcmp(g->scopes[g->nodes[j].scope].path, path) != 0;
        for (uint32_t s = 0; s < g->n_scopes && leaf; s++)
            leaf = strncmp(g->scopes[s].path, path, n) ||
                   g->scopes[s].path[n] != '.';
        if (first && leaf)
            return path;
    }
    return NULL;
}

static const char torch_head[] =
    "# Runs the cut with torch.distributed.pipelining and compares with "
    "eager:\n"
    "#   python -m torch.distributed.run --nproc-per-node %u "
    "torch_pipeline.py\n"
    "# --model MODULE:FUNCTION names what makes the module.\n"
    "import argparse\n"
    "import importlib\n"
    "\n"
    "import torch\n"
    "import torch.distributed as dist\n"
    "from torch.distributed.pipelining import ScheduleGPipe, SplitPoint, "
    "pipeline\n"
    "\n"
    "split_spec = {\n";

static const char torch_tail[] =
    "}\n"
    "shapes = [%s]\n"
    "\n"
    "parser = argparse.ArgumentParser()\n"
    "parser.add_argument(\"--model\", default=\"torchvision.models:%s\")\n"
    "parser.add_argument(\"--micro-batches\", type=int, default=4)\n"
    "args = parser.parse_args()\n"
    "module, make = args.model.split(\":\")\n"
    "torch.manual_seed(0)\n"
    "model = getattr(importlib.import_module(module), make)().eval()\n"
    "batch = [torch.randn(args.micro_batches * s[0], *s[1:]) for s in shapes]\n"
    "dist.init_process_group(\"gloo\")\n"
    "rank, stages = dist.get_rank(), dist.get_world_size()\n"
    "with torch.no_grad():\n"
    "    part = [x[: s[0]] for x, s in zip(batch, shapes)]\n"
    "    pipe = pipeline(model, mb_args=tuple(part), split_spec=split_spec)\n"
    "    stage = pipe.build_stage(rank, torch.device(\"cpu\"))\n"
    "    schedule = ScheduleGPipe(stage, args.micro_batches)\n"
    "    out = schedule.step(*batch) if rank == 0 else schedule.step()\n"
    "    if rank == stages - 1:\n"
    "        worst = (out - model(*batch)).abs().max().item()\n"
    "        print(f\"{stages} stages, largest difference from eager "
    "{worst:.3g}\")\n"
    "        assert worst < 1e-4\n"
    "dist.destroy_process_group()\n";

static const char *torch_shapes(handover *h)
{
    const char *text = "";
    for (uint32_t i = 0; text && i < h->g->n_inputs; i++) {
        const clv_value *v = &h->g->values[h->g->inputs[i]];
        text = arena_printf(&h->mem, "%s%s[", text, i ? ", " : "");
        for (uint32_t d = 0; text && v->rank != CLV_NO_RANK && d < v->rank; d++)
            text = arena_printf(&h->mem, "%s%s%lld", text, d ? ", " : "",
                                (long long)v->dims[d]);
        text = text ? arena_printf(&h->mem, "%s]", text) : NULL;
    }
    return text;
}

clv_status handover_torch(handover *h, clv_err *e)
{
    clv_buf b = {0};
    const char *shapes = torch_shapes(h), *last = NULL;
    if (!shapes)
        return clv__nomem(e);
    clv_buf_printf(&b, torch_head, h->c->n_subs);
    for (uint32_t k = 1; k < h->c->n_subs; k++) {
        const char *path = modules_begin(h, k);
        if (!path || (last && !strcmp(path, last))) {
            clv_buf_free(&b);
            return clv__fail(e, CLV_UNSUPPORTED,
                             "stage %u holds no module that begins there; cut "
                             "into fewer stages",
                             k);
        }
        clv_buf_printf(&b, "    \"%s\": SplitPoint.BEGINNING,\n", path);
        last = path;
    }
    clv_buf_printf(&b, torch_tail, shapes, h->model);
    return layers_save(h, "torch_pipeline.py", &b, e);
}
