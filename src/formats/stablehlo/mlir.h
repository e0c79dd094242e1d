/* mlir.h - MLIR text as a tree: what is written, not what it means.
 *
 *   lexer.c    tokens, and where an error is
 *   attrs.c    types, attributes, locations
 *   parse.c    operations, blocks, functions; the way in
 *   pretty.c   operations in the spelling of their dialect
 *
 * Both spellings of an operation give the same tree, but for the names of some
 * attributes, of which mlir_attr_of takes two. All memory is the arena's and
 * in proportion to the text; text, names and contents are borrowed from the
 * file. Constants are not read here: a dense attribute is the text between its
 * brackets. */
#ifndef CLV_MLIR_H
#define CLV_MLIR_H

#include "core/core.h"

enum { MLIR_MAX_DEPTH = 96 }; /* brackets, regions and types in each other */

/* A piece of the file, not NUL-terminated. */
typedef struct mlir_text {
    const char *s;
    uint32_t n;
} mlir_text;

bool mlir_is(mlir_text t, const char *word);
bool mlir_starts(mlir_text t, const char *word);
bool mlir_same(mlir_text a, mlir_text b);

/* -- types ----------------------------------------------------------------*/

typedef enum mlir_type_kind {
    MLIR_TENSOR, /* also the type of an element, with rank 0 */
    MLIR_TOKEN,
    MLIR_TUPLE,
    MLIR_OTHER
} mlir_type_kind;

typedef struct mlir_type {
    mlir_type_kind kind;
    clv_dtype dtype; /* CLV_NODTYPE: one that is not known here */
    bool quantised;
    uint32_t rank;
    int64_t *dims;   /* -1 for ? */
    int64_t *bounds; /* the largest that a ? can be, -1: any; may be NULL */
    struct mlir_type *next; /* of a list of types */
} mlir_type;

/* -- attributes -----------------------------------------------------------*/

typedef enum mlir_kind {
    MLIR_UNIT,
    MLIR_BOOL,
    MLIR_INT,
    MLIR_FLOAT,
    MLIR_STRING,
    MLIR_WORD, /* a keyword: LT, DEFAULT, b */
    MLIR_SYMBOL,
    MLIR_ALIAS, /* #name, which another line defines */
    MLIR_TYPE,
    MLIR_LIST,
    MLIR_DICT,
    MLIR_DENSE,    /* text: what stands between the brackets */
    MLIR_RESOURCE, /* text: the name under which the contents are */
    MLIR_OPAQUE
} mlir_kind;

typedef struct mlir_attr {
    mlir_text name; /* of a member; "" in a list */
    mlir_kind kind;
    mlir_text text;
    int64_t i;
    double f;
    const mlir_type *type;
    struct mlir_attr *items; /* of a list or a dict */
    uint32_t n;
    struct mlir_attr *next;
} mlir_attr;

/* Where the program that was lowered made something. */
typedef struct mlir_loc {
    mlir_text name;  /* "jit(f)/MLP/Dense_0/add"; "" for none */
    mlir_text file;  /* with `line` */
    mlir_text alias; /* or: as another line defines */
    uint32_t line;
    const struct mlir_loc *inner, *outer; /* what it is made of */
} mlir_loc;

/* -- operations -----------------------------------------------------------*/

typedef struct mlir_use {
    mlir_text name; /* without the % */
    uint32_t index; /* %0#1: which of its results */
} mlir_use;

typedef struct mlir_arg {
    mlir_text name;
    const mlir_type *type;
    const mlir_attr *attrs;
    const mlir_loc *loc;
    struct mlir_arg *next;
} mlir_arg;

typedef struct mlir_region {
    mlir_arg *args; /* of its one block */
    uint32_t n_args;
    struct mlir_op *ops;
    struct mlir_region *next;
} mlir_region;

typedef struct mlir_op {
    mlir_text name;
    uint32_t at; /* byte offset of the name */
    mlir_use *ins;
    uint32_t n_ins;
    mlir_arg *outs; /* names of results; `name` with a count in n_of */
    uint32_t *n_of;
    uint32_t n_outs, n_results; /* names; values in all */
    const mlir_attr *attrs;
    const mlir_type *types; /* of results */
    mlir_region *regions;
    uint32_t n_regions;
    mlir_text callee; /* of a call, custom call, composite */
    const mlir_loc *loc;
    struct mlir_op *next;
} mlir_op;

typedef struct mlir_func {
    mlir_text name;
    uint32_t at;
    mlir_region body;
    const mlir_attr *attrs; /* of the function */
    bool is_private;
    bool declared; /* without a body */
    struct mlir_func *next;
} mlir_func;

typedef struct mlir_named {
    mlir_text name;
    const mlir_attr *attr;
    const mlir_loc *loc;
    struct mlir_named *next;
} mlir_named;

typedef struct mlir_module {
    mlir_text name;
    mlir_func *funcs;
    uint32_t n_funcs, n_ops;
    mlir_named *aliases, *resources;
    strmap alias_places, resource_places;
    mlir_named **alias_list, **resource_list;
} mlir_module;

/* Reads the text of a module. Fails with CLV_FORMAT, and line, column and
 * offset of what is wrong. mlir_free releases the maps. */
CLV_MUST clv_status mlir_parse(arena *mem, const char *text, size_t size,
                               mlir_module *out, clv_err *e);
void mlir_free(mlir_module *m);

/* The attribute called `name`, or else `pretty` (which may be NULL); NULL when
 * there is none. */
const mlir_attr *mlir_attr_of(const mlir_attr *attrs, const char *name,
                              const char *pretty);
/* The definition of an alias; NULL when there is none. */
const mlir_named *mlir_alias(const mlir_module *m, mlir_text name);
/* "line 3, column 7 (byte 99)" of an offset, into buf. */
const char *mlir_place(const char *text, size_t size, size_t at, char *buf,
                       size_t n);

/* -- shared by the parser's files -----------------------------------------*/

typedef enum mlir_token_kind {
    MLIR_T_END,
    MLIR_T_PUNCT,   /* one character; -> is '>' with n 2 */
    MLIR_T_WORD,    /* stablehlo.add */
    MLIR_T_NUMBER,  /* digits, 0x.., 1.5e-3 */
    MLIR_T_STRING,  /* between the quotes */
    MLIR_T_VALUE,   /* %name */
    MLIR_T_SYMBOL,  /* @name */
    MLIR_T_HASH,    /* #name */
    MLIR_T_TYPE,    /* !name */
    MLIR_T_BLOCK,   /* ^name */
    MLIR_T_META,    /* {-# */
    MLIR_T_META_END /* #-} */
} mlir_token_kind;

typedef struct mlir_token {
    mlir_token_kind kind;
    mlir_text text;
    char c; /* of a PUNCT; '>' with n 2 is an arrow */
} mlir_token;

typedef struct mlir_parser {
    arena *mem;
    const char *text, *end, *p; /* p: behind the current token */
    mlir_token tok;
    const char *at;   /* where the current token starts */
    const char *last; /* where the one before it ended */
    uint32_t depth;
    mlir_module *module;
    clv_err *e;
} mlir_parser;

CLV_MUST clv_status mlir_next(mlir_parser *x);
CLV_MUST clv_status mlir_bad(const mlir_parser *x, const char *fmt, ...)
    CLV_PRINTF(2, 3);
CLV_MUST clv_status mlir_enter(mlir_parser *x); /* one bracket deeper */
void mlir_leave(mlir_parser *x);
bool mlir_at(const mlir_parser *x, char c);
bool mlir_at_line(const mlir_parser *x); /* at the first token of a line */
bool mlir_at_arrow(const mlir_parser *x);
bool mlir_at_word(const mlir_parser *x, const char *word);
/* Goes past the character, or fails; and past it if it is there. */
CLV_MUST clv_status mlir_expect(mlir_parser *x, char c);
CLV_MUST clv_status mlir_accept(mlir_parser *x, char c, bool *found);
CLV_MUST clv_status mlir_expect_word(mlir_parser *x, const char *word);
/* Goes past a bracket, its contents and its end. */
CLV_MUST clv_status mlir_skip(mlir_parser *x);

CLV_MUST clv_status mlir_read_type(mlir_parser *x, mlir_type **out);
/* The types between brackets, or one. */
CLV_MUST clv_status mlir_read_types(mlir_parser *x, mlir_type **out);
CLV_MUST clv_status mlir_read_attr(mlir_parser *x, mlir_attr **out);
/* The same where a colon behind a number is not for its type. */
CLV_MUST clv_status mlir_read_untyped(mlir_parser *x, mlir_attr **out);
/* { members }, with the bracket already there; `close` ends it. */
CLV_MUST clv_status mlir_read_members(mlir_parser *x, char close,
                                      mlir_attr **list);
/* [b, 0, f]x[0, i, o]->[b, 0, f], the axes of a convolution. */
CLV_MUST clv_status mlir_read_axes(mlir_parser *x, mlir_attr **out);
CLV_MUST clv_status mlir_read_loc(mlir_parser *x, const mlir_loc **out);

CLV_MUST clv_status mlir_read_region(mlir_parser *x, mlir_region *out);
CLV_MUST clv_status mlir_read_use(mlir_parser *x, mlir_use *out);
/* An operation in the spelling of its dialect, behind its name. */
CLV_MUST clv_status mlir_read_pretty(mlir_parser *x, mlir_op *op);
/* Operands that were collected become the array of op. */
typedef struct mlir_uses {
    struct mlir_use_item {
        mlir_use use;
        struct mlir_use_item *next;
    } * first, **last;
    uint32_t n;
} mlir_uses;
CLV_MUST clv_status mlir_uses_add(mlir_parser *x, mlir_uses *u,
                                  const mlir_use *use);
CLV_MUST clv_status mlir_uses_set(mlir_parser *x, const mlir_uses *u,
                                  mlir_op *op);

#endif
