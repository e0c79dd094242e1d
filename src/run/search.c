/* search.c - beam and greedy search: a decoder, token by token (ops/search.c
 * has what its body takes and gives).
 *
 *   1. the body gives logits of the next token of every row; of the first one
 *      perhaps another body, or the encoder for every entry
 *   2. they become scores: log softmax, then what the options forbid or lessen
 *   3. of each entry of the batch the best tokens of all its beams go on. One
 *      that ends a sequence makes a finished one, which is kept if it is among
 *      the best
 *   4. the pasts of the rows that go on are put in order
 *
 * An entry is done when it has as many finished sequences as beams and none of
 * its beams can become better. All this is as ONNX Runtime does it. */
#include "core/limits.h"
#include "ops/control.h"
#include "run/control.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct finished {
    float score;
    int64_t length;
    int32_t *tokens;
} finished;

typedef struct candidate {
    float score;
    int64_t row, token;
} candidate;

typedef struct search {
    search_form form;
    const clv_tensor *const *given;
    const weight_store *w;
    run_memory *mem;
    clv_err *e;
    int64_t batch, beams, rows, length, most, least, returned, vocabulary;
    int64_t no_repeat, end, pad, start;
    int64_t prompt; /* tokens that were given */
    float length_penalty, repetition_penalty;
    bool greedy, early;
    int32_t *sequence, *spare; /* rows of `most` tokens */
    uint8_t *mask;             /* rows of `most` */
    int64_t *position;         /* per row, of the next token */
    float *beam_score;         /* per row */
    float *score;              /* rows of the vocabulary */
    int32_t *token;            /* per row, the next one */
    int64_t *parent;           /* per row, the one it goes on from */
    finished *best;            /* per entry `beams` of them, best first */
    int64_t *n_best;           /* per entry */
    bool *done;                /* per entry */
    float *top;                /* per entry, its 2 * beams best scores */
    uint32_t n_past, n_still;
    clv_tensor *past;             /* owned */
    clv_tensor *still;            /* owned: the states and pasts encoded */
    clv_tensor feed[SEARCH_PAST]; /* tokens, positions, mask */
    const clv_tensor **in;        /* of the body */
} search;

/* -- what the node says ---------------------------------------------------*/

static clv_status search_int(const search *s, uint32_t i, int64_t otherwise,
                             int64_t low, int64_t high, int64_t *out)
{
    const clv_tensor *t = s->given[i];
    *out = t && t->data && numel(t) == 1 ? get_i(t, 0) : otherwise;
    if (*out < low || *out > high)
        return clv__fail(s->e, CLV_SHAPE, "input %u is %lld, not %lld to %lld",
                         i, (long long)*out, (long long)low, (long long)high);
    return CLV_OK;
}

static float search_float(const search *s, uint32_t i)
{
    const clv_tensor *t = s->given[i];
    return t && t->data && numel(t) == 1 ? (float)get_f(t, 0) : 1;
}

static clv_status search_options(search *s, const clv_node *n)
{
    enum { MOST_BEAMS = 1024, MOST_TOKENS = 1 << 20 };
    const clv_tensor *x = s->given[0];
    if (!x || !x->data || x->rank != 2 || !numel(x))
        return clv__fail(s->e, CLV_SHAPE, "tokens are not (batch, length)");
    const clv_tensor *mask = s->given[SEARCH_MASK];
    if (mask && (!mask->data || numel(mask) != numel(x)))
        return clv__fail(s->e, CLV_SHAPE, "a mask of another shape");
    s->batch = x->dims[0];
    s->prompt = x->dims[1];
    s->length = s->form.encoder.g ? 1 : s->prompt;
    s->start = attr_int(n, CLV_A_START_TOKEN);
    s->greedy = attr_int(n, CLV_A_GREEDY) != 0;
    s->early = attr_int(n, CLV_A_EARLY) != 0;
    s->end = attr_int(n, CLV_A_END_TOKEN);
    s->pad = attr_int(n, CLV_A_PAD_TOKEN);
    s->no_repeat = attr_int(n, CLV_A_NO_REPEAT);
    s->length_penalty = search_float(s, SEARCH_LENGTH_PENALTY);
    s->repetition_penalty = search_float(s, SEARCH_REPETITION_PENALTY);
    CLV_TRY(search_int(s, SEARCH_MAX_LENGTH, s->length, s->length, MOST_TOKENS,
                       &s->most));
    CLV_TRY(search_int(s, SEARCH_MIN_LENGTH, 0, 0, s->most, &s->least));
    CLV_TRY(search_int(s, SEARCH_BEAMS, 1, 1, MOST_BEAMS, &s->beams));
    CLV_TRY(search_int(s, SEARCH_RETURNED, 1, 1, s->beams, &s->returned));
    s->rows = s->batch * s->beams; /* both were counted in memory */
    return CLV_OK;
}

/* -- the body -------------------------------------------------------------*/

static clv_tensor search_tensor(const search *s, uint32_t input, uint32_t rank,
                                const int64_t *dims)
{
    const clv_graph *body = s->form.body.g;
    const clv_value *v = &body->values[body->inputs[input]];
    clv_tensor t = {.dtype = (clv_dtype)v->dtype, .rank = rank};
    memcpy(t.dims, dims, rank * sizeof *dims);
    return t;
}

/* The inputs of a body in the order it takes them, less those that it
 * captures, which come last. */
static void search_list_inputs(search *s)
{
    uint32_t at = 0;
    s->in[at++] = &s->feed[0];
    if (!s->form.encoder.g) {
        s->in[at++] = &s->feed[1];
        s->in[at++] = &s->feed[2];
    } else {
        s->in[at++] = &s->feed[2];
        if (s->form.hidden)
            s->in[at++] = &s->still[0];
    }
    for (uint32_t i = 0; i < s->n_past; i++)
        s->in[at++] = &s->past[i];
    for (uint32_t i = 1; i < s->n_still; i++)
        s->in[at++] = &s->still[i];
}

static void search_captured(search *s, const search_body *b)
{
    for (uint32_t i = b->formal; i < b->g->n_inputs; i++)
        s->in[i] = s->given[b->captured + i - b->formal];
}

/* Memory for what a row, an entry of the batch and the bodies need. */
static clv_status search_allocate(search *s)
{
    arena *a = &s->mem->scratch;
    const search_form *f = &s->form;
    int64_t longest = s->most > s->prompt ? s->most : s->prompt;
    size_t rows = (size_t)s->rows, all = rows * (size_t)s->most;
    size_t n_in = f->body.g->n_inputs + (f->first.g ? f->first.g->n_inputs : 0);
    s->n_past = f->n_past;
    s->n_still = f->encoder.g ? f->n_past + 1 : 0;
    s->sequence = arena_zalloc(a, all * sizeof *s->sequence);
    s->spare = arena_zalloc(a, all * sizeof *s->spare);
    s->mask = arena_zalloc(a, all);
    s->position = arena_zalloc(a, rows * sizeof *s->position);
    s->beam_score = arena_zalloc(a, rows * sizeof *s->beam_score);
    s->token = arena_zalloc(a, rows * sizeof *s->token);
    s->parent = arena_zalloc(a, rows * sizeof *s->parent);
    s->best = arena_zalloc(a, rows * sizeof *s->best);
    s->n_best = arena_zalloc(a, (size_t)s->batch * sizeof *s->n_best);
    s->done = arena_zalloc(a, (size_t)s->batch);
    s->top = arena_zalloc(a, 2 * rows * sizeof *s->top);
    s->past = arena_zalloc(a, (s->n_past + 1u) * sizeof *s->past);
    s->still = arena_zalloc(a, (s->n_still + 1u) * sizeof *s->still);
    s->in = arena_zalloc(a, (n_in + 1u) * sizeof *s->in);
    for (uint32_t i = 0; i < SEARCH_PAST; i++)
        s->feed[i].data =
            arena_zalloc(a, rows * (size_t)longest * sizeof(int64_t));
    if (!s->sequence || !s->spare || !s->mask || !s->position ||
        !s->beam_score || !s->token || !s->parent || !s->best || !s->n_best ||
        !s->done || !s->top || !s->past || !s->still || !s->in ||
        !s->feed[0].data || !s->feed[1].data || !s->feed[2].data)
        return clv__nomem(s->e);
    search_list_inputs(s);
    return CLV_OK;
}

static void search_feed(search *s, uint32_t input, int64_t columns)
{
    void *data = s->feed[input].data;
    int64_t dims[2] = {s->rows, columns};
    s->feed[input] = search_tensor(s, input, 2, dims);
    s->feed[input].data = data;
}

/* The prompt, once for each beam. Padding has no position. */
static clv_status search_begin(search *s)
{
    const clv_tensor *mask = s->given[SEARCH_MASK];
    search_feed(s, 0, s->length);
    search_feed(s, 1, s->length);
    search_feed(s, 2, s->length);
    for (int64_t r = 0; r < s->rows; r++) {
        int64_t from = r / s->beams * s->length, next = 0;
        for (int64_t i = 0; i < s->length; i++) {
            int64_t token = get_i(s->given[0], from + i);
            bool placed = token != s->pad;
            bool seen = mask ? get_i(mask, from + i) != 0 : placed;
            s->sequence[r * s->most + i] = (int32_t)token;
            s->mask[r * s->most + i] = seen;
            put_i(&s->feed[0], r * s->length + i, token);
            put_i(&s->feed[1], r * s->length + i, placed ? next : 0);
            put_i(&s->feed[2], r * s->length + i, seen);
            next += placed;
        }
        s->position[r] = next;
        s->beam_score[r] = r % s->beams ? -1e9F : 0; /* beams begin alike */
    }
    for (uint32_t i = 0; i < s->n_past; i++) {
        const clv_graph *body = s->form.body.g;
        const clv_value *v = &body->values[body->inputs[SEARCH_PAST + i]];
        int64_t dims[5] = {2, s->rows, v->dims[2], 0, v->dims[4]};
        s->past[i] = search_tensor(s, SEARCH_PAST + i, 5, dims);
        if (!(s->past[i].data = clv__zalloc(1)))
            return clv__nomem(s->e);
    }
    return CLV_OK;
}

/* Behind an encoder: one token of each row, or all so far. */
static void search_go_on_encoded(search *s)
{
    int64_t n = s->form.whole ? s->length : 1;
    search_feed(s, 0, n);
    for (int64_t i = 0; i < s->rows * n; i++)
        put_i(&s->feed[0], i,
              s->sequence[i / n * s->most + s->length - n + i % n]);
}

/* What the body takes after the first step: one token of each row. */
static void search_go_on(search *s)
{
    if (s->form.encoder.g) {
        search_go_on_encoded(s);
        return;
    }
    search_feed(s, 0, 1);
    search_feed(s, 1, 1);
    search_feed(s, 2, s->length);
    for (int64_t r = 0; r < s->rows; r++) {
        put_i(&s->feed[0], r, s->token[r]);
        put_i(&s->feed[1], r, s->position[r]++);
        for (int64_t i = 0; i < s->length; i++)
            put_i(&s->feed[2], r * s->length + i, s->mask[r * s->most + i]);
    }
}

/* Rows of a past in the order of `parent`. */
static clv_status search_turn(search *s, clv_tensor *past)
{
    clv_tensor was = *past;
    bool encoded = s->form.encoder.g;
    int64_t outer = encoded ? 1 : 2;
    int64_t bytes = clv_tensor_bytes(past), row = bytes / outer / s->rows;
    if (past->rank != (encoded ? 4 : 5) || past->dims[!encoded] != s->rows ||
        (!encoded && past->dims[0] != outer))
        return clv__fail(s->e, CLV_SHAPE, "a past of another shape");
    if (!(past->data = clv__alloc((size_t)bytes + 1))) {
        *past = was;
        return clv__nomem(s->e);
    }
    for (int64_t i = 0; i < outer * s->rows; i++)
        memcpy((char *)past->data + i * row,
               (const char *)was.data +
                   (i / s->rows * s->rows + s->parent[i % s->rows]) * row,
               (size_t)row);
    clv__free(was.data);
    return CLV_OK;
}

/* Logits of the last token of every row; `beams` rows have those of one entry
 * of t in common. */
static clv_status search_logits(search *s, const clv_tensor *t, int64_t beams)
{
    if (!t->data || t->rank != 3 || t->dims[0] * beams != s->rows ||
        t->dims[1] < 1 || t->dims[2] < 1 ||
        (s->score && t->dims[2] != s->vocabulary))
        return clv__fail(s->e, CLV_SHAPE, "logits of another shape");
    s->vocabulary = t->dims[2];
    if (!s->score)
        s->score =
            arena_array(&s->mem->scratch, (size_t)(s->rows * s->vocabulary),
                        sizeof *s->score);
    if (!s->score)
        return clv__nomem(s->e);
    for (int64_t r = 0; r < s->rows; r++) {
        int64_t from = ((r / beams + 1) * t->dims[1] - 1) * s->vocabulary;
        for (int64_t i = 0; i < s->vocabulary; i++)
            s->score[r * s->vocabulary + i] = (float)get_f(t, from + i);
    }
    return CLV_OK;
}

static clv_status search_run_body(search *s, bool first)
{
    const search_form *form = &s->form;
    const search_body *b = first && form->first.g ? &form->first : &form->body;
    body_frame f;
    CLV_TRY(clv__within(0, s->e));
    search_captured(s, b);
    clv_status st =
        clv__body_run(&f, b->g, s->in, b->g->n_inputs, s->w, s->mem, s->e);
    if (st == CLV_OK)
        st = search_logits(s, &f.t[b->g->outputs[0]], 1);
    for (uint32_t i = 0; i < s->n_past && st == CLV_OK; i++) {
        clv__free(s->past[i].data);
        s->past[i].data = NULL;
        st = clv__body_take(&f, i + 1, &s->past[i], s->e);
    }
    clv__body_free(&f);
    return st;
}

/* -- the encoder ----------------------------------------------------------*/

/* The mask of the prompt: without a given one, padding in front is hidden. */
static void search_encoder_mask(search *s, clv_tensor *t)
{
    const clv_tensor *x = s->given[0], *mask = s->given[SEARCH_MASK];
    for (int64_t entry = 0; entry < s->batch; entry++) {
        bool begun = false;
        for (int64_t i = entry * s->prompt; i < (entry + 1) * s->prompt; i++) {
            begun = begun || get_i(x, i) != s->pad;
            put_i(t, i, mask ? get_i(mask, i) : begun);
        }
    }
}

/* What of each entry was encoded, once for each beam. Frees t's data. */
static clv_status search_spread(search *s, clv_tensor *t)
{
    clv_tensor was = *t;
    int64_t entry = clv_tensor_bytes(t) / s->batch;
    if (t->rank < 1 || t->dims[0] != s->batch)
        return clv__fail(s->e, CLV_SHAPE, "a result of another batch");
    if (!(t->data = clv__alloc((size_t)(entry * s->rows) + 1))) {
        *t = was;
        return clv__nomem(s->e);
    }
    t->dims[0] = s->rows;
    for (int64_t r = 0; r < s->rows; r++)
        memcpy((char *)t->data + r * entry,
               (const char *)was.data + r / s->beams * entry, (size_t)entry);
    clv__free(was.data);
    return CLV_OK;
}

/* Takes the results of the encoder: logits, states, own pasts, the others. */
static clv_status search_take(search *s, body_frame *f)
{
    const clv_graph *g = s->form.encoder.g;
    CLV_TRY(search_logits(s, &f->t[g->outputs[0]], s->beams));
    for (uint32_t i = 1; i < g->n_outputs; i++) {
        uint32_t past = i - 2;
        clv_tensor *to = i == 1             ? &s->still[0]
                         : past < s->n_past ? &s->past[past]
                                            : &s->still[past - s->n_past + 1];
        CLV_TRY(clv__body_take(f, i, to, s->e));
        CLV_TRY(search_spread(s, to));
    }
    return CLV_OK;
}

static clv_status search_run_encoder(search *s)
{
    const search_body *b = &s->form.encoder;
    int64_t dims[2] = {s->batch, s->prompt}, one[2] = {s->batch, 1};
    clv_tensor mask = {.dtype = CLV_INT32, .rank = 2, .data = s->feed[2].data};
    clv_tensor start = {.dtype = CLV_INT32, .rank = 2, .data = s->feed[0].data};
    const clv_tensor **in = arena_zalloc(
        &s->mem->scratch, ((size_t)b->g->n_inputs + 1) * sizeof *in);
    if (!in)
        return clv__nomem(s->e);
    memcpy(mask.dims, dims, sizeof dims);
    memcpy(start.dims, one, sizeof one);
    search_encoder_mask(s, &mask);
    for (int64_t i = 0; i < s->batch; i++)
        put_i(&start, i, s->start);
    in[0] = s->given[0];
    in[1] = &mask;
    in[2] = &start;
    for (uint32_t i = b->formal; i < b->g->n_inputs; i++)
        in[i] = s->given[b->captured + i - b->formal];
    body_frame f;
    clv_status st =
        clv__body_run(&f, b->g, in, b->g->n_inputs, s->w, s->mem, s->e);
    if (st == CLV_OK)
        st = search_take(s, &f);
    clv__body_free(&f);
    return st;
}

/* A sequence of the first token for every beam, and the mask of the prompt. */
static void search_begin_encoded(search *s)
{
    search_feed(s, 2, s->prompt);
    s->feed[2].dtype = CLV_INT32; /* the body's input 2 is another one */
    for (int64_t r = s->rows - 1; r >= 0; r--) { /* it holds the entries' */
        for (int64_t i = 0; i < s->prompt; i++)
            put_i(&s->feed[2], r * s->prompt + i,
                  get_i(&s->feed[2], r / s->beams * s->prompt + i));
        s->sequence[r * s->most] = (int32_t)s->start;
        s->beam_score[r] = r % s->beams ? -1e9F : 0;
    }
}

/* -- scores ---------------------------------------------------------------*/

static void search_log_softmax(float *x, int64_t n)
{
    float most = x[0];
    double sum = 0;
    for (int64_t i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)(x[i] - most));
    float log_sum = (float)log(sum);
    for (int64_t i = 0; i < n; i++)
        x[i] = x[i] - most - log_sum;
}

/* Tokens that are there already score less, once each. */
static void search_lessen(const search *s, const int32_t *tokens, float *x)
{
    for (int64_t i = 0; i < s->length; i++) {
        int32_t t = tokens[i];
        bool again = t < 0 || t >= s->vocabulary;
        for (int64_t k = 0; k < i && !again; k++)
            again = tokens[k] == t;
        if (!again)
            x[t] = x[t] < 0 ? x[t] * s->repetition_penalty
                            : x[t] / s->repetition_penalty;
    }
}

/* No token may end a run of `no_repeat` tokens that is there already. */
static void search_forbid_runs(const search *s, const int32_t *tokens, float *x)
{
    int64_t n = s->no_repeat - 1, last = s->length - n;
    for (int64_t i = 0; i + n < s->length; i++) {
        int32_t t = tokens[i + n];
        if (!memcmp(tokens + i, tokens + last, (size_t)n * sizeof *tokens) &&
            t >= 0 && t < s->vocabulary)
            x[t] = -FLT_MAX;
    }
}

static clv_status search_check_vocabulary(const search *s, uint32_t i,
                                          int64_t rows)
{
    const clv_tensor *t = s->given[i];
    if (t && (!t->data || numel(t) != rows * s->vocabulary))
        return clv__fail(s->e, CLV_SHAPE,
                         "input %u has not one number for "
                         "each token",
                         i);
    return CLV_OK;
}

/* Only what stands in the mask from `at` on. */
static void search_keep(const search *s, const clv_tensor *mask, int64_t at,
                        float *x)
{
    for (int64_t i = 0; mask && i < s->vocabulary; i++)
        if (get_i(mask, at + i) == 0)
            x[i] = -FLT_MAX;
}

static clv_status search_scores(search *s, bool first)
{
    const clv_tensor *all = s->given[SEARCH_VOCABULARY];
    const clv_tensor *begin = s->given[SEARCH_FIRST_VOCABULARY];
    CLV_TRY(search_check_vocabulary(s, SEARCH_VOCABULARY, 1));
    CLV_TRY(search_check_vocabulary(s, SEARCH_FIRST_VOCABULARY, s->batch));
    for (int64_t r = 0; r < s->rows; r++) {
        float *x = s->score + r * s->vocabulary;
        const int32_t *tokens = s->sequence + r * s->most;
        if (!s->greedy)
            search_log_softmax(x, s->vocabulary);
        if (s->repetition_penalty != 1)
            search_lessen(s, tokens, x);
        if (s->no_repeat > 0 && s->no_repeat <= s->length)
            search_forbid_runs(s, tokens, x);
        search_keep(s, all, 0, x);
        search_keep(s, first ? begin : NULL, r / s->beams * s->vocabulary, x);
        if (s->length < s->least && s->end < s->vocabulary)
            x[s->end] = -FLT_MAX;
        for (int64_t i = 0; !s->greedy && i < s->vocabulary; i++)
            x[i] += s->beam_score[r];
    }
    return CLV_OK;
}

/* -- choosing -------------------------------------------------------------*/

/* The n best of an entry, best first; of equals the first. Returns how many
 * there are. */
static int64_t search_best(const search *s, int64_t entry, candidate *c,
                           int64_t n)
{
    int64_t found = 0;
    for (int64_t r = entry * s->beams; r < (entry + 1) * s->beams; r++)
        for (int64_t i = 0; i < s->vocabulary; i++) {
            float x = s->score[r * s->vocabulary + i];
            if (found == n && !(x > c[n - 1].score))
                continue;
            int64_t at = found < n ? found++ : n - 1;
            for (; at > 0 && x > c[at - 1].score; at--)
                c[at] = c[at - 1];
            c[at] = (candidate){x, r, i};
        }
    return found;
}

/* Keeps a sequence that ends here if it is among the best of its entry. */
static clv_status search_finish(search *s, int64_t entry, int64_t row,
                                float score)
{
    finished *best = s->best + entry * s->beams;
    finished f = {.score = score / powf((float)s->length, s->length_penalty),
                  .length = s->length};
    int64_t at = s->n_best[entry];
    if (at == s->beams && !(f.score > best[at - 1].score))
        return CLV_OK;
    f.tokens =
        arena_array(&s->mem->scratch, (size_t)f.length, sizeof *f.tokens);
    if (!f.tokens)
        return clv__nomem(s->e);
    memcpy(f.tokens, s->sequence + row * s->most,
           (size_t)f.length * sizeof *f.tokens);
    if (at == s->beams)
        at--;
    else
        s->n_best[entry]++;
    for (; at > 0 && f.score > best[at - 1].score; at--)
        best[at] = best[at - 1];
    best[at] = f;
    return CLV_OK;
}

/* No beam of the entry can become better than what it has. The best score to
 * come is looked for where ONNX Runtime does: among 2 * beams scores from
 * number entry * beams on, which are its own only for the first entry. */
static bool search_is_done(const search *s, int64_t entry)
{
    const float *top = s->top + entry * s->beams;
    float best = top[0], worst = s->best[(entry + 1) * s->beams - 1].score;
    if (s->n_best[entry] < s->beams)
        return false;
    for (int64_t i = 1; i < 2 * s->beams; i++)
        best = top[i] > best ? top[i] : best;
    return s->early ||
           !(worst < best / powf((float)s->length, s->length_penalty));
}

/* The rows of an entry that is done go on from row 0 with padding. */
static void search_idle(search *s, int64_t entry)
{
    for (int64_t r = entry * s->beams; r < (entry + 1) * s->beams; r++) {
        s->beam_score[r] = 0;
        s->token[r] = (int32_t)s->pad;
        s->parent[r] = 0;
    }
}

static clv_status search_choose_beams(search *s, int64_t entry, candidate *c)
{
    int64_t first = entry * s->beams, kept = 0;
    int64_t n = search_best(s, entry, c, 2 * s->beams);
    for (int64_t i = 0; i < n; i++)
        s->top[2 * first + i] = c[i].score;
    if (s->done[entry]) {
        search_idle(s, entry);
        return CLV_OK;
    }
    for (int64_t i = 0; i < n && kept < s->beams; i++) {
        if (c[i].token == s->end) {
            if (i < s->beams)
                CLV_TRY(search_finish(s, entry, c[i].row, c[i].score));
            continue;
        }
        s->beam_score[first + kept] = c[i].score;
        s->token[first + kept] = (int32_t)c[i].token;
        s->parent[first + kept++] = c[i].row;
    }
    if (kept < s->beams)
        return clv__fail(s->e, CLV_SHAPE, "fewer tokens than beams");
    s->done[entry] = search_is_done(s, entry);
    return CLV_OK;
}

/* The best token, and padding from the end on. */
static void search_choose_one(search *s, int64_t entry, candidate *c)
{
    search_best(s, entry, c, 1);
    s->done[entry] = s->done[entry] || c->token == s->end;
    s->token[entry] = (int32_t)(s->done[entry] ? s->pad : c->token);
    s->parent[entry] = entry;
}

/* Chooses for every entry and appends what was chosen. */
static clv_status search_choose(search *s, candidate *c)
{
    for (int64_t entry = 0; entry < s->batch; entry++) {
        if (s->greedy)
            search_choose_one(s, entry, c);
        else
            CLV_TRY(search_choose_beams(s, entry, c));
    }
    for (int64_t r = 0; r < s->rows; r++) {
        int32_t *to = s->spare + r * s->most;
        memcpy(to, s->sequence + s->parent[r] * s->most,
               (size_t)s->length * sizeof *to);
        to[s->length] = s->token[r];
        s->mask[r * s->most + s->length] = 1;
    }
    int32_t *was = s->sequence;
    s->sequence = s->spare;
    s->spare = was;
    s->length++;
    return CLV_OK;
}

static bool search_all_done(const search *s)
{
    for (int64_t i = 0; i < s->batch; i++)
        if (!s->done[i])
            return false;
    return true;
}

/* -- results --------------------------------------------------------------*/

static clv_status search_result(search *s, clv_tensor *t, clv_dtype dtype,
                                uint32_t rank, const int64_t *dims)
{
    *t = (clv_tensor){.dtype = dtype, .rank = rank};
    memcpy(t->dims, dims, rank * sizeof *dims);
    int64_t bytes = clv_tensor_bytes(t);
    if (bytes < 0 || !(t->data = clv__zalloc((size_t)bytes + 1)))
        return clv__nomem(s->e);
    return CLV_OK;
}

/* Appends the scores of this step to output 2, once it has a shape. */
static clv_status search_keep_scores(search *s, clv_tensor *t, int64_t trip)
{
    size_t n = (size_t)(s->rows * s->vocabulary);
    int64_t dims[4] = {s->most - s->length, s->batch, s->beams, s->vocabulary};
    if (trip == 0)
        CLV_TRY(search_result(s, t, CLV_FLOAT32, 4, dims));
    memcpy((float *)t->data + (size_t)trip * n, s->score, n * sizeof(float));
    return CLV_OK;
}

static clv_status search_give(search *s, uint32_t n_out, clv_tensor *result)
{
    clv_dtype dtype = s->given[0]->dtype;
    int64_t all[3] = {s->batch, s->returned, s->most};
    int64_t one[2] = {s->batch, s->most};
    if (s->greedy)
        CLV_TRY(search_result(s, &result[0], dtype, 2, one));
    else
        CLV_TRY(search_result(s, &result[0], dtype, 3, all));
    if (n_out > 1)
        CLV_TRY(search_result(s, &result[1], CLV_FLOAT32, 2, all));
    for (int64_t i = 0; i < s->batch * s->returned; i++) {
        int64_t entry = i / s->returned, k = i % s->returned;
        const finished *f = &s->best[entry * s->beams + k];
        const int32_t *tokens =
            s->greedy ? s->sequence + i * s->most : f->tokens;
        int64_t length = s->greedy              ? s->length
                         : k < s->n_best[entry] ? f->length
                                                : 0;
        for (int64_t at = 0; at < s->most; at++)
            put_i(&result[0], i * s->most + at,
                  at < length ? tokens[at] : s->pad);
        if (n_out > 1)
            put_f(&result[1], i, (double)f->score);
    }
    return CLV_OK;
}

/* -- the search -----------------------------------------------------------*/

static clv_status search_steps(search *s, uint32_t n_out, clv_tensor *result)
{
    candidate *c =
        arena_array(&s->mem->scratch, 2 * (size_t)s->beams, sizeof *c);
    if (!c)
        return clv__nomem(s->e);
    bool encoded = s->form.encoder.g;
    if (encoded)
        search_begin_encoded(s);
    else
        CLV_TRY(search_begin(s));
    for (int64_t trip = 0; s->length < s->most; trip++) {
        if (trip > 0)
            search_go_on(s);
        if (trip > 0 || !encoded)
            CLV_TRY(search_run_body(s, trip == 0));
        CLV_TRY(search_scores(s, trip == 0));
        if (n_out > 2)
            CLV_TRY(search_keep_scores(s, &result[2], trip));
        CLV_TRY(search_choose(s, c));
        if (trip == 0 && encoded) /* the beams of an entry are alike yet */
            continue;
        if (search_all_done(s))
            break;
        bool turn = s->beams > 1 && s->length < s->most;
        for (uint32_t i = 0; turn && i < s->n_past; i++)
            CLV_TRY(search_turn(s, &s->past[i]));
    }
    for (int64_t r = 0; r < s->rows && !s->greedy; r++)
        if (!s->done[r / s->beams])
            CLV_TRY(search_finish(s, r / s->beams, r, s->beam_score[r]));
    return search_give(s, n_out, result);
}

clv_status clv__run_search(const clv_node *n, const clv_tensor *const *given,
                           clv_tensor *result, const weight_store *w,
                           run_memory *mem, clv_err *e)
{
    search s = {.given = given, .w = w, .mem = mem, .e = e};
    CLV_TRY(clv__search_form(n, &s.form, e));
    CLV_TRY(search_options(&s, n));
    CLV_TRY(search_allocate(&s));
    clv_status st = s.form.encoder.g ? search_run_encoder(&s) : CLV_OK;
    if (st == CLV_OK)
        st = search_steps(&s, n->n_out, result);
    for (uint32_t i = 0; i < s.n_past; i++)
        clv__free(s.past[i].data);
    for (uint32_t i = 0; i < s.n_still; i++)
        clv__free(s.still[i].data);
    return st;
}
