/* ort.c - the backend `ort`: ONNX Runtime with any of its execution providers.
 *
 * Built as a plugin that needs no ONNX Runtime to be built. Support is asked by
 * trying: a node alone is written as a model and compiled, in a process of its
 * own. A subgraph is tried there too before it is compiled here. Weights go
 * into the model's bytes; what crosses the border is read and written where it
 * lies.
 *
 *     ort                                  its CPU provider
 *     ort:provider=openvino,device_type=CPU
 *     ort:lib=/opt/ort/lib/libonnxruntime.so
 */
#include "backend/ort/ort.h"
#include "backend/plugin.h"
#include "core/limits.h"
#include "formats/onnx/types.h"

#include <stdio.h>
#include <string.h>

/* Seconds a trial may take at least; the backend's own limit may be more. */
static const double ORT_PATIENCE = 120;

static const char PROVIDER_SUFFIX[] = "ExecutionProvider";

typedef struct ort_exec {
    clv_exec base; /* first: the library sees this part */
    ort_engine *g;
    ort_session *session;
    ort_part part; /* its border; the bytes are gone */
} ort_exec;

/* -- sessions -------------------------------------------------------------*/

/* Providers that are added by functions of their own; the others by name. */
static clv_status ort_append_cuda(ort_engine *g, ort_options *o, clv_err *e)
{
    const ort_api *api = &g->api;
    void *own = NULL;
    clv_status s = ort_check(api, api->CreateCUDAOptions(&own), e);
    if (s == CLV_OK && g->n_options)
        s = ort_check(
            api, api->UpdateCUDAOptions(own, g->key, g->value, g->n_options),
            e);
    if (s == CLV_OK)
        s = ort_check(api, api->AppendCUDA(o, own), e);
    if (own)
        api->ReleaseCUDAOptions(own);
    return s;
}

static clv_status ort_append_tensorrt(ort_engine *g, ort_options *o, clv_err *e)
{
    const ort_api *api = &g->api;
    void *own = NULL;
    clv_status s = ort_check(api, api->CreateTensorRTOptions(&own), e);
    if (s == CLV_OK && g->n_options)
        s = ort_check(
            api,
            api->UpdateTensorRTOptions(own, g->key, g->value, g->n_options), e);
    if (s == CLV_OK)
        s = ort_check(api, api->AppendTensorRT(o, own), e);
    if (own)
        api->ReleaseTensorRTOptions(own);
    return s;
}

static clv_status ort_append(ort_engine *g, ort_options *o, clv_err *e)
{
    const ort_api *api = &g->api;
    if (!g->provider)
        return CLV_OK;
    CLV_TRY(ort_check(
        api,
        api->AddSessionConfigEntry(o, "session.disable_cpu_ep_fallback", "1"),
        e));
    if (!strcmp(g->provider, "CUDA"))
        return ort_append_cuda(g, o, e);
    if (!strcmp(g->provider, "Tensorrt"))
        return ort_append_tensorrt(g, o, e);
    return ort_check(api,
                     api->AppendExecutionProvider(o, g->provider, g->key,
                                                  g->value, g->n_options),
                     e);
}

static clv_status ort_env_need(ort_engine *g, clv_err *e)
{
    const ort_api *api = &g->api;
    if (!g->env)
        CLV_TRY(ort_check(api, api->CreateEnv(ORT_LOG_FATAL, "cleave", &g->env),
                          e));
    if (!g->memory)
        CLV_TRY(
            ort_check(api,
                      api->CreateCpuMemoryInfo(ORT_ARENA_ALLOCATOR,
                                               ORT_MEMORY_DEFAULT, &g->memory),
                      e));
    return CLV_OK;
}

/* What ONNX Runtime says of nodes that a provider did not take, in fewer words.
 */
static clv_status ort_reword(const ort_engine *g, clv_status s, clv_err *e)
{
    if (s == CLV_OK || !strstr(e->msg, "fallback to CPU EP"))
        return s;
    *e = (clv_err){0};
    return clv__fail(e, s, "%s leaves it to the CPU", g->provider);
}

clv_status ort_session_new(ort_engine *g, const void *bytes, size_t size,
                           uint32_t threads, ort_session **out, clv_err *e)
{
    const ort_api *api = &g->api;
    ort_options *o = NULL;
    *out = NULL;
    CLV_TRY(ort_env_need(g, e));
    clv_status s = ort_check(api, api->CreateSessionOptions(&o), e);
    if (s == CLV_OK)
        s = ort_check(api, api->SetSessionLogSeverityLevel(o, ORT_LOG_FATAL),
                      e);
    if (s == CLV_OK && threads)
        s = ort_check(api, api->SetIntraOpNumThreads(o, (int)threads), e);
    if (s == CLV_OK)
        s = ort_append(g, o, e);
    if (s == CLV_OK)
        s = ort_check(
            api, api->CreateSessionFromArray(g->env, bytes, size, o, out), e);
    if (o)
        api->ReleaseSessionOptions(o);
    return ort_reword(g, s, e);
}

/* -- compiling and running ------------------------------------------------*/

static void ort_release(clv_exec *base)
{
    ort_exec *x = (ort_exec *)base;
    if (x->session)
        x->g->api.ReleaseSession(x->session);
    ort_part_free(&x->part);
    clv__free(x);
}

static clv_status ort_compile(clv_backend *b, const clv_subject *s,
                              clv_exec **out, clv_err *e)
{
    ort_engine *g = b->state;
    ort_exec *x = clv__zalloc(sizeof *x);
    *out = NULL;
    if (!x)
        return clv__nomem(e);
    x->g = g;
    clv_status st = ort_part_make(s, &x->part, e);
    if (st == CLV_OK)
        st = ort_trial_run(g, &x->part.bytes, s->threads, e);
    if (st == CLV_OK)
        st = ort_session_new(g, x->part.bytes.text, x->part.bytes.len,
                             s->threads, &x->session, e);
    clv_buf_free(&x->part.bytes);
    if (st != CLV_OK)
        return ort_release(&x->base), st;
    *out = &x->base;
    return CLV_OK;
}

static clv_status ort_wrap(const ort_engine *g, const clv_tensor *t,
                           ort_value **out, clv_err *e)
{
    const ort_api *api = &g->api;
    return ort_check(api,
                     api->CreateTensorWithDataAsOrtValue(
                         g->memory, t->data, (size_t)clv_tensor_bytes(t),
                         t->dims, t->rank, onnx_dtype_number(t->dtype), out),
                     e);
}

static clv_status ort_wrap_all(const ort_exec *x, const clv_tensor *tensor,
                               ort_value **value, clv_err *e)
{
    const ort_part *p = &x->part;
    for (uint32_t i = 0; i < p->n_inputs; i++)
        CLV_TRY(ort_wrap(x->g, &tensor[p->inputs[i]], &value[i], e));
    for (uint32_t i = 0; i < p->n_outputs; i++)
        CLV_TRY(
            ort_wrap(x->g, &tensor[p->outputs[i]], &value[p->n_inputs + i], e));
    return CLV_OK;
}

static clv_status ort_run(clv_exec *base, const clv_tensor *tensor,
                          void *workspace, clv_err *e)
{
    const ort_exec *x = (const ort_exec *)base;
    const ort_part *p = &x->part;
    const ort_api *api = &x->g->api;
    size_t n = (size_t)p->n_inputs + p->n_outputs;
    ort_value **value = clv__zalloc((n + 1) * sizeof *value);
    (void)workspace;
    if (!value)
        return clv__nomem(e);
    clv_status s = ort_wrap_all(x, tensor, value, e);
    if (s == CLV_OK)
        s = ort_check(api,
                      api->Run(x->session, NULL, p->input_names,
                               (const ort_value *const *)value, p->n_inputs,
                               p->output_names, p->n_outputs,
                               value + p->n_inputs),
                      e);
    for (size_t i = 0; i < n; i++)
        if (value[i])
            api->ReleaseValue(value[i]);
    clv__free(value);
    return s;
}

/* -- support --------------------------------------------------------------*/

static clv_answer ort_supports(clv_backend *b, const clv_graph *g,
                               uint32_t node, clv_why *why)
{
    const clv_node *n = &g->nodes[node];
    uint32_t *outputs = clv__alloc((n->n_out + (size_t)1) * sizeof *outputs);
    ort_part part;
    clv_err e = {0};
    if (!outputs)
        return CLV_NO_ANSWER;
    clv_subject s = {
        .g = g, .nodes = &node, .n_nodes = 1, .outputs = outputs, .threads = 1};
    for (uint32_t i = 0; i < n->n_out; i++)
        if (node_outs(g, n)[i] != CLV_NONE &&
            clv__is_read(g, node_outs(g, n)[i]))
            outputs[s.n_outputs++] = node_outs(g, n)[i];
    clv_status st = ort_part_make(&s, &part, &e);
    if (st == CLV_OK) {
        st = ort_trial_run(b->state, &part.bytes, 1, &e);
        ort_part_free(&part);
    }
    clv__free(outputs);
    if (st == CLV_OK)
        return CLV_YES;
    if (clv__is_final(st))
        return CLV_NO_ANSWER;
    snprintf(why->text, sizeof why->text, "%.230s", e.msg);
    return CLV_NO;
}

/* -- opening --------------------------------------------------------------*/

/* "OpenVINOExecutionProvider" is called openvino, in any case. */
static bool ort_is_provider(const char *full, const char *name)
{
    size_t n = strlen(full), tail = sizeof PROVIDER_SUFFIX - 1;
    bool suffixed = n > tail && !strcmp(full + n - tail, PROVIDER_SUFFIX);
    size_t same = 0;
    while (name[same] && clv__lower(name[same]) == clv__lower(full[same]))
        same++;
    return !name[same] && (same == n || (suffixed && same == n - tail));
}

static clv_status ort_no_provider(const ort_engine *g, const char *name,
                                  char **list, int n, clv_err *e)
{
    char all[200] = "";
    for (int i = 0; i < n; i++) {
        size_t at = strlen(all), tail = sizeof PROVIDER_SUFFIX - 1,
               len = strlen(list[i]);
        snprintf(all + at, sizeof all - at, "%s%.*s", at ? ", " : "",
                 (int)(len > tail ? len - tail : len), list[i]);
    }
    return clv__fail(e, CLV_USAGE,
                     "ONNX Runtime %.40s has no provider '%.60s' (it has %s)",
                     g->api.version, name, all);
}

static clv_status ort_choose(clv_backend *b, ort_engine *g, const char *name,
                             clv_err *e)
{
    const ort_api *api = &g->api;
    char **list;
    int n, at = -1;
    CLV_TRY(ort_check(api, api->GetAvailableProviders(&list, &n), e));
    for (int i = 0; i < n; i++)
        if (ort_is_provider(list[i], name))
            at = i;
    clv_status s = CLV_OK;
    if (at < 0)
        s = ort_no_provider(g, name, list, n, e);
    else if (!ort_is_provider(list[at], "cpu")) {
        g->provider = arena_strndup(
            &b->mem, list[at], strlen(list[at]) - sizeof PROVIDER_SUFFIX + 1);
        char *called = arena_printf(&b->mem, "ort:%s", name);
        s = g->provider && called ? CLV_OK : clv__nomem(e);
        b->name = called;
    }
    clv_status after =
        ort_check(api, api->ReleaseAvailableProviders(list, n), NULL);
    return s == CLV_OK ? after : s;
}

/* KEY=VALUE,...: `lib` and `provider` are ours, all others the provider's. */
static clv_status ort_read_options(ort_engine *g, char *text, const char **lib,
                                   const char **provider, clv_err *e)
{
    for (char *save, *word = strtok_r(text, ",", &save); word;
         word = strtok_r(NULL, ",", &save)) {
        char *value = strchr(word, '=');
        if (!value || value == word || !value[1])
            return clv__fail(e, CLV_USAGE,
                             "ort: '%.80s' is not KEY=VALUE, as in "
                             "ort:provider=openvino,device_type=CPU",
                             word);
        *value++ = '\0';
        if (!strcmp(word, "lib")) {
            *lib = value;
        } else if (!strcmp(word, "provider")) {
            *provider = value;
        } else if (g->n_options == ORT_MAX_OPTIONS) {
            return clv__fail(e, CLV_USAGE, "ort: more than %d options",
                             ORT_MAX_OPTIONS);
        } else {
            g->key[g->n_options] = word;
            g->value[g->n_options++] = value;
        }
    }
    if (g->n_options && (!*provider || clv__same_word(*provider, "cpu")))
        return clv__fail(e, CLV_USAGE,
                         "ort: '%.80s' is an option of a provider; name one "
                         "by provider=NAME",
                         g->key[0]);
    return CLV_OK;
}

static clv_status ort_open(clv_backend *b, const char *argument, clv_err *e)
{
    const char *lib = "", *provider = NULL;
    ort_engine *g = arena_zalloc(&b->mem, sizeof *g);
    char *text = arena_strndup(&b->mem, argument, strlen(argument));
    if (!g || !text)
        return clv__nomem(e);
    CLV_TRY(ort_read_options(g, text, &lib, &provider, e));
    CLV_TRY(ort_load(lib, &g->api, e));
    g->patience = b->timeout > ORT_PATIENCE ? b->timeout : ORT_PATIENCE;
    b->state = g;
    if (provider)
        CLV_TRY(ort_choose(b, g, provider, e));
    b->about = arena_printf(&b->mem, "ONNX Runtime %s, provider %s",
                            g->api.version, g->provider ? g->provider : "CPU");
    return b->about ? CLV_OK : clv__nomem(e);
}

static void ort_close(clv_backend *b)
{
    ort_engine *g = b->state;
    if (!g)
        return;
    ort_trial_end(&g->trial);
    if (g->memory)
        g->api.ReleaseMemoryInfo(g->memory);
    if (g->env)
        g->api.ReleaseEnv(g->env);
}

static const clv_backend_type ort_type = {
    .name = "ort",
    .about = "ONNX Runtime",
    .argument = CLV_ARGUMENT_MAY,
    .open = ort_open,
    .supports = ort_supports,
    .compile = ort_compile,
    .run = ort_run,
    .release = ort_release,
    .close = ort_close,
};

CLV_PLUGIN(ort_type);
