/* fuzz_aten.c - any bytes as a program that the Python bridge captured: inputs,
 * weights and calls of PyTorch's functions, methods and modules, with arguments
 * and results of every kind. */
#include "formats/aten/aten.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

enum { VALUES = 64, CALLS = 10, ARGS = 8, ITEMS = 4, TEXT = 40 };

typedef struct program {
    aten_builder b;
    arena mem;
    uint32_t values[VALUES], n;
} program;

static void *room(program *p, size_t size)
{
    void *m = arena_zalloc(&p->mem, size);
    if (!m)
        abort();
    return m;
}

static const int64_t *any_dims(program *p, fuzz_choices *c, uint32_t rank)
{
    int64_t *dims = room(p, CLV_MAX_RANK * sizeof *dims);
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = fuzz_below(c, 12) ? 1 + fuzz_below(c, 6) : fuzz_number(c);
    return dims;
}

static clv_dtype any_dtype(fuzz_choices *c)
{
    return fuzz_below(c, 3) ? CLV_FLOAT32
                            : (clv_dtype)fuzz_below(c, CLV_DTYPE_COUNT);
}

static void add_value(program *p, fuzz_choices *c)
{
    clv_value_arg v = {.size = sizeof v,
                       .kind = (clv_value_kind)(1 + fuzz_below(c, 3)),
                       .dtype = any_dtype(c),
                       .rank = fuzz_below(c, 6)};
    v.dims = any_dims(p, c, v.rank);
    if (p->n < VALUES &&
        clv_graph_add_value(p->b.g, &v, &p->values[p->n], NULL) == CLV_OK)
        p->n++;
}

static aten_arg any_arg(program *p, fuzz_choices *c, int depth)
{
    static const uint8_t often[] = {ATEN_TENSOR, ATEN_TENSOR, ATEN_TENSOR,
                                    ATEN_INT,    ATEN_INT,    ATEN_LIST};
    aten_arg a = {.kind = fuzz_below(c, 2)
                              ? (aten_kind)often[fuzz_below(c, 6)]
                              : (aten_kind)fuzz_below(c, ATEN_OTHER + 1)};
    aten_arg *items;
    switch (a.kind) {
    case ATEN_BOOL:
        a.u.b = fuzz_below(c, 2);
        break;
    case ATEN_INT:
        a.u.i = fuzz_number(c);
        break;
    case ATEN_FLOAT:
        a.u.f = fuzz_real(c);
        break;
    case ATEN_STRING:
        a.u.s = fuzz_text(c, room(p, TEXT + 1), TEXT);
        break;
    case ATEN_TENSOR:
        a.u.value =
            p->n && fuzz_below(c, 40)
                ? clv__aten_latest(&p->b, p->values[fuzz_below(c, p->n)])
                : fuzz_below(c, 256);
        break;
    case ATEN_LIST:
    case ATEN_SLICE:
        a.n = a.kind == ATEN_SLICE ? 3 : fuzz_below(c, ITEMS + 1);
        a.n = depth < 3 ? a.n : 0;
        if (a.kind == ATEN_SLICE && !a.n) {
            a.kind = ATEN_NONE;
            break;
        }
        items = room(p, ITEMS * sizeof *items);
        for (uint32_t i = 0; i < a.n; i++)
            items[i] = any_arg(p, c, depth + 1);
        a.u.items = items;
        break;
    default:
        break;
    }
    return a;
}

/* "relu" as it is, or "aten.relu.default". */
static const char *any_target(program *p, fuzz_choices *c)
{
    static uint32_t rows;
    const char *name;
    clv_op op;
    while (clv__aten_row(rows, &name, &op))
        rows++;
    if (!fuzz_below(c, 32))
        return fuzz_text(c, room(p, TEXT + 1), TEXT);
    clv__aten_row(fuzz_below(c, rows + (rows < 257 ? 257 - rows : 0)) % rows,
                  &name, &op);
    if (fuzz_below(c, 2) || !strncmp(name, "aten.", 5))
        return name;
    return arena_printf(&p->mem, "aten.%s.default", name);
}

static void add_members(program *p, fuzz_choices *c, aten_call *call)
{
    aten_named *list = room(p, ATEN_MAX_MEMBERS * sizeof *list);
    const char *names[ATEN_MAX_MEMBERS];
    uint32_t n;
    if (!clv__aten_members(&p->b, call->target, names, &n))
        n = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!fuzz_below(c, 6))
            continue;
        list[call->n_members].name = names[i];
        list[call->n_members++].value = any_arg(p, c, 0);
    }
    call->members = list;
}

static void add_results(program *p, fuzz_choices *c, aten_call *call)
{
    call->n_results = fuzz_below(c, 4) ? 1 : fuzz_below(c, ITEMS);
    aten_type *types = room(p, ITEMS * sizeof *types);
    for (uint32_t i = 0; i < call->n_results; i++) {
        types[i].dtype = any_dtype(c);
        types[i].rank = fuzz_below(c, 16) ? fuzz_below(c, 6) : CLV_NO_RANK;
        types[i].dims =
            any_dims(p, c, types[i].rank == CLV_NO_RANK ? 0 : types[i].rank);
    }
    call->results = types;
}

static bool add_call(program *p, fuzz_choices *c)
{
    aten_call call = {.target = any_target(p, c),
                      .name = "call",
                      .path = fuzz_below(c, 2) ? "layer.0" : "",
                      .cls = fuzz_below(c, 2) ? "torch.nn.Linear" : NULL,
                      .method = fuzz_below(c, 4) == 0,
                      .module = fuzz_below(c, 4) == 0,
                      .others_used = fuzz_below(c, 2)};
    aten_arg *args = room(p, ARGS * sizeof *args);
    aten_named *named = room(p, ITEMS * sizeof *named);
    call.args = args;
    call.named = named;
    call.n_args = fuzz_below(c, ARGS);
    for (uint32_t i = 0; i < call.n_args; i++)
        args[i] = any_arg(p, c, 0);
    if (!strcmp(call.target, "getitem") || !strcmp(call.target, "setitem"))
        for (uint32_t i = 1; i < call.n_args && i < 2; i++)
            if (args[i].kind != ATEN_LIST)
                return true; /* the bridge gives a list */
    static const char *const names[] = {"dim",  "dtype", "keepdim", "weight",
                                        "size", "other", "bias",    "out"};
    call.n_named = fuzz_below(c, ITEMS);
    for (uint32_t i = 0; i < call.n_named; i++) {
        named[i].name = names[fuzz_below(c, 8)];
        named[i].value = any_arg(p, c, 0);
    }
    if (call.module)
        add_members(p, c, &call);
    add_results(p, c, &call);
    if (clv__aten_call(&p->b, &call, NULL) != CLV_OK)
        return false;
    for (uint32_t i = 0; i < p->b.n_made && p->n < VALUES; i++)
        p->values[p->n++] = p->b.made[i];
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_choices c = {data, size};
    program p = {0};
    clv_profile *profile;
    if (clv_graph_new("fuzz", &p.b.g, NULL) != CLV_OK)
        return 0;
    for (uint32_t i = 1 + fuzz_below(&c, 5); i; i--)
        add_value(&p, &c);
    bool ok = true;
    for (uint32_t i = 1 + fuzz_below(&c, CALLS); i && c.n && ok; i--)
        ok = add_call(&p, &c);
    if (ok && p.n &&
        clv_graph_add_output(p.b.g, clv__aten_latest(&p.b, p.values[p.n - 1]),
                             NULL) == CLV_OK &&
        clv__aten_finish(&p.b, NULL) == CLV_OK &&
        clv_profile_new(p.b.g, NULL, &profile, NULL) == CLV_OK) {
        clv_profile_free(profile);
        if (fuzz_is_small(p.b.g)) {
            fuzz_run r = {0};
            (void)!fuzz_run_start(&r, p.b.g, NULL);
            fuzz_run_free(&r);
        }
    }
    clv__aten_free(&p.b);
    clv_graph_free(p.b.g);
    arena_free(&p.mem);
    return 0;
}
