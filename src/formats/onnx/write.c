/* write.c - a graph as an ONNX file.
 *
 *   1. nodes, and the functions that some of them call, in memory: small
 *   2. the head of every weight, whose sizes then give the size of the graph
 *   3. one pass that writes: head, nodes, each weight as it is drawn, tail
 *
 * So no more than one block of weights is ever held. A graph that came from
 * ONNX is copied as it is, unless another opset is asked for: then it is
 * written like any other, with the bytes of its own weights, and what its shape
 * arithmetic comes to as constants. */
#include "formats/onnx/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRITE_IR = 8, WRITE_OPSET = 17 }; /* unless another is asked for */
enum { WRITE_OLDEST = 13, WRITE_NEWEST = 22 };

/* -- the file -------------------------------------------------------------*/

/* The name of a value that has none of its own: its producer's, and a number.
 */
static const char *write_made_name(writer *w, uint32_t v)
{
    enum { NUMBER = 24 };
    uint32_t p = w->g->values[v].producer;
    size_t room = (p == CLV_NONE ? 0 : strlen(w->g->nodes[p].name)) + NUMBER;
    char *own = arena_alloc(&w->mem, room);
    const char *name = own ? clv__value_name(w->g, v, own, room) : NULL;
    if (name && w->prefix)
        name = arena_printf(&w->mem, "%s/%s", w->prefix, name);
    w->nodes.failed = w->nodes.failed || !name;
    return name ? name : "";
}

/* Whether another value than v has the name. */
static bool write_is_taken(const writer *w, const char *name, uint32_t v)
{
    uint32_t of = strmap_get(&w->names, name, strlen(name));
    return of != CLV_NONE && of != v;
}

const char *writer_name(writer *w, uint32_t v)
{
    if (v == CLV_NONE)
        return "";
    if (w->outer && w->captured[v] != CLV_NONE)
        return writer_name(w->outer, w->captured[v]);
    const char *name = w->g->values[v].name;
    if (!name)
        name = write_made_name(w, v);
    if (!write_is_taken(w, name, v))
        return name;
    name = arena_printf(&w->mem, "%s//%u", name, v);
    w->nodes.failed = w->nodes.failed || !name;
    return name ? name : "";
}

/* Notes that v has its name, unless another value has it already. */
static clv_status write_claim(writer *w, uint32_t v, clv_err *e)
{
    const char *name = w->g->values[v].name;
    bool added;
    if (name && !strmap_add(&w->names, name, strlen(name), v, &added))
        return clv__nomem(e);
    return CLV_OK;
}

/* Values may share a name: calls of one function that was taken apart have
 * those of its body. What the graph takes and gives keeps its own. */
static clv_status write_claim_all(writer *w, clv_err *e)
{
    const clv_graph *g = w->g;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        CLV_TRY(write_claim(w, g->inputs[i], e));
    for (uint32_t i = 0; i < g->n_outputs; i++)
        CLV_TRY(write_claim(w, g->outputs[i], e));
    for (uint32_t v = 0; v < g->n_values; v++)
        CLV_TRY(write_claim(w, v, e));
    return CLV_OK;
}

/* "layer1.0.conv1" as torch writes it: our reader and others' viewers group
 * nodes by it. */
static void write_scope(const writer *w, onnx_out *o, const clv_node *n)
{
    const clv_scope *s = &w->g->scopes[n->scope];
    clv_buf entry = {0}, list = {0};
    clv_buf_printf(&list, "['', '%s', '%s']", s->path, clv__ops[n->op].name);
    pb_text(&entry, PB_ENTRY_KEY, PB_NAME_SCOPES);
    pb_bytes(&entry, PB_ENTRY_VALUE, list.text, list.len);
    pb_message(&o->b, PB_NODE_METADATA, &entry);
    clv_buf_free(&list);
}

static void write_edges(writer *w, onnx_out *o, const clv_node *n)
{
    for (uint32_t i = 0; i < writer_formal(n); i++)
        out_input(o, writer_name(w, node_ins(w->g, n)[i]));
    for (uint32_t i = 0; i < n->n_out; i++)
        out_output(o, writer_name(w, node_outs(w->g, n)[i]));
}

/* Our own attributes, under our names: what a call hands to its function. */
static bool write_is_own(const clv_attr *a)
{
    return a->key != CLV_A_OTHER && a->type != CLV_ATTR_STRINGS;
}

static void write_attrs(onnx_out *o, const clv_node *n)
{
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (write_is_own(&n->attrs[i]))
            out_attr(o, &n->attrs[i]);
}

static void write_opset(clv_buf *b, int field, const char *domain, int64_t v)
{
    clv_buf m = {0};
    pb_text(&m, PB_OPSET_DOMAIN, domain);
    pb_uint(&m, PB_OPSET_VERSION, (uint64_t)v);
    pb_message(b, field, &m);
}

/* The number of the function for node n, written when it is the first of its
 * kind. CLV_NONE: out of memory, or not possible (b->unable). */
static uint32_t write_function(writer *w, const clv_node *n, body *b)
{
    writer *root = w->root;
    clv_buf f = {0};
    char name[32];
    for (uint32_t i = 0; i < n->n_in; i++) {
        snprintf(name, sizeof name, "i%u", i);
        pb_text(&f, PB_FUNCTION_INPUT, name);
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        snprintf(name, sizeof name, "o%u", i);
        pb_text(&f, PB_FUNCTION_OUTPUT, name);
    }
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (write_is_own(&n->attrs[i]))
            pb_text(&f, PB_FUNCTION_ATTRIBUTE, n->attrs[i].name);
    clv_buf_add(&f, b->nodes.text, b->nodes.len);
    pb_text(&f, PB_FUNCTION_DOMAIN, clv__ops[n->op].name); /* part of the key */
    f.failed = f.failed || b->nodes.failed;
    uint32_t id =
        f.failed ? CLV_NONE : strmap_get(&root->bodies, f.text, f.len);
    if (id == CLV_NONE && !f.failed) {
        char *key = arena_strndup(&root->mem, f.text, f.len);
        id = root->bodies.n;
        if (!key || !strmap_put(&root->bodies, key, f.len, id))
            id = CLV_NONE;
        clv_buf m = {0};
        char fn[96];
        snprintf(fn, sizeof fn, "%s_%u", clv__ops[n->op].name, id);
        pb_text(&m, PB_FUNCTION_NAME, fn);
        clv_buf_add(&m, f.text, f.len);
        write_opset(&m, PB_FUNCTION_OPSET_IMPORT, "", w->opset);
        pb_text(&m, PB_FUNCTION_DOMAIN, "cleave"); /* the last one counts */
        pb_message(&root->functions, PB_MODEL_FUNCTIONS, &m);
    }
    clv_buf_free(&f);
    return id;
}

/* What is said of operators that newer opsets have, or copies keep. */
static const char *write_why_not(const clv_node *n)
{
    switch (clv__ops[n->op].category) {
    case CLV_CAT_CONTROL:
        return ": what its body takes changes from trip to trip, or is no "
               "tensor";
    case CLV_CAT_SEQUENCE:
        return ": sequences are copied, not rewritten at an opset";
    case CLV_CAT_ATTENTION:
        return ": attention whose scores are a result, or whose keys do not "
               "all count, is not said in older operators";
    default:
        return "";
    }
}

clv_status writer_cannot(const writer *w, const clv_node *n, clv_err *e)
{
    const char *counted = n->counted_only;
    if (counted)
        return clv__fail(e, CLV_UNSUPPORTED, "node '%s' (%s): %s", n->name,
                         clv__ops[n->op].name, counted);
    clv_status s = clv__fail(
        e, CLV_UNSUPPORTED, "node '%s' (%s) has no form in ONNX opset %lld%s",
        n->name, n->origin ? n->origin : clv__ops[n->op].name,
        (long long)w->opset, write_why_not(n));
    if (clv__ops[n->op].category == CLV_CAT_SEQUENCE)
        clv__about(e, s, CLV_SUBJECT_OPSET, "");
    return s;
}

/* A value of an imported graph that folding has found: a constant here. */
bool writer_folded(const clv_graph *g, uint32_t v)
{
    const clv_value *val = &g->values[v];
    const clv_payload *d = val->data;
    return !strcmp(g->format, "onnx") && val->kind == CLV_VALUE_ACTIVATION &&
           d && (d->ints || d->floats) && d->n == clv__numel(val) &&
           !(val->flags & (CLV_V_BOUND | CLV_V_OUTPUT));
}

/* Nobody needs the node: all it makes is written as constants. */
static bool write_is_done(const clv_graph *g, const clv_node *n)
{
    for (uint32_t i = 0; i < n->n_out; i++)
        if (!writer_folded(g, node_outs(g, n)[i]))
            return false;
    return n->n_out > 0;
}

/* An attribute of an imported node that its form in ONNX would drop. */
static bool write_says_more(const clv_graph *g, const clv_node *n,
                            const onnx_form *f)
{
    return f->name && !f->attrs && n->n_attrs && !strcmp(g->format, "onnx");
}

/* Attributes and bodies are said with shapes; of a sequence, there may be
 * none. */
static bool write_is_shapeless(const clv_graph *g, const clv_node *n)
{
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        uint32_t v = node_ins(g, n)[i];
        if (v != CLV_NONE && g->values[v].rank == CLV_NO_RANK &&
            !(g->values[v].flags & CLV_V_FORM))
            return true;
    }
    return false;
}

/* A type that the opset's operators do not take. */
static bool write_is_later_type(const clv_value *v, int64_t opset)
{
    if (!v || v->dtype == CLV_NODTYPE)
        return false;
    return onnx_dtype_since((clv_dtype)v->dtype) > opset;
}

static bool write_has_later_type(const writer *w, const clv_node *n)
{
    bool later = false;
    for (uint32_t i = 0; i < n->n_in; i++)
        later = later || write_is_later_type(node_in(w->g, n, i), w->opset);
    for (uint32_t i = 0; i < n->n_out; i++)
        if (node_outs(w->g, n)[i] != CLV_NONE)
            later =
                later || write_is_later_type(node_out(w->g, n, i), w->opset);
    return later;
}

/* A type that ONNX's operator of that name does not take, and ours does. */
static bool write_is_other_type(const clv_graph *g, const clv_node *n)
{
    const clv_value *x = node_in(g, n, 0);
    if (!x || x->dtype == CLV_NODTYPE)
        return false;
    dtype_class c = dtype_class_of((clv_dtype)x->dtype);
    if (clv__ops[n->op].category == CLV_CAT_ACT)
        return node_out(g, n, 0)->dtype != x->dtype;
    switch (n->op) {
    case CLV_OP_FLOOR:
    case CLV_OP_CEIL:
    case CLV_OP_ROUND:
    case CLV_OP_ISNAN:
    case CLV_OP_ISINF:
        return c != CLASS_FLOAT;
    case CLV_OP_NEG:
        return c == CLASS_UINT || c == CLASS_BOOL;
    case CLV_OP_ADD:
    case CLV_OP_SUB:
    case CLV_OP_MUL:
    case CLV_OP_MAXIMUM:
    case CLV_OP_MINIMUM:
    case CLV_OP_LT:
    case CLV_OP_LE:
    case CLV_OP_GT:
    case CLV_OP_GE:
    case CLV_OP_SIGN:
    case CLV_OP_ABS:
        return c == CLASS_BOOL;
    default:
        return false;
    }
}

/* Parts of two types: ONNX joins those of one. */
static bool write_joins_types(const clv_graph *g, const clv_node *n)
{
    const clv_value *a = node_in(g, n, 0), *b;
    if (n->op != CLV_OP_CAT && n->op != CLV_OP_STACK)
        return false;
    for (uint32_t i = 1; a && i < n->n_in; i++)
        if ((b = node_in(g, n, i)) && b->dtype != a->dtype)
            return true;
    return false;
}

static clv_status write_node(writer *w, const clv_node *n, clv_err *e)
{
    onnx_form f = onnx_form_of(w->g, n, w->opset);
    body b = {.g = w->g, .n = n, .opset = w->opset, .field = PB_FUNCTION_NODE};
    onnx_out o;
    if (n->counted_only || write_says_more(w->g, n, &f) ||
        write_has_later_type(w, n) || write_joins_types(w->g, n) ||
        (f.name && write_is_other_type(w->g, n)))
        return writer_cannot(w, n, e);
    bool bare = f.name && !f.attrs;
    bool cast = f.name && onnx_form_casts(w->g, n);
    if (!bare && write_is_shapeless(w->g, n))
        return clv__fail(e, CLV_UNSUPPORTED,
                         "node '%s' (%s): a shape of it is not known", n->name,
                         n->origin ? n->origin : clv__ops[n->op].name);
    for (uint32_t i = 0; i < n->n_in; i++)
        if (node_in(w->g, n, i))
            w->read[node_ins(w->g, n)[i]] = true;
    if (f.name && writer_has_bodies(n)) {
        out_start(&o, f.name, "", n->name);
        write_edges(w, &o, n);
        clv_status s = writer_bodies(w, n, &o, e);
        if (s != CLV_OK) {
            clv_buf_free(&o.b);
            return s;
        }
    } else if (f.name && !cast) {
        out_start(&o, f.name, "", n->name);
        write_edges(w, &o, n);
        if (f.attrs)
            f.attrs(&b, &o);
        if (b.unable) {
            clv_buf_free(&o.b);
            return writer_cannot(w, n, e);
        }
    } else {
        if (!f.body && !cast)
            return writer_cannot(w, n, e);
        if (cast)
            body_cast(&b, &f);
        else
            f.body(&b);
        uint32_t id = b.unable ? CLV_NONE : write_function(w, n, &b);
        clv_buf_free(&b.nodes);
        if (id == CLV_NONE)
            return b.unable ? writer_cannot(w, n, e) : clv__nomem(e);
        char call[96];
        snprintf(call, sizeof call, "%s_%u", clv__ops[n->op].name, id);
        out_start(&o, call, "cleave", n->name);
        write_edges(w, &o, n);
        write_attrs(&o, n);
    }
    write_scope(w, &o, n);
    b.field = PB_GRAPH_NODE;
    out_finish(&b, &o);
    clv_buf_add(&w->nodes, b.nodes.text, b.nodes.len);
    bool failed = b.nodes.failed;
    clv_buf_free(&b.nodes);
    return failed ? clv__nomem(e) : CLV_OK;
}

/* The TypeProto becomes one of a message that has it as its element type. */
static void write_wrap_type(clv_buf *type, int field)
{
    clv_buf of = {0}, whole = {0};
    pb_message(&of, PB_ELEM_TYPE, type);
    pb_message(&whole, field, &of);
    *type = whole;
}

/* A ValueInfoProto of v, under another name if there is one. */
static void write_value(writer *w, int field, uint32_t v, const char *as)
{
    const clv_value *val = &w->g->values[v];
    clv_buf shape = {0}, tensor = {0}, type = {0}, info = {0};
    for (uint32_t i = 0; i < val->rank && val->rank != CLV_NO_RANK; i++) {
        clv_buf dim = {0};
        if (!(val->flags & CLV_V_BOUND)) /* else any size */
            pb_uint(&dim, PB_DIM_VALUE, (uint64_t)val->dims[i]);
        pb_message(&shape, PB_SHAPE_DIM, &dim);
    }
    pb_uint(&tensor, PB_TENSOR_TYPE_ELEM,
            (uint64_t)onnx_dtype_number((clv_dtype)val->dtype));
    if (val->rank != CLV_NO_RANK)
        pb_message(&tensor, PB_TENSOR_TYPE_SHAPE, &shape);
    pb_message(&type, PB_TYPE_OF_TENSOR, &tensor);
    if (val->flags & CLV_V_SEQUENCE)
        write_wrap_type(&type, PB_TYPE_OF_SEQUENCE);
    if (val->flags & CLV_V_OPTIONAL)
        write_wrap_type(&type, PB_TYPE_OF_OPTIONAL);
    pb_text(&info, PB_VALUE_INFO_NAME, as ? as : writer_name(w, v));
    pb_message(&info, PB_VALUE_INFO_TYPE, &type);
    pb_message(&w->tail, field, &info);
}

/* -- writing --------------------------------------------------------------*/

static clv_status write_buffer(writer *w, const clv_buf *b, clv_err *e)
{
    if (b->failed)
        return clv__nomem(e);
    if (b->len && fwrite(b->text, 1, b->len, w->file) != b->len)
        return clv__fail(e, CLV_IO, "cannot write: %s", strerror(errno));
    return CLV_OK;
}

static clv_status write_graph(writer *w, clv_err *e)
{
    CLV_TRY(write_buffer(w, &w->nodes, e));
    CLV_TRY(writer_stream(w, e));
    return write_buffer(w, &w->tail, e);
}

static void writer_free(writer *w)
{
    clv_buf_free(&w->nodes);
    clv_buf_free(&w->functions);
    clv_buf_free(&w->tail);
    clv_buf_free(&w->heads);
    strmap_free(&w->bodies);
    strmap_free(&w->names);
    clv__external_close(&w->files);
    arena_free(&w->mem);
}

static clv_status write_model(writer *w, clv_err *e)
{
    clv_buf head = {0};
    pb_uint(&head, PB_MODEL_IR_VERSION, WRITE_IR);
    pb_text(&head, PB_MODEL_PRODUCER_NAME, "cleave");
    pb_text(&head, PB_MODEL_PRODUCER_VERSION, clv_version());
    write_opset(&head, PB_MODEL_OPSET_IMPORT, "", w->opset);
    write_opset(&head, PB_MODEL_OPSET_IMPORT, "cleave", 1);
    pb_head(&head, PB_MODEL_GRAPH,
            w->nodes.len + w->tail.len + writer_weight_size(w));
    clv_status s = write_buffer(w, &head, e);
    if (s == CLV_OK)
        s = write_graph(w, e);
    if (s == CLV_OK)
        s = write_buffer(w, &w->functions, e);
    clv_buf_free(&head);
    return s;
}

/* A body may not hand on what it was given, a constant, or one value twice: it
 * hands on a copy. `given` tells, per value, whether it is an output already.
 */
static void write_output(writer *w, uint32_t i, bool *given)
{
    const clv_graph *g = w->g;
    uint32_t v = g->outputs[i];
    bool again = given[v], made = g->values[v].producer != CLV_NONE;
    given[v] = true;
    if (!w->outer || (made && !writer_folded(g, v) && !again)) {
        write_value(w, PB_GRAPH_OUTPUT, v, NULL);
        return;
    }
    const char *name = writer_name(w, v);
    char *as = arena_printf(&w->mem, "%s/%s/out%u", w->prefix, name, i);
    w->nodes.failed = w->nodes.failed || !as;
    onnx_out o;
    out_start(&o, "Identity", "", "");
    out_input(&o, name);
    out_output(&o, as ? as : "");
    pb_message(&w->nodes, PB_GRAPH_NODE, &o.b);
    write_value(w, PB_GRAPH_OUTPUT, v, as);
}

static clv_status write_prepare(writer *w, const char *data_name, clv_err *e)
{
    const clv_graph *g = w->g;
    w->read = arena_zalloc(&w->mem, g->n_values + (size_t)1);
    bool *given = arena_zalloc(&w->mem, g->n_values + (size_t)1);
    if (!w->read || !given)
        return clv__nomem(e);
    CLV_TRY(write_claim_all(w, e));
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const clv_value *v = &g->values[g->outputs[i]];
        if (v->kind == CLV_VALUE_ACTIVATION && v->producer == CLV_NONE)
            return clv__fail(e, CLV_UNSUPPORTED,
                             "nothing computes output '%.200s'", v->name);
        w->read[g->outputs[i]] = true;
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (!write_is_done(g, &g->nodes[i]))
            CLV_TRY(write_node(w, &g->nodes[i], e));
    CLV_TRY(writer_weights(w, data_name, e));
    pb_text(&w->tail, PB_GRAPH_NAME, g->name);
    for (uint32_t i = 0; i < w->n_formal; i++)
        write_value(w, PB_GRAPH_INPUT, g->inputs[i], NULL);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        write_output(w, i, given);
    return CLV_OK;
}

/* Appends to out what `put` writes to w's file. */
static clv_status write_in_memory(writer *w, clv_buf *out,
                                  clv_status (*put)(writer *, clv_err *),
                                  clv_err *e)
{
    char *text = NULL;
    size_t size = 0;
    clv_status s = write_prepare(w, "", e);
    if (s == CLV_OK && w->external)
        s = clv__fail(e, CLV_UNSUPPORTED,
                      "weights of more than 1 GB are not written to memory");
    w->file = s == CLV_OK ? open_memstream(&text, &size) : NULL;
    if (s == CLV_OK && !w->file)
        s = clv__nomem(e);
    if (s == CLV_OK)
        s = put(w, e);
    if (w->file && fclose(w->file) != 0 && s == CLV_OK)
        s = clv__nomem(e);
    if (s == CLV_OK)
        clv_buf_add(out, text, size);
    free(text);
    writer_free(w);
    return s == CLV_OK && out->failed ? clv__nomem(e) : s;
}

clv_status writer_graph(writer *w, clv_buf *out, clv_err *e)
{
    return write_in_memory(w, out, write_graph, e);
}

static clv_status write_files(writer *w, const char *path, const char *data,
                              clv_err *e)
{
    char *temporary = arena_printf(&w->mem, "%s.XXXXXX", path);
    char *temporary2 = arena_printf(&w->mem, "%s.XXXXXX", data);
    if (!temporary || !temporary2)
        return clv__nomem(e);
    bool separate = w->external && w->opts->weights != CLV_WEIGHTS_NONE;
    w->file = writer_open(temporary, e);
    if (w->file && separate)
        w->data = writer_open(temporary2, e);
    clv_status s =
        w->file && (w->data || !separate) ? write_model(w, e) : CLV_IO;
    s = writer_settle(w->data, temporary2, data, s, e);
    return writer_settle(w->file, temporary, path, s, e);
}

/* -- the way in -----------------------------------------------------------*/

clv_status clv_export_onnx(const clv_graph *g, const char *path,
                           const clv_onnx_opts *opts, clv_err *err)
{
    clv_onnx_opts o;
    clv__err_clear(err);
    CLV_NEED(g, err);
    CLV_NEED(path, err);
    CLV_TRY(clv__need_inferred(g, __func__, err));
    CLV_READ(clv_onnx_opts, opts, &o, err);
    writer w = {.g = g, .opts = &o, .root = &w, .n_formal = g->n_inputs};
    bool imported = !strcmp(g->format, "onnx") && g->owner;
    if (imported && !w.opts->opset)
        return writer_copy(g, path, err);
    w.opset = w.opts->opset ? w.opts->opset : WRITE_OPSET;
    if (w.opset < WRITE_OLDEST || w.opset > WRITE_NEWEST)
        return clv__fail(err, CLV_USAGE, "opset %lld; %d to %d can be written",
                         (long long)w.opset, WRITE_OLDEST, WRITE_NEWEST);
    char *data = arena_printf(&w.mem, "%s.data", path);
    const char *base = data ? strrchr(data, '/') : NULL;
    clv_status s =
        data ? write_prepare(&w, base ? base + 1 : data, err) : clv__nomem(err);
    if (s == CLV_OK)
        s = write_files(&w, path, data, err);
    writer_free(&w);
    return s;
}

clv_status clv__onnx_bytes(const clv_graph *g, const clv_tensor *tensor,
                           int64_t opset, clv_buf *out, clv_err *e)
{
    const clv_onnx_opts o = {
        .size = sizeof o, .weights = CLV_WEIGHTS_RANDOM, .draw_weights = true};
    writer w = {.g = g,
                .opts = &o,
                .opset = opset,
                .tensor = tensor,
                .root = &w,
                .n_formal = g->n_inputs};
    return write_in_memory(&w, out, write_model, e);
}
