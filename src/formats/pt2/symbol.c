/* symbol.c - symbols that stand for sizes, and expressions over them.
 *
 * Two spellings occur: infix ("2*s0 + 1") up to torch 2.5, and since then the
 * calls that make the expression in sympy ("Add(Mul(Integer(2), Symbol('s0',
 * positive=True, integer=True)), Integer(1))"). One grammar reads both:
 *
 *   truth    sum [<|<=|>|>=|==|!= sum]
 *   sum      product (+|- product)*
 *   product  power (*|/|//|% power)*
 *   power    [-] primary [** power]
 *   primary  number | name | name ( argument, .. ) | ( truth )
 *   argument truth | 'text' | name = anything
 *
 * Numbers are doubles, since quotients occur on the way; a size must be whole
 * in the end. What holds is 1, else 0. */
#include "formats/pt2/pt2.h"

#include "core/decimal.h"

#include <math.h>
#include <string.h>

enum { SYMBOL_MAX_DEPTH = 64, SYMBOL_MAX_ARGS = 16 };
static const double symbol_exact = 9007199254740992.0; /* 2^53 */

typedef struct symbol_text {
    const pt2_symbols *s;
    const char *p;
    int depth;
    bool failed;
} symbol_text;

/* -- words ----------------------------------------------------------------*/

static void symbol_space(symbol_text *t)
{
    while (*t->p == ' ')
        t->p++;
}

static bool symbol_eat(symbol_text *t, const char *word)
{
    size_t n = strlen(word);
    symbol_space(t);
    if (strncmp(t->p, word, n) != 0)
        return false;
    t->p += n;
    return true;
}

static bool symbol_is_letter(char c)
{
    return clv__is_alnum(c) || c == '_' || c == '.';
}

static double symbol_fail(symbol_text *t)
{
    t->failed = true;
    return 0;
}

static double symbol_truth(symbol_text *t);

/* -- calls ----------------------------------------------------------------*/

typedef enum symbol_fn_kind {
    SYMBOL_ADD,
    SYMBOL_MUL,
    SYMBOL_POW,
    SYMBOL_FLOOR_DIV,
    SYMBOL_CEIL_DIV,
    SYMBOL_DIV,
    SYMBOL_MOD,
    SYMBOL_MAX,
    SYMBOL_MIN,
    SYMBOL_LESS,
    SYMBOL_LESS_EQUAL,
    SYMBOL_GREATER,
    SYMBOL_GREATER_EQUAL,
    SYMBOL_EQUAL,
    SYMBOL_UNEQUAL,
    SYMBOL_AND,
    SYMBOL_OR,
    SYMBOL_NOT,
    SYMBOL_SAME,
    SYMBOL_FLOOR,
    SYMBOL_CEIL,
    SYMBOL_TRUNC,
    SYMBOL_ROUND
} symbol_fn_kind;

static const struct symbol_fn {
    const char *name;
    symbol_fn_kind kind;
} symbol_fns[] = {
    {"Add", SYMBOL_ADD},
    {"Mul", SYMBOL_MUL},
    {"Pow", SYMBOL_POW},
    {"PowByNatural", SYMBOL_POW},
    {"FloorDiv", SYMBOL_FLOOR_DIV},
    {"PythonicFloorDiv", SYMBOL_FLOOR_DIV},
    {"CleanDiv", SYMBOL_FLOOR_DIV},
    {"CeilDiv", SYMBOL_CEIL_DIV},
    {"Rational", SYMBOL_DIV},
    {"TrueDiv", SYMBOL_DIV},
    {"IntTrueDiv", SYMBOL_DIV},
    {"FloatTrueDiv", SYMBOL_DIV},
    {"Mod", SYMBOL_MOD},
    {"PythonMod", SYMBOL_MOD},
    {"Max", SYMBOL_MAX},
    {"Min", SYMBOL_MIN},
    {"StrictLessThan", SYMBOL_LESS},
    {"LessThan", SYMBOL_LESS_EQUAL},
    {"StrictGreaterThan", SYMBOL_GREATER},
    {"GreaterThan", SYMBOL_GREATER_EQUAL},
    {"Equality", SYMBOL_EQUAL},
    {"Eq", SYMBOL_EQUAL},
    {"Unequality", SYMBOL_UNEQUAL},
    {"Ne", SYMBOL_UNEQUAL},
    {"And", SYMBOL_AND},
    {"Or", SYMBOL_OR},
    {"Not", SYMBOL_NOT},
    {"Integer", SYMBOL_SAME},
    {"Float", SYMBOL_SAME},
    {"ToFloat", SYMBOL_SAME},
    {"Identity", SYMBOL_SAME},
    {"floor", SYMBOL_FLOOR},
    {"FloorToInt", SYMBOL_FLOOR},
    {"ceiling", SYMBOL_CEIL},
    {"CeilToInt", SYMBOL_CEIL},
    {"TruncToInt", SYMBOL_TRUNC},
    {"Trunc", SYMBOL_TRUNC},
    {"RoundToInt", SYMBOL_ROUND},
};

static double symbol_compare(symbol_fn_kind kind, double a, double b)
{
    switch (kind) {
    case SYMBOL_LESS:
        return a < b;
    case SYMBOL_LESS_EQUAL:
        return a <= b;
    case SYMBOL_GREATER:
        return a > b;
    case SYMBOL_GREATER_EQUAL:
        return a >= b;
    case SYMBOL_EQUAL:
        return !(a < b) && !(a > b);
    case SYMBOL_UNEQUAL:
        return a < b || a > b;
    case SYMBOL_AND:
        return a > 0 && b > 0;
    case SYMBOL_OR:
        return a > 0 || b > 0;
    default:
        return a; /* Float(1.5, precision=53) */
    }
}

/* Operators of two arguments; all but the last few take any number and fold. */
static double symbol_two(symbol_text *t, symbol_fn_kind kind, double a,
                         double b)
{
    bool divides = kind == SYMBOL_FLOOR_DIV || kind == SYMBOL_CEIL_DIV ||
                   kind == SYMBOL_DIV || kind == SYMBOL_MOD;
    if (divides && !(b < 0) && !(b > 0))
        return symbol_fail(t);
    switch (kind) {
    case SYMBOL_ADD:
        return a + b;
    case SYMBOL_MUL:
        return a * b;
    case SYMBOL_POW:
        return pow(a, b);
    case SYMBOL_FLOOR_DIV:
        return floor(a / b);
    case SYMBOL_CEIL_DIV:
        return ceil(a / b);
    case SYMBOL_DIV:
        return a / b;
    case SYMBOL_MOD:
        return a - floor(a / b) * b;
    case SYMBOL_MAX:
        return a > b ? a : b;
    case SYMBOL_MIN:
        return a < b ? a : b;
    default:
        return symbol_compare(kind, a, b);
    }
}

static double symbol_one(symbol_fn_kind kind, double a)
{
    switch (kind) {
    case SYMBOL_FLOOR:
        return floor(a);
    case SYMBOL_CEIL:
        return ceil(a);
    case SYMBOL_TRUNC:
        return trunc(a);
    case SYMBOL_ROUND:
        return nearbyint(a);
    case SYMBOL_NOT:
        return !(a > 0);
    default:
        return a;
    }
}

/* Skips "positive=True". */
static bool symbol_keyword(symbol_text *t)
{
    const char *p = t->p;
    while (symbol_is_letter(*p))
        p++;
    if (p == t->p || *p != '=' || p[1] == '=')
        return false;
    p++;
    while (symbol_is_letter(*p) || *p == '\'')
        p++;
    t->p = p;
    return true;
}

static double symbol_value(symbol_text *t, const char *name, size_t len)
{
    uint32_t i = strmap_get(&t->s->names, name, len);
    if (i == CLV_NONE || !t->s->list[i].known)
        return symbol_fail(t);
    return (double)t->s->list[i].value;
}

/* The rest of Symbol('s0', ...), after the parenthesis that opens. */
static double symbol_named(symbol_text *t)
{
    symbol_space(t);
    char quote = *t->p;
    const char *end =
        quote == '\'' || quote == '"' ? strchr(t->p + 1, quote) : NULL;
    if (!end)
        return symbol_fail(t);
    double v = symbol_value(t, t->p + 1, (size_t)(end - t->p - 1));
    t->p = end + 1;
    while (symbol_eat(t, ",")) {
        symbol_space(t);
        if (!symbol_keyword(t))
            return symbol_fail(t);
    }
    return symbol_eat(t, ")") ? v : symbol_fail(t);
}

static double symbol_call(symbol_text *t, const char *name, size_t len)
{
    const struct symbol_fn *fn = NULL;
    for (size_t i = 0; i < sizeof symbol_fns / sizeof *symbol_fns; i++)
        if (strlen(symbol_fns[i].name) == len &&
            !memcmp(symbol_fns[i].name, name, len))
            fn = &symbol_fns[i];
    if (!fn)
        return symbol_fail(t);
    double all = 0;
    int n = 0;
    do {
        symbol_space(t);
        if (symbol_keyword(t))
            continue;
        double x = symbol_truth(t);
        all = n++ ? symbol_two(t, fn->kind, all, x) : x;
    } while (!t->failed && n < SYMBOL_MAX_ARGS && symbol_eat(t, ","));
    if (!symbol_eat(t, ")"))
        return symbol_fail(t);
    return symbol_one(fn->kind, all);
}

/* -- the grammar ----------------------------------------------------------*/

static double symbol_primary(symbol_text *t)
{
    symbol_space(t);
    if (symbol_eat(t, "(")) {
        double x = symbol_truth(t);
        return symbol_eat(t, ")") ? x : symbol_fail(t);
    }
    if (*t->p == '\'') { /* Float('1.5', precision=53) */
        t->p++;
        double x = symbol_primary(t);
        return symbol_eat(t, "'") ? x : symbol_fail(t);
    }
    if (clv__is_digit(*t->p)) {
        char *end;
        double x = clv_text_double(t->p, &end);
        t->p = end;
        return x;
    }
    const char *name = t->p;
    while (symbol_is_letter(*t->p))
        t->p++;
    size_t len = (size_t)(t->p - name);
    if (!len)
        return symbol_fail(t);
    if (!symbol_eat(t, "("))
        return symbol_value(t, name, len);
    return len == 6 && !memcmp(name, "Symbol", len) ? symbol_named(t)
                                                    : symbol_call(t, name, len);
}

static double symbol_power(symbol_text *t)
{
    if (++t->depth > SYMBOL_MAX_DEPTH || t->failed)
        return symbol_fail(t);
    bool minus = symbol_eat(t, "-");
    double x = symbol_primary(t);
    if (symbol_eat(t, "**"))
        x = pow(x, symbol_power(t));
    t->depth--;
    return minus ? -x : x;
}

static double symbol_product(symbol_text *t)
{
    double x = symbol_power(t);
    while (!t->failed) {
        if (symbol_eat(t, "//"))
            x = symbol_two(t, SYMBOL_FLOOR_DIV, x, symbol_power(t));
        else if (symbol_eat(t, "*"))
            x *= symbol_power(t);
        else if (symbol_eat(t, "/"))
            x = symbol_two(t, SYMBOL_DIV, x, symbol_power(t));
        else if (symbol_eat(t, "%"))
            x = symbol_two(t, SYMBOL_MOD, x, symbol_power(t));
        else
            break;
    }
    return x;
}

static double symbol_sum(symbol_text *t)
{
    double x = symbol_product(t);
    while (!t->failed) {
        if (symbol_eat(t, "+"))
            x += symbol_product(t);
        else if (symbol_eat(t, "-"))
            x -= symbol_product(t);
        else
            break;
    }
    return x;
}

static double symbol_truth(symbol_text *t)
{
    static const struct symbol_fn marks[] = {
        {"<=", SYMBOL_LESS_EQUAL},    {"<", SYMBOL_LESS},
        {">=", SYMBOL_GREATER_EQUAL}, {">", SYMBOL_GREATER},
        {"==", SYMBOL_EQUAL},         {"!=", SYMBOL_UNEQUAL}};
    double x = symbol_sum(t);
    for (size_t i = 0; i < sizeof marks / sizeof *marks && !t->failed; i++)
        if (symbol_eat(t, marks[i].name))
            return symbol_compare(marks[i].kind, x, symbol_sum(t));
    return x;
}

bool pt2_symbol_number(const pt2_symbols *s, const char *expr, double *out)
{
    symbol_text t = {.s = s, .p = expr};
    *out = symbol_truth(&t);
    symbol_space(&t);
    return !t.failed && !*t.p;
}

bool pt2_symbol_eval(const pt2_symbols *s, const char *expr, int64_t *out)
{
    double x;
    bool whole = pt2_symbol_number(s, expr, &x) && x > -symbol_exact &&
                 x < symbol_exact && !(floor(x) < x);
    *out = whole ? (int64_t)x : 0;
    return whole;
}

/* -- symbols --------------------------------------------------------------*/

uint32_t pt2_symbol_at(pt2_symbols *s, const char *name, size_t len)
{
    uint32_t i = strmap_get(&s->names, name, len);
    if (i != CLV_NONE)
        return i;
    if (!CLV_GROW(s->list, s->n, s->cap) ||
        !strmap_put(&s->names, name, len, s->n))
        return CLV_NONE;
    s->list[s->n] = (pt2_symbol){.name = name, .max = INT64_MAX};
    return s->n++;
}

bool pt2_symbol_alone(const char *expr, const char **name, size_t *len)
{
    static const char call[] = "Symbol('";
    bool long_form = !strncmp(expr, call, sizeof call - 1);
    *name = long_form ? expr + sizeof call - 1 : expr;
    const char *end = *name;
    while (clv__is_alnum(*end) || *end == '_')
        end++;
    *len = (size_t)(end - *name);
    if (*len == 0 || clv__is_digit(**name))
        return false;
    if (!long_form)
        return *end == '\0';
    const char *close = strchr(end, ')');
    return *end == '\'' && close && close[1] == '\0';
}

/* The only symbol of an expression whose value nobody gave. */
static uint32_t symbol_free_one(const pt2_symbols *s, const char *expr)
{
    uint32_t found = CLV_NONE;
    for (const char *p = expr; *p; p++) {
        if (!symbol_is_letter(*p))
            continue;
        const char *name = p;
        while (symbol_is_letter(*p))
            p++;
        uint32_t i = strmap_get(&s->names, name, (size_t)(p - name));
        if (i != CLV_NONE && !s->list[i].given) {
            if (found != CLV_NONE && found != i)
                return CLV_NONE;
            found = i;
        }
        if (!*p)
            break;
    }
    return found;
}

/* Expressions are straight lines in most programs: two points tell. */
bool pt2_symbol_solve(pt2_symbols *s, const char *expr, int64_t want)
{
    uint32_t i = symbol_free_one(s, expr);
    int64_t at, next, check;
    if (i == CLV_NONE || !s->list[i].known)
        return false;
    pt2_symbol *x = &s->list[i], old = *x;
    bool ok = pt2_symbol_eval(s, expr, &at);
    x->value++;
    ok = ok && pt2_symbol_eval(s, expr, &next);
    x->value--;
    if (!ok || next == at || (want - at) % (next - at))
        return false;
    x->value += (want - at) / (next - at);
    x->given = true;
    if (pt2_symbol_eval(s, expr, &check) && check == want)
        return true;
    *x = old;
    return false;
}

void pt2_symbols_free(pt2_symbols *s)
{
    strmap_free(&s->names);
    clv__free(s->list);
}
