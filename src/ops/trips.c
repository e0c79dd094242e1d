/* trips.c - how often the body of a loop runs, as far as a file tells.
 *
 * A Loop has a count, a condition, or both. Converters from TensorFlow write
 * `while (i < n)` as a condition alone, computed at the end of each trip:
 *
 *     body(k, cond, i, ...) -> i + 1 < n, i + 1, ...
 *
 * Both sides of the comparison are counters, base + step * k in trip k, if i is
 * carried and a constant is added to it, and n is known: then the first trip
 * that the condition ends is known, too. */
#include "ops/trips.h"

#include "ops/fold.h"

#include <math.h>

/* A count beyond this is "until the condition fails". */
static const int64_t endless = INT64_C(1) << 31;

/* A sequence map runs once for each tensor of the first input. */
static loop_trips map_trips(const clv_graph *g, const clv_node *n)
{
    const clv_value *v = node_in(g, n, 0);
    bool told = v->flags & CLV_V_SEQUENCE && v->count != CLV_NONE;
    return (loop_trips){told ? v->count : attr_int(n, CLV_A_TRIPS), told, told};
}

/* A number that a body counts with: base + step * k in trip k, from 0. */
typedef struct counter {
    int64_t base, step;
} counter;

static bool known_int(const clv_value *v, int64_t *x)
{
    const clv_payload *d = v ? v->data : NULL;
    if (!d || d->n != 1 || v->flags & CLV_V_BOUND || !(d->ints || d->floats))
        return false;
    if (d->floats && !(fabs(d->floats[0]) < (double)endless))
        return false;
    *x = d->ints ? d->ints[0] : (int64_t)d->floats[0];
    return *x > -endless && *x < endless &&
           (d->ints || (double)*x == d->floats[0]);
}

static bool counter_of(const clv_graph *g, const clv_node *n,
                       const clv_graph *body, uint32_t v, int depth,
                       counter *c);

/* Returns true when body input i is a counter: the number of the trip, or a
 * number carried from trip to trip that stays or has a constant added to it. */
static bool carried_counter(const clv_graph *g, const clv_node *n,
                            const clv_graph *body, uint32_t i, counter *c)
{
    if (i == 0) {
        *c = (counter){0, 1};
        return true;
    }
    uint32_t in = body->inputs[i], out = i - 1;
    if (i < 2 || out >= body->n_outputs ||
        !known_int(node_in(g, n, i), &c->base))
        return false;
    const clv_value *next = &body->values[body->outputs[out]];
    c->step = 0;
    if (body->outputs[out] == in)
        return true;
    if (next->producer == CLV_NONE)
        return false;
    const clv_node *add = &body->nodes[next->producer];
    bool sum = add->op == CLV_OP_ADD && add->n_in == 2;
    bool first = sum && node_ins(body, add)[0] == in;
    return sum && (first || node_ins(body, add)[1] == in) &&
           known_int(node_in(body, add, first), &c->step);
}

static bool counter_of(const clv_graph *g, const clv_node *n,
                       const clv_graph *body, uint32_t v, int depth, counter *c)
{
    const clv_value *value = &body->values[v];
    c->step = 0;
    if (known_int(value, &c->base))
        return true;
    for (uint32_t i = 0; i < body->n_inputs; i++)
        if (body->inputs[i] == v)
            return carried_counter(g, n, body, i, c);
    if (value->producer == CLV_NONE || depth == 0)
        return false;
    const clv_node *by = &body->nodes[value->producer];
    counter d;
    if (by->n_in == 0 || node_ins(body, by)[0] == CLV_NONE ||
        !counter_of(g, n, body, node_ins(body, by)[0], depth - 1, c))
        return false;
    if (by->op == CLV_OP_CAST || clv__ops[by->op].cls == CLV_CLASS_VIEW)
        return clv__numel(value) == 1;
    if (by->op != CLV_OP_ADD || by->n_in != 2 ||
        node_ins(body, by)[1] == CLV_NONE ||
        !counter_of(g, n, body, node_ins(body, by)[1], depth - 1, &d))
        return false;
    c->base += d.base;
    c->step += d.step;
    return c->base < endless && c->base > -endless && c->step < endless;
}

/* Returns the trips until `a < b` fails; it is tested at the end of each
 * trip. */
static int64_t trips_until(counter a, counter b)
{
    int64_t gap = b.base - a.base, rate = a.step - b.step;
    if (gap <= 0)
        return 1;
    return rate > 0 ? (gap + rate - 1) / rate + 1 : INT64_MAX;
}

/* Computes the trips that condition v of a body allows, if it compares
 * counters. */
static bool condition_trips(const clv_graph *g, const clv_node *n,
                            const clv_graph *body, uint32_t v, int depth,
                            int64_t *most)
{
    int64_t x, y;
    counter a, b;
    if (known_int(&body->values[v], &x)) {
        *most = x ? INT64_MAX : 1;
        return true;
    }
    if (body->n_inputs > 1 && v == body->inputs[1]) { /* the condition is passed
                                                       * through unchanged */
        *most = INT64_MAX;
        return true;
    }
    if (body->values[v].producer == CLV_NONE || depth == 0)
        return false;
    const clv_node *by = &body->nodes[body->values[v].producer];
    const uint32_t *in = node_ins(body, by);
    if (by->n_in == 1 && in[0] != CLV_NONE &&
        (by->op == CLV_OP_IDENTITY || by->op == CLV_OP_CAST))
        return condition_trips(g, n, body, in[0], depth - 1, most);
    if (by->n_in != 2 || in[0] == CLV_NONE || in[1] == CLV_NONE)
        return false;
    if (by->op == CLV_OP_LOGICAL_AND) {
        if (!condition_trips(g, n, body, in[0], depth - 1, &x) ||
            !condition_trips(g, n, body, in[1], depth - 1, &y))
            return false;
        *most = x < y ? x : y;
        return true;
    }
    bool less = by->op == CLV_OP_LT || by->op == CLV_OP_LE;
    bool more = by->op == CLV_OP_GT || by->op == CLV_OP_GE;
    if (!(less || more) || !counter_of(g, n, body, in[more], 8, &a) ||
        !counter_of(g, n, body, in[less], 8, &b))
        return false;
    b.base += by->op == CLV_OP_LE || by->op == CLV_OP_GE;
    *most = trips_until(a, b);
    return true;
}

/* A loop ends at its count, or when its condition fails, whichever is first. */
loop_trips clv__loop_trips(const clv_graph *g, const clv_node *n)
{
    const clv_attr *attr = attr_get(n, CLV_A_BODY);
    const clv_graph *body =
        attr && attr->type == CLV_ATTR_GRAPH ? attr->u.body : NULL;
    int64_t most = INT64_MAX, first;
    known k;
    if (n->op == CLV_OP_SCAN)
        return (loop_trips){1, true, true}; /* cost_loop counts slices */
    if (n->op == CLV_OP_SEQUENCE_MAP)
        return map_trips(g, n);
    bool count = fold_in(g, n, 0, &k) && k.ints && k.n == 1 && k.ints[0] >= 0 &&
                 k.ints[0] < endless;
    bool through = !body || body->n_outputs == 0 ||
                   condition_trips(g, n, body, body->outputs[0], 8, &most);
    if (known_int(node_in(g, n, 1), &first) && !first)
        return (loop_trips){0, true, true};
    loop_trips t = {.told = count || (through && most < endless)};
    t.exact = t.told && through && !(count && k.v->flags & CLV_V_BOUND);
    t.n = attr_int(n, CLV_A_TRIPS);
    if (t.told)
        t.n = through && (!count || most < k.ints[0]) ? most : k.ints[0];
    if (t.n < 0)
        t.n = 0;
    return t;
}
