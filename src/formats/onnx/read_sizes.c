/* read_sizes.c - sizes that a file leaves open, and what they are taken as.
 *
 * An input may have axes of any size. To count a model each needs a number, and
 * one that makes sense: an image of 1x1 costs nothing, and most networks refuse
 * it. A size gets, in this order:
 *
 *   1. what the options or the data say (read_types.c)
 *   2. what the file's metadata say: the image size that a detector's exporter
 *      wrote down
 *   3. what the names and the shape suggest, a row of the tables below: a text
 *      of 128 tokens, an image of 224x224, a second of sound
 *   4. 1
 *
 * The first guess is tried. Where a rule refuses a shape, other sizes are:
 * first those that images have, then the smallest which the graph accepts. For
 * that every open size, and every group of them that belongs together, climbs
 * a ladder from 1 on. A step that lets inference come further than before is
 * kept; at the end the last step is made as small as it can be by bisection.
 * All of it takes at most SIZES_TRIES readings of the file. */
#include "formats/onnx/read.h"

#include <string.h>

enum {
    SIZES_TRIES = 300,
    SIZES_NODES = 3000000, /* read in all those tries */
    SIZES_TOKENS = 128,
    SIZES_SOUND = 16000,  /* a second at 16 kHz */
    SIZES_PICTURE = 224,  /* for a classifier */
    SIZES_SCENE = 640,    /* for a network that makes more than scores */
    SIZES_LINE = 320,     /* length of a line of text in a picture */
    SIZES_LINE_HIGH = 64, /* and what it is at most high */
    SIZES_COLOURS = 4
};

/* -- what names suggest ---------------------------------------------------*/

typedef struct size_word {
    const char *word; /* part of a dimension's name, or of an input's */
    int64_t size;
} size_word;

/* The first that fits; "past" stands before "seq" for names that have both. */
static const size_word sizes_of_dims[] = {
    {"batch", 1},
    {"past", 0}, /* nothing is kept yet */
    {"cache", 0},
    {"height", SIZES_SCENE},
    {"width", SIZES_SCENE},
    {"sample", SIZES_SOUND},
    {"audio", SIZES_SOUND},
    {"frame", SIZES_TOKENS},
    {"seq", SIZES_TOKENS},
    {"len", SIZES_TOKENS},
    {"token", SIZES_TOKENS},
    {"time", SIZES_TOKENS},
};

static const size_word sizes_of_inputs[] = {
    {"past", 0},
    {"audio", SIZES_SOUND},
    {"wav", SIZES_SOUND},
};

static bool sizes_contains(text t, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= t.n; i++) {
        size_t k = 0;
        while (k < n && ((unsigned char)t.s[i + k] | 0x20) == word[k])
            k++;
        if (k == n)
            return true;
    }
    return false;
}

/* -1: no word of the table is part of t. */
static int64_t sizes_by_word(text t, const size_word *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (sizes_contains(t, rows[i].word))
            return rows[i].size;
    return -1;
}
#define SIZES_BY(t, rows) sizes_by_word(t, rows, sizeof rows / sizeof *rows)

/* -- what shapes suggest --------------------------------------------------*/

static bool sizes_is_colours(int64_t n)
{
    return n >= 1 && n <= SIZES_COLOURS;
}

/* The first axis of a picture's height and width, whose colours stand before
 * them or behind; 0: t is no batch of pictures. */
static uint32_t sizes_picture(const onnx_type *t)
{
    if (t->rank != 4 || dtype_is_integral((uint8_t)t->dtype))
        return t->rank == 4 && sizes_is_colours(t->dims[3]) ? 1 : 0;
    return sizes_is_colours(t->dims[1])   ? 2
           : sizes_is_colours(t->dims[3]) ? 1
                                          : 0;
}

/* Whether the model makes more than a row of scores per picture. */
static bool sizes_dense(const reader *r)
{
    uint32_t outputs = 0;
    for (wire w = r->graph; wire_left(&w);) {
        wire_field f;
        text name;
        onnx_type t;
        if (wire_next(&w, &f, NULL) != CLV_OK)
            return false;
        if (f.number != PB_GRAPH_OUTPUT || f.type != WIRE_BYTES)
            continue;
        if (onnx_value_info(f.bytes, &name, &t, NULL) != CLV_OK)
            return false;
        if (++outputs > 1 || (t.rank != CLV_NO_RANK && t.rank > 2))
            return true;
    }
    return false;
}

/* A height or width: as the metadata say; as long as the other one where that
 * is known, or a line of text if it is low; else as the outputs suggest. */
static int64_t sizes_of_picture(const reader *r, const onnx_type *t,
                                uint32_t axis, uint32_t first)
{
    const open_sizes *o = r->sizes;
    int64_t other = t->dims[axis == first ? first + 1 : first];
    if (o->image[axis - first] > 0)
        return o->image[axis - first];
    if (other > 0)
        return other <= SIZES_LINE_HIGH ? SIZES_LINE : other;
    return sizes_dense(r) ? SIZES_SCENE : SIZES_PICTURE;
}

static int64_t sizes_guess(const reader *r, const onnx_type *t, text input,
                           uint32_t axis)
{
    uint32_t picture = sizes_picture(t);
    if (picture && (axis == picture || axis == picture + 1))
        return sizes_of_picture(r, t, axis, picture);
    int64_t size = SIZES_BY(t->symbols[axis], sizes_of_dims);
    if (size >= 0)
        return size;
    if (axis == 0)
        return 1;
    size = SIZES_BY(input, sizes_of_inputs);
    if (size >= 0)
        return size;
    return t->rank == 2 && dtype_is_integral((uint8_t)t->dtype) ? SIZES_TOKENS
                                                                : 1;
}

/* -- the list -------------------------------------------------------------*/

static bool sizes_same(text a, text b)
{
    return a.n == b.n && !memcmp(a.s, b.s, a.n);
}

/* One name is one size; an axis without a name is one of its own. */
static open_size *sizes_find(const open_sizes *o, text symbol, text input,
                             uint32_t axis)
{
    for (size_t i = 0; i < o->n; i++) {
        open_size *s = &o->of[i];
        if (symbol.n ? sizes_same(s->symbol, symbol)
                     : !s->symbol.n && s->axis == axis &&
                           sizes_same(s->input, input))
            return s;
    }
    return NULL;
}

/* A name such as "past + 1" or "past + seq": the sum of its terms. -1: it is
 * no sum, or a term is no number and not the name of an open size. */
static int64_t sizes_sum(const open_sizes *o, text t)
{
    int64_t sum = 0;
    uint32_t terms = 0;
    while (t.n) {
        const char *plus = memchr(t.s, '+', t.n);
        size_t n = plus ? (size_t)(plus - t.s) : t.n;
        text term = {t.s, n};
        while (term.n && term.s[0] == ' ')
            term.s++, term.n--;
        while (term.n && term.s[term.n - 1] == ' ')
            term.n--;
        int64_t value = 0;
        bool number = term.n > 0 && term.n < 10;
        for (size_t i = 0; number && i < term.n; i++) {
            number = term.s[i] >= '0' && term.s[i] <= '9';
            value = value * 10 + (term.s[i] - '0');
        }
        const open_size *s =
            number ? NULL : sizes_find(o, term, (text){"", 0}, 0);
        if (!number && (!s || !term.n))
            return -1;
        sum += number ? value : s->value;
        terms++;
        t = plus ? (text){plus + 1, t.n - n - 1} : (text){NULL, 0};
    }
    return terms > 1 ? sum : -1;
}

clv_status onnx_open_size(reader *r, const onnx_type *t, text input,
                          uint32_t axis, const open_size **out, clv_err *e)
{
    open_sizes *o = r->sizes;
    text symbol = t->rank == CLV_NO_RANK ? (text){NULL, 0} : t->symbols[axis];
    open_size *s = sizes_find(o, symbol, input, axis);
    int64_t sum = sizes_sum(o, symbol);
    if (!s) {
        char *a = arena_strndup(&o->mem, symbol.n ? symbol.s : "", symbol.n);
        char *b = arena_strndup(&o->mem, input.s, input.n);
        if (!a || !b || !CLV_GROW(o->of, o->n, o->cap))
            return clv__nomem(e);
        s = &o->of[o->n++];
        *s = (open_size){{a, symbol.n}, {b, input.n}, axis, 1, SIZE_ONE, false};
        int64_t guess =
            t->rank == CLV_NO_RANK ? 1 : sizes_guess(r, t, input, axis);
        if (guess != 1) {
            uint32_t first = sizes_picture(t);
            s->value = guess;
            s->picture = first && (axis == first || axis == first + 1);
            s->how = s->picture && o->image[0] > 0 ? SIZE_STATED : SIZE_GUESSED;
        }
    }
    if (sum >= 0) {
        s->value = sum;
        s->how = SIZE_SUM;
    }
    *out = s;
    return CLV_OK;
}

/* -- what the file says beside its inputs ---------------------------------*/

/* Reads "[640, 480]". */
static void sizes_read_image(text t, int64_t *image)
{
    int64_t n[2] = {0, 0};
    uint32_t k = 0;
    bool digits = false;
    for (size_t i = 0; i < t.n && k < 2; i++) {
        bool digit = t.s[i] >= '0' && t.s[i] <= '9';
        if (digit && n[k] < 100000)
            n[k] = n[k] * 10 + (t.s[i] - '0');
        else if (!digit && digits)
            k++;
        digits = digit;
    }
    image[0] = n[0];
    image[1] = n[1] ? n[1] : n[0];
}

clv_status onnx_size_metadata(reader *r, wire w, clv_err *e)
{
    text key, value;
    CLV_TRY(onnx_entry(w, &key, &value, e));
    if (text_is(key, "imgsz"))
        sizes_read_image(value, r->sizes->image);
    return CLV_OK;
}

/* -- searching ------------------------------------------------------------*/

typedef struct sizes_search {
    open_sizes *o;
    onnx_attempt_fn *attempt;
    void *ctx;
    uint32_t tries;
    uint64_t nodes;
    uint32_t best;     /* nodes that inference came past */
    clv_status status; /* that ended the first attempt, or the search */
    clv_err why;
    bool found, over; /* a size fits; nothing more may be tried */
    bool stale;       /* the last attempt was not of the size that fits */
} sizes_search;

/* Reads the file with the sizes as they are. Returns true when inference came
 * further than ever, or to the end. */
static bool sizes_try(sizes_search *q)
{
    clv_err why = {0};
    uint32_t reached = 0;
    if (q->over || ++q->tries > SIZES_TRIES || q->nodes > SIZES_NODES)
        return q->over = true, false;
    clv_status s = q->attempt(q->ctx, &reached, &why);
    q->nodes += reached;
    q->found = s == CLV_OK;
    if (q->tries == 1 || (s != CLV_OK && s != CLV_SHAPE))
        q->why = why, q->status = s;
    if (s != CLV_OK && s != CLV_SHAPE)
        q->over = true;
    if (s != CLV_OK && reached <= q->best)
        return false;
    q->best = reached;
    return true;
}

/* Which sizes move together: number `one` of the list, or, where that is
 * SIZES_MANY, all of an input but its batch, or of all inputs. */
enum { SIZES_MANY = 0x7fffffff };
typedef struct sizes_group {
    size_t one;
    text input; /* .s NULL: every input */
} sizes_group;

static bool sizes_in(const open_sizes *o, const sizes_group *group, size_t i)
{
    const open_size *s = &o->of[i];
    if (s->how == SIZE_SUM)
        return false;
    if (group->one != SIZES_MANY)
        return i == group->one;
    return s->axis > 0 &&
           (!group->input.s || sizes_same(s->input, group->input));
}

static void sizes_set(open_sizes *o, const sizes_group *group, int64_t size)
{
    for (size_t i = 0; i < o->n; i++)
        if (sizes_in(o, group, i)) {
            o->of[i].value = size;
            o->of[i].how = size == 1 ? SIZE_ONE : SIZE_SMALLEST;
        }
}

static bool sizes_any(const open_sizes *o, const sizes_group *group)
{
    for (size_t i = 0; i < o->n; i++)
        if (sizes_in(o, group, i))
            return true;
    return false;
}

/* The smallest size above `low`, which fails, and up to `high`, which fits. */
static void sizes_shrink(sizes_search *q, const sizes_group *group, int64_t low,
                         int64_t high)
{
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        sizes_set(q->o, group, middle);
        sizes_try(q);
        q->stale = !q->found;
        if (q->over)
            break;
        if (q->found)
            high = middle;
        else
            low = middle;
    }
    sizes_set(q->o, group, high);
    q->found = true;
}

/* What moved together need not be equally large. */
static void sizes_shrink_each(sizes_search *q, const sizes_group *group)
{
    if (group->one != SIZES_MANY)
        return;
    for (size_t i = 0; i < q->o->n && !q->over; i++)
        if (sizes_in(q->o, group, i))
            sizes_shrink(q, &(sizes_group){i, {NULL, 0}}, 0, q->o->of[i].value);
}

/* Powers of two, and seven and five times those: windows and strides divide
 * one of them as a rule. */
static int64_t sizes_step(int64_t size)
{
    if (size < 8)
        return size + 1;
    int64_t power = 8;
    while (power * 2 <= size)
        power *= 2;
    return size < power / 4 * 5   ? power / 4 * 5
           : size < power / 4 * 6 ? power / 4 * 6
           : size < power / 4 * 7 ? power / 4 * 7
                                  : power * 2;
}

enum { SIZES_HIGHEST = 65536 };

/* Lets a group climb. Leaves it at the size that fits, or at the one that came
 * furthest; false: none came further than before. */
static bool sizes_climb(sizes_search *q, const sizes_group *group)
{
    open_size *before = arena_array(&q->o->mem, q->o->n, sizeof *before);
    bool better = false;
    if (!before)
        return q->over = true, false;
    memcpy(before, q->o->of, q->o->n * sizeof *before);
    int64_t last = 1;
    for (int64_t size = 2; size <= SIZES_HIGHEST && !q->over;
         last = size, size = sizes_step(size)) {
        sizes_set(q->o, group, size);
        if (sizes_try(q)) {
            better = true;
            memcpy(before, q->o->of, q->o->n * sizeof *before);
        }
        if (q->found) {
            sizes_shrink(q, group, last, size);
            sizes_shrink_each(q, group);
            return true;
        }
    }
    memcpy(q->o->of, before, q->o->n * sizeof *before);
    return better;
}

/* One round over all groups; true: some came further. */
static bool sizes_round(sizes_search *q)
{
    bool better = false;
    size_t n = q->o->n;
    for (size_t i = 0; i < n && !q->found && !q->over; i++) {
        sizes_group one = {i, {NULL, 0}};
        if (q->o->of[i].axis > 0 && sizes_any(q->o, &one))
            better |= sizes_climb(q, &one);
    }
    for (size_t i = 0; i < n && !q->found && !q->over; i++) {
        sizes_group of = {SIZES_MANY, q->o->of[i].input};
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= sizes_same(q->o->of[k].input, of.input);
        if (!again && sizes_any(q->o, &of))
            better |= sizes_climb(q, &of);
    }
    sizes_group all = {SIZES_MANY, {NULL, 0}};
    if (!q->found && !q->over && sizes_any(q->o, &all))
        better |= sizes_climb(q, &all);
    for (size_t i = 0; i < n && !q->found && !q->over; i++) {
        sizes_group one = {i, {NULL, 0}};
        if (q->o->of[i].axis == 0 && sizes_any(q->o, &one))
            better |= sizes_climb(q, &one);
    }
    return better;
}

/* Heights and widths that pictures have, then those of lines of text. */
static const int64_t sizes_common[][2] = {
    {224, 224}, {256, 256},   {320, 320}, {384, 384},  {416, 416},
    {448, 448}, {480, 480},   {512, 512}, {640, 640},  {736, 736},
    {768, 768}, {1024, 1024}, {48, 320},  {32, 320},   {32, 100},
    {64, 320},  {1024, 2048}, {480, 640}, {800, 1333},
};

/* Gives every pair of sizes that was guessed to be a picture row k. */
static bool sizes_set_pictures(open_sizes *o, size_t k)
{
    bool any = false;
    for (size_t i = 0; i + 1 < o->n; i++) {
        open_size *high = &o->of[i], *wide = high + 1;
        if (!high->picture || !wide->picture || high->how == SIZE_STATED ||
            high->axis + 1 != wide->axis)
            continue;
        any = true;
        high->value = sizes_common[k][0];
        wide->value = sizes_common[k][1];
    }
    return any;
}

/* Tries them in turn: the first that fits is taken, or a later one with which
 * all shapes come out as the file declares them. */
static void sizes_try_pictures(sizes_search *q)
{
    size_t n = sizeof sizes_common / sizeof *sizes_common, fits = n;
    bool fitted = q->found;
    uint32_t fewest = q->o->differ;
    open_size *before = arena_array(&q->o->mem, q->o->n, sizeof *before);
    if (!before)
        return;
    memcpy(before, q->o->of, q->o->n * sizeof *before);
    for (size_t k = 0; k < n && !q->over; k++) {
        if (!sizes_set_pictures(q->o, k))
            return;
        sizes_try(q);
        if (!q->found || (fitted && q->o->differ >= fewest))
            continue;
        fitted = true;
        fewest = q->o->differ;
        fits = k;
        if (fewest == 0)
            return;
    }
    memcpy(q->o->of, before, q->o->n * sizeof *before);
    if (fits < n)
        sizes_set_pictures(q->o, fits);
    q->found = q->stale = fitted;
}

clv_status onnx_find_sizes(open_sizes *o, onnx_attempt_fn *attempt, void *ctx,
                           clv_err *e)
{
    sizes_search q = {.o = o, .attempt = attempt, .ctx = ctx};
    sizes_try(&q);
    bool guessed = false;
    for (size_t i = 0; i < o->n; i++)
        guessed |= o->of[i].how != SIZE_ONE;
    if (o->n && guessed && (!q.found || o->differ))
        sizes_try_pictures(&q);
    if (!q.found && o->n && !q.over) {
        for (size_t i = 0; i < o->n; i++)
            if (o->of[i].how != SIZE_SUM)
                o->of[i].value = 1, o->of[i].how = SIZE_ONE;
        q.best = 0;
        if (guessed)
            sizes_try(&q);
        while (!q.found && !q.over && sizes_round(&q))
            ;
    }
    if (q.found)
        return q.stale ? attempt(ctx, &q.best, e) : CLV_OK;
    if (e)
        *e = q.why;
    return q.status;
}
