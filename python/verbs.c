/* verbs.c - the command's verbs as methods of a Graph.
 *
 * A method makes the command line that its arguments say (max_subgraph_count=3
 * is --max-subgraph-count=3), runs the command on the graph in this process and
 * returns what it printed: the JSON as a dict, or with text=True the text. So
 * whatever the command offers is here, with the same checks and messages. The
 * interpreter lock is released meanwhile: threads run as many as they like. */
#include "bridge.h"

#include "cli.h"
#include "graph/graph.h"

#include <string.h>

enum { MAX_GRAPHS = 64, MAX_PLACES = 4 };

/* What a verb gives: its JSON as a Result, a page as str, or a file. */
typedef enum verb_gives { GIVES_JSON, GIVES_PAGE, GIVES_FILE } verb_gives;

/* A verb, what it gives, and the names of its arguments by place. */
typedef struct verb {
    const char *name;
    verb_gives gives;
    const char *places[MAX_PLACES];
} verb;

/* One call: its words, and the graphs that "#0", "#1" stand for. */
typedef struct request {
    PyObject *words;
    clv_graph *graphs[MAX_GRAPHS];
    const char *names[MAX_GRAPHS]; /* what they were opened by, or NULL */
    uint32_t n_graphs;
    bool text;
} request;

/* -- words ----------------------------------------------------------------*/

static bool add_word(request *r, PyObject *word)
{
    bool ok = word && PyList_Append(r->words, word) == 0;
    Py_XDECREF(word);
    return ok;
}

/* A list as "a,b"; anything else as it prints. Sets are sorted. */
static PyObject *value_text(PyObject *o)
{
    PyObject *comma = PyUnicode_FromString(","), *joined = NULL;
    PyObject *list = PySequence_List(o);
    if (list && PyAnySet_Check(o) && PyList_Sort(list) < 0)
        Py_CLEAR(list);
    for (Py_ssize_t i = 0; list && i < PyList_Size(list); i++) {
        PyObject *text = PyObject_Str(PyList_GetItem(list, i));
        if (!text || PyList_SetItem(list, i, text) < 0)
            Py_CLEAR(list);
    }
    if (list && comma)
        joined = PyUnicode_Join(comma, list);
    Py_XDECREF(list);
    Py_XDECREF(comma);
    return joined;
}

static PyObject *plain_text(PyObject *o)
{
    if (PyTuple_Check(o) || PyList_Check(o) || PyAnySet_Check(o))
        return value_text(o);
    if (PyObject_HasAttrString(o, "__fspath__"))
        return PyOS_FSPath(o);
    return PyObject_Str(o);
}

static bool add_flag(request *r, const char *word, PyObject *value)
{
    PyObject *text = plain_text(value);
    bool ok = text && add_word(r, PyUnicode_FromFormat("%s=%U", word, text));
    Py_XDECREF(text);
    return ok;
}

/* {"x": (1, 3)} as --flag=x=1,3 for each. */
static bool add_dict(request *r, const char *word, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    bool ok = true;
    while (ok && PyDict_Next(dict, &at, &key, &value)) {
        PyObject *text = plain_text(value);
        ok = text &&
             add_word(r, PyUnicode_FromFormat("%s=%U=%U", word, key, text));
        Py_XDECREF(text);
    }
    return ok;
}

/* Our words for what the command calls otherwise. */
static const char *const renamed[][2] = {{"shapes", "showshape"},
                                         {"memory_size", "memory"},
                                         {"expected_flops", "expected-gflops"},
                                         {"path", "output"}};

static void flag_name(const char *name, char *buf, size_t size)
{
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (!strcmp(renamed[i][0], name))
            name = renamed[i][1];
    snprintf(buf, size, "--%s", name);
    for (char *p = buf + 2; *p; p++)
        if (*p == '_')
            *p = '-';
}

static bool add_option(request *r, const char *name, PyObject *value)
{
    char word[64];
    if (!strcmp(name, "text")) {
        r->text = PyObject_IsTrue(value) > 0;
        return true;
    }
    int some = value == Py_None ? 0 : PyObject_IsTrue(value);
    if (some <= 0) /* None, False, 0 and () leave it as it is */
        return some == 0;
    flag_name(name, word, sizeof word);
    if (PyBool_Check(value))
        return add_word(r, PyUnicode_FromString(word));
    if (PyDict_Check(value))
        return add_dict(r, word, value);
    if (strcmp(name, "expected_flops"))
        return add_flag(r, word, value);
    PyObject *giga = PyFloat_FromDouble(PyFloat_AsDouble(value) / 1e9);
    bool ok = giga && !PyErr_Occurred() && add_flag(r, word, giga);
    Py_XDECREF(giga);
    return ok;
}

/* A model: a Graph, or what the command opens by itself. */
static bool add_model(request *r, PyObject *o)
{
    clv_graph *g = graph_peek(o);
    if (!g) {
        PyErr_Clear();
        return add_word(r, plain_text(o));
    }
    if (r->n_graphs == MAX_GRAPHS) {
        PyErr_SetString(PyExc_ValueError, "too many graphs");
        return false;
    }
    r->graphs[r->n_graphs] = g;
    r->names[r->n_graphs] = graph_opened_by(o);
    return add_word(r, PyUnicode_FromFormat("#%u", r->n_graphs++));
}

static bool add_arguments(request *r, const verb *v, PyObject *args)
{
    for (Py_ssize_t i = 0; i < PyTuple_Size(args); i++) {
        PyObject *o = PyTuple_GetItem(args, i);
        bool models = v->places[0] && !strcmp(v->places[0], "models");
        const char *name = models || i >= MAX_PLACES ? NULL : v->places[i];
        if (!models && !name) {
            PyErr_Format(PyExc_TypeError, "%s: argument %zd needs its name",
                         v->name, i + 1);
            return false;
        }
        if (!(models ? add_model(r, o) : add_option(r, name, o)))
            return false;
    }
    return true;
}

static bool add_keywords(request *r, PyObject *kw)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    bool ok = true;
    while (ok && kw && PyDict_Next(kw, &at, &key, &value)) {
        PyObject *name = PyUnicode_AsUTF8String(key);
        ok = name && add_option(r, PyBytes_AsString(name), value);
        Py_XDECREF(name);
    }
    return ok;
}

/* -- running --------------------------------------------------------------*/

static uint32_t graph_at(const request *r, const char *word)
{
    unsigned i = MAX_GRAPHS;
    return sscanf(word, "#%u", &i) == 1 && i < r->n_graphs ? i : CLV_NONE;
}

/* The command frees what it opens: a graph is lent with one holder more. */
static clv_status open_lent(void *user, const char *model,
                            const clv_open_opts *o, clv_graph **out,
                            clv_err *err)
{
    const request *r = user;
    uint32_t i = graph_at(r, model);
    *out = NULL;
    if (i == CLV_NONE)
        return clv_graph_open(model, o, out, err);
    if (o->n_shapes || o->n_dims || o->batch || o->dtype || o->loop ||
        o->ops_file)
        return fail(err, CLV_USAGE,
                    "shapes, batch, dims and types are given when a graph is "
                    "opened");
    *out = clv__graph_hold(r->graphs[i]);
    return CLV_OK;
}

/* A sweep opens the model again for each point, by its name. */
static clv_status name_models(const request *r, options *o, clv_err *err)
{
    for (size_t i = 0; !strcmp(o->cmd->verb, "sweep") && i < o->args.n; i++) {
        uint32_t at = graph_at(r, o->args.items[i]);
        if (at == CLV_NONE)
            continue;
        if (!r->names[at])
            return fail(err, CLV_USAGE,
                        "sweep opens the model again: it takes a built-in "
                        "model or a file, not a captured module");
        o->args.items[i] = r->names[at];
    }
    return CLV_OK;
}

static clv_status run_words(const char *name, request *r, const texts *words,
                            clv_buf *out, clv_err *err)
{
    const command *cmd = command_find(name, err);
    cli_session session = {
        .open = open_lent, .user = r, .lent = r->n_graphs > 0, .out = out};
    options o = {0};
    if (!cmd)
        return err->code;
    clv_status s =
        options_parse(cmd, (int)words->n, (char **)words->items, &o, err);
    o.session = &session;
    if (s == CLV_OK)
        s = name_models(r, &o, err);
    if (s == CLV_OK)
        s = cmd->run(&o, err);
    options_free(&o);
    session_end(&session);
    return s;
}

/* Raises with the method's name before the reason, unless that begins with it.
 */
static PyObject *raise_in(const verb *v, const clv_err *err)
{
    clv_err said = *err;
    if (strncmp(err->msg, v->name, strlen(v->name)))
        snprintf(said.msg, sizeof said.msg, "%s: %.*s", v->name,
                 (int)(sizeof said.msg - strlen(v->name) - 3), err->msg);
    return py_raise(&said);
}

/* A check that fails is an answer, not an error. */
static PyObject *answer(const verb *v, const request *r, clv_status s,
                        clv_buf *out, const clv_err *err)
{
    if (s == CLV_LIMIT && !strcmp(v->name, "check") && out->len)
        s = CLV_OK;
    bool text = r->text || v->gives == GIVES_PAGE;
    if (s == CLV_OK && out->len && v->gives != GIVES_FILE)
        return text ? py_from_text(out) : result_new(py_from_report(out));
    clv_buf_free(out);
    if (s != CLV_OK)
        return raise_in(v, err);
    Py_RETURN_NONE;
}

static PyObject *run_request(const verb *v, request *r)
{
    texts words = {0};
    clv_buf out = {0};
    clv_err err = {0};
    clv_status s;
    if (!texts_read(r->words, &words))
        return NULL;
    Py_BEGIN_ALLOW_THREADS s = run_words(v->name, r, &words, &out, &err);
    Py_END_ALLOW_THREADS texts_free(&words);
    return answer(v, r, s, &out, &err);
}

/* Flags that the command takes of itself: JSON, and silence. */
static bool add_usual(request *r, const verb *v)
{
    bool asked = v->gives == GIVES_JSON && !r->text;
    if (asked && !add_word(r, PyUnicode_FromString("--json")))
        return false;
    return add_word(r, PyUnicode_FromString("--quiet"));
}

static PyObject *call_verb(const verb *v, PyObject *self, PyObject *args,
                           PyObject *kw)
{
    request r = {.words = PyList_New(0)};
    PyObject *result = NULL;
    if (r.words && (!self || (graph_peek(self) && add_model(&r, self))) &&
        add_arguments(&r, v, args) && add_keywords(&r, kw) && add_usual(&r, v))
        result = run_request(v, &r);
    Py_XDECREF(r.words);
    return result;
}

/* -- the verbs ------------------------------------------------------------*/

#define VERB(name, gives, ...) \
    static PyObject *verb_##name(PyObject *self, PyObject *args, PyObject *kw) \
    { \
        static const verb v = {#name, GIVES_##gives, {__VA_ARGS__}}; \
        return call_verb(&v, self, args, kw); \
    }

VERB(partition, JSON, "strategy", "text")
VERB(concurrency, JSON, "strategy", "text")
VERB(memory, JSON, "strategy", "reorder", "text")
VERB(map, JSON, "hardware", "strategy", "text")
VERB(validate, JSON, "text")
VERB(diagnose, JSON, "expected_flops", "text")
VERB(check, JSON, "hardware", "text")
VERB(compare, JSON, "models")
VERB(sweep, JSON, "batch", "text")
VERB(export, FILE, "path")
VERB(run, JSON, "backend", "text")
VERB(report, PAGE, "models")

#define METHOD(name, doc) \
    { \
#name, (PyCFunction)(void (*)(void))verb_##name, \
            METH_VARARGS | METH_KEYWORDS, doc \
    }

const PyMethodDef verb_methods[N_VERBS] = {
    METHOD(partition,
           "partition($self, strategy='op', text=False, **flags)\n--\n\n"
           "Subgraphs: op, fusion, capability, placement or pipeline. Flags "
           "are those of\n`cleave partition`: backend, min_support, "
           "max_subgraph_count, cpu_ops, hardware,\ncurve, stages, output ..."),
    METHOD(concurrency,
           "concurrency($self, strategy='op', text=False, **flags)\n--\n"
           "\nStages, critical path, slack; flags of `cleave "
           "concurrency`."),
    METHOD(memory,
           "memory($self, strategy='op', reorder=False, text=False, **flags)"
           "\n--\n\nLive tensors over time, peak, arena plan; flags "
           "of `cleave memory`."),
    METHOD(
        map,
        "map($self, hardware, strategy='fusion', text=False, **flags)\n--\n\n"
        "Roofline times on one device or several; flags of `cleave "
        "map`."),
    METHOD(validate, "validate($self, text=False, **flags)\n--\n\n"
                     "Our count beside fvcore's, torch's, torchvision's and "
                     "thop's."),
    METHOD(diagnose,
           "diagnose($self, expected_flops=0, text=False, **flags)\n--\n\n"
           "What counts nothing, and what would explain the expected "
           "figure."),
    METHOD(check, "check($self, hardware=None, text=False, **flags)\n--\n\n"
                  "Budgets and suitability: budget={'macs': '4.2G'}, "
                  "memory='256MB',\ncompute_units=4. The dict says which "
                  "failed."),
    METHOD(compare, "compare($self, *models, text=False, **flags)\n--\n\n"
                    "Side by side with other graphs, names or files."),
    METHOD(sweep, "sweep($self, batch=None, text=False, **flags)\n--\n\n"
                  "How cost grows with batch=[1, 2, 4], dim={'seq': [64, "
                  "128]}; formula=True.\nOf a built-in model or a file, which "
                  "is opened again."),
    METHOD(export, "export($self, path, **flags)\n--\n\n"
                   "Writes .onnx, .dot or .svg; flags of `cleave export`."),
    METHOD(run, "run($self, backend=None, text=False, **flags)\n--\n\n"
                "Runs it as `cleave run` does (random inputs unless given): "
                "times, a check with\nverify=True. compile() makes a Model to "
                "call."),
    METHOD(report, "report($self, *models, path=None, **flags)\n--\n\n"
                   "The page of `cleave report`, as a str or written to a "
                   "file; with another model\nof both and their difference. "
                   "show() embeds it in a notebook."),
};

/* -- those without a graph ------------------------------------------------*/

#define FUNCTION(name, gives) \
    PyObject *verb_##name(PyObject *self, PyObject *args, PyObject *kw) \
    { \
        static const verb v = {#name, GIVES_##gives, {"models"}}; \
        (void)self; \
        return call_verb(&v, NULL, args, kw); \
    }

FUNCTION(verify, FILE)
FUNCTION(hardware, JSON)
