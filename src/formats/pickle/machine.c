/* machine.c - the opcodes of pickles, protocols 0 to 5.
 *
 * The stack holds nodes; a mark is a NULL on it. The memo is an array, since
 * picklers number what they put from 0. */
#include "formats/pickle/pickle.h"

#include "core/decimal.h"

#include <stdlib.h>
#include <string.h>

typedef struct pickle_machine {
    arena *mem;
    const uint8_t *start, *p, *end;
    size_t base;
    pickle_node **stack;
    uint32_t n;
    size_t cap;
    pickle_node **memo;
    uint32_t n_memo;
    size_t cap_memo;
    uint32_t op_at; /* byte of the opcode being run */
    bool done;
    clv_err *e;
} pickle_machine;

static clv_status machine_bad(const pickle_machine *m, const char *what)
{
    return clv__fail(m->e, CLV_FORMAT, "byte %zu: pickle: %s",
                     m->base + m->op_at, what);
}

/* -- bytes ----------------------------------------------------------------*/

static size_t machine_left(const pickle_machine *m)
{
    return (size_t)(m->end - m->p);
}

/* A little-endian number of n bytes. */
static clv_status machine_number(pickle_machine *m, int n, uint64_t *out)
{
    *out = 0;
    if (machine_left(m) < (size_t)n)
        return machine_bad(m, "it ends in the middle");
    for (int i = n; i-- > 0;)
        *out = *out << 8 | m->p[i];
    m->p += n;
    return CLV_OK;
}

static clv_status machine_bytes(pickle_machine *m, uint64_t n,
                                const uint8_t **out)
{
    *out = m->p;
    if (n > machine_left(m) || n >= UINT32_MAX)
        return machine_bad(m, "it ends in the middle of a text");
    m->p += n;
    return CLV_OK;
}

/* The text up to the end of the line. */
static clv_status machine_line(pickle_machine *m, const char **text, size_t *n)
{
    const uint8_t *nl = memchr(m->p, '\n', machine_left(m));
    *text = (const char *)m->p;
    *n = 0;
    if (!nl)
        return machine_bad(m, "a line that does not end");
    *n = (size_t)(nl - m->p);
    m->p = nl + 1;
    return CLV_OK;
}

/* -- nodes and the stack --------------------------------------------------*/

static clv_status machine_push(pickle_machine *m, pickle_node *n)
{
    if (!CLV_GROW(m->stack, m->n, m->cap))
        return clv__nomem(m->e);
    m->stack[m->n++] = n;
    return CLV_OK;
}

static clv_status machine_new(pickle_machine *m, pickle_kind kind,
                              pickle_node **out)
{
    pickle_node *n = arena_zalloc(m->mem, sizeof *n);
    *out = n;
    if (!n)
        return clv__nomem(m->e);
    n->kind = kind;
    n->at = m->op_at;
    return machine_push(m, n);
}

static clv_status machine_push_int(pickle_machine *m, int64_t i)
{
    pickle_node *n;
    CLV_TRY(machine_new(m, PICKLE_INT, &n));
    n->u.i = i;
    return CLV_OK;
}

static clv_status machine_push_bool(pickle_machine *m, bool b)
{
    pickle_node *n;
    CLV_TRY(machine_new(m, PICKLE_BOOL, &n));
    n->u.b = b;
    return CLV_OK;
}

static clv_status machine_push_float(pickle_machine *m, double f)
{
    pickle_node *n;
    CLV_TRY(machine_new(m, PICKLE_FLOAT, &n));
    n->u.f = f;
    return CLV_OK;
}

static clv_status machine_push_text(pickle_machine *m, pickle_kind kind,
                                    const void *text, size_t len)
{
    pickle_node *n;
    CLV_TRY(machine_new(m, kind, &n));
    n->u.s = arena_strndup(m->mem, text, len);
    n->n = (uint32_t)len;
    return n->u.s ? CLV_OK : clv__nomem(m->e);
}

static clv_status machine_pop(pickle_machine *m, pickle_node **out)
{
    *out = NULL;
    if (m->n == 0 || !m->stack[m->n - 1])
        return machine_bad(m, "the stack is empty");
    *out = m->stack[--m->n];
    return CLV_OK;
}

static clv_status machine_top(const pickle_machine *m, pickle_node **out)
{
    *out = NULL;
    if (m->n == 0 || !m->stack[m->n - 1])
        return machine_bad(m, "the stack is empty");
    *out = m->stack[m->n - 1];
    return CLV_OK;
}

/* Place of the item behind the last mark; the mark goes when the items do. */
static clv_status machine_mark(const pickle_machine *m, uint32_t *first)
{
    uint32_t i = m->n;
    while (i > 0 && m->stack[i - 1])
        i--;
    *first = i;
    return i ? CLV_OK : machine_bad(m, "there is no mark");
}

/* Appends an item to a list, a dict, a set or an object that is like one. */
static clv_status machine_append(pickle_machine *m, pickle_node *to,
                                 pickle_node *item)
{
    bool holds = to->kind == PICKLE_LIST || to->kind == PICKLE_DICT ||
                 to->kind == PICKLE_SET || to->kind == PICKLE_TUPLE ||
                 to->kind == PICKLE_OBJECT;
    if (!holds)
        return machine_bad(m, "items for what cannot hold any");
    if (to->n == to->cap) {
        uint32_t cap = to->cap ? 2 * to->cap : 4;
        pickle_node **items = arena_array(m->mem, cap, sizeof *items);
        if (!items || cap < to->cap)
            return clv__nomem(m->e);
        if (to->n)
            memcpy(items, to->u.items, to->n * sizeof *items);
        to->u.items = items;
        to->cap = cap;
    }
    to->u.items[to->n++] = item;
    return CLV_OK;
}

/* Moves all items behind the last mark into `to`, and the mark away. */
static clv_status machine_take(pickle_machine *m, pickle_node *to)
{
    uint32_t first;
    CLV_TRY(machine_mark(m, &first));
    for (uint32_t i = first; i < m->n; i++)
        CLV_TRY(machine_append(m, to, m->stack[i]));
    m->n = first - 1;
    return CLV_OK;
}

/* A list, tuple or dict of all items behind the last mark. */
static clv_status machine_gather(pickle_machine *m, pickle_kind kind)
{
    pickle_node *n = arena_zalloc(m->mem, sizeof *n);
    if (!n)
        return clv__nomem(m->e);
    n->kind = kind;
    n->at = m->op_at;
    CLV_TRY(machine_take(m, n));
    if (kind == PICKLE_DICT && n->n % 2)
        return machine_bad(m, "a key without a value");
    return machine_push(m, n);
}

/* A tuple of the last few items. */
static clv_status machine_tuple(pickle_machine *m, uint32_t count)
{
    pickle_node *items[3], *n;
    for (uint32_t i = count; i-- > 0;)
        CLV_TRY(machine_pop(m, &items[i]));
    CLV_TRY(machine_new(m, PICKLE_TUPLE, &n));
    for (uint32_t i = 0; i < count; i++)
        CLV_TRY(machine_append(m, n, items[i]));
    return CLV_OK;
}

/* Adds the items behind the mark to what lies before it. */
static clv_status machine_add_items(pickle_machine *m, bool pairs)
{
    uint32_t first;
    CLV_TRY(machine_mark(m, &first));
    if (first < 2 || !m->stack[first - 2])
        return machine_bad(m, "items for nothing");
    if (pairs && (m->n - first) % 2)
        return machine_bad(m, "a key without a value");
    return machine_take(m, m->stack[first - 2]);
}

static clv_status machine_set_item(pickle_machine *m)
{
    pickle_node *key, *value, *to;
    CLV_TRY(machine_pop(m, &value));
    CLV_TRY(machine_pop(m, &key));
    CLV_TRY(machine_top(m, &to));
    CLV_TRY(machine_append(m, to, key));
    return machine_append(m, to, value);
}

static clv_status machine_append_one(pickle_machine *m)
{
    pickle_node *item, *to;
    CLV_TRY(machine_pop(m, &item));
    CLV_TRY(machine_top(m, &to));
    return machine_append(m, to, item);
}

/* -- the memo -------------------------------------------------------------*/

static clv_status machine_put(pickle_machine *m, uint64_t i)
{
    pickle_node *top;
    CLV_TRY(machine_top(m, &top));
    if (i >= (uint64_t)(m->end - m->start))
        return machine_bad(m, "a memo out of proportion to the pickle");
    if (!CLV_RESERVE(m->memo, (size_t)i + 1, m->cap_memo))
        return clv__nomem(m->e);
    while (m->n_memo <= i)
        m->memo[m->n_memo++] = NULL;
    m->memo[i] = top;
    return CLV_OK;
}

static clv_status machine_recall(pickle_machine *m, uint64_t i)
{
    if (i >= m->n_memo || !m->memo[i])
        return machine_bad(m, "it asks for what it never stored");
    return machine_push(m, m->memo[i]);
}

/* -- calls that are none --------------------------------------------------*/

/* Modules whose functions a pickle calls to do harm. */
static bool machine_is_harmful(const char *module, const char *name)
{
    static const char *const modules[] = {"os",         "posix",
                                          "nt",         "subprocess",
                                          "sys",        "shutil",
                                          "socket",     "runpy",
                                          "importlib",  "pty",
                                          "ctypes",     "pickle",
                                          "_pickle",    "commands",
                                          "code",       "webbrowser",
                                          "operator",   "timeit",
                                          "pdb",        "bdb",
                                          "asyncio",    "multiprocessing",
                                          "platform",   "pip",
                                          "pydoc",      "torch.hub",
                                          "cProfile",   "profile",
                                          "urllib",     "requests",
                                          "http",       "smtplib",
                                          "marshal",    "builtins",
                                          "__builtin__"};
    static const char *const plain[] = {
        "set",       "frozenset", "dict",      "list",    "tuple",
        "int",       "float",     "bool",      "str",     "bytes",
        "bytearray", "complex",   "slice",     "range",   "object",
        "getattr",   "Ellipsis",  "unicode",   "long",    "xrange",
        "type",      "print",     "enumerate", "zip",     "NotImplemented",
        "reversed",  "map",       "super",     "property"};
    bool builtin =
        !strcmp(module, "builtins") || !strcmp(module, "__builtin__");
    for (size_t i = 0; builtin && i < sizeof plain / sizeof *plain; i++)
        if (!strcmp(name, plain[i]))
            return false;
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        size_t n = strlen(modules[i]);
        if (!strncmp(module, modules[i], n) &&
            (module[n] == '\0' || module[n] == '.'))
            return true;
    }
    return false;
}

static clv_status machine_global(pickle_machine *m, const char *module,
                                 size_t n_module, const char *name,
                                 size_t n_name)
{
    pickle_node *n;
    CLV_TRY(machine_new(m, PICKLE_GLOBAL, &n));
    char *text = arena_alloc(m->mem, n_module + n_name + 2);
    if (!text)
        return clv__nomem(m->e);
    memcpy(text, module, n_module);
    text[n_module] = ' ';
    memcpy(text + n_module + 1, name, n_name);
    text[n_module + 1 + n_name] = '\0';
    n->u.s = text;
    n->n = (uint32_t)(n_module + n_name + 1);
    return CLV_OK;
}

/* "posix system": what a call of it would be, if anybody made it. */
static clv_status machine_refuse_harm(pickle_machine *m, const pickle_node *fn)
{
    char module[64], name[64];
    if (fn->kind != PICKLE_GLOBAL)
        return CLV_OK;
    const char *space = strchr(fn->u.s, ' ');
    size_t n = space ? (size_t)(space - fn->u.s) : 0;
    if (!space || n >= sizeof module || strlen(space + 1) >= sizeof name)
        return CLV_OK;
    memcpy(module, fn->u.s, n);
    module[n] = '\0';
    strcpy(name, space + 1);
    if (!machine_is_harmful(module, name))
        return CLV_OK;
    for (char *p = module; *p; p++)
        *p = *p < ' ' ? '?' : *p;
    for (char *p = name; *p; p++)
        *p = *p < ' ' ? '?' : *p;
    return clv__fail(m->e, CLV_FORMAT,
                     "byte %zu: the pickle would have Python call %s.%s; "
                     "nothing was run",
                     m->base + m->op_at, module, name);
}

/* Calls that only pass on what they are given. */
static bool machine_is_passing(const pickle_node *fn)
{
    static const char *const names[] = {
        "torch.jit._pickle build_intlist",
        "torch.jit._pickle build_tensorlist",
        "torch.jit._pickle build_doublelist",
        "torch.jit._pickle build_boollist",
        "torch.jit._pickle restore_type_tag",
        "torch Size",
    };
    for (size_t i = 0;
         fn->kind == PICKLE_GLOBAL && i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], fn->u.s))
            return true;
    return false;
}

static bool machine_makes_set(const pickle_node *fn)
{
    return fn->kind == PICKLE_GLOBAL &&
           (!strcmp(fn->u.s, "__builtin__ set") ||
            !strcmp(fn->u.s, "builtins set") ||
            !strcmp(fn->u.s, "builtins frozenset") ||
            !strcmp(fn->u.s, "__builtin__ frozenset"));
}

static clv_status machine_object(pickle_machine *m, pickle_node *cls,
                                 pickle_node *args)
{
    pickle_node *n;
    CLV_TRY(machine_refuse_harm(m, cls));
    bool one = args->kind == PICKLE_TUPLE && args->n >= 1;
    if (one && (machine_is_passing(cls) || machine_makes_set(cls)))
        return machine_push(m, args->u.items[0]);
    CLV_TRY(machine_new(m, PICKLE_OBJECT, &n));
    n->cls = cls;
    n->args = args;
    return CLV_OK;
}

static clv_status machine_reduce(pickle_machine *m)
{
    pickle_node *args, *fn;
    CLV_TRY(machine_pop(m, &args));
    CLV_TRY(machine_pop(m, &fn));
    return machine_object(m, fn, args);
}

static clv_status machine_build(pickle_machine *m)
{
    pickle_node *state, *to;
    CLV_TRY(machine_pop(m, &state));
    CLV_TRY(machine_top(m, &to));
    to->state = state;
    return CLV_OK;
}

/* NEWOBJ_EX: class, arguments, named arguments. */
static clv_status machine_new_named(pickle_machine *m)
{
    pickle_node *named;
    CLV_TRY(machine_pop(m, &named));
    return machine_reduce(m);
}

/* INST: the name is in the text, arguments are behind the mark. OBJ: the class
 * is behind the mark too. */
static clv_status machine_instance(pickle_machine *m, bool named)
{
    const char *module, *name;
    size_t n_module, n_name;
    pickle_node *cls, *args;
    if (named) {
        CLV_TRY(machine_line(m, &module, &n_module));
        CLV_TRY(machine_line(m, &name, &n_name));
    }
    CLV_TRY(machine_gather(m, PICKLE_TUPLE));
    CLV_TRY(machine_pop(m, &args));
    if (named) {
        CLV_TRY(machine_global(m, module, n_module, name, n_name));
        CLV_TRY(machine_pop(m, &cls));
    } else {
        if (args->n == 0)
            return machine_bad(m, "an object without a class");
        cls = args->u.items[0];
        args->u.items++;
        args->n--;
        args->cap--;
    }
    return machine_object(m, cls, args);
}

static clv_status machine_global_lines(pickle_machine *m)
{
    const char *module, *name;
    size_t n_module, n_name;
    CLV_TRY(machine_line(m, &module, &n_module));
    CLV_TRY(machine_line(m, &name, &n_name));
    return machine_global(m, module, n_module, name, n_name);
}

static clv_status machine_global_stack(pickle_machine *m)
{
    pickle_node *name, *module;
    CLV_TRY(machine_pop(m, &name));
    CLV_TRY(machine_pop(m, &module));
    if (name->kind != PICKLE_STRING || module->kind != PICKLE_STRING)
        return machine_bad(m, "a name that is no text");
    return machine_global(m, module->u.s, module->n, name->u.s, name->n);
}

static clv_status machine_persistent(pickle_machine *m, bool text)
{
    pickle_node *id, *n;
    if (text) {
        const char *line;
        size_t len;
        CLV_TRY(machine_line(m, &line, &len));
        CLV_TRY(machine_push_text(m, PICKLE_STRING, line, len));
    }
    CLV_TRY(machine_pop(m, &id));
    CLV_TRY(machine_new(m, PICKLE_STORAGE, &n));
    n->args = id;
    return CLV_OK;
}

/* -- numbers as text or bytes ---------------------------------------------*/

static clv_status machine_text_number(pickle_machine *m, bool real)
{
    const char *line;
    char text[64], *end;
    size_t n;
    CLV_TRY(machine_line(m, &line, &n));
    if (n >= sizeof text)
        return machine_push_text(m, PICKLE_BYTES, line, n);
    memcpy(text, line, n);
    text[n] = '\0';
    if (real)
        return machine_push_float(m, clv_text_double(text, NULL));
    if (!strcmp(text, "00") || !strcmp(text, "01"))
        return machine_push_bool(m, text[1] == '1');
    long long i = strtoll(text, &end, 10);
    if (end == text)
        return machine_bad(m, "not a number");
    return machine_push_int(m, i);
}

/* An integer of n bytes in two's complement; one that does not fit 64 bits
 * stays the bytes it is. */
static clv_status machine_long(pickle_machine *m, uint64_t n)
{
    const uint8_t *p;
    CLV_TRY(machine_bytes(m, n, &p));
    if (n > 8)
        return machine_push_text(m, PICKLE_BYTES, p, (size_t)n);
    uint64_t x = n && p[n - 1] & 0x80 ? UINT64_MAX : 0;
    for (uint64_t i = n; i-- > 0;)
        x = x << 8 | p[i];
    return machine_push_int(m, (int64_t)x);
}

/* Big-endian, alone among the numbers. */
static clv_status machine_double(pickle_machine *m)
{
    const uint8_t *p;
    uint64_t bits = 0;
    double x;
    CLV_TRY(machine_bytes(m, 8, &p));
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | p[i];
    memcpy(&x, &bits, sizeof x);
    return machine_push_float(m, x);
}

/* A text in quotes, protocol 0: without its escapes, which names do not have.
 */
static clv_status machine_quoted(pickle_machine *m)
{
    const char *line;
    size_t n;
    CLV_TRY(machine_line(m, &line, &n));
    bool quoted =
        n >= 2 && (line[0] == '\'' || line[0] == '"') && line[n - 1] == line[0];
    return machine_push_text(m, PICKLE_STRING, line + quoted, n - 2u * quoted);
}

static clv_status machine_counted(pickle_machine *m, pickle_kind kind,
                                  int width)
{
    uint64_t n;
    const uint8_t *text;
    CLV_TRY(machine_number(m, width, &n));
    CLV_TRY(machine_bytes(m, n, &text));
    return machine_push_text(m, kind, text, (size_t)n);
}

/* A signed number of four bytes, or one without a sign of fewer. */
static clv_status machine_small_int(pickle_machine *m, int width)
{
    uint64_t x;
    CLV_TRY(machine_number(m, width, &x));
    return machine_push_int(m, width == 4 ? (int32_t)(uint32_t)x : (int64_t)x);
}

static clv_status machine_memo_line(pickle_machine *m, bool put)
{
    const char *line;
    char text[24];
    size_t n;
    CLV_TRY(machine_line(m, &line, &n));
    n = n < sizeof text ? n : sizeof text - 1;
    memcpy(text, line, n);
    text[n] = '\0';
    unsigned long long i = strtoull(text, NULL, 10);
    return put ? machine_put(m, i) : machine_recall(m, i);
}

static clv_status machine_memo(pickle_machine *m, int width, bool put)
{
    uint64_t i;
    CLV_TRY(machine_number(m, width, &i));
    return put ? machine_put(m, i) : machine_recall(m, i);
}

static clv_status machine_skip(pickle_machine *m, int width)
{
    uint64_t n;
    return machine_number(m, width, &n);
}

static clv_status machine_pop_mark(pickle_machine *m)
{
    uint32_t first;
    CLV_TRY(machine_mark(m, &first));
    m->n = first - 1;
    return CLV_OK;
}

static clv_status machine_drop(pickle_machine *m)
{
    if (m->n == 0)
        return machine_bad(m, "the stack is empty");
    m->n--;
    return CLV_OK;
}

static clv_status machine_dup(pickle_machine *m)
{
    pickle_node *top;
    CLV_TRY(machine_top(m, &top));
    return machine_push(m, top);
}

static clv_status machine_empty(pickle_machine *m, pickle_kind kind)
{
    pickle_node *n;
    return machine_new(m, kind, &n);
}

static clv_status machine_long_counted(pickle_machine *m, int width)
{
    uint64_t n;
    CLV_TRY(machine_number(m, width, &n));
    return machine_long(m, n);
}

/* -- the machine ----------------------------------------------------------*/

static clv_status machine_step(pickle_machine *m, uint8_t op)
{
    switch (op) {
    case 0x80:
        return machine_skip(m, 1); /* PROTO */
    case 0x95:
        return machine_skip(m, 8); /* FRAME */
    case '(':
        return machine_push(m, NULL); /* MARK */
    case '0':
        return machine_drop(m); /* POP */
    case '1':
        return machine_pop_mark(m); /* POP_MARK */
    case '2':
        return machine_dup(m); /* DUP */
    case 'N':
        return machine_empty(m, PICKLE_NONE); /* NONE */
    case 0x88:
        return machine_push_bool(m, true); /* NEWTRUE */
    case 0x89:
        return machine_push_bool(m, false); /* NEWFALSE */
    case 'I':                               /* INT */
    case 'L':
        return machine_text_number(m, false); /* LONG */
    case 'F':
        return machine_text_number(m, true); /* FLOAT */
    case 'J':
        return machine_small_int(m, 4); /* BININT */
    case 'K':
        return machine_small_int(m, 1); /* BININT1 */
    case 'M':
        return machine_small_int(m, 2); /* BININT2 */
    case 0x8a:
        return machine_long_counted(m, 1); /* LONG1 */
    case 0x8b:
        return machine_long_counted(m, 4); /* LONG4 */
    case 'G':
        return machine_double(m); /* BINFLOAT */
    case 'S':                     /* STRING */
    case 'V':
        return machine_quoted(m); /* UNICODE */
    case 'T':                     /* BINSTRING */
    case 'X':
        return machine_counted(m, PICKLE_STRING, 4); /* BINUNICODE */
    case 'U':                                        /* SHORT_BINSTRING */
    case 0x8c:
        return machine_counted(m, PICKLE_STRING, 1);
    case 0x8d:
        return machine_counted(m, PICKLE_STRING, 8); /* BINUNICODE8 */
    case 'C':
        return machine_counted(m, PICKLE_BYTES, 1);
    case 'B':
        return machine_counted(m, PICKLE_BYTES, 4);
    case 0x8e: /* BINBYTES8 */
    case 0x96:
        return machine_counted(m, PICKLE_BYTES, 8); /* BYTEARRAY8 */
    case ']':
        return machine_empty(m, PICKLE_LIST);
    case '}':
        return machine_empty(m, PICKLE_DICT);
    case ')':
        return machine_empty(m, PICKLE_TUPLE);
    case 0x8f:
        return machine_empty(m, PICKLE_SET);
    case 'l':
        return machine_gather(m, PICKLE_LIST);
    case 'd':
        return machine_gather(m, PICKLE_DICT);
    case 't':
        return machine_gather(m, PICKLE_TUPLE);
    case 0x91:
        return machine_gather(m, PICKLE_SET); /* FROZENSET */
    case 0x85:
        return machine_tuple(m, 1);
    case 0x86:
        return machine_tuple(m, 2);
    case 0x87:
        return machine_tuple(m, 3);
    case 'a':
        return machine_append_one(m); /* APPEND */
    case 'e':                         /* APPENDS */
    case 0x90:
        return machine_add_items(m, false); /* ADDITEMS */
    case 's':
        return machine_set_item(m); /* SETITEM */
    case 'u':
        return machine_add_items(m, true); /* SETITEMS */
    case 'p':
        return machine_memo_line(m, true); /* PUT */
    case 'q':
        return machine_memo(m, 1, true); /* BINPUT */
    case 'r':
        return machine_memo(m, 4, true); /* LONG_BINPUT */
    case 0x94:
        return machine_put(m, m->n_memo); /* MEMOIZE */
    case 'g':
        return machine_memo_line(m, false); /* GET */
    case 'h':
        return machine_memo(m, 1, false); /* BINGET */
    case 'j':
        return machine_memo(m, 4, false); /* LONG_BINGET */
    case 'c':
        return machine_global_lines(m); /* GLOBAL */
    case 0x93:
        return machine_global_stack(m); /* STACK_GLOBAL */
    case 'R':                           /* REDUCE */
    case 0x81:
        return machine_reduce(m); /* NEWOBJ */
    case 0x92:
        return machine_new_named(m); /* NEWOBJ_EX */
    case 'b':
        return machine_build(m); /* BUILD */
    case 'i':
        return machine_instance(m, true); /* INST */
    case 'o':
        return machine_instance(m, false); /* OBJ */
    case 'P':
        return machine_persistent(m, true); /* PERSID */
    case 'Q':
        return machine_persistent(m, false); /* BINPERSID */
    case '.':
        m->done = true;
        return CLV_OK; /* STOP */
    default:
        return machine_bad(m, "an opcode that is not known");
    }
}

static clv_status machine_go(pickle_machine *m, const pickle_node **root)
{
    pickle_node *top;
    while (!m->done) {
        m->op_at = (uint32_t)(m->p - m->start);
        if (m->p >= m->end)
            return machine_bad(m, "it ends in the middle");
        CLV_TRY(machine_step(m, *m->p++));
    }
    CLV_TRY(machine_pop(m, &top));
    *root = top;
    return CLV_OK;
}

clv_status pickle_run(arena *mem, const uint8_t *bytes, size_t size,
                      size_t base, const pickle_node **root, size_t *used,
                      clv_err *e)
{
    pickle_machine m = {.mem = mem,
                        .start = bytes,
                        .p = bytes,
                        .end = bytes + (size < UINT32_MAX ? size : UINT32_MAX),
                        .base = base,
                        .e = e};
    *root = NULL;
    clv_status s = machine_go(&m, root);
    *used = (size_t)(m.p - bytes);
    clv__free(m.stack);
    clv__free(m.memo);
    return s;
}
