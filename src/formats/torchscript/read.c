/* read.c - a file of torch.jit.save, from its bytes to a graph. */
#include "formats/torchscript/script.h"

#include "formats/formats.h"
#include "ops/build.h"

#include <string.h>

enum { READ_STEPS = 4000000, READ_STEPS_PER_BYTE = 1 };

/* -- inputs ---------------------------------------------------------------*/

/* What the module was traced with, where the file keeps it: argument i. */
static bool script_traced(ts_machine *m, uint32_t i, torch_tensor *t)
{
    const pickle_node *root;
    uint32_t n;
    if (!clv__archive_find(&m->file.zip, "traced_inputs.pkl") ||
        pickle_read(&m->file, "traced_inputs.pkl", &root, NULL) != CLV_OK)
        return false;
    const pickle_node *of = pickle_get(root, "forward");
    pickle_node *const *items = pickle_items(of ? of : root, &n);
    return i < n && pickle_tensor_in(&m->file, "traced_inputs/", items[i], t);
}

static bool script_is_tensor(const ts_node *param)
{
    const ts_node *type = param->n ? param->kids[0] : NULL;
    return type && type->kind == TS_ID && !strcmp(type->text, "Tensor");
}

static clv_status script_input(ts_machine *m, const ts_node *param,
                               uint32_t place, ts_val *out, clv_err *e)
{
    clv_graph *g = m->b.g;
    const clv_open_opts *opts = m->weights.opts;
    torch_tensor t = {.dtype = CLV_FLOAT32};
    clv_build_input in = {.name = param->text,
                          .name_len = strlen(param->text),
                          .first = place == 0,
                          .rank = CLV_NO_RANK};
    if (script_traced(m, place, &t)) {
        in.rank = t.rank;
        memcpy(in.dims, t.dims, sizeof in.dims);
    }
    for (size_t i = 0; opts && i < opts->n_data; i++) {
        const clv_data_arg *d = &opts->data[i];
        if (d->name ? !strcmp(d->name, in.name) : d->place == place) {
            in.rank = d->rank;
            memcpy(in.dims, d->dims, d->rank * sizeof *in.dims);
        }
    }
    uint32_t rank = in.rank;
    in.rank = CLV_NO_RANK; /* a traced rank binds nobody */
    CLV_TRY(clv__build_shape(opts, &in, e));
    if (in.rank == CLV_NO_RANK)
        in.rank = rank;
    if (in.rank == CLV_NO_RANK)
        return clv__about(e,
                          clv__fail(e, CLV_SHAPE,
                                    "input '%s': TorchScript has no shapes",
                                    param->text),
                          CLV_SUBJECT_SIZES, param->text);
    if (opts && opts->batch > 0 && in.rank)
        in.dims[0] = opts->batch;
    char *name = arena_strndup(&g->mem, param->text, in.name_len);
    uint32_t v = name ? clv__value_add(g, name, CLV_VALUE_INPUT,
                                       clv__build_dtype(opts, t.dtype))
                      : CLV_NONE;
    if (v == CLV_NONE || !clv__value_set_shape(g, v, in.rank, in.dims))
        return clv__nomem(e);
    if (clv__bytes(&g->values[v]) == CLV_SAT)
        return clv__fail(e, CLV_OVERFLOW,
                         "input '%s': its size does not fit 64 bits",
                         param->text);
    *out = ts_tensor(v);
    return CLV_OK;
}

/* -- outputs --------------------------------------------------------------*/

static clv_status script_output(ts_machine *m, const ts_val *v, int depth,
                                clv_err *e)
{
    bool items =
        v->kind == TS_V_LIST || v->kind == TS_V_TUPLE || v->kind == TS_V_DICT;
    if (v->kind == TS_V_TENSOR &&
        !clv__graph_output(m->b.g, clv__aten_latest(&m->b, v->u.value)))
        return clv__nomem(e);
    for (uint32_t i = 0; items && depth < 16 && i < v->u.items->n; i++)
        CLV_TRY(script_output(m, &v->u.items->v[i], depth + 1, e));
    return CLV_OK;
}

/* -- the way in -----------------------------------------------------------*/

static clv_status script_run(ts_machine *m, const ts_object *root,
                             const ts_node *def, clv_err *e)
{
    enum { MOST = 64 };
    ts_val args[MOST], out;
    const ts_node *params = def->kids[0];
    uint32_t n = 1;
    args[0] = (ts_val){.kind = TS_V_OBJECT, .u.object = root};
    for (uint32_t i = 1; i < params->n && n < MOST; i++, n++) {
        const ts_node *p = params->kids[i];
        if (p->n > 1)
            break; /* the rest have defaults */
        args[n] = ts_none();
        if (script_is_tensor(p))
            CLV_TRY(script_input(m, p, i - 1, &args[n], e));
        else if (p->kids[0]->kind != TS_INDEX)
            return clv__fail(e, CLV_UNSUPPORTED,
                             "argument '%s' of forward is no tensor", p->text);
    }
    CLV_TRY(ts_run(m, def, args, n, NULL, &out, e));
    CLV_TRY(script_output(m, &out, 0, e));
    return clv__aten_finish(&m->b, e);
}

static clv_status script_read(ts_machine *m, clv_err *e)
{
    ts_val root;
    ts_node *cls;
    m->path = "";
    m->cls = "";
    if (clv__archive_find(&m->file.zip, "constants.pkl"))
        CLV_TRY(pickle_read(&m->file, "constants.pkl", &m->constants, e));
    CLV_TRY(ts_of_pickle(m, m->file.root, "", "data/", false, &root, e));
    if (root.kind != TS_V_OBJECT)
        return clv__fail(e, CLV_FORMAT, "data.pkl holds no module");
    CLV_TRY(ts_find(m, root.u.object->cls, &cls, e));
    const ts_node *forward = ts_method(cls, "forward");
    if (!forward)
        return clv__fail(e, CLV_FORMAT, "the code of '%s' has no forward",
                         root.u.object->cls);
    uint32_t kept;
    pickle_pairs(root.u.object->node->state, &kept);
    m->frozen = kept <= 2; /* freezing leaves `training` and a flag */
    m->where = root.u.object->cls;
    return script_run(m, root.u.object, forward, e);
}

bool clv__torchscript_knows(const clv_mapping *map, const char *path)
{
    (void)path;
    return clv__archive_has(map->data, map->size, "constants.pkl") &&
           clv__archive_has(map->data, map->size, "data.pkl");
}

clv_status clv__torchscript_load(clv_mapping map, const char *path,
                                 const clv_open_opts *opts, clv_graph **out,
                                 clv_err *e)
{
    clv_graph *g;
    CLV_TRY(clv__import_begin(map, path, "torchscript", opts, &g, e));
    ts_machine m = {.b = {.g = g, .infer = true},
                    .weights = {.g = g, .opts = opts, .allowed = map.size},
                    .steps = READ_STEPS + map.size * READ_STEPS_PER_BYTE};
    clv_status s = pickle_open(map.data, map.size, &m.file, e);
    if (s == CLV_OK)
        s = script_read(&m, e);
    clv__aten_free(&m.b);
    clv__torch_weights_free(&m.weights);
    strmap_free(&m.file_names);
    clv__free(m.dicts);
    clv__free(m.files);
    arena_free(&m.mem);
    pickle_close(&m.file);
    return clv__import_end(g, s, out, e);
}
