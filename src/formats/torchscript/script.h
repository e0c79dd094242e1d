/* script.h - TorchScript: what the files of this folder share.
 *
 *   lexer.c    text to tokens, indentation included
 *   parser.c   tokens to a tree, by the grammar of serialised code
 *   value.c    values of the interpreter, and modules' attributes
 *   eval.c     the interpreter: statements, expressions, calls
 *   builtin.c  functions on numbers and lists; the rest goes to formats/aten
 *   fused.c    calls that stand for several operators
 *   read.c     the archive; the way in
 *
 * A saved module is code in a small part of Python and a pickle of its
 * attributes. Reading it is running it on shapes: integers, lists and modules
 * are what they are, tensors are values of the graph, and every call of an
 * operator adds a node, whose shape is inferred at once. Branches and loops are
 * decided by values that are known; code whose way depends on the data is
 * refused by its line. */
#ifndef CLV_TORCHSCRIPT_H
#define CLV_TORCHSCRIPT_H

#include "formats/aten/aten.h"
#include "formats/pickle/pickle.h"

/* -- lexer.c --------------------------------------------------------------*/

typedef enum ts_token_kind {
    TS_END,
    TS_NEWLINE,
    TS_INDENT,
    TS_DEDENT,
    TS_NAME,
    TS_INT,
    TS_FLOAT,
    TS_STRING,
    TS_MARK /* one of ()[]{},:=.-> and operators; text is it */
} ts_token_kind;

typedef struct ts_token {
    ts_token_kind kind;
    const char *text; /* of a name or mark, not terminated; of a string, its
                       * contents, terminated */
    uint32_t len, line;
    int64_t i;
    double f;
} ts_token;

enum { TS_MAX_INDENT = 64 };

typedef struct ts_lexer {
    arena *mem;
    const char *p, *end, *file;
    uint32_t line, indents[TS_MAX_INDENT];
    int depth;   /* of indents */
    int owed;    /* dedents to give */
    int nesting; /* of brackets: newlines within count for nothing */
    bool begun;  /* the line has given a token */
} ts_lexer;

CLV_MUST clv_status ts_next(ts_lexer *x, ts_token *t, clv_err *e);

/* -- parser.c -------------------------------------------------------------*/

typedef enum ts_kind {
    /* statements */
    TS_CLASS, /* text: name; kids: its statements */
    TS_DEF,   /* text: name; kids: TS_PARAMS, body */
    TS_BLOCK,
    TS_PARAMS,  /* kids: TS_PARAM */
    TS_PARAM,   /* text: name; kids: type (or none), default (or none) */
    TS_ASSIGN,  /* kids: targets .. , value; flag: several targets */
    TS_DECLARE, /* name : type [= value]; text; kids: type, value */
    TS_IF,      /* kids: condition, block, block */
    TS_FOR,     /* text: name; kids: iterable, block */
    TS_WHILE,
    TS_RETURN, /* kids: value or none */
    TS_PASS,
    TS_BREAK,
    TS_CONTINUE,
    TS_EXPR,
    /* expressions */
    TS_ID,
    TS_ATTR, /* text: member; kids: of what */
    TS_CALL, /* kids: function, arguments (TS_NAMED for named ones) */
    TS_NAMED,
    TS_INDEX, /* kids: of what, index */
    TS_LIST,
    TS_TUPLE,
    TS_DICT, /* kids: key, value, .. */
    TS_NUMBER,
    TS_REAL,
    TS_TEXT,
    TS_NEGATE,
    TS_NOTHING
} ts_kind;

typedef struct ts_node ts_node;
struct ts_node {
    ts_kind kind;
    uint32_t line, n, cap;
    const char *text;
    ts_node **kids;
    int64_t i;
    double f;
    bool flag;
};

/* Parses a whole file of code. All of the tree is in mem. */
CLV_MUST clv_status ts_parse(arena *mem, const char *file, const char *text,
                             size_t len, ts_node **root, clv_err *e);

/* -- value.c --------------------------------------------------------------*/

typedef enum ts_val_kind {
    TS_V_NONE,
    TS_V_BOOL,
    TS_V_INT,
    TS_V_FLOAT,
    TS_V_STR,
    TS_V_LIST,
    TS_V_TUPLE,
    TS_V_DICT, /* items: key, value, .. */
    TS_V_TENSOR,
    TS_V_OBJECT,
    TS_V_NAME, /* of a function, module or class: "torch.add" */
    TS_V_OTHER /* a device, a layout: nothing here depends on it */
} ts_val_kind;

typedef struct ts_val ts_val;

typedef struct ts_items {
    ts_val *v;
    uint32_t n;
    size_t cap;
} ts_items;

typedef struct ts_object {
    const pickle_node *node;
    const char *path; /* "features.0" */
    const char *cls;  /* "__torch__.torchvision.models.resnet.ResNet" */
} ts_object;

struct ts_val {
    ts_val_kind kind;
    bool number; /* a bool, int or float that is a tensor without axes */
    union {
        bool b;
        int64_t i;
        double f;
        const char *s;
        uint32_t value;
        ts_items *items; /* lists are shared, as in Python */
        const ts_object *object;
    } u;
};

typedef struct ts_file {
    const char *module; /* "__torch__.torchvision.models.resnet" */
    ts_node *root;      /* NULL: there is no such file */
} ts_file;

/* A dict of the pickle: modules that write to it read it again. */
typedef struct ts_dict {
    const pickle_node *node;
    ts_val value;
} ts_dict;

typedef struct ts_machine {
    pickle_file file;
    aten_builder b;
    torch_weights weights;
    arena mem;
    ts_file *files;
    uint32_t n_files;
    size_t cap_files;
    strmap file_names;
    ts_dict *dicts;
    uint32_t n_dicts;
    size_t cap_dicts;
    const pickle_node *constants;
    uint64_t steps; /* that may still be taken */
    int depth;
    const char *path; /* of the module whose code runs */
    const char *cls;
    uint32_t line;
    const char *where; /* file of code, for messages */
    bool frozen;       /* weights are constants of the code */
} ts_machine;

ts_val ts_none(void);
ts_val ts_int(int64_t i);
ts_val ts_float(double f);
ts_val ts_bool(bool b);
ts_val ts_str(const char *s);
ts_val ts_tensor(uint32_t v);
CLV_MUST clv_status ts_new_items(ts_machine *m, ts_val_kind kind, ts_val *out,
                                 clv_err *e);
CLV_MUST clv_status ts_append(ts_machine *m, ts_items *to, ts_val v,
                              clv_err *e);
/* Numbers: a bool is 0 or 1. */
bool ts_as_int(const ts_val *v, int64_t *out);
bool ts_as_number(const ts_val *v, double *out);
/* Turns a tensor without axes into its number; false where that is not known.
 * What is a number already stays as it is. */
bool ts_to_number(const ts_machine *m, ts_val *v);
/* Whether it is true; *known is false for a tensor. */
bool ts_truth(const ts_machine *m, const ts_val *v, bool *known);
bool ts_same(const ts_val *a, const ts_val *b);
/* A node of the pickle as a value; `path` names it, `param` says that a tensor
 * is learned. */
CLV_MUST clv_status ts_of_pickle(ts_machine *m, const pickle_node *n,
                                 const char *path, const char *folder,
                                 bool param, ts_val *out, clv_err *e);
/* An attribute of a module. */
CLV_MUST clv_status ts_attribute(ts_machine *m, const ts_object *o,
                                 const char *name, ts_val *out, clv_err *e);
/* Fails, naming the line of code. */
clv_status ts_fail(const ts_machine *m, clv_status s, clv_err *e,
                   const char *fmt, ...) CLV_PRINTF(4, 5);

/* -- eval.c ---------------------------------------------------------------*/

/* The class or function with a qualified name; NULL when there is none. */
CLV_MUST clv_status ts_find(ts_machine *m, const char *name, ts_node **out,
                            clv_err *e);
const ts_node *ts_method(const ts_node *cls, const char *name);
/* Runs a function on arguments. */
CLV_MUST clv_status ts_run(ts_machine *m, const ts_node *def,
                           const ts_val *args, uint32_t n_args,
                           const char *const *names, ts_val *out, clv_err *e);

/* -- builtin.c ------------------------------------------------------------*/

/* A call of torch.NAME or ops.NS.NAME. names[i] is NULL for arguments by
 * place; `results` is how many the caller takes apart, 0 when it does not. */
CLV_MUST clv_status ts_builtin(ts_machine *m, const char *name, ts_val *args,
                               uint32_t n, const char *const *names,
                               uint32_t results, ts_val *out, clv_err *e);

/* -- fused.c --------------------------------------------------------------*/

/* Makes the nodes of a call that stands for several; *known is false for any
 * other call. */
CLV_MUST clv_status ts_fused(ts_machine *m, const char *name,
                             const ts_val *args, uint32_t n, bool *known,
                             ts_val *out, clv_err *e);

#endif
