/* control.c - operators with bodies: if, loop, scan, sequence map.
 *
 * A body is a graph of its own, held by an attribute. What it takes from
 * outside is an input of the node and of the body, so nothing is hidden:
 *
 *     if     condition, then what each branch captures, in attribute order
 *     loop   trip count, condition, carried ..., captured ...
 *     scan   carried ..., scanned ..., captured ...
 *     search see search.c
 *
 * Of a loop and a scan, input i of the node is input i of the body. The body
 * is inferred with the shapes of the first iteration. The cost is that of the
 * body times the trips: a constant count, or what the condition comes to where
 * it compares numbers that are counted up; attribute `trips`, or 1 and a
 * warning. Of an if, the branch that a constant condition takes, else the
 * dearer one, and the parameters of both. */
#include "ops/control.h"
#include "ops/fold.h"

#include <string.h>

static clv_graph *control_body_of(const clv_node *n, clv_attr_key key)
{
    const clv_attr *a = attr_get(n, key);
    return a && a->type == CLV_ATTR_GRAPH ? a->u.body : NULL;
}

/* -- handing values in ----------------------------------------------------*/

/* Gives body input i the type of the outer value v, and its contents if they
 * stay the same in every trip (`contents`). */
static void control_bind(clv_graph *body, uint32_t i, const clv_value *v,
                         bool contents)
{
    if (!v || i >= body->n_inputs)
        return;
    clv_value *in = &body->values[body->inputs[i]];
    value_like(in, v);
    in->flags |= v->flags & CLV_V_BOUND;
    if (contents && v->data)
        in->data = v->data;
}

void clv__body_bind(clv_graph *body, uint32_t i, const clv_value *v)
{
    control_bind(body, i, v, true);
}

/* A number or a flag: of no axis, or of one if the body says so, as older
 * exporters do. */
static void bind_scalar(clv_graph *body, uint32_t i, clv_dtype t)
{
    static const int64_t one[1] = {1};
    bool list = i < body->n_inputs && body->values[body->inputs[i]].rank == 1;
    clv_value scalar = {.dtype = (uint8_t)t, .dims = one, .rank = list};
    control_bind(body, i, &scalar, false);
}

/* Repeats the first warnings of a body as those of g, and counts the others.
 * The last warning of a body may itself say how many it left out. */
static bool pass_warnings(clv_graph *g, const clv_node *n,
                          const clv_graph *body)
{
    enum { BODY_SAID = 8 };
    uint32_t all = body->n_warnings - (body->n_unsaid > 0);
    uint32_t said = all < BODY_SAID ? all : BODY_SAID;
    for (uint32_t i = 0; i < said; i++) {
        const clv_warning *w = &body->warnings[i];
        if (!clv__graph_warn_about(g, w->about, w->subject, "%s: %s", n->name,
                                   w->text))
            return false;
    }
    g->n_unsaid += all - said + body->n_unsaid;
    return true;
}

clv_status clv__body_infer(clv_graph *g, const clv_node *n, clv_graph *body,
                           clv_err *e)
{
    if (body->inferred)
        return CLV_OK;
    CLV_TRY(clv_graph_infer(body, e));
    return pass_warnings(g, n, body) ? CLV_OK : clv__nomem(e);
}

/* The node hands over all that a body takes, input by input, and asks for no
 * more outputs than the body has. `held` outputs of the body are not the
 * node's. */
static clv_status check_counts(const clv_node *n, const clv_graph *body,
                               uint32_t given, uint32_t held, clv_err *e)
{
    if (body->n_inputs != given)
        return clv__fail(e, CLV_FORMAT,
                         "the body takes %u inputs, its node has %u for it",
                         body->n_inputs, given);
    if (body->n_outputs < (uint64_t)n->n_out + held)
        return clv__fail(e, CLV_FORMAT,
                         "the body gives %u outputs, its node needs %u",
                         body->n_outputs, n->n_out + held);
    return CLV_OK;
}

static clv_status check_states(const clv_node *n, int64_t states, int64_t own,
                               clv_err *e)
{
    if (own > n->n_in)
        return clv__fail(e, CLV_FORMAT, "%u inputs, needs %lld", n->n_in,
                         (long long)own);
    if (states > n->n_out)
        return clv__fail(e, CLV_FORMAT, "%lld states, but %u outputs",
                         (long long)states, n->n_out);
    return CLV_OK;
}

static const clv_value *body_out(const clv_graph *body, uint32_t i)
{
    return i < body->n_outputs ? &body->values[body->outputs[i]] : NULL;
}

/* Gives output o of the node the type of v. If trips is not NULL, an axis of
 * that size comes in front. */
static clv_status control_give(clv_graph *g, clv_node *n, uint32_t o,
                               const clv_value *v, const int64_t *trips,
                               bool bound, clv_err *e)
{
    if (!v || o >= n->n_out)
        return CLV_OK;
    clv_value *out = node_out(g, n, o);
    if (v->flags & CLV_V_FORM)
        return out_like(g, n, o, v, e);
    if (v->rank == CLV_NO_RANK || v->rank + 1 > CLV_MAX_RANK) {
        out->dtype = v->dtype;
        return CLV_OK;
    }
    int64_t dims[CLV_MAX_RANK];
    uint32_t lead = trips ? 1 : 0;
    if (trips)
        dims[0] = *trips;
    memcpy(dims + lead, v->dims, v->rank * sizeof *dims);
    CLV_TRY(out_shape(g, n, o, (clv_dtype)v->dtype, v->rank + lead, dims, e));
    if (bound || v->flags & CLV_V_BOUND)
        out_bound(g, n, o);
    return CLV_OK;
}

/* -- cost of a body -------------------------------------------------------*/

static void control_add_node(clv_cost *sum, const clv_cost *c)
{
    sum->macs = sat_add(sum->macs, c->macs);
    sum->flops = sat_add(sum->flops, c->flops);
    sum->params = sat_add(sum->params, c->params);
    sum->bytes_in = sat_add(sum->bytes_in, c->bytes_in);
    sum->bytes_weights = sat_add(sum->bytes_weights, c->bytes_weights);
    sum->bytes_out = sat_add(sum->bytes_out, c->bytes_out);
    if (c->trust == CLV_TRUST_UNKNOWN || sum->trust == CLV_TRUST_UNKNOWN)
        sum->trust = CLV_TRUST_UNKNOWN;
    else if (c->trust == CLV_TRUST_ESTIMATED)
        sum->trust = CLV_TRUST_ESTIMATED;
}

static clv_cost body_cost(const clv_graph *body)
{
    clv_cost sum = {.trust = CLV_TRUST_EXACT};
    for (uint32_t i = 0; body && body->inferred && i < body->n_nodes; i++) {
        clv_cost c;
        if (clv__cost_node(body, i, &c, NULL) != CLV_OK)
            c.macs = c.flops = CLV_SAT;
        control_add_node(&sum, &c);
    }
    return sum;
}

static void take_cost(clv_cost *c, clv_cost body, int64_t trips)
{
    c->macs = sat_mul(body.macs, trips);
    c->flops = sat_mul(body.flops, trips);
    c->bytes_in = sat_mul(body.bytes_in, trips);
    c->bytes_weights = sat_mul(body.bytes_weights, trips);
    c->bytes_out = sat_mul(body.bytes_out, trips);
    c->params =
        sat_add(c->params, body.params); /* weights are stored once,
                                          * however often the body runs */
    if (body.trust != CLV_TRUST_EXACT)
        c->trust = body.trust;
}

void clv__body_cost(const clv_graph *body, int64_t trips, clv_cost *c)
{
    take_cost(c, body_cost(body), trips);
}

/* -- if -------------------------------------------------------------------*/

/* Returns 1 for then, 0 for else, -1 when it is not known before the model
 * runs. */
static int control_condition(const clv_graph *g, const clv_node *n)
{
    known c;
    if (!fold_in(g, n, 0, &c) || c.n != 1 || c.v->flags & CLV_V_BOUND)
        return -1;
    return known_float(&c, 0) != 0;
}

/* Infers one branch. A branch that does not fit the shapes of its inputs cannot
 * be the one taken. That is an error only if no other branch is left
 * (`spare`). */
static clv_status infer_branch(clv_graph *g, clv_node *n, clv_graph *body,
                               uint32_t *first, bool spare, clv_err *e)
{
    clv_err why = {0};
    for (uint32_t i = 0; i < body->n_inputs; i++)
        control_bind(body, i, node_in(g, n, *first + i), true);
    clv_status s = clv__body_infer(g, n, body, &why);
    if (s == CLV_OK || (s == CLV_SHAPE && spare))
        return CLV_OK;
    return clv__fail(e, s, "%s", why.msg);
}

/* Infers the branches, in the order of the attributes. */
static clv_status infer_branches(clv_graph *g, clv_node *n, int cond,
                                 clv_err *e)
{
    uint32_t first = 1;
    bool spare = cond < 0; /* until one has failed */
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        clv_attr_key key = (clv_attr_key)n->attrs[i].key;
        if (key != CLV_A_THEN && key != CLV_A_ELSE)
            continue;
        clv_graph *body = control_body_of(n, key);
        if (cond < 0 || (cond > 0) == (key == CLV_A_THEN))
            CLV_TRY(infer_branch(g, n, body, &first, spare, e));
        spare = spare && body->inferred;
        first += body->n_inputs;
    }
    return CLV_OK;
}

static bool same_shape(const clv_value *a, const clv_value *b)
{
    return a->rank == b->rank && a->rank != CLV_NO_RANK &&
           !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims);
}

clv_status infer_if(clv_graph *g, clv_node *n, clv_err *e)
{
    const clv_graph *yes = control_body_of(n, CLV_A_THEN),
                    *no = control_body_of(n, CLV_A_ELSE);
    if (!yes || !no)
        return clv__fail(e, CLV_FORMAT, "a branch is missing");
    uint32_t both = (uint32_t)n->n_in - 1;
    CLV_TRY(check_counts(n, yes, both - no->n_inputs, 0, e));
    CLV_TRY(check_counts(n, no, both - yes->n_inputs, 0, e));
    CLV_TRY(infer_branches(g, n, control_condition(g, n), e));
    int only = yes->inferred == no->inferred ? -1 : yes->inferred;
    for (uint32_t o = 0; o < n->n_out; o++) {
        const clv_value *a = body_out(yes, o), *b = body_out(no, o);
        if (only >= 0) {
            CLV_TRY(control_give(g, n, o, only ? a : b, NULL, false, e));
            continue;
        }
        if ((a->flags | b->flags) & CLV_V_FORM) {
            CLV_TRY(out_either(g, n, o, a, b,
                               a->count == b->count ? a->count : CLV_NONE, e));
            continue;
        }
        bool larger =
            b->rank == CLV_NO_RANK ||
            (a->rank != CLV_NO_RANK && clv__numel(a) >= clv__numel(b));
        CLV_TRY(
            control_give(g, n, o, larger ? a : b, NULL, !same_shape(a, b), e));
    }
    return CLV_OK;
}

/* Takes over the contents that the taken branch knows. */
clv_status fold_if(clv_graph *g, clv_node *n, clv_err *e)
{
    int cond = control_condition(g, n);
    if (cond < 0)
        return CLV_OK;
    const clv_graph *body = control_body_of(n, cond ? CLV_A_THEN : CLV_A_ELSE);
    for (uint32_t o = 0; o < n->n_out; o++) {
        const clv_value *v = body_out(body, o);
        if (!v || !v->data || v->rank == CLV_NO_RANK)
            continue;
        clv_payload *data = clv__value_data(g, node_outs(g, n)[o]);
        if (!data)
            return clv__nomem(e);
        *data = *v->data;
    }
    return CLV_OK;
}

void clv__if_branches(const clv_graph *g, const clv_node *n,
                      control_branch *taken, control_branch *other)
{
    int cond = control_condition(g, n);
    uint32_t first = 1;
    control_branch yes = {control_body_of(n, CLV_A_THEN), "then", 0, cond >= 0};
    control_branch no = {control_body_of(n, CLV_A_ELSE), "else", 0, cond >= 0};
    for (uint32_t i = 0; i < n->n_attrs; i++) { /* in the attributes' order */
        control_branch *b = n->attrs[i].key == CLV_A_THEN   ? &yes
                            : n->attrs[i].key == CLV_A_ELSE ? &no
                                                            : NULL;
        if (!b)
            continue;
        b->first = first;
        first += b->body->n_inputs;
    }
    bool then = cond >= 0
                    ? cond == 1
                    : !no.body->inferred ||
                          (yes.body->inferred && body_cost(yes.body).flops >=
                                                     body_cost(no.body).flops);
    *taken = then ? yes : no;
    *other = then ? no : yes;
}

void cost_if(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    control_branch taken, other;
    clv__if_branches(g, n, &taken, &other);
    take_cost(c, body_cost(taken.body), 1);
    if (taken.decided)
        return;
    c->params = sat_add(c->params, body_cost(other.body).params);
    if (c->trust == CLV_TRUST_EXACT)
        c->trust = CLV_TRUST_ESTIMATED;
}

/* -- loop -----------------------------------------------------------------*/

/* Returns how long a carried sequence is in the end: every trip adds as many
 * tensors as the first one. */
static uint32_t control_grown(const clv_value *in, const clv_value *out,
                              int64_t trips, bool exact)
{
    bool told = in->flags & out->flags & CLV_V_SEQUENCE &&
                in->count != CLV_NONE && out->count != CLV_NONE;
    if (!told || (in->count != out->count && !exact))
        return CLV_NONE;
    int64_t each = (int64_t)out->count - in->count;
    int64_t count = sat_add(in->count, each < 0 ? -sat_mul(-each, trips)
                                                : sat_mul(each, trips));
    return count < 0 || count >= CLV_NONE ? CLV_NONE : (uint32_t)count;
}

clv_status infer_loop(clv_graph *g, clv_node *n, clv_err *e)
{
    clv_graph *body = control_body_of(n, CLV_A_BODY);
    if (!body || body->n_inputs < 2 || body->n_outputs < 1)
        return clv__fail(e, CLV_FORMAT, "the body is missing or too small");
    int64_t own = attr_int(n, CLV_A_OWN_INPUTS);
    CLV_TRY(check_states(n, own - 2, own, e));
    CLV_TRY(check_counts(n, body, n->n_in, 1, e));
    bind_scalar(body, 0, CLV_INT64);
    bind_scalar(body, 1, CLV_BOOL);
    for (uint32_t i = 2; i < body->n_inputs; i++)
        control_bind(body, i, node_in(g, n, i), (int64_t)i >= own);
    uint32_t states = (uint32_t)own - 2;
    CLV_TRY(clv__body_infer(g, n, body, e));
    loop_trips t = clv__loop_trips(g, n);
    if (!t.told && !attr_get(n, CLV_A_TRIPS) &&
        !clv__graph_warn_about(g, CLV_SUBJECT_LOOP, n->name,
                               "loop '%s': its trips are not known and taken "
                               "as %lld",
                               n->name, (long long)t.n))
        return clv__nomem(e);
    for (uint32_t o = 0; o < n->n_out; o++) {
        bool scan = o >= states;
        const clv_value *v = body_out(body, o + 1);
        const clv_value *in = scan ? NULL : node_in(g, n, o + 2);
        if (v && in && v->flags & CLV_V_FORM) {
            CLV_TRY(out_either(g, n, o, in, v,
                               control_grown(in, v, t.n, t.exact), e));
            continue;
        }
        bool grows = v && in && !same_shape(v, in);
        CLV_TRY(control_give(g, n, o, v, scan ? &t.n : NULL,
                             (scan && !t.exact) || grows, e));
    }
    return CLV_OK;
}

/* -- scan -----------------------------------------------------------------*/

/* Returns the axis of scanned input or output k, from attribute list `key`. */
static int64_t scan_axis(const clv_node *n, clv_attr_key key, uint32_t k)
{
    uint32_t count;
    const int64_t *axes = attr_ints(n, key, &count);
    return k < count ? axes[k] : 0;
}

/* Makes a slice of v: without its batch axis if the scan has one (`batch_dims`,
 * before opset 9), and without axis `axis` if v is scanned. */
static clv_status slice_of(const clv_node *n, const clv_value *v, bool scanned,
                           int64_t axis, int64_t *dims, uint32_t *rank,
                           int64_t *size, clv_err *e)
{
    uint32_t a = CLV_NONE, lead = attr_int(n, CLV_A_BATCHED) ? 1 : 0;
    if (v->rank < lead + scanned)
        return clv__fail(e, CLV_SHAPE, "a scanned input of rank %u", v->rank);
    if (scanned) {
        CLV_TRY(norm_axis(axis, v->rank - lead, &a, e));
        a += lead;
        *size = v->dims[a];
    }
    *rank = 0;
    for (uint32_t i = lead; i < v->rank; i++)
        if (i != a)
            dims[(*rank)++] = v->dims[i];
    return CLV_OK;
}

/* Gives the body whole states, and slices of the scanned inputs. All scanned
 * inputs must have the same number of slices. */
static clv_status bind_states(clv_graph *g, clv_node *n, clv_graph *body,
                              uint32_t states, uint32_t scans, int64_t *trips,
                              clv_err *e)
{
    for (uint32_t i = 0; i < states + scans; i++) {
        const clv_value *v = node_in(g, n, i);
        if (!v || v->rank == CLV_NO_RANK || i >= body->n_inputs)
            continue;
        int64_t dims[CLV_MAX_RANK];
        uint32_t rank, in = body->inputs[i];
        bool scanned = i >= states;
        CLV_TRY(
            slice_of(n, v, scanned,
                     scanned ? scan_axis(n, CLV_A_INPUT_AXES, i - states) : 0,
                     dims, &rank, trips, e));
        body->values[in].dtype = v->dtype;
        if (!clv__value_set_shape(body, in, rank, dims))
            return clv__nomem(e);
    }
    return CLV_OK;
}

/* Gives output its type: the batch axis comes back in front, the scanned axis
 * at its place. */
static clv_status give_state(clv_graph *g, clv_node *n, uint32_t o,
                             const clv_value *v, const int64_t *trips,
                             int64_t axis, clv_err *e)
{
    const clv_value *first = node_in(g, n, 0);
    uint32_t lead = attr_int(n, CLV_A_BATCHED) ? 1 : 0;
    uint32_t rank = v ? v->rank + lead + (trips ? 1u : 0u) : 0, a = CLV_NONE;
    if (!v || v->rank == CLV_NO_RANK || rank > CLV_MAX_RANK)
        return CLV_OK;
    if (trips)
        CLV_TRY(norm_axis(axis, v->rank + 1u, &a, e));
    int64_t dims[CLV_MAX_RANK] = {0};
    if (lead)
        dims[0] = first && first->rank && first->rank != CLV_NO_RANK
                      ? first->dims[0]
                      : 1;
    for (uint32_t i = 0, k = 0; i < rank - lead; i++)
        dims[lead + i] = trips && i == a ? *trips : v->dims[k++];
    return out_shape(g, n, o, (clv_dtype)v->dtype, rank, dims, e);
}

/* The states, then the scanned inputs along their axes; scanned outputs come
 * along theirs. */
clv_status infer_scan_body(clv_graph *g, clv_node *n, clv_err *e)
{
    clv_graph *body = control_body_of(n, CLV_A_BODY);
    int64_t scans = attr_int(n, CLV_A_SCANS), trips = 1;
    int64_t states = attr_int(n, CLV_A_STATES);
    if (!body)
        return clv__fail(e, CLV_FORMAT, "the body is missing");
    uint32_t lengths = attr_int(n, CLV_A_BATCHED) && n->n_in > body->n_inputs;
    CLV_TRY(check_states(n, states, sat_add(scans, states), e));
    CLV_TRY(check_counts(n, body, n->n_in - lengths, 0, e));
    for (uint32_t i = 0; i < body->n_inputs; i++)
        control_bind(body, i, node_in(g, n, i), i >= states + scans);
    CLV_TRY(
        bind_states(g, n, body, (uint32_t)states, (uint32_t)scans, &trips, e));
    CLV_TRY(clv__body_infer(g, n, body, e));
    for (uint32_t o = 0; o < n->n_out; o++) {
        bool scanned = o >= states;
        int64_t axis =
            scanned ? scan_axis(n, CLV_A_OUTPUT_AXES, o - (uint32_t)states) : 0;
        CLV_TRY(give_state(g, n, o, body_out(body, o), scanned ? &trips : NULL,
                           axis, e));
    }
    return CLV_OK;
}

/* -- sequence map ---------------------------------------------------------*/

/* The body takes one tensor of each sequence and all of every other input. Its
 * results become sequences again. */
clv_status infer_sequence_map(clv_graph *g, clv_node *n, clv_err *e)
{
    clv_graph *body = control_body_of(n, CLV_A_BODY);
    if (!body)
        return clv__fail(e, CLV_FORMAT, "the body is missing");
    CLV_TRY(check_counts(n, body, n->n_in, 0, e));
    for (uint32_t i = 0; i < body->n_inputs; i++) {
        const clv_value *v = node_in(g, n, i);
        control_bind(body, i, v, true);
        if (v && v->flags & CLV_V_SEQUENCE)
            body->values[body->inputs[i]].flags &= (uint8_t)~CLV_V_FORM;
    }
    CLV_TRY(clv__body_infer(g, n, body, e));
    loop_trips t = clv__loop_trips(g, n);
    uint32_t count = t.exact ? (uint32_t)t.n : CLV_NONE;
    for (uint32_t o = 0; o < n->n_out; o++) {
        const clv_value *v = body_out(body, o);
        if (!v)
            continue;
        clv_value each = *v;
        each.flags |= CLV_V_SEQUENCE;
        each.count = count;
        CLV_TRY(out_either(g, n, o, &each, &each, count, e));
    }
    return CLV_OK;
}

/* -- cost of loops --------------------------------------------------------*/

/* Returns the slices of the first scanned input, times the batch if there is
 * one. */
static int64_t scan_trips(const clv_graph *g, const clv_node *n)
{
    int64_t dims[CLV_MAX_RANK], trips = 1;
    uint32_t rank;
    const clv_value *v = node_in(g, n, (uint32_t)attr_int(n, CLV_A_STATES));
    if (!v || v->rank == CLV_NO_RANK ||
        slice_of(n, v, true, scan_axis(n, CLV_A_INPUT_AXES, 0), dims, &rank,
                 &trips, NULL) != CLV_OK)
        return 1;
    bool batched = attr_int(n, CLV_A_BATCHED) != 0;
    return sat_mul(trips, batched ? v->dims[0] : 1);
}

loop_trips clv__body_trips(const clv_graph *g, const clv_node *n)
{
    loop_trips t = clv__loop_trips(g, n);
    if (n->op == CLV_OP_SCAN)
        t.n = scan_trips(g, n);
    return t;
}

void cost_loop(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    loop_trips t = clv__body_trips(g, n);
    take_cost(c, body_cost(control_body_of(n, CLV_A_BODY)), t.n);
    if (!t.exact && c->trust == CLV_TRUST_EXACT)
        c->trust = CLV_TRUST_ESTIMATED;
}
