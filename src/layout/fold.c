/* fold.c - graphs too large to be drawn node by node.
 *
 * The items of a box stand in the order of execution. A piece of that order
 * that comes three times or more in a row is drawn once:
 *
 *      conv relu add conv relu add ... conv relu add  =>  (conv relu add) x 99
 *
 * Rows are found again among what was found, so that a thousand blocks in each
 * of a hundred stages become one block in one stage. Items are the same when
 * they compute the same on the same shapes. Every node that is not drawn knows
 * the one that is drawn for it, so that sums over all of them can be told. */
#include "graph/hash.h"
#include "layout/boxes.h"

#include <stdlib.h>
#include <string.h>

enum {
    FOLD_LEAST = 3,     /* repeats that make a row */
    FOLD_SHORTER = 8,   /* short pieces are looked for first: up to 1 item,
                           then to this many, to its square and so on */
    FOLD_TRIES = 4,     /* lengths of a piece that are tried from one place */
    FOLD_WORK = 64,     /* comparisons, per item and level */
    MOST_ITEMS = 1500,  /* of a drawing */
    SPAN_ITEMS = 500,   /* of a span, and most spans of a box */
    KINDS_PER_ITEM = 16 /* what an item that is shut is taken to need */
};

/* Items from `from` on, before `to`: one, or `times` pieces that end first at
 * `piece`. */
typedef struct fold_run {
    uint32_t from, piece, to, times;
    uint64_t hash;
} fold_run;

/* For every run the next one with the same hash, or n. */
static bool fold_next(arena *a, const fold_run *runs, uint32_t n,
                      uint32_t **next)
{
    uint32_t size = 16;
    while (size < 2 * n)
        size *= 2;
    uint32_t *table = arena_array(a, size, sizeof *table);
    *next = arena_array(a, (size_t)n + 1, sizeof **next);
    if (!table || !*next)
        return false;
    memset(table, 255, size * sizeof *table);
    for (uint32_t i = n; i-- > 0;) {
        uint32_t k = (uint32_t)runs[i].hash & (size - 1);
        while (table[k] != CLV_NONE && runs[table[k]].hash != runs[i].hash)
            k = (k + 1) & (size - 1);
        (*next)[i] = table[k] == CLV_NONE ? n : table[k];
        table[k] = i;
    }
    return true;
}

/* How many runs from i on are the same as those `piece` further on. */
static uint32_t fold_match(const fold_run *runs, uint32_t n, uint32_t i,
                           uint32_t piece, int64_t *work)
{
    uint32_t k = 0;
    while (i + piece + k < n && runs[i + k].hash == runs[i + piece + k].hash)
        k++;
    *work -= k + 1;
    return k;
}

/* One level: rows of up to `most` of `runs` become runs. Returns how many are
 * left. */
static uint32_t fold_level(fold_run *runs, uint32_t n, const uint32_t *next,
                           uint64_t most)
{
    int64_t work = (int64_t)FOLD_WORK * n;
    uint32_t out = 0;
    for (uint32_t i = 0; i < n;) {
        uint32_t piece = 0, times = 1;
        uint32_t far = next[i];
        for (int t = 0; t < FOLD_TRIES && far < n && work > 0; t++) {
            if (far - i > most)
                break;
            uint32_t same = fold_match(runs, n, i, far - i, &work);
            if (same >= (FOLD_LEAST - 1) * (far - i)) {
                piece = far - i;
                times = same / piece + 1;
                break;
            }
            far = next[far];
        }
        fold_run r = runs[i];
        if (piece) {
            r = (fold_run){.from = runs[i].from,
                           .piece = runs[i + piece - 1].to,
                           .to = runs[i + piece * times - 1].to,
                           .times = times,
                           .hash = clv__hash_word(CLV_HASH_START, times)};
            for (uint32_t k = 0; k < piece; k++)
                r.hash = clv__hash_word(r.hash, runs[i + k].hash);
        }
        runs[out++] = r;
        i += piece ? piece * times : 1;
    }
    return out;
}

/* The items as runs, folded until nothing repeats. */
static fold_run *fold_runs(box_maker *m, const box_part *items, uint32_t *n)
{
    fold_run *runs = arena_array(m->scratch, (size_t)*n + 1, sizeof *runs);
    for (uint32_t i = 0; runs && i < *n; i++)
        runs[i] = (fold_run){i, i + 1, i + 1, 1,
                             items[i].scope == CLV_NONE
                                 ? clv__box_node_hash(m->g, items[i].nodes[0])
                                 : items[i].hash};
    for (uint64_t most = 1; runs && most < (uint64_t)FOLD_SHORTER * *n;) {
        arena_mark mark = arena_save(m->scratch);
        uint32_t *next, before = *n;
        if (!fold_next(m->scratch, runs, *n, &next))
            return NULL;
        *n = fold_level(runs, *n, next, most);
        arena_rewind(m->scratch, mark);
        if (*n == before)
            most *= FOLD_SHORTER;
    }
    return runs;
}

static int fold_by_number(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

/* The nodes of some items, ascending, in `to`; returns how many. */
static uint32_t fold_collect(const box_part *items, uint32_t from, uint32_t end,
                             uint32_t *to)
{
    uint32_t n = 0;
    for (uint32_t i = from; i < end; i++)
        for (uint32_t k = 0; k < items[i].n; k++)
            to[n++] = items[i].nodes[k];
    qsort(to, n, sizeof *to, fold_by_number);
    return n;
}

/* How many nodes some items have, those they stand for included. */
static uint32_t fold_count(const box_part *items, uint32_t from, uint32_t end,
                           bool all)
{
    uint32_t n = 0;
    for (uint32_t i = from; i < end; i++)
        n += all && items[i].total ? items[i].total : items[i].n;
    return n;
}

/* The part of a run of more than one piece. The nodes of the pieces that are
 * not drawn are told which ones are drawn for them. */
static bool fold_part(box_maker *m, const box_part *box, const box_part *items,
                      const fold_run *r, box_part *out)
{
    uint32_t each = r->piece - r->from;
    uint32_t n = fold_count(items, r->from, r->piece, false);
    *out = (box_part){.n = n,
                      .scope = box->scope,
                      .parts = 1,
                      .repeats = r->times,
                      .hash = r->hash,
                      .total = n * r->times,
                      .folded = true};
    out->nodes = arena_array(m->mem, (size_t)n + 1, sizeof *out->nodes);
    uint32_t *other = arena_array(m->scratch, (size_t)n + 1, sizeof *other);
    if (!out->nodes || !other)
        return false;
    fold_collect(items, r->from, r->piece, out->nodes);
    for (uint32_t i = r->piece; i < r->to; i += each) {
        if (fold_count(items, i, i + each, false) != n)
            return true; /* two hashes met: they stay their own rows */
        fold_collect(items, i, i + each, other);
        for (uint32_t k = 0; k < n; k++)
            if (m->g->nodes[other[k]].op == m->g->nodes[out->nodes[k]].op)
                m->like[other[k]] = out->nodes[k];
    }
    return true;
}

/* Puts `each` items after each other into one part. */
static bool fold_span(box_maker *m, const box_part *box, const box_part *items,
                      uint32_t from, uint32_t to, box_part *out)
{
    uint32_t n = fold_count(items, from, to, false);
    *out = (box_part){.n = n,
                      .scope = box->scope,
                      .total = fold_count(items, from, to, true)};
    out->nodes = arena_array(m->mem, (size_t)n + 1, sizeof *out->nodes);
    if (!out->nodes)
        return false;
    fold_collect(items, from, to, out->nodes);
    return true;
}

/* The item of every node of the box, when runs become items. */
static void fold_renumber(box_maker *m, const box_part *box,
                          const fold_run *runs, uint32_t n, uint32_t *to)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = runs[i].from; k < runs[i].to; k++)
            to[k] = i;
    for (uint32_t i = 0; i < box->n; i++)
        m->item[box->nodes[i]] = to[m->item[box->nodes[i]]];
}

/* Runs of runs, so that there are few enough for one drawing. */
static uint32_t fold_spans(fold_run *runs, uint32_t n)
{
    uint32_t each = (n + SPAN_ITEMS - 1) / SPAN_ITEMS, out = 0;
    each = each < SPAN_ITEMS ? SPAN_ITEMS : each;
    for (uint32_t i = 0; i < n; i += each) {
        uint32_t last = i + each < n ? i + each - 1 : n - 1;
        runs[out++] =
            (fold_run){.from = runs[i].from, .to = runs[last].to, .times = 0};
    }
    return out;
}

/* The parts of all runs, in a list of their own. */
static box_part *fold_parts(box_maker *m, const box_part *box,
                            const box_part *items, const fold_run *runs,
                            uint32_t n)
{
    box_part *list = arena_array(m->scratch, (size_t)n + 1, sizeof *list);
    bool ok = list != NULL;
    for (uint32_t i = 0; ok && i < n; i++) {
        if (runs[i].times > 1)
            ok = fold_part(m, box, items, &runs[i], &list[i]);
        else if (runs[i].times == 1)
            list[i] = items[runs[i].from];
        else {
            ok = fold_span(m, box, items, runs[i].from, runs[i].to, &list[i]);
            list[i].part = i;
            list[i].parts = n;
        }
    }
    return ok ? list : NULL;
}

bool clv__box_fold(box_maker *m, const box_part *box, box_part **items,
                   uint32_t *n)
{
    uint32_t count = *n;
    uint32_t *to = arena_array(m->scratch, (size_t)*n + 1, sizeof *to);
    uint32_t *before =
        arena_array(m->scratch, (size_t)box->n + 1, sizeof *before);
    fold_run *runs = fold_runs(m, *items, &count);
    bool *on;
    if (!to || !before || !runs)
        return false;
    /* Spans hold what was there before, and find its rows again. */
    if (count > MOST_ITEMS)
        count = fold_spans(runs, count);
    if (count == *n)
        return true;
    for (uint32_t i = 0; i < box->n; i++)
        before[i] = m->item[box->nodes[i]];
    fold_renumber(m, box, runs, count, to);
    uint32_t cyclic = clv__box_cycles(m, box, count, &on);
    if (cyclic == CLV_NONE)
        return false;
    if (cyclic) {
        for (uint32_t i = 0; i < box->n; i++)
            m->item[box->nodes[i]] = before[i];
        return true;
    }
    *items = fold_parts(m, box, *items, runs, count);
    *n = count;
    return *items != NULL;
}

/* -- boxes of which only the kinds are drawn ------------------------------*/

enum { KIND_WIDE = 180, KIND_HIGH = 40, KIND_GAP = 28, KIND_COLUMNS = 4 };

bool clv__box_shut(box_maker *m, const box_part *box, clv_box *b)
{
    arena_mark mark = arena_save(m->scratch);
    uint32_t *first = arena_array(m->scratch, CLV_OP_COUNT, sizeof *first);
    uint32_t kinds = 0, n = 0;
    if (!first)
        return false;
    memset(first, 255, CLV_OP_COUNT * sizeof *first);
    for (uint32_t i = 0; i < box->n; i++) {
        uint32_t *f = &first[m->g->nodes[box->nodes[i]].op];
        kinds += *f == CLV_NONE;
        *f = *f == CLV_NONE ? box->nodes[i] : *f;
        m->like[box->nodes[i]] = *f;
    }
    clv_item *items = arena_array(m->mem, (size_t)kinds + 1, sizeof *items);
    for (uint32_t i = 0; items && i < box->n; i++) {
        if (m->like[box->nodes[i]] != box->nodes[i])
            continue;
        uint32_t column = n % KIND_COLUMNS, row = n / KIND_COLUMNS;
        items[n++] = (clv_item){
            .kind = CLV_ITEM_NODE,
            .id = box->nodes[i],
            .rank = row,
            .x = (int32_t)(column * (KIND_WIDE + KIND_GAP)) + KIND_WIDE / 2,
            .y = (int32_t)(row * (KIND_HIGH + KIND_GAP)) + KIND_HIGH / 2,
            .w = KIND_WIDE,
            .h = KIND_HIGH};
    }
    uint32_t wide = n < KIND_COLUMNS ? n : KIND_COLUMNS;
    uint32_t high = (n + KIND_COLUMNS - 1) / KIND_COLUMNS;
    b->items = items;
    b->n_items = n;
    b->shut = true;
    b->width = (int32_t)(wide * (KIND_WIDE + KIND_GAP)) - KIND_GAP;
    b->height = (int32_t)(high * (KIND_HIGH + KIND_GAP)) - KIND_GAP;
    arena_rewind(m->scratch, mark);
    return items != NULL;
}

bool clv__boxes_to_shut(arena *a, const uint32_t *items, const uint32_t *first,
                        uint32_t n, uint32_t most, bool *shut)
{
    uint64_t *rows = arena_zalloc(a, ((size_t)n + 1) * sizeof *rows);
    uint64_t *limit = arena_zalloc(a, ((size_t)n + 1) * sizeof *limit);
    if (!rows || !limit)
        return false;
    for (uint32_t i = n; i-- > 0;) {
        uint32_t boxes = first[i + 1] - first[i];
        rows[i] = items[i] - boxes;
        for (uint32_t k = first[i]; k < first[i + 1]; k++)
            rows[i] += rows[k];
    }
    limit[0] = most;
    for (uint32_t i = 0; i < n; i++) {
        bool fits = rows[i] <= limit[i];
        shut[i] =
            i > 0 && !fits && (uint64_t)KINDS_PER_ITEM * items[i] > limit[i];
        for (uint32_t k = first[i]; k < first[i + 1]; k++)
            limit[k] = shut[i] ? 0
                       : fits  ? rows[k]
                               : rows[k] * limit[i] / rows[i];
    }
    return true;
}

/* -- rows -----------------------------------------------------------------*/

bool clv__fold_rows(const box_maker *m, arena *mem, clv_layout_info *out)
{
    uint32_t n = m->g->n_nodes, rows = 0;
    uint32_t *row = arena_array(mem, (size_t)n + 1, sizeof *row);
    uint32_t *node = arena_array(mem, (size_t)n + 1, sizeof *node);
    uint32_t *count = arena_zalloc(mem, ((size_t)n + 1) * sizeof *count);
    if (!row || !node || !count)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (m->like[i] == i) {
            node[rows] = i;
            row[i] = rows++;
        }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t drawn = m->like[i];
        while (m->like[drawn] != drawn)
            drawn = m->like[drawn];
        m->like[i] = drawn; /* the next one finds it sooner */
        row[i] = row[drawn];
        count[row[i]]++;
    }
    out->n_rows = rows;
    out->row = row;
    out->row_node = node;
    out->row_count = count;
    return true;
}
