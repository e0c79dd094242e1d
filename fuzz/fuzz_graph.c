/* fuzz_graph.c - any bytes as calls that build a graph through the API: values,
 * nodes of every operator with attributes of its schema, outputs. What can be
 * inferred is costed, cut and, when it is small, run. */
#include "fuzz.h"
#include "graph/schema.h"
#include "ops/ops.h"

#include <stdlib.h>

enum { VALUES = 64, NODES = 12, ATTRS = 12, LIST = 6 };

typedef struct builder {
    clv_graph *g;
    uint32_t values[VALUES], n;
} builder;

static void add_value(builder *b, fuzz_choices *c)
{
    int64_t dims[CLV_MAX_RANK];
    clv_value_arg v = {
        .size = sizeof v,
        .kind = (clv_value_kind)(1 + fuzz_below(c, CLV_VALUE_CONST)),
        .dtype = fuzz_below(c, 3) ? CLV_FLOAT32
                                  : (clv_dtype)fuzz_below(c, CLV_DTYPE_COUNT),
        .rank = fuzz_below(c, 6),
        .dims = dims};
    for (uint32_t i = 0; i < v.rank; i++)
        dims[i] = fuzz_below(c, 8) ? 1 + fuzz_below(c, 5) : fuzz_number(c);
    if (b->n < VALUES &&
        clv_graph_add_value(b->g, &v, &b->values[b->n], NULL) == CLV_OK)
        b->n++;
}

/* Room for what attributes point to. */
typedef struct lists {
    int64_t ints[ATTRS][LIST];
    double floats[ATTRS][LIST];
    const char *strings[ATTRS][LIST];
    char text[ATTRS][32];
} lists;

static const char *any_choice(const clv_attr_spec *s, fuzz_choices *c,
                              char *buf, size_t size)
{
    const char *at = s->choices;
    if (!at)
        return fuzz_text(c, buf, size - 1);
    for (uint32_t skip = fuzz_below(c, 6); skip && strchr(at, '|'); skip--)
        at = strchr(at, '|') + 1;
    size_t n = strcspn(at, "|");
    n = n < size ? n : size - 1;
    memcpy(buf, at, n);
    buf[n] = '\0';
    return buf;
}

static void fill_attr(clv_attr_arg *a, const clv_attr_spec *s, fuzz_choices *c,
                      lists *l, uint32_t at)
{
    static const uint8_t types[] = {
        [CLV_KIND_INT] = CLV_ATTR_INT,       [CLV_KIND_BOOL] = CLV_ATTR_INT,
        [CLV_KIND_FLOAT] = CLV_ATTR_FLOAT,   [CLV_KIND_NUMBER] = CLV_ATTR_FLOAT,
        [CLV_KIND_STR] = CLV_ATTR_STRING,    [CLV_KIND_INTS] = CLV_ATTR_INTS,
        [CLV_KIND_FLOATS] = CLV_ATTR_FLOATS, [CLV_KIND_STRS] = CLV_ATTR_STRINGS,
        [CLV_KIND_DTYPE] = CLV_ATTR_STRING,  [CLV_KIND_BODY] = CLV_ATTR_INT,
    };
    a->name = clv__attr_name((clv_attr_key)s->key);
    a->type = fuzz_below(c, 16) ? (clv_attr_type)types[s->kind]
                                : (clv_attr_type)fuzz_below(c, CLV_ATTR_GRAPH);
    a->n = fuzz_below(c, LIST + 1);
    for (uint32_t i = 0; i < a->n; i++) {
        l->ints[at][i] = fuzz_number(c);
        l->floats[at][i] = fuzz_real(c);
        l->strings[at][i] = "Relu";
    }
    const char *text =
        s->kind == CLV_KIND_DTYPE
            ? clv_dtype_name((clv_dtype)fuzz_below(c, CLV_DTYPE_COUNT))
            : any_choice(s, c, l->text[at], sizeof l->text[at]);
    switch (a->type) {
    case CLV_ATTR_FLOAT:
        a->u.f = fuzz_real(c);
        break;
    case CLV_ATTR_STRING:
        a->u.s = text;
        break;
    case CLV_ATTR_INTS:
        a->u.ints = l->ints[at];
        break;
    case CLV_ATTR_FLOATS:
        a->u.floats = l->floats[at];
        break;
    case CLV_ATTR_STRINGS:
        a->u.strings = l->strings[at];
        break;
    default:
        a->u.i = s->bounded && fuzz_below(c, 4)
                     ? (int64_t)((uint64_t)s->lo + fuzz_below(c, 4))
                     : fuzz_number(c);
    }
}

static void add_node(builder *b, fuzz_choices *c)
{
    clv_op op = (clv_op)fuzz_below(c, CLV_OP_COUNT);
    const clv_schema *s = clv__schema_of(op);
    uint32_t inputs[LIST], outputs[LIST];
    clv_attr_arg attrs[ATTRS];
    lists l;
    clv_node_arg n = {.size = sizeof n,
                      .op = clv__ops[op].name,
                      .inputs = inputs,
                      .attrs = attrs};
    n.n_inputs = s->min_in + fuzz_below(c, 3);
    n.n_inputs = n.n_inputs < LIST ? n.n_inputs : LIST;
    for (uint32_t i = 0; i < n.n_inputs; i++)
        inputs[i] = b->n && fuzz_below(c, 8) ? b->values[fuzz_below(c, b->n)]
                                             : CLV_NONE;
    for (uint32_t i = 0; i < s->n_attrs && n.n_attrs < ATTRS; i++)
        if (s->attrs[i].presence == CLV_PRESENCE_REQUIRED ||
            !fuzz_below(c, 3)) {
            fill_attr(&attrs[n.n_attrs], &s->attrs[i], c, &l, n.n_attrs);
            n.n_attrs++;
        }
    n.n_outputs = fuzz_below(c, 4) ? 1 : fuzz_below(c, LIST);
    if (clv_graph_add_node(b->g, &n, outputs, NULL) != CLV_OK)
        return;
    for (uint32_t i = 0; i < (n.n_outputs ? n.n_outputs : 1); i++)
        if (b->n < VALUES)
            b->values[b->n++] = outputs[i];
}

static void use(const clv_graph *g)
{
    clv_profile *p;
    clv_cut *cut;
    fuzz_run r = {0};
    if (clv_graph_verify(g, NULL) != CLV_OK)
        abort();
    if (clv_profile_new(g, NULL, &p, NULL) != CLV_OK)
        return;
    if (clv_cut_fusion(p, NULL, &cut, NULL) == CLV_OK) {
        if (clv_cut_verify(cut, NULL) != CLV_OK)
            abort();
        clv_cut_free(cut);
    }
    clv_profile_free(p);
    if (!fuzz_is_small(g))
        return;
    (void)!fuzz_run_start(&r, g, NULL);
    fuzz_run_free(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_choices c = {data, size};
    builder b = {0};
    if (clv_graph_new("fuzz", &b.g, NULL) != CLV_OK)
        return 0;
    for (uint32_t i = 1 + fuzz_below(&c, 4); i; i--)
        add_value(&b, &c);
    for (uint32_t i = 1 + fuzz_below(&c, NODES); i && c.n; i--)
        add_node(&b, &c);
    for (uint32_t i = 1 + fuzz_below(&c, 3); i && b.n; i--)
        (void)!clv_graph_add_output(
            b.g, b.values[b.n - 1 - fuzz_below(&c, b.n)], NULL);
    if (clv_graph_infer(b.g, NULL) == CLV_OK)
        use(b.g);
    clv_graph_free(b.g);
    return 0;
}
