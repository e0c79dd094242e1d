/* regex.c - RegexFullMatch: whether a whole text matches a pattern.
 *
 * The pattern becomes a program of a few instructions, and all ways through it
 * are followed at once, one character at a time (Thompson, 1968): the time is
 * the product of both lengths, whatever the pattern.
 *
 *     a|b   split L1, L2;  L1: a; jump L3;  L2: b;  L3:
 *     a*    L1: split L2, L3;  L2: a; jump L1;  L3:
 *
 * The syntax is RE2's: . [..] \d \w \s \b ^ $ | ( ) * + ? {m,n}, (?: ) and
 * names of groups. Which way is greedy does not matter to a full match. What is
 * not known (\p, flags) is refused. Text and pattern are UTF-8. */
#include "backend/kernel.h"

#include <string.h>

enum {
    REGEX_MOST = 20000,  /* instructions; repeats are written out */
    REGEX_DEPTH = 200,   /* groups in groups */
    REGEX_REPEAT = 1000, /* as RE2 has it */
    LAST_CHAR = 0x10ffff,
};

typedef enum opcode {
    OP_RANGES, /* one character of ranges[x .. x+y), or none of them */
    OP_NOT_RANGES,
    OP_SPLIT, /* goes on at x and at y */
    OP_JUMP,
    OP_BEGIN, /* only at the beginning, the end, or where a word begins */
    OP_END,
    OP_WORD,
    OP_NO_WORD,
    OP_MATCH
} opcode;

typedef struct instruction {
    opcode op;
    uint32_t x, y;
} instruction;

typedef struct range {
    uint32_t from, to;
} range;

/* A pattern as it was read. */
typedef enum part_kind {
    PART_ONE,
    PART_BOTH,
    PART_EITHER,
    PART_REPEAT
} part_kind;

typedef struct part {
    part_kind kind;
    instruction one;
    const struct part *a, *b; /* NULL: nothing */
    int64_t least, most;      /* of a repeat; -1: without end */
} part;

typedef struct regex {
    kernel *k;
    const char *pattern, *at; /* which is being read, and where */
    instruction *code;
    range *ranges;
    size_t n_code, cap_code, n_ranges, cap_ranges;
    uint32_t depth, steps;
} regex;

/* -- reading --------------------------------------------------------------*/

static clv_status regex_fail(const regex *r, const char *what)
{
    return clv__fail(r->k->e, CLV_UNSUPPORTED, "pattern '%.100s', byte %zu: %s",
                     r->pattern, (size_t)(r->at - r->pattern), what);
}

static clv_status new_part(regex *r, part x, const part **out)
{
    part *own = arena_alloc(r->k->scratch, sizeof *own);
    if (!own)
        return clv__nomem(r->k->e);
    *own = x;
    *out = own;
    return CLV_OK;
}

/* A part of one instruction. */
static clv_status new_one(regex *r, opcode op, size_t x, size_t y,
                          const part **out)
{
    return new_part(r, (part){.one = {op, (uint32_t)x, (uint32_t)y}}, out);
}

static clv_status add_range(regex *r, uint32_t from, uint32_t to)
{
    if (!CLV_GROW(r->ranges, r->n_ranges, r->cap_ranges))
        return clv__nomem(r->k->e);
    r->ranges[r->n_ranges++] = (range){from, to};
    return CLV_OK;
}

/* The character at *s, which is moved on; bytes that are no UTF-8 are
 * characters of their own. */
static uint32_t next_char(const char **s, const char *end)
{
    const unsigned char *p = (const unsigned char *)*s;
    uint32_t c = p[0];
    int more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf8 ? 3 : 0;
    ++*s;
    if (!more || end - *s < more)
        return c;
    uint32_t all = c & (0x3fu >> more);
    for (int i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return c;
        all = all << 6 | (p[i] & 0x3fu);
    }
    *s += more;
    return all;
}

static uint32_t pattern_char(regex *r)
{
    return next_char(&r->at, r->at + strlen(r->at));
}

/* \d, \w, \s: the ranges; others are what is between. */
static clv_status class_ranges(regex *r, char name, bool *found)
{
    static const struct {
        char name;
        range ranges[4];
        uint32_t n;
    } classes[] = {
        {'d', {{'0', '9'}}, 1},
        {'w', {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, 4},
        {'s', {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}, 3},
    };
    *found = false;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        bool plain = classes[i].name == name;
        bool other = classes[i].name == (name | 0x20) && !plain;
        uint32_t from = 0;
        for (uint32_t k = 0; k < classes[i].n && (plain || other); k++) {
            range x = classes[i].ranges[k];
            if (plain)
                CLV_TRY(add_range(r, x.from, x.to));
            else if (x.from > from)
                CLV_TRY(add_range(r, from, x.from - 1));
            from = x.to + 1;
        }
        if (other)
            CLV_TRY(add_range(r, from, LAST_CHAR));
        *found |= plain || other;
    }
    return CLV_OK;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* \x41 or \x{41}, after the x. */
static clv_status read_hex(regex *r, uint32_t *c)
{
    bool braces = *r->at == '{';
    int n = 0;
    *c = 0;
    r->at += braces;
    for (; hex_digit(*r->at) >= 0 && n < (braces ? 6 : 2); n++)
        *c = *c << 4 | (uint32_t)hex_digit(*r->at++);
    if ((braces && *r->at++ != '}') || n < (braces ? 1 : 2) || *c > LAST_CHAR)
        return regex_fail(r, "a malformed \\x");
    return CLV_OK;
}

/* What stands after a backslash: a class, or one character. */
static clv_status read_escape(regex *r, bool *is_class, uint32_t *c)
{
    static const char from[] = "tnrfva", to[] = "\t\n\r\f\v\a";
    char name = *r->at;
    CLV_TRY(class_ranges(r, name, is_class));
    if (*is_class) {
        r->at++;
        return CLV_OK;
    }
    const char *control = name ? strchr(from, name) : NULL;
    bool letter = (name | 0x20) >= 'a' && (name | 0x20) <= 'z';
    if (name == 'x') {
        r->at++;
        return read_hex(r, c);
    }
    if (!name || (!control && letter) || (name >= '0' && name <= '9'))
        return regex_fail(r, "an escape that is not known");
    *c = pattern_char(r);
    if (control)
        *c = (uint32_t)to[control - from];
    return CLV_OK;
}

/* [:alpha:] and its like, at the bracket. */
static clv_status read_posix(regex *r)
{
    static const struct {
        const char *name;
        range ranges[4];
    } rows[] = {
        {"[:alpha:]", {{'A', 'Z'}, {'a', 'z'}}},
        {"[:digit:]", {{'0', '9'}}},
        {"[:alnum:]", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
        {"[:upper:]", {{'A', 'Z'}}},
        {"[:lower:]", {{'a', 'z'}}},
        {"[:space:]", {{'\t', '\r'}, {' ', ' '}}},
        {"[:punct:]", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
        {"[:xdigit:]", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
        {"[:word:]", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n = strlen(rows[i].name);
        if (strncmp(r->at, rows[i].name, n) != 0)
            continue;
        for (int k = 0; k < 4 && rows[i].ranges[k].to; k++)
            CLV_TRY(add_range(r, rows[i].ranges[k].from, rows[i].ranges[k].to));
        r->at += n;
        return CLV_OK;
    }
    return regex_fail(r, "a class that is not known");
}

/* A character or class between brackets, or the begin of a range. */
static clv_status read_member(regex *r)
{
    bool is_class = false;
    uint32_t from, to;
    if (r->at[0] == '[' && r->at[1] == ':')
        return read_posix(r);
    if (*r->at == '\\') {
        r->at++;
        CLV_TRY(read_escape(r, &is_class, &from));
    } else {
        from = pattern_char(r);
    }
    if (is_class)
        return CLV_OK;
    to = from;
    if (r->at[0] == '-' && r->at[1] && r->at[1] != ']') {
        r->at++;
        bool escaped = *r->at == '\\';
        r->at += escaped;
        if (escaped)
            CLV_TRY(read_escape(r, &is_class, &to));
        else
            to = pattern_char(r);
    }
    if (is_class || to < from)
        return regex_fail(r, "a range that ends before it begins");
    return add_range(r, from, to);
}

static clv_status new_ranges(regex *r, size_t first, bool not, const part **out)
{
    return new_one(r, not ? OP_NOT_RANGES : OP_RANGES, first,
                   r->n_ranges - first, out);
}

static clv_status read_brackets(regex *r, const part **out)
{
    size_t first = r->n_ranges;
    bool not = *r->at == '^';
    r->at += not ;
    do { /* a bracket that comes first is a character */
        if (!*r->at)
            return regex_fail(r, "a [ without its ]");
        CLV_TRY(read_member(r));
    } while (*r->at != ']');
    r->at++;
    return new_ranges(r, first, not, out);
}

static clv_status read_choice(regex *r, const part **out);

/* After the bracket. */
static clv_status read_group(regex *r, const part **out)
{
    if (*r->at == '?') {
        bool named = r->at[1] == 'P' && r->at[2] == '<';
        if (named || (r->at[1] == '<' && r->at[2] != '=' && r->at[2] != '!')) {
            const char *end = strchr(r->at, '>');
            r->at = end ? end + 1 : r->at + strlen(r->at);
        } else if (r->at[1] == ':') {
            r->at += 2;
        } else {
            return regex_fail(r, "flags and looking around are not known");
        }
    }
    if (++r->depth > REGEX_DEPTH)
        return regex_fail(r, "groups nested too deep");
    CLV_TRY(read_choice(r, out));
    r->depth--;
    if (*r->at != ')')
        return regex_fail(r, "a ( without its )");
    r->at++;
    return CLV_OK;
}

static clv_status read_after_backslash(regex *r, const part **out)
{
    static const struct {
        char name;
        opcode op;
    } places[] = {
        {'b', OP_WORD}, {'B', OP_NO_WORD}, {'A', OP_BEGIN}, {'z', OP_END}};
    bool is_class;
    uint32_t c = 0;
    size_t first = r->n_ranges;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (*r->at == places[i].name) {
            r->at++;
            return new_one(r, places[i].op, 0, 0, out);
        }
    CLV_TRY(read_escape(r, &is_class, &c));
    if (!is_class)
        CLV_TRY(add_range(r, c, c));
    return new_ranges(r, first, false, out);
}

static clv_status read_atom(regex *r, const part **out)
{
    size_t first = r->n_ranges;
    uint32_t c = pattern_char(r);
    switch (c) {
    case '(':
        return read_group(r, out);
    case '[':
        return read_brackets(r, out);
    case '\\':
        return read_after_backslash(r, out);
    case '^':
        return new_one(r, OP_BEGIN, 0, 0, out);
    case '$':
        return new_one(r, OP_END, 0, 0, out);
    case '*':
    case '+':
    case '?':
        return regex_fail(r, "nothing to repeat");
    case '.':
        c = '\n'; /* all but this */
        /* fall through */
    default:
        CLV_TRY(add_range(r, c, c));
        return new_ranges(r, first, r->at[-1] == '.' && c == '\n', out);
    }
}

/* {m}, {m,}, {m,n}; false, and nothing read, when it is none of them. */
static bool read_counts(regex *r, int64_t *least, int64_t *most)
{
    const char *s = r->at + 1;
    *least = 0;
    if (*r->at != '{' || *s < '0' || *s > '9')
        return false;
    for (; *s >= '0' && *s <= '9' && *least <= REGEX_REPEAT; s++)
        *least = *least * 10 + (*s - '0');
    *most = *least;
    if (*s == ',') {
        *most = s[1] == '}' ? -1 : 0;
        for (s++; *s >= '0' && *s <= '9' && *most <= REGEX_REPEAT; s++)
            *most = *most * 10 + (*s - '0');
    }
    if (*s != '}')
        return false;
    r->at = s + 1;
    return true;
}

static clv_status read_repeat(regex *r, const part **out)
{
    CLV_TRY(read_atom(r, out));
    for (;;) {
        int64_t least = *r->at == '+', most = *r->at == '?' ? 1 : -1;
        if (*r->at && strchr("*+?", *r->at))
            r->at++;
        else if (!read_counts(r, &least, &most))
            return CLV_OK;
        if (least > REGEX_REPEAT || most > REGEX_REPEAT ||
            (most >= 0 && most < least))
            return regex_fail(r, "a repeat of more than 1000, or of none");
        r->at += *r->at == '?'; /* which way comes first does not matter */
        part x = {.kind = PART_REPEAT, .a = *out, .least = least, .most = most};
        CLV_TRY(new_part(r, x, out));
    }
}

static clv_status read_row(regex *r, const part **out)
{
    *out = NULL;
    while (*r->at && *r->at != '|' && *r->at != ')') {
        const part *next = NULL;
        CLV_TRY(read_repeat(r, &next));
        CLV_TRY(
            new_part(r, (part){.kind = PART_BOTH, .a = *out, .b = next}, out));
    }
    return CLV_OK;
}

static clv_status read_choice(regex *r, const part **out)
{
    CLV_TRY(read_row(r, out));
    while (*r->at == '|') {
        const part *other = NULL;
        r->at++;
        CLV_TRY(read_row(r, &other));
        CLV_TRY(new_part(r, (part){.kind = PART_EITHER, .a = *out, .b = other},
                         out));
    }
    return CLV_OK;
}

/* -- the program ----------------------------------------------------------*/

static clv_status emit(regex *r, opcode op, size_t x, size_t y)
{
    if (r->n_code >= REGEX_MOST)
        return regex_fail(r, "it is too long when repeats are written out");
    if (!CLV_GROW(r->code, r->n_code, r->cap_code))
        return clv__nomem(r->k->e);
    r->code[r->n_code++] = (instruction){op, (uint32_t)x, (uint32_t)y};
    return CLV_OK;
}

static clv_status regex_compile(regex *r, const part *p);

static clv_status compile_either(regex *r, const part *p)
{
    size_t split = r->n_code;
    CLV_TRY(emit(r, OP_SPLIT, split + 1, 0));
    CLV_TRY(regex_compile(r, p->a));
    size_t jump = r->n_code;
    CLV_TRY(emit(r, OP_JUMP, 0, 0));
    r->code[split].y = (uint32_t)r->n_code;
    CLV_TRY(regex_compile(r, p->b));
    r->code[jump].x = (uint32_t)r->n_code;
    return CLV_OK;
}

/* As often as it must; then each that may be left out behind a split. */
static clv_status compile_repeat(regex *r, const part *p)
{
    for (int64_t i = 0; i < p->least; i++)
        CLV_TRY(regex_compile(r, p->a));
    int64_t more = p->most < 0 ? 1 : p->most - p->least;
    for (int64_t i = 0; i < more; i++) {
        size_t split = r->n_code;
        CLV_TRY(emit(r, OP_SPLIT, split + 1, 0));
        CLV_TRY(regex_compile(r, p->a));
        if (p->most < 0)
            CLV_TRY(emit(r, OP_JUMP, split, 0));
        r->code[split].y = (uint32_t)r->n_code;
    }
    return CLV_OK;
}

static clv_status regex_compile(regex *r, const part *p)
{
    if (!p)
        return CLV_OK;
    if (r->steps++ > REGEX_MOST)
        return regex_fail(r, "it is too long when repeats are written out");
    switch (p->kind) {
    case PART_ONE:
        return emit(r, p->one.op, p->one.x, p->one.y);
    case PART_BOTH:
        CLV_TRY(regex_compile(r, p->a));
        return regex_compile(r, p->b);
    case PART_EITHER:
        return compile_either(r, p);
    default:
        return compile_repeat(r, p);
    }
}

/* -- running --------------------------------------------------------------*/

/* Instructions that are reached before a character, each once. */
typedef struct reached {
    uint32_t *list, n;
    uint32_t *seen; /* per instruction: the last turn that reached it */
    uint32_t *stack;
    uint32_t turn;
} reached;

/* What a place in the text is. */
typedef struct place {
    bool begin, end, word; /* at a word's begin or end */
} place;

static bool place_allows(opcode op, place at)
{
    return op == OP_BEGIN  ? at.begin
           : op == OP_END  ? at.end
           : op == OP_WORD ? at.word
                           : !at.word;
}

/* Adds what can be reached from `from` without a character. */
static void reach(const regex *r, reached *to, uint32_t from, place at)
{
    uint32_t n = 0;
    to->stack[n++] = from;
    while (n) {
        uint32_t i = to->stack[--n];
        const instruction *x = &r->code[i];
        if (to->seen[i] == to->turn)
            continue;
        to->seen[i] = to->turn;
        if (x->op == OP_JUMP || x->op == OP_SPLIT)
            to->stack[n++] = x->x;
        if (x->op == OP_SPLIT)
            to->stack[n++] = x->y;
        if (x->op == OP_RANGES || x->op == OP_NOT_RANGES || x->op == OP_MATCH)
            to->list[to->n++] = i;
        else if (x->op != OP_JUMP && x->op != OP_SPLIT &&
                 place_allows(x->op, at))
            to->stack[n++] = i + 1;
    }
}

static bool regex_takes(const regex *r, const instruction *x, uint32_t c)
{
    bool in = false;
    for (uint32_t i = 0; i < x->y && !in; i++)
        in = c >= r->ranges[x->x + i].from && c <= r->ranges[x->x + i].to;
    return x->op == OP_RANGES ? in : x->op == OP_NOT_RANGES && !in;
}

static bool is_word(int c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           c == '_';
}

static place place_at(clv_text t, const char *s)
{
    bool begin = s == t.s, end = s == t.s + t.n;
    bool before = !begin && is_word((unsigned char)s[-1]);
    bool behind = !end && is_word((unsigned char)*s);
    return (place){begin, end, before != behind};
}

/* Follows all ways through the program; `lists` has room for five lists. */
static bool regex_matches(const regex *r, clv_text t, uint32_t *lists)
{
    size_t n = r->n_code + 1;
    reached now = {lists, 0, lists + 2 * n, lists + 3 * n, 0};
    uint32_t *other = lists + n;
    const char *s = t.s ? t.s : "", *end = s + t.n;
    t.s = s;
    memset(now.seen, 0, n * sizeof *now.seen);
    now.turn = 1;
    reach(r, &now, 0, place_at(t, s));
    while (s < end && now.n) {
        uint32_t c = next_char(&s, end), *from = now.list, many = now.n;
        now.list = other;
        other = from;
        now.n = 0;
        now.turn++;
        for (uint32_t i = 0; i < many; i++)
            if (regex_takes(r, &r->code[from[i]], c))
                reach(r, &now, from[i] + 1, place_at(t, s));
    }
    for (uint32_t i = 0; i < now.n && s == end; i++)
        if (r->code[now.list[i]].op == OP_MATCH)
            return true;
    return false;
}

static clv_status match_all(regex *r)
{
    kernel *k = r->k;
    const part *all;
    CLV_TRY(read_choice(r, &all));
    if (*r->at)
        return regex_fail(r, "a ) without its (");
    CLV_TRY(regex_compile(r, all));
    CLV_TRY(emit(r, OP_MATCH, 0, 0));
    /* two lists, what was seen, and a stack of two per instruction */
    uint32_t *lists =
        arena_array(k->scratch, (r->n_code + 1) * 5, sizeof *lists);
    if (!lists)
        return clv__nomem(k->e);
    for (int64_t i = 0, n = numel(k->in[0]); i < n; i++)
        put_i(&k->out[0], i,
              regex_matches(r, clv_tensor_text(k->in[0], i), lists));
    return CLV_OK;
}

clv_status kernel_regex_match(kernel *k)
{
    const char *pattern = attr_str(k->n, CLV_A_PATTERN);
    CLV_TRY(need_texts(k));
    regex r = {.k = k, .pattern = pattern, .at = pattern};
    clv_status s = match_all(&r);
    clv__free(r.code);
    clv__free(r.ranges);
    return s;
}
