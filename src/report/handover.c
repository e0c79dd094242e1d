/* handover.c - a cut in the words of the engine that is to run it.
 *
 * One row per engine. Each writes its files into a folder; README.md beside
 * them says what the cut predicts and how to check it. */
#include "report/handover.h"

#include "cleave/bundle.h"
#include "cleave/placement.h"
#include "cleave/simulate.h"
#include "core/jsonw.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { HANDOVER_MICRO_BATCHES = 8 };

clv_status clv__handover_save(const handover *h, const char *name,
                              const clv_buf *text, clv_err *e)
{
    char path[4400];
    if (text->failed)
        return clv__nomem(e);
    int n = snprintf(path, sizeof path, "%s/%s", h->dir, name);
    if (n < 0 || (size_t)n >= sizeof path)
        return clv__fail(e, CLV_IO, "'%.100s': too long a name", name);
    for (char *slash = strchr(path + strlen(h->dir) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return clv__fail(e, CLV_IO, "cannot make '%s': %s", path,
                             strerror(errno));
        *slash = '/';
    }
    FILE *f = fopen(path, "wb");
    bool ok =
        f && fwrite(text->text ? text->text : "", 1, text->len, f) == text->len;
    if (f && fclose(f) != 0)
        ok = false;
    return ok ? CLV_OK
              : clv__fail(e, CLV_IO, "cannot write '%s': %s", name,
                          strerror(errno));
}

static clv_status handover_put(handover *h, const char *name, clv_buf *b,
                               clv_err *e)
{
    clv_status s = clv__handover_save(h, name, b, e);
    clv_buf_free(b);
    return s;
}

static const char *handover_name(const handover *h, uint32_t v)
{
    char buf[512];
    const char *name = clv__value_name(h->g, v, buf, sizeof buf);
    return arena_strndup((arena *)(uintptr_t)&h->mem, name, strlen(name));
}

/* -- ONNX Runtime ---------------------------------------------------------*/

static const char ort_runner[] =
    "# Runs the parts one after another in ONNX Runtime.\n"
    "#   python run.py [INPUT.npz [OUTPUT.npz]]   (random inputs without)\n"
    "import json\n"
    "import os\n"
    "import sys\n"
    "\n"
    "import numpy as np\n"
    "import onnxruntime as ort\n"
    "\n"
    "here = os.path.dirname(os.path.abspath(__file__))\n"
    "manifest = json.load(open(os.path.join(here, \"manifest.json\")))\n"
    "value = {v[\"id\"]: v for v in manifest[\"values\"]}\n"
    "name = {i: v[\"name\"] for i, v in value.items()}\n"
    "providers = {}  # device of a part: its providers, such as "
    "[\"CUDAExecutionProvider\"]\n"
    "sessions = [ort.InferenceSession(os.path.join(here, p[\"onnx\"]), "
    "providers=providers.get(\n"
    "    p[\"device\"], [\"CPUExecutionProvider\"])) for p in "
    "manifest[\"partitions\"]]\n"
    "\n"
    "\n"
    "def run(feeds):\n"
    "    tensors = dict(feeds)\n"
    "    for part, session in zip(manifest[\"partitions\"], sessions):\n"
    "        outputs = [name[i] for i in part[\"outputs\"]]\n"
    "        inputs = {name[i]: tensors[name[i]] for i in part[\"feeds\"]}\n"
    "        tensors.update(zip(outputs, session.run(outputs, inputs)))\n"
    "    return {name[i]: tensors[name[i]] for i in manifest[\"outputs\"]}\n"
    "\n"
    "\n"
    "if __name__ == \"__main__\":\n"
    "    rng = np.random.default_rng(0)\n"
    "    feeds = dict(np.load(sys.argv[1])) if len(sys.argv) > 1 else {\n"
    "        name[i]: rng.random(value[i][\"shape\"]).astype("
    "value[i][\"dtype\"]) for i in manifest[\"inputs\"]}\n"
    "    result = run(feeds)\n"
    "    for key, x in result.items():\n"
    "        print(key, x.shape, x.dtype, float(np.mean(x)))\n"
    "    if len(sys.argv) > 2:\n"
    "        np.savez(sys.argv[2], **result)\n";

static const char ort_annotate[] =
    "# Writes the stage of each node into a copy of the model, for\n"
    "# session.layer_assignment_settings, and beside it node_memory_stats.csv\n"
    "# with the names that ONNX Runtime gives to nodes, for\n"
    "# session.resource_cuda_partitioning_settings (settings.json has both).\n"
    "#   python annotate.py MODEL.onnx ANNOTATED.onnx\n"
    "import csv\n"
    "import json\n"
    "import os\n"
    "import sys\n"
    "\n"
    "import onnx\n"
    "\n"
    "M = 0xFFFFFFFF\n"
    "C = (0x239B961B, 0xAB0E9789, 0x38B34AE5, 0xA1E38B93)\n"
    "ADD = (0x561CCD1B, 0x0BCAA747, 0x96CD1C35, 0x32AC3B17)\n"
    "TURN = ((15, 19), (16, 17), (17, 15), (18, 13))\n"
    "\n"
    "\n"
    "def turn(x, r):\n"
    "    return (x << r | x >> (32 - r)) & M\n"
    "\n"
    "\n"
    "def murmur(data, seed):\n"
    "    \"\"\"MurmurHash3 x86_128 as four numbers.\"\"\"\n"
    "    def mixed(k, i):\n"
    "        return turn(k * C[i] & M, TURN[i][0]) * C[(i + 1) % 4] & M\n"
    "\n"
    "    h, tail = [seed] * 4, data[len(data) // 16 * 16:]\n"
    "    for at in range(0, len(data) - len(tail), 16):\n"
    "        for i in range(4):\n"
    "            h[i] ^= mixed(int.from_bytes(data[at + 4 * i:at + 4 * i + 4], "
    "\"little\"), i)\n"
    "            h[i] = ((turn(h[i], TURN[i][1]) + h[(i + 1) % 4]) * 5 + "
    "ADD[i]) & M\n"
    "    for i in range(4):\n"
    "        if tail[4 * i:]:\n"
    "            h[i] ^= mixed(int.from_bytes(tail[4 * i:4 * i + 4], "
    "\"little\"), i)\n"
    "    h = [x ^ len(data) for x in h]\n"
    "    for last in (False, True):\n"
    "        h[0] = sum(h) & M\n"
    "        h[1:] = [(x + h[0]) & M for x in h[1:]]\n"
    "        for i in range(0 if last else 4):\n"
    "            h[i] = (h[i] ^ h[i] >> 16) * 0x85EBCA6B & M\n"
    "            h[i] = (h[i] ^ h[i] >> 13) * 0xC2B2AE35 & M\n"
    "            h[i] ^= h[i] >> 16\n"
    "    return h\n"
    "\n"
    "\n"
    "def unique(node):\n"
    "    \"\"\"What ONNX Runtime calls a node in its statistics.\"\"\"\n"
    "    h = [0] * 4\n"
    "    for text in [*node.input, *node.output]:\n"
    "        h = murmur(text.encode(), h[0])\n"
    "    return f\"{node.name or node.op_type}_{h[0] | h[1] << 32}\"\n"
    "\n"
    "\n"
    "def main():\n"
    "    here = os.path.dirname(os.path.abspath(__file__))\n"
    "    layer = json.load(open(os.path.join(here, \"layers.json\")))\n"
    "    rows = list(csv.reader(open(os.path.join(here, "
    "\"node_memory_stats.csv\"))))\n"
    "    bytes_of = {r[0]: r[1:] for r in rows[1:]}\n"
    "    model = onnx.load(sys.argv[1])\n"
    "    beside = os.path.join(os.path.dirname(os.path.abspath(sys.argv[2])), "
    "\"node_memory_stats.csv\")\n"
    "    with open(beside, \"w\") as out:\n"
    "        out.write(\",\".join(rows[0]) + \"\\n\")\n"
    "        for node in model.graph.node:\n"
    "            if node.name in layer:\n"
    "                node.metadata_props.add(key=\"layer_ann\", "
    "value=layer[node.name])\n"
    "            if node.name in bytes_of:\n"
    "                out.write(\",\".join([unique(node), "
    "*bytes_of[node.name]]) + \"\\n\")\n"
    "    onnx.save(model, sys.argv[2])\n"
    "\n"
    "\n"
    "if __name__ == \"__main__\":\n"
    "    main()\n";

/* A field of CSV: in quotes when it must be. */
static void ort_put_field(clv_buf *b, const char *text)
{
    if (!strpbrk(text, ",\"\n")) {
        clv_buf_printf(b, "%s", text);
        return;
    }
    clv_buf_add(b, "\"", 1);
    for (; *text; text++)
        clv_buf_printf(b, *text == '"' ? "\"\"" : "%c", *text);
    clv_buf_add(b, "\"", 1);
}

static void ort_put_memory(const handover *h, clv_buf *b)
{
    clv_buf_printf(b, "#name,input_sizes,initializers_sizes,"
                      "total_dynamic_sizes,total_temp_allocations\n");
    for (uint32_t i = 0; i < h->g->n_nodes; i++) {
        const clv_cost *c = &h->c->p->layers[i].cost;
        ort_put_field(b, h->g->nodes[i].name);
        clv_buf_printf(b, ",%lld,%lld,%lld,0\n", (long long)c->bytes_in,
                       (long long)c->bytes_weights, (long long)c->bytes_out);
    }
}

static const char *handover_device(const handover *h, uint32_t k)
{
    const char *d = h->c->subs[k].device;
    return *d ? d : arena_printf((arena *)(uintptr_t)&h->mem, "part%u", k);
}

/* "gpu:0(first); cpu(second)": each name that nodes are annotated with, once,
 * and the device for it. NULL: out of memory. */
static const char *ort_assignment(handover *h)
{
    const char *assign = "";
    uint32_t gpus = 0;
    for (uint32_t k = 0; assign && k < h->c->n_subs; k++) {
        const char *d = handover_device(h, k);
        bool known = false;
        for (uint32_t i = 0; d && i < k && !known; i++) {
            const char *other = handover_device(h, i);
            known = other && !strcmp(d, other);
        }
        if (known)
            continue;
        if (!d)
            return NULL;
        const char *on =
            strcmp(d, "cpu") ? arena_printf(&h->mem, "gpu:%u", gpus++) : "cpu";
        assign = on ? arena_printf(&h->mem, "%s%s%s(%s)", assign, k ? "; " : "",
                                   on, d)
                    : NULL;
    }
    return assign;
}

static clv_status handover_ort(handover *h, clv_err *e)
{
    clv_buf b = {0};
    jsonw w;
    clv_buf_add(&b, ort_runner, sizeof ort_runner - 1);
    CLV_TRY(handover_put(h, "run.py", &b, e));
    clv_buf_add(&b, ort_annotate, sizeof ort_annotate - 1);
    CLV_TRY(handover_put(h, "annotate.py", &b, e));
    ort_put_memory(h, &b);
    CLV_TRY(handover_put(h, "node_memory_stats.csv", &b, e));
    jsonw_start(&w, &b, JSONW_PRETTY);
    jsonw_object(&w, NULL);
    for (uint32_t i = 0; i < h->g->n_nodes; i++)
        jsonw_str(&w, h->g->nodes[i].name, handover_device(h, h->c->of[i]));
    jsonw_end(&w);
    jsonw_finish(&w);
    CLV_TRY(handover_put(h, "layers.json", &b, e));
    const char *assign = ort_assignment(h);
    int64_t most = 0;
    for (uint32_t k = 0; k < h->c->n_subs; k++) {
        const clv_subgraph *sub = &h->c->subs[k];
        int64_t needs = sub->cost.bytes_weights + sub->cost.bytes_out;
        most = needs > most ? needs : most;
    }
    if (!assign)
        return clv__nomem(e);
    jsonw_start(&w, &b, JSONW_PRETTY);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "session.resource_cuda_partitioning_settings",
              arena_printf(&h->mem, "%lld,node_memory_stats.csv",
                           (long long)(most / 1024 + 1)));
    jsonw_str(&w, "session.layer_assignment_settings", assign);
    jsonw_end(&w);
    jsonw_finish(&w);
    return handover_put(h, "settings.json", &b, e);
}

/* -- Triton ---------------------------------------------------------------*/

static const char *triton_type(clv_dtype t)
{
    static const struct {
        clv_dtype type;
        const char *name;
    } rows[] = {
        {CLV_FLOAT32, "TYPE_FP32"},  {CLV_FLOAT16, "TYPE_FP16"},
        {CLV_BFLOAT16, "TYPE_BF16"}, {CLV_FLOAT64, "TYPE_FP64"},
        {CLV_INT8, "TYPE_INT8"},     {CLV_UINT8, "TYPE_UINT8"},
        {CLV_INT16, "TYPE_INT16"},   {CLV_UINT16, "TYPE_UINT16"},
        {CLV_INT32, "TYPE_INT32"},   {CLV_UINT32, "TYPE_UINT32"},
        {CLV_INT64, "TYPE_INT64"},   {CLV_UINT64, "TYPE_UINT64"},
        {CLV_BOOL, "TYPE_BOOL"},     {CLV_STRING, "TYPE_STRING"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == t)
            return rows[i].name;
    return "TYPE_INVALID";
}

/* Text of a protobuf message: quotes and backslashes are escaped. */
static void triton_put_text(clv_buf *b, const char *text)
{
    clv_buf_add(b, "\"", 1);
    for (; *text; text++)
        clv_buf_printf(b, strchr("\"\\", *text) ? "\\%c" : "%c", *text);
    clv_buf_add(b, "\"", 1);
}

static void triton_put_value(const handover *h, clv_buf *b, const char *field,
                             uint32_t v)
{
    const clv_value *x = &h->g->values[v];
    clv_buf_printf(b, "%s [\n  {\n    name: ", field);
    triton_put_text(b, handover_name(h, v));
    clv_buf_printf(b, "\n    data_type: %s\n    dims: [",
                   triton_type((clv_dtype)x->dtype));
    for (uint32_t d = 0; x->rank != CLV_NO_RANK && d < x->rank; d++)
        clv_buf_printf(b, "%s%lld", d ? ", " : " ", (long long)x->dims[d]);
    clv_buf_printf(b, " ]\n  }\n]\n");
}

static void triton_put_part(const handover *h, uint32_t k, clv_buf *b)
{
    const clv_subgraph *s = &h->c->subs[k];
    bool cpu = !strcmp(s->device, "cpu");
    clv_buf_printf(b,
                   "name: \"%s_%u\"\nplatform: \"onnxruntime_onnx\"\n"
                   "max_batch_size: 0\n",
                   h->model, k);
    for (uint32_t i = 0; i < s->n_inputs; i++)
        if (clv__cut_fed(h->g, s->inputs[i]))
            triton_put_value(h, b, "input", s->inputs[i]);
    for (uint32_t i = 0; i < s->n_outputs; i++)
        triton_put_value(h, b, "output", s->outputs[i]);
    if (cpu)
        clv_buf_printf(b, "instance_group [ { kind: KIND_CPU count: 1 } ]\n");
    else
        clv_buf_printf(b,
                       "instance_group [ { kind: KIND_GPU gpus: [ %u ] "
                       "count: 1 } ]\n",
                       k);
}

static void triton_put_map(const handover *h, clv_buf *b, const char *field,
                           uint32_t v)
{
    clv_buf_printf(b, "      %s { key: ", field);
    triton_put_text(b, handover_name(h, v));
    clv_buf_printf(b, " value: ");
    triton_put_text(b, handover_name(h, v));
    clv_buf_printf(b, " }\n");
}

static void triton_put_ensemble(const handover *h, clv_buf *b)
{
    clv_buf_printf(b,
                   "name: \"%s\"\nplatform: \"ensemble\"\nmax_batch_size: 0\n",
                   h->model);
    for (uint32_t i = 0; i < h->g->n_inputs; i++)
        triton_put_value(h, b, "input", h->g->inputs[i]);
    for (uint32_t i = 0; i < h->g->n_outputs; i++)
        triton_put_value(h, b, "output", h->g->outputs[i]);
    clv_buf_printf(b, "ensemble_scheduling {\n  step [\n");
    for (uint32_t k = 0; k < h->c->n_subs; k++) {
        const clv_subgraph *s = &h->c->subs[k];
        clv_buf_printf(
            b, "    {\n      model_name: \"%s_%u\"\n      model_version: -1\n",
            h->model, k);
        for (uint32_t i = 0; i < s->n_inputs; i++)
            if (clv__cut_fed(h->g, s->inputs[i]))
                triton_put_map(h, b, "input_map", s->inputs[i]);
        for (uint32_t i = 0; i < s->n_outputs; i++)
            triton_put_map(h, b, "output_map", s->outputs[i]);
        clv_buf_printf(b, "    }%s\n", k + 1 < h->c->n_subs ? "," : "");
    }
    clv_buf_printf(b, "  ]\n}\n");
}

static clv_status handover_triton(handover *h, clv_err *e)
{
    clv_buf b = {0};
    char name[400], from[4300], to[4700];
    for (uint32_t k = 0; k < h->c->n_subs; k++) {
        triton_put_part(h, k, &b);
        snprintf(name, sizeof name, "%s_%u/config.pbtxt", h->model, k);
        CLV_TRY(handover_put(h, name, &b, e));
        snprintf(name, sizeof name, "%s_%u/1/.keep", h->model, k);
        CLV_TRY(handover_put(h, name, &b, e));
        snprintf(from, sizeof from, "%s/partition_%03u.onnx", h->dir, k);
        snprintf(to, sizeof to, "%s/%s_%u/1/model.onnx", h->dir, h->model, k);
        if (rename(from, to) != 0)
            return clv__fail(e, errno == ENOENT ? CLV_UNSUPPORTED : CLV_IO,
                             "partition %u has no ONNX file", k);
        snprintf(to, sizeof to, "%s/%s_%u/1/.keep", h->dir, h->model, k);
        remove(to);
        snprintf(from, sizeof from, "%s/partition_%03u.onnx.data", h->dir, k);
        snprintf(to, sizeof to, "%s/%s_%u/1/partition_%03u.onnx.data", h->dir,
                 h->model, k, k);
        (void)!rename(from, to); /* where there is one */
        snprintf(from, sizeof from, "%s/partition_%03u.json", h->dir, k);
        remove(from);
    }
    triton_put_ensemble(h, &b);
    snprintf(name, sizeof name, "%s/config.pbtxt", h->model);
    CLV_TRY(handover_put(h, name, &b, e));
    snprintf(name, sizeof name, "%s/1/.keep", h->model);
    CLV_TRY(handover_put(h, name, &b, e));
    snprintf(from, sizeof from, "%s/manifest.json", h->dir);
    remove(from);
    return CLV_OK;
}

/* -- onnxruntime-genai and OpenVINO ---------------------------------------*/

static void genai_put_names(const handover *h, jsonw *w, const char *key,
                            const uint32_t *ids, uint32_t n, bool fed_only)
{
    jsonw_array_flat(w, key);
    for (uint32_t i = 0; i < n; i++)
        if (!fed_only || clv__cut_fed(h->g, ids[i]))
            jsonw_str(w, NULL, handover_name(h, ids[i]));
    jsonw_end(w);
}

static clv_status handover_genai(handover *h, clv_err *e)
{
    clv_buf b = {0};
    jsonw w;
    jsonw_start(&w, &b, JSONW_PRETTY);
    jsonw_object(&w, NULL);
    jsonw_object(&w, "model");
    jsonw_str(&w, "type", "decoder-pipeline");
    jsonw_object(&w, "decoder");
    jsonw_array(&w, "pipeline");
    jsonw_object(&w, NULL);
    for (uint32_t k = 0; k < h->c->n_subs; k++) {
        const clv_subgraph *s = &h->c->subs[k];
        const char *part = arena_printf(&h->mem, "part-%u", k);
        const char *file = arena_printf(&h->mem, "partition_%03u.onnx", k);
        if (!part || !file) {
            clv_buf_free(&b);
            return clv__nomem(e);
        }
        jsonw_object(&w, part);
        jsonw_str(&w, "filename", file);
        genai_put_names(h, &w, "inputs", s->inputs, s->n_inputs, true);
        genai_put_names(h, &w, "outputs", s->outputs, s->n_outputs, false);
        jsonw_object(&w, "session_options");
        jsonw_array(&w, "provider_options");
        jsonw_end(&w);
        jsonw_end(&w);
        jsonw_end(&w);
    }
    for (int i = 0; i < 5; i++)
        jsonw_end(&w);
    jsonw_finish(&w);
    return handover_put(h, "genai_config.json", &b, e);
}

static const char openvino_runner[] =
    "# Compiles MODEL for HETERO with the affinity of each node.\n"
    "#   python hetero.py MODEL.onnx\n"
    "import json\n"
    "import os\n"
    "import sys\n"
    "\n"
    "import openvino as ov\n"
    "\n"
    "here = os.path.dirname(os.path.abspath(__file__))\n"
    "affinity = json.load(open(os.path.join(here, \"affinity.json\")))\n"
    "core = ov.Core()\n"
    "model = core.read_model(sys.argv[1])\n"
    "for op in model.get_ops():\n"
    "    device = affinity.get(op.get_friendly_name())\n"
    "    if device:\n"
    "        op.get_rt_info()[\"affinity\"] = device\n"
    "devices = list(dict.fromkeys(affinity.values()))\n"
    "core.compile_model(model, \"HETERO:\" + \",\".join(devices))\n";

static clv_status handover_openvino(handover *h, clv_err *e)
{
    clv_buf b = {0};
    jsonw w;
    jsonw_start(&w, &b, JSONW_PRETTY);
    jsonw_object(&w, NULL);
    for (uint32_t i = 0; i < h->g->n_nodes; i++) {
        uint32_t k = h->c->of[i];
        char device[40];
        snprintf(device, sizeof device,
                 strcmp(h->c->subs[k].device, "cpu") ? "GPU.%u" : "CPU", k);
        jsonw_str(&w, h->g->nodes[i].name, device);
    }
    jsonw_end(&w);
    jsonw_finish(&w);
    CLV_TRY(handover_put(h, "affinity.json", &b, e));
    clv_buf_add(&b, openvino_runner, sizeof openvino_runner - 1);
    return handover_put(h, "hetero.py", &b, e);
}

/* -- the table ------------------------------------------------------------*/

static const handover_engine handover_engines[] = {
    {"ort", "python run.py; cleave verify .", true, handover_ort},
    {"triton", "tritonserver --model-repository=.", true, handover_triton},
    {"torch",
     "python -m torch.distributed.run --nproc-per-node # torch_pipeline.py",
     false, handover_torch},
    {"deepspeed", "len(PipelineModule(...).parts) == num_stages + 1", false,
     handover_deepspeed},
    {"vllm", "env $(cat vllm.env) vllm serve MODEL --pipeline-parallel-size #",
     false, handover_vllm},
    {"llama.cpp", "llama-cli -m MODEL.gguf $(cat llama.args)", false,
     handover_llama_cpp},
    {"hf",
     "from_pretrained(..., device_map=json.load(open(\"device_map.json\")))",
     false, handover_hf},
    {"genai", "cleave verify .", true, handover_genai},
    {"openvino", "python hetero.py MODEL.onnx", false, handover_openvino},
};

enum { N_ENGINES = sizeof handover_engines / sizeof *handover_engines };

const handover_engine *clv__handover_find(const char *name, clv_err *e)
{
    const char *names[N_ENGINES];
    char near[100];
    for (size_t i = 0; i < N_ENGINES; i++) {
        names[i] = handover_engines[i].name;
        if (!strcmp(names[i], name))
            return &handover_engines[i];
    }
    bool any = clv_suggest(name, names, N_ENGINES, near, sizeof near);
    clv__fail(e, CLV_USAGE, "no engine '%.40s'%s%s%s", name,
              any ? "; did you mean " : "", any ? near : "", any ? "?" : "");
    return NULL;
}

/* -- what is predicted ----------------------------------------------------*/

/* Simulates the subgraphs as stages, in the unit of the cut. */
static clv_status readme_simulate(const handover *h, double *makespan,
                                  double *bubble, clv_err *e)
{
    uint32_t n = h->c->n_subs, n_links = 0;
    arena mem = {0};
    clv_sim *sim = NULL;
    uint32_t most = 1;
    for (uint32_t k = 0; k < n; k++)
        most += h->c->subs[k].n_depends_on;
    clv_sim_stage *stages = arena_array(&mem, (size_t)n + 1, sizeof *stages);
    clv_sim_link *links = arena_array(&mem, most, sizeof *links);
    clv_status s = stages && links ? CLV_OK : clv__nomem(e);
    for (uint32_t k = 0; k < n && s == CLV_OK; k++) {
        const clv_pipeline_info *p = h->c->pipeline;
        stages[k] = (clv_sim_stage){
            .seconds = p ? p->stages[k].cost : (double)h->c->subs[k].cost.flops,
            .device = k};
        for (uint32_t i = 0; i < h->c->subs[k].n_depends_on; i++)
            links[n_links++] =
                (clv_sim_link){.from = h->c->subs[k].depends_on[i],
                               .to = k,
                               .seconds = p ? p->stages[k].transfer : 0};
    }
    const clv_sim_opts o = {.size = sizeof o,
                            .stages = stages,
                            .links = links,
                            .n_stages = n,
                            .n_links = n_links,
                            .n_devices = n,
                            .micro_batches = HANDOVER_MICRO_BATCHES};
    if (s == CLV_OK)
        s = clv_sim_new(&o, &sim, e);
    if (s == CLV_OK) {
        *makespan = clv_sim_get(sim)->makespan;
        *bubble = clv_sim_get(sim)->bubble;
    }
    clv_sim_free(sim);
    arena_free(&mem);
    return s;
}

/* Writes how to check what was written, with the number of parts for #. */
static void readme_put_check(clv_buf *b, const char *check, uint32_t parts)
{
    for (; *check; check++)
        if (*check == '#')
            clv_buf_printf(b, "%u", parts);
        else
            clv_buf_add(b, check, 1);
}

static clv_status handover_readme(handover *h, const handover_engine *engine,
                                  clv_err *e)
{
    clv_buf b = {0};
    double makespan = 0, bubble = 0;
    const clv_pipeline_info *p = h->c->pipeline;
    bool timed = p && !strcmp(p->unit, "s");
    if (h->c->n_subs)
        CLV_TRY(readme_simulate(h, &makespan, &bubble, e));
    clv_buf_printf(&b,
                   "# %s for %s\n\nCut by `--strategy %s` into %u parts.\n\n"
                   "| part | device | %s | memory, bytes | reads, bytes | "
                   "writes, bytes |\n|---|---|---|---|---|---|\n",
                   h->model, engine->name, h->c->strategy, h->c->n_subs,
                   timed ? "predicted ms" : "GFLOPs");
    for (uint32_t k = 0; k < h->c->n_subs; k++) {
        const clv_subgraph *s = &h->c->subs[k];
        double cost =
            timed ? 1e3 * p->stages[k].cost : 1e-9 * (double)s->cost.flops;
        int64_t memory =
            p ? p->stages[k].memory
              : s->cost.bytes_weights + s->cost.bytes_in + s->cost.bytes_out;
        clv_buf_printf(&b, "| %u | %s | %.3f | %lld | %lld | %lld |\n", k,
                       s->device, cost, (long long)memory,
                       (long long)s->cost.bytes_in,
                       (long long)s->cost.bytes_out);
    }
    clv_buf_printf(&b,
                   "\nMemory is weights and border tensors. A batch of %d "
                   "micro-batches as a pipeline takes %.6g %s, of which %.1f "
                   "%% of the devices' time is bubble.\n\nCheck: `",
                   HANDOVER_MICRO_BATCHES, makespan, timed ? "s" : "FLOP",
                   100 * bubble);
    readme_put_check(&b, engine->check, h->c->n_subs);
    clv_buf_printf(&b, "`\n");
    return handover_put(h, "README.md", &b, e);
}

clv_status clv__handover_write(const handover_engine *engine, const clv_cut *c,
                               const char *dir, clv_err *e)
{
    handover h = {.c = c, .g = c->p->g, .dir = dir};
    char *name =
        arena_strndup(&h.mem, clv_graph_name(h.g), strlen(clv_graph_name(h.g)));
    clv_status s = name ? CLV_OK : clv__nomem(e);
    for (char *x = name; x && *x; x++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                    "0123456789_-",
                    *x))
            *x = '_';
    h.model = name && *name ? name : "model";
    if (s == CLV_OK)
        s = engine->write(&h, e);
    if (s == CLV_OK)
        s = handover_readme(&h, engine, e);
    arena_free(&h.mem);
    return s;
}
