/* worker.c - a rank at work: receives, computes and sends until all is done.
 *
 * The rank takes, of what is ready, the earliest micro-batch and of that the
 * latest part. A part is ready when all its tensors have arrived and the
 * buffers for its results are free:
 *
 *     reader's ring   [3][4]     receives are posted for the next micro-batches
 *     maker's ring    [2][3]     one is sent while the next is computed
 *
 * A link that skips stages has as many buffers as stages pass meanwhile, plus
 * one: with fewer the stages between would wait for it. No set of rings can
 * block: the earliest micro-batch always has all the buffers that it needs. */
#include "rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAKER_SLOTS = 2, NO_REQUEST = -1 };

/* For so long a rank stays with a message that it has just sent. A reader that
 * waits for it asks for its bytes within microseconds; without this it would
 * get them between two steps of what this rank computes next. */
static const double WORK_SEND_OFF = 100e-6;

/* A tensor that one of this rank's parts reads. */
typedef struct in_port {
    uint32_t value, from, link; /* from: a part, or CLV_NONE: the source */
    int tag;
    size_t bytes;
    uint32_t depth;
    void **data; /* per slot */
    bool *full, *own;
    int first; /* of its requests, one per slot */
} in_port;

typedef struct in_dest {
    uint32_t part, port; /* CLV_NONE: the sink, `port` is the output there */
    int tag;
} in_dest;

/* A tensor that one of this rank's parts makes. */
typedef struct out_port {
    uint32_t value;
    size_t bytes;
    void *data[MAKER_SLOTS];
    uint32_t sending[MAKER_SLOTS];
    in_dest *dest;
    uint32_t n_dest;
    int first; /* of its requests: slot * n_dest + destination */
} out_port;

typedef struct work_part {
    uint32_t k, replica, replicas;
    rank_part compiled;
    in_port *in;
    out_port *out;
    uint32_t n_in, n_out;
    uint64_t done, total; /* micro-batches of this replica */
    double *seconds;      /* of the last so many, those that warm up left out */
    uint64_t n_seconds, cap_seconds;
    double look; /* the longest that a step kept it from looking for messages */
    double looks; /* the sum of these over what is in `seconds` */
} work_part;

/* What a request belongs to. */
typedef struct owner {
    enum { OWNER_IN, OWNER_OUT, OWNER_FEED, OWNER_SINK } kind;
    work_part *p;
    uint32_t port, slot, b;
} owner;

typedef struct worker {
    rank_world *w;
    rank_data *d;
    work_part *parts;
    uint32_t n_parts;
    MPI_Request *req;
    owner *owner;
    int *finished;       /* scratch of MPI_Testsome */
    MPI_Status *ignored; /* gcc takes MPICH's constant for an empty array */
    int n_req, feed_first, sink_first;
    double progress; /* when something last happened */
    double called;   /* when this rank last told the others that it lives */
    double looked;   /* when it last looked for messages */
    work_part *now;  /* that is being computed */
    double *heard;   /* per rank: when it last said so; 0: never */
    /* Rank 0 only: */
    uint32_t batch, fed, *left; /* of this batch; outputs to come per micro */
    uint32_t complete, n_feeds, alive;
    in_dest *feed; /* readers of inputs; feed_input: which input */
    uint32_t *feed_input;
    double begun, *batch_seconds, idle, *wait;
} worker;

/* -- preparing ------------------------------------------------------------*/

/* The number of the tensor that part k reads as its i-th: the tag of its
 * messages. Outputs of the model follow those of the last part. */
static int work_tag(const rank_world *w, uint32_t k, uint32_t i)
{
    uint32_t tag = i;
    for (uint32_t p = 0; p < k && p < w->plan->n_parts; p++)
        tag += w->plan->parts[p].n_inputs;
    return (int)tag;
}

static bool work_local(const worker *x, uint32_t part, uint64_t micro)
{
    return rank_of(x->w, part, micro) == x->w->rank;
}

static clv_status work_ports_in(worker *x, work_part *p, clv_err *err)
{
    const rank_world *w = x->w;
    const clv_bundle_part *info = &w->plan->parts[p->k];
    p->n_in = info->n_inputs;
    p->in = calloc((size_t)p->n_in + 1, sizeof *p->in);
    if (!p->in)
        return rank_fail(err, CLV_NOMEM, "out of memory");
    for (uint32_t i = 0; i < p->n_in; i++) {
        in_port *q = &p->in[i];
        q->value = info->inputs[i];
        q->from = w->plan->values[q->value].maker;
        q->link = rank_find_link(w, q->from, p->k);
        q->tag = work_tag(w, p->k, i);
        q->bytes = (size_t)rank_value_bytes(w, q->value);
        q->depth = q->from == CLV_NONE ? 2 : p->k - q->from + 1;
        q->first = x->n_req;
        x->n_req += (int)q->depth;
        q->data = calloc(q->depth, sizeof *q->data);
        q->full = calloc(q->depth, sizeof *q->full);
        q->own = calloc(q->depth, sizeof *q->own);
        if (!q->data || !q->full || !q->own)
            return rank_fail(err, CLV_NOMEM, "out of memory");
        /* Rank 0's own inputs are read where they are. */
        for (uint32_t s = 0; s < q->depth; s++)
            if (!(q->from == CLV_NONE && w->rank == 0)) {
                q->data[s] = aligned_alloc(64, (q->bytes + 64) / 64 * 64);
                q->own[s] = true;
                if (!q->data[s])
                    return rank_fail(err, CLV_NOMEM, "out of memory");
            }
    }
    return CLV_OK;
}

/* Lists who reads a value. */
static uint32_t work_readers(const rank_world *w, uint32_t value, in_dest *out)
{
    const clv_bundle_plan *plan = w->plan;
    uint32_t n = 0;
    for (uint32_t k = 0; k < plan->n_parts; k++)
        for (uint32_t i = 0; i < plan->parts[k].n_inputs; i++)
            if (plan->parts[k].inputs[i] == value) {
                if (out)
                    out[n] = (in_dest){k, i, work_tag(w, k, i)};
                n++;
            }
    for (uint32_t i = 0; i < plan->n_outputs; i++)
        if (plan->outputs[i] == value) {
            if (out)
                out[n] = (in_dest){CLV_NONE, i, work_tag(w, plan->n_parts, i)};
            n++;
        }
    return n;
}

static clv_status work_ports_out(worker *x, work_part *p, clv_err *err)
{
    const rank_world *w = x->w;
    const clv_bundle_part *info = &w->plan->parts[p->k];
    p->n_out = info->n_outputs;
    p->out = calloc((size_t)p->n_out + 1, sizeof *p->out);
    if (!p->out)
        return rank_fail(err, CLV_NOMEM, "out of memory");
    for (uint32_t i = 0; i < p->n_out; i++) {
        out_port *q = &p->out[i];
        q->value = info->outputs[i];
        q->bytes = (size_t)rank_value_bytes(w, q->value);
        q->n_dest = work_readers(w, q->value, NULL);
        q->dest = calloc((size_t)q->n_dest + 1, sizeof *q->dest);
        q->first = x->n_req;
        x->n_req += (int)(q->n_dest * MAKER_SLOTS);
        for (uint32_t s = 0; s < MAKER_SLOTS; s++)
            q->data[s] = aligned_alloc(64, (q->bytes + 64) / 64 * 64);
        if (!q->dest || !q->data[0] || !q->data[1])
            return rank_fail(err, CLV_NOMEM, "out of memory");
        work_readers(w, q->value, q->dest);
    }
    return CLV_OK;
}

/* Micro-batches of all batches that are for replica r of R. */
static uint64_t work_share(const rank_world *w, uint32_t r, uint32_t replicas)
{
    uint64_t all = (uint64_t)w->micro * w->batches;
    return all / replicas + (all % replicas > r);
}

static void work_in_compute(void *ctx, uint32_t done, uint32_t total);

static clv_status work_open_part(worker *x, uint32_t k, clv_err *err)
{
    rank_world *w = x->w;
    work_part *p = &x->parts[x->n_parts++];
    p->k = k;
    p->replicas = w->seat[k].replicas;
    p->replica = (uint32_t)(w->rank - w->seat[k].rank);
    p->total = work_share(w, p->replica, p->replicas);
    p->cap_seconds = p->total < 100000 ? p->total : 100000;
    p->seconds = calloc(p->cap_seconds + 1, sizeof *p->seconds);
    if (!p->seconds)
        return rank_fail(err, CLV_NOMEM, "out of memory");
    rank_beat(w);
    clv_status s = rank_part_open(w, k, &p->compiled, err);
    rank_beat(w);
    if (s == CLV_OK)
        s = work_ports_in(x, p, err);
    if (s == CLV_OK)
        s = work_ports_out(x, p, err);
    if (s == CLV_OK)
        clv_context_watch(p->compiled.context, work_in_compute, x);
    return s;
}

static clv_status work_rank0(worker *x, clv_err *err)
{
    const rank_world *w = x->w;
    const clv_bundle_plan *plan = w->plan;
    for (uint32_t i = 0; i < plan->n_inputs; i++)
        x->n_feeds += work_readers(w, plan->inputs[i], NULL);
    x->feed = calloc((size_t)x->n_feeds + 1, sizeof *x->feed);
    x->feed_input = calloc((size_t)x->n_feeds + 1, sizeof *x->feed_input);
    x->left = calloc(w->micro, sizeof *x->left);
    x->batch_seconds = calloc(w->batches, sizeof *x->batch_seconds);
    if (!x->feed || !x->feed_input || !x->left || !x->batch_seconds)
        return rank_fail(err, CLV_NOMEM, "out of memory");
    for (uint32_t i = 0, n = 0; i < plan->n_inputs; i++) {
        uint32_t more = work_readers(w, plan->inputs[i], x->feed + n);
        for (uint32_t k = 0; k < more; k++)
            x->feed_input[n + k] = i;
        n += more;
    }
    x->feed_first = x->n_req;
    x->n_req += (int)(x->n_feeds * w->micro);
    x->sink_first = x->n_req;
    x->n_req += (int)(plan->n_outputs * w->micro);
    return CLV_OK;
}

/* Notes for each request to whom it belongs. */
static void work_owners(worker *x)
{
    for (uint32_t i = 0; i < x->n_parts; i++) {
        work_part *p = &x->parts[i];
        for (uint32_t q = 0; q < p->n_in; q++)
            for (uint32_t s = 0; s < p->in[q].depth; s++)
                x->owner[(uint32_t)p->in[q].first + s] =
                    (owner){OWNER_IN, p, q, s, 0};
        for (uint32_t q = 0; q < p->n_out; q++)
            for (uint32_t s = 0; s < MAKER_SLOTS * p->out[q].n_dest; s++)
                x->owner[(uint32_t)p->out[q].first + s] =
                    (owner){OWNER_OUT, p, q, s / p->out[q].n_dest, 0};
    }
    for (int i = x->feed_first; i < x->sink_first && x->w->rank == 0; i++)
        x->owner[i] = (owner){.kind = OWNER_FEED};
    for (int i = x->sink_first; i < x->n_req && x->w->rank == 0; i++)
        x->owner[i] =
            (owner){.kind = OWNER_SINK,
                    .b = (uint32_t)(i - x->sink_first) / x->w->plan->n_outputs};
}

static clv_status work_open(worker *x, clv_err *err)
{
    const rank_world *w = x->w;
    clv_status s = CLV_OK;
    x->parts = calloc(w->plan->n_parts, sizeof *x->parts);
    x->wait = calloc((size_t)w->n_links + 1, sizeof *x->wait);
    x->heard = calloc((size_t)w->ranks, sizeof *x->heard);
    if (!x->parts || !x->wait || !x->heard)
        return rank_fail(err, CLV_NOMEM, "out of memory");
    for (uint32_t k = 0; k < w->plan->n_parts && s == CLV_OK; k++)
        if (rank_has(w, k))
            s = work_open_part(x, k, err);
    if (s == CLV_OK && w->rank == 0)
        s = work_rank0(x, err);
    if (s != CLV_OK)
        return s;
    x->req = malloc(((size_t)x->n_req + 1) * sizeof *x->req);
    x->owner = calloc((size_t)x->n_req + 1, sizeof *x->owner);
    x->finished = calloc((size_t)x->n_req + 1, sizeof *x->finished);
    if (!x->req || !x->owner || !x->finished)
        return rank_fail(err, CLV_NOMEM, "out of memory");
    for (int i = 0; i < x->n_req; i++)
        x->req[i] = MPI_REQUEST_NULL;
    work_owners(x);
    return CLV_OK;
}

static void work_close(worker *x)
{
    for (uint32_t i = 0; i < x->n_parts; i++) {
        work_part *p = &x->parts[i];
        for (uint32_t q = 0; p->in && q < p->n_in; q++) {
            for (uint32_t s = 0; p->in[q].own && s < p->in[q].depth; s++)
                if (p->in[q].own[s])
                    free(p->in[q].data[s]);
            free(p->in[q].data);
            free(p->in[q].full);
            free(p->in[q].own);
        }
        for (uint32_t q = 0; p->out && q < p->n_out; q++) {
            free(p->out[q].data[0]);
            free(p->out[q].data[1]);
            free(p->out[q].dest);
        }
        free(p->in);
        free(p->out);
        free(p->seconds);
        rank_part_close(&p->compiled);
    }
    free(x->parts);
    free(x->req);
    free(x->owner);
    free(x->finished);
    free(x->feed);
    free(x->feed_input);
    free(x->left);
    free(x->batch_seconds);
    free(x->wait);
    free(x->heard);
}

/* -- messages -------------------------------------------------------------*/

static void work_sink_done(worker *x, uint32_t b)
{
    if (--x->left[b] == 0)
        x->complete++;
}

/* Tells all ranks that this one lives, and notes which of the others do. A rank
 * begins to when nothing has happened for as long as a rank may be silent, so
 * that when it gives up it can name the one that is out of reach. */
static void work_call(worker *x, double now)
{
    rank_world *w = x->w;
    int there = 0;
    double since = x->progress > x->called ? x->progress + w->o.timeout
                                           : x->called + w->o.timeout / 4;
    for (int r = 0; r < w->ranks && now >= since; r++) {
        MPI_Request req;
        if (r == w->rank)
            continue;
        MPI_Isend(NULL, 0, MPI_BYTE, r, RANK_TAG_ALIVE, MPI_COMM_WORLD, &req);
        MPI_Request_free(&req);
        x->called = now;
    }
    for (;;) {
        MPI_Status from;
        MPI_Iprobe(MPI_ANY_SOURCE, RANK_TAG_ALIVE, MPI_COMM_WORLD, &there,
                   &from);
        if (!there)
            return;
        MPI_Recv(NULL, 0, MPI_BYTE, from.MPI_SOURCE, RANK_TAG_ALIVE,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        x->heard[from.MPI_SOURCE] = now;
    }
}

/* A rank of which nothing was heard since this one began to call; -1: none. */
static int work_silent(const worker *x)
{
    for (int r = 0; r < x->w->ranks; r++)
        if (r != x->w->rank && x->heard[r] < x->progress)
            return r;
    return -1;
}

/* Lets MPI work, and notes what is done. */
static void work_poll(worker *x)
{
    int n = 0;
    rank_beat(x->w);
    double now = rank_now();
    if (now - x->progress > x->w->o.timeout)
        work_call(x, now);
    if (!x->n_req)
        return;
    MPI_Testsome(x->n_req, x->req, &n, x->finished, x->ignored);
    for (int i = 0; i < n && n != MPI_UNDEFINED; i++) {
        const owner *o = &x->owner[x->finished[i]];
        if (o->kind == OWNER_IN)
            o->p->in[o->port].full[o->slot] = true;
        else if (o->kind == OWNER_OUT)
            o->p->out[o->port].sending[o->slot]--;
        else if (o->kind == OWNER_SINK)
            work_sink_done(x, o->b);
    }
    if (n > 0 && n != MPI_UNDEFINED)
        x->progress = now;
}

/* Notes how long a step kept this rank from looking for messages. */
static void work_note_look(worker *x)
{
    double look = rank_now() - x->looked;
    if (look > x->now->look)
        x->now->look = look;
}

/* Called between the steps of a part, so that messages move meanwhile. */
static void work_in_compute(void *ctx, uint32_t done, uint32_t total)
{
    worker *x = ctx;
    (void)done;
    (void)total;
    work_note_look(x);
    work_poll(x);
    x->looked = rank_now();
}

/* Posts the receive for this replica's j-th micro-batch. */
static void work_post(worker *x, work_part *p, uint32_t port, uint64_t j)
{
    in_port *q = &p->in[port];
    uint64_t micro = p->replica + j * p->replicas;
    uint32_t slot = (uint32_t)(j % q->depth);
    if (j >= p->total || work_local(x, q->from, micro))
        return; /* there is none, or it comes without MPI */
    MPI_Irecv(q->data[slot], (int)q->bytes, MPI_BYTE,
              rank_of(x->w, q->from, micro), q->tag, MPI_COMM_WORLD,
              &x->req[(uint32_t)q->first + slot]);
}

static work_part *work_find(const worker *x, uint32_t k)
{
    for (uint32_t i = 0; i < x->n_parts; i++)
        if (x->parts[i].k == k)
            return &x->parts[i];
    return NULL;
}

/* Is there room at a part of this rank for a tensor of that micro-batch? */
static bool work_room(const worker *x, const in_dest *d, uint64_t micro)
{
    if (d->part == CLV_NONE || !work_local(x, d->part, micro))
        return true;
    const work_part *p = work_find(x, d->part);
    return micro / p->replicas < p->done + p->in[d->port].depth;
}

/* Hands a tensor to another part of this rank, or to the sink. */
static void work_hand_over(worker *x, const in_dest *d, uint64_t micro,
                           void *data, size_t bytes)
{
    if (d->part == CLV_NONE) {
        uint32_t b = (uint32_t)(micro % x->w->micro);
        uint32_t v = x->w->plan->outputs[d->port];
        memcpy(rank_data_slice(x->w, &x->d->out[d->port], v, b, false), data,
               bytes);
        work_sink_done(x, b);
        return;
    }
    work_part *p = work_find(x, d->part);
    in_port *q = &p->in[d->port];
    uint32_t slot = (uint32_t)(micro / p->replicas % q->depth);
    if (q->own[slot])
        memcpy(q->data[slot], data, bytes);
    else
        q->data[slot] = data;
    q->full[slot] = true;
}

static void work_send(worker *x, work_part *p, uint32_t port, uint32_t slot,
                      uint64_t micro)
{
    out_port *q = &p->out[port];
    for (uint32_t i = 0; i < q->n_dest; i++) {
        const in_dest *d = &q->dest[i];
        int to = rank_of(x->w, d->part, micro);
        if (to == x->w->rank) {
            work_hand_over(x, d, micro, q->data[slot], q->bytes);
            continue;
        }
        q->sending[slot]++;
        MPI_Isend(q->data[slot], (int)q->bytes, MPI_BYTE, to, d->tag,
                  MPI_COMM_WORLD,
                  &x->req[(uint32_t)q->first + slot * q->n_dest + i]);
    }
}

static bool work_sent(const work_part *p, uint32_t slot)
{
    for (uint32_t i = 0; i < p->n_out; i++)
        if (p->out[i].sending[slot])
            return false;
    return true;
}

static void work_send_off(worker *x, const work_part *p, uint32_t slot)
{
    double begun = rank_now();
    while (!work_sent(p, slot) && rank_now() - begun < WORK_SEND_OFF)
        work_poll(x);
}

/* -- computing ------------------------------------------------------------*/

/* Returns the first tensor that the next micro-batch of p lacks; n_in: none. */
static uint32_t work_lacks(const work_part *p)
{
    for (uint32_t i = 0; i < p->n_in; i++)
        if (!p->in[i].full[p->done % p->in[i].depth])
            return i;
    return p->n_in;
}

static bool work_can_run(const worker *x, const work_part *p)
{
    uint64_t micro = p->replica + p->done * p->replicas;
    if (p->done == p->total || work_lacks(p) < p->n_in)
        return false;
    /* A part that reads nothing must not run ahead of its batch on rank 0. */
    if (x->w->rank == 0 && micro >= (uint64_t)x->batch * x->w->micro + x->fed)
        return false;
    for (uint32_t i = 0; i < p->n_out; i++) {
        if (p->out[i].sending[p->done % MAKER_SLOTS])
            return false;
        for (uint32_t k = 0; k < p->out[i].n_dest; k++)
            if (!work_room(x, &p->out[i].dest[k], micro))
                return false;
    }
    return true;
}

static work_part *work_choose(worker *x)
{
    work_part *best = NULL;
    uint64_t earliest = UINT64_MAX;
    for (uint32_t i = x->n_parts; i-- > 0;) {
        work_part *p = &x->parts[i];
        uint64_t micro = p->replica + p->done * p->replicas;
        if (micro < earliest && work_can_run(x, p)) {
            earliest = micro;
            best = p;
        }
    }
    return best;
}

static clv_status work_take_output(const worker *x, work_part *p, uint32_t i,
                                   uint32_t slot, clv_err *err)
{
    const clv_tensor *t = clv_context_output(p->compiled.context, i);
    const out_port *q = &p->out[i];
    const clv_bundle_value *v = &x->w->plan->values[q->value];
    if (t->dtype != v->type.dtype || clv_tensor_bytes(t) != (int64_t)q->bytes)
        return rank_fail(err, CLV_UNSUPPORTED,
                         "partition %u made '%.80s' of %lld bytes, not %zu: "
                         "shapes found while running cannot pass between ranks",
                         p->k, v->name, (long long)clv_tensor_bytes(t),
                         q->bytes);
    if (t->data != q->data[slot] && q->bytes)
        memcpy(q->data[slot], t->data, q->bytes);
    return CLV_OK;
}

/* Notes how long a micro-batch took, unless it is one that warms up. */
static void work_note_run(const worker *x, work_part *p, double seconds)
{
    const rank_world *w = x->w;
    uint64_t warm = (uint64_t)w->micro * (w->batches - (uint32_t)w->o.repeat);
    if (p->replica + p->done * p->replicas < warm)
        return;
    p->seconds[p->n_seconds++ % p->cap_seconds] = seconds;
    p->looks += p->look;
}

static clv_status work_compute(worker *x, work_part *p, clv_err *err)
{
    uint64_t j = p->done;
    uint32_t out_slot = (uint32_t)(j % MAKER_SLOTS);
    clv_context *c = p->compiled.context;
    clv_status s = CLV_OK;
    for (uint32_t i = 0; i < p->n_in && s == CLV_OK; i++) {
        clv_tensor t = x->w->plan->values[p->in[i].value].type;
        t.data = p->in[i].data[j % p->in[i].depth];
        s = clv_context_set(c, i, &t, err);
    }
    for (uint32_t i = 0; i < p->n_out && s == CLV_OK; i++) {
        (void)clv_context_place(c, i, NULL); /* the other buffer */
        (void)clv_context_place(c, i, p->out[i].data[out_slot]);
    }
    double before = x->looked = rank_now();
    x->now = p;
    p->look = 0;
    if (s == CLV_OK)
        s = clv_context_run(c, err);
    work_note_look(x);
    work_note_run(x, p, rank_now() - before);
    for (uint32_t i = 0; i < p->n_out && s == CLV_OK; i++)
        s = work_take_output(x, p, i, out_slot, err);
    if (s != CLV_OK)
        return s;
    p->done++;
    for (uint32_t i = 0; i < p->n_out; i++)
        work_send(x, p, i, out_slot, p->replica + j * p->replicas);
    for (uint32_t i = 0; i < p->n_in; i++) {
        p->in[i].full[j % p->in[i].depth] = false;
        work_post(x, p, i, j + p->in[i].depth);
    }
    work_send_off(x, p, out_slot);
    x->progress = rank_now();
    return CLV_OK;
}

/* -- rank 0: what goes in and comes out -----------------------------------*/

static void work_begin_batch(worker *x)
{
    rank_world *w = x->w;
    const clv_bundle_plan *plan = w->plan;
    x->fed = x->complete = 0;
    x->begun = rank_now();
    for (uint32_t b = 0; b < w->micro; b++) {
        uint64_t micro = (uint64_t)x->batch * w->micro + b;
        x->left[b] = plan->n_outputs;
        x->complete += !plan->n_outputs;
        for (uint32_t i = 0; i < plan->n_outputs; i++) {
            uint32_t v = plan->outputs[i], maker = plan->values[v].maker;
            if (work_local(x, maker, micro))
                continue;
            MPI_Irecv(
                rank_data_slice(w, &x->d->out[i], v, b, false),
                (int)rank_value_bytes(w, v), MPI_BYTE, rank_of(w, maker, micro),
                work_tag(w, plan->n_parts, i), MPI_COMM_WORLD,
                &x->req[(uint32_t)x->sink_first + b * plan->n_outputs + i]);
        }
    }
}

/* Feeds the next micro-batch, if it may be under way and there is room. */
static bool work_feed(worker *x)
{
    rank_world *w = x->w;
    uint32_t b = x->fed;
    uint64_t micro = (uint64_t)x->batch * w->micro + b;
    if (b == w->micro || x->fed - x->complete >= w->window)
        return false;
    for (uint32_t i = 0; i < x->n_feeds; i++)
        if (!work_room(x, &x->feed[i], micro))
            return false;
    x->fed++;
    uint32_t alive = x->fed - x->complete;
    x->alive = alive > x->alive ? alive : x->alive;
    for (uint32_t i = 0; i < x->n_feeds; i++) {
        const in_dest *d = &x->feed[i];
        uint32_t input = x->feed_input[i], v = w->plan->inputs[input];
        void *data =
            rank_data_slice(w, &x->d->in[input], v, b, x->d->fed_again[input]);
        size_t bytes = (size_t)rank_value_bytes(w, v);
        int to = rank_of(w, d->part, micro);
        if (to == w->rank)
            work_hand_over(x, d, micro, data, bytes);
        else
            MPI_Isend(data, (int)bytes, MPI_BYTE, to, d->tag, MPI_COMM_WORLD,
                      &x->req[(uint32_t)x->feed_first + b * x->n_feeds + i]);
    }
    return true;
}

/* Begins the next batch when this one is complete; true when all are. */
static bool work_batches(worker *x)
{
    rank_world *w = x->w;
    if (x->complete < w->micro || x->fed < w->micro)
        return false;
    x->batch_seconds[x->batch++] = rank_now() - x->begun;
    if (x->batch == w->batches)
        return true;
    work_begin_batch(x);
    return false;
}

/* -- the loop -------------------------------------------------------------*/

static bool work_all_done(const worker *x)
{
    for (uint32_t i = 0; i < x->n_parts; i++)
        if (x->parts[i].done < x->parts[i].total)
            return false;
    for (int i = 0; i < x->n_req; i++)
        if (x->req[i] != MPI_REQUEST_NULL)
            return false;
    return true;
}

/* Says for whom this rank has waited too long. */
static void work_gave_up(const worker *x)
{
    clv_err err = {0};
    int silent = work_silent(x);
    if (silent >= 0) {
        rank_fail(&err, CLV_LIMIT,
                  "rank %d does not answer: nothing came from it in %g s",
                  silent, x->w->limit);
        rank_abort(x->w, &err);
    }
    for (uint32_t i = 0; i < x->n_parts; i++) {
        const work_part *p = &x->parts[i];
        uint32_t lacks = p->done < p->total ? work_lacks(p) : p->n_in;
        if (lacks == p->n_in)
            continue;
        uint32_t from = p->in[lacks].from;
        rank_fail(&err, CLV_LIMIT,
                  "partition %u waited %g s for '%.60s' of rank %d", p->k,
                  x->w->limit, x->w->plan->values[p->in[lacks].value].name,
                  rank_of(x->w, from, p->replica + p->done * p->replicas));
        rank_abort(x->w, &err);
    }
    rank_fail(&err, CLV_LIMIT, "waited %g s for the other ranks", x->w->limit);
    rank_abort(x->w, &err);
}

/* Adds a wait to the link whose tensor is missing. */
static void work_note_wait(worker *x, double seconds)
{
    for (uint32_t i = 0; i < x->n_parts; i++) {
        const work_part *p = &x->parts[i];
        uint32_t lacks = p->done < p->total ? work_lacks(p) : p->n_in;
        if (lacks < p->n_in && p->in[lacks].link != CLV_NONE) {
            x->wait[p->in[lacks].link] += seconds;
            return;
        }
    }
}

static clv_status work_loop(worker *x, clv_err *err)
{
    bool first = x->w->rank == 0;
    uint32_t turn = 0;
    for (uint32_t i = 0; i < x->n_parts; i++)
        for (uint32_t q = 0; q < x->parts[i].n_in; q++)
            for (uint64_t j = 0; j < x->parts[i].in[q].depth; j++)
                work_post(x, &x->parts[i], q, j);
    if (first)
        work_begin_batch(x);
    x->progress = rank_now();
    for (;;) {
        work_poll(x);
        while (first && x->batch < x->w->batches && work_feed(x))
            turn = 0;
        work_part *p = work_choose(x);
        if (p) {
            clv_status s = work_compute(x, p, err);
            if (s != CLV_OK)
                return s;
            turn = 0;
        }
        bool over = !first || x->batch == x->w->batches || work_batches(x);
        if (p)
            continue;
        if (over && work_all_done(x))
            return CLV_OK;
        double before = rank_now();
        rank_rest(x->w, turn++);
        work_note_wait(x, rank_now() - before);
        if (turn % 1024 == 1023 && rank_now() - x->progress > x->w->limit)
            work_gave_up(x);
    }
}

static int work_by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static clv_status work_stats(worker *x, rank_stats *s, clv_err *err)
{
    const rank_world *w = x->w;
    uint32_t n = w->plan->n_parts;
    s->stage = calloc(n, sizeof *s->stage);
    s->least = calloc(n, sizeof *s->least);
    s->slow = calloc(n, sizeof *s->slow);
    s->look = calloc(n, sizeof *s->look);
    s->batch = calloc(w->batches, sizeof *s->batch);
    if (!s->stage || !s->least || !s->slow || !s->look || !s->batch)
        return rank_fail(err, CLV_NOMEM, "out of memory");
    for (uint32_t i = 0; i < x->n_parts; i++) {
        work_part *p = &x->parts[i];
        uint64_t have =
            p->n_seconds < p->cap_seconds ? p->n_seconds : p->cap_seconds;
        if (!have)
            continue;
        qsort(p->seconds, have, sizeof *p->seconds, work_by_size);
        for (uint64_t j = 0; j < have; j++)
            s->stage[p->k] += p->seconds[j] / (double)have;
        s->look[p->k] = p->looks / (double)p->n_seconds;
        s->least[p->k] = p->seconds[0];
        s->slow[p->k] = p->seconds[(have - 1) * 95 / 100];
    }
    uint32_t warm = w->batches - (uint32_t)w->o.repeat;
    for (uint32_t i = warm; w->rank == 0 && i < w->batches; i++)
        s->batch[i - warm] = x->batch_seconds[i];
    for (uint32_t i = 0; i < w->n_links; i++)
        w->links[i].wait = x->wait[i];
    s->alive = x->alive;
    return CLV_OK;
}

clv_status rank_run(rank_world *w, rank_data *d, rank_stats *stats,
                    clv_err *err)
{
    worker x = {.w = w, .d = d, .ignored = MPI_STATUSES_IGNORE};
    clv_status s = work_open(&x, err);
    s = rank_agree(w, s, err);
    if (s == CLV_OK) {
        if (w->pulse)
            w->pulse->state = RANK_RUNNING;
        s = rank_measure_links(w, err);
    }
    if (s == CLV_OK) {
        s = work_loop(&x, err);
        if (s != CLV_OK)
            rank_abort(w, err);
        s = rank_agree(w, work_stats(&x, stats, err), err);
    }
    work_close(&x);
    return s;
}
