/* yolo.h - trees of modules, as a checkpoint of a YOLO network holds them.
 *
 * What the blocks of these networks compute is written once, for checkpoints
 * (formats/checkpoint). A built-in network is the same tree of modules with
 * shapes in place of weights: the rows of its table (yolo.c) name blocks, and
 * each block is put together here in the words below. */
#ifndef CLV_ZOO_YOLO_H
#define CLV_ZOO_YOLO_H

#include "formats/checkpoint/module.h"

typedef struct tree {
    arena *mem;
    bool failed;            /* memory ran out; every later word returns NULL */
    const pickle_node *act; /* of convolutions that have one */
} tree;

/* -- words (yolo_tree.c) --------------------------------------------------*/

/* A module without children; cls is "package Class". */
pickle_node *tree_module(tree *t, const char *cls);
void tree_child(tree *t, pickle_node *m, const char *name,
                const pickle_node *child);
void tree_int(tree *t, pickle_node *m, const char *name, int64_t i);
void tree_flag(tree *t, pickle_node *m, const char *name, bool on);
void tree_ints(tree *t, pickle_node *m, const char *name, const int64_t *ints,
               uint32_t n);
void tree_param(tree *t, pickle_node *m, const char *name, const int64_t *dims,
                uint32_t rank);
/* A Sequential or ModuleList of n modules called 0, 1, .. */
pickle_node *tree_list(tree *t, pickle_node *const *items, uint32_t n);
#define tree_list_of(t, ...) \
    tree_list(t, (pickle_node *[]){__VA_ARGS__}, \
              sizeof((pickle_node *[]){__VA_ARGS__}) / sizeof(pickle_node *))

/* -- layers of torch.nn (yolo_tree.c) -------------------------------------*/

typedef struct tree_conv {
    int64_t k, s, p, g; /* 0: 1, 1, k/2, 1 */
    bool no_pad, bias;
    const char *act; /* "": none; NULL: the network's */
} tree_conv;

pickle_node *tree_conv2d(tree *t, int64_t c1, int64_t c2, tree_conv a);
pickle_node *tree_conv_transpose(tree *t, int64_t c1, int64_t c2, int64_t k);
pickle_node *tree_linear(tree *t, int64_t c1, int64_t c2);
pickle_node *tree_max_pool(tree *t, int64_t k, int64_t s, int64_t p);
pickle_node *tree_upsample(tree *t, int64_t by);
pickle_node *tree_batch_norm(tree *t, int64_t c);

/* -- blocks (yolo_blocks.c) -----------------------------------------------*/

enum { YOLO_LEVELS = 6 };

/* What a row hands to a block. */
typedef struct yolo_args {
    int64_t c1, c2, n; /* channels in and out; how often it repeats */
    double rest[4];    /* what follows the channels in the row */
    int n_rest;
    int64_t ch[YOLO_LEVELS]; /* channels of all that it reads */
    int n_ch;
    bool large, largest; /* sizes m, l, x; sizes l, x */
} yolo_args;

typedef struct yolo_kind {
    const char *name;
    pickle_node *(*make)(tree *t, const yolo_args *a);
    bool scaled;  /* its channels grow with the network's width */
    bool repeats; /* n is its own; another is repeated as a Sequential */
} yolo_kind;

const yolo_kind *yolo_kind_named(const char *name);

/* What a network is for; it decides the head. */
typedef enum yolo_task {
    YOLO_DETECT,
    YOLO_SEGMENT,
    YOLO_POSE,
    YOLO_OBB,
    YOLO_CLASSIFY
} yolo_task;

typedef struct yolo_head {
    yolo_task task;
    const char *cls; /* of the head's module */
    int64_t classes, bins, protos;
    bool light, end2end; /* depthwise branches; a second set of branches */
} yolo_head;

pickle_node *yolo_make_head(tree *t, const yolo_head *h, const yolo_args *a);

#endif
