/* yolo.h - trees of modules, as a checkpoint of a YOLO network holds them.
 *
 * What the blocks of these networks compute is written once, for checkpoints
 * (formats/checkpoint). A built-in network is the same tree of modules with
 * shapes in place of weights: the rows of its table (yolo.c) name blocks, and
 * each block is put together here in the words below. */
#ifndef CLV_ZOO_YOLO_H
#define CLV_ZOO_YOLO_H

#include "formats/checkpoint/module.h"
#include "zoo/zoo.h"

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
void tree_buffer(tree *t, pickle_node *m, const char *name, const int64_t *dims,
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
pickle_node *tree_layer_norm(tree *t, int64_t c);
pickle_node *tree_attention(tree *t, int64_t c, int64_t heads,
                            bool batch_first);
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

typedef pickle_node *yolo_make(tree *t, const yolo_args *a);

typedef struct yolo_kind {
    const char *name;
    yolo_make *make;
    bool scaled;  /* its channels grow with the network's width */
    bool repeats; /* n is its own; another is repeated as a Sequential */
} yolo_kind;

const yolo_kind *yolo_kind_named(const char *name);
/* Convolution, batch norm and activation. */
pickle_node *yolo_conv(tree *t, int64_t c1, int64_t c2, tree_conv a);
#define CONV(t, c1, c2, ...) yolo_conv(t, c1, c2, (tree_conv){__VA_ARGS__})
/* A depthwise one: as many groups as both numbers of channels allow. */
pickle_node *yolo_depthwise(tree *t, int64_t c1, int64_t c2, tree_conv a);
pickle_node *yolo_rep_conv(tree *t, int64_t c1, int64_t c2);
int64_t yolo_rest(const yolo_args *a, int i, int64_t otherwise);

/* What a network is for; it decides the head. */
typedef enum yolo_task {
    YOLO_DETECT,
    YOLO_SEGMENT,
    YOLO_POSE,
    YOLO_OBB,
    YOLO_CLASSIFY,
    YOLO_QUERIES /* RT-DETR's decoder */
} yolo_task;

typedef struct yolo_head {
    yolo_task task;
    const char *cls; /* of the head's module */
    int64_t classes, bins, protos;
    bool light, end2end; /* depthwise branches; a second set of branches */
} yolo_head;

pickle_node *yolo_make_head(tree *t, const yolo_head *h, const yolo_args *a);
/* The blocks and the decoder of RT-DETR (rtdetr_blocks.c). */
yolo_make rtdetr_stem, rtdetr_block, rtdetr_down, rtdetr_plain, rtdetr_rep_c3,
    rtdetr_resnet, rtdetr_aifi;
pickle_node *rtdetr_make_head(tree *t, const yolo_head *h, const yolo_args *a);

/* -- networks (yolo_network.c) --------------------------------------------*/

/* A layer as its yaml says it: block, how often, channels and what else the
 * block takes, and the layers it reads (none named: the one before). */
enum { YOLO_FIRST = -1000 }; /* layer 0, since 0 ends a list of sources */

typedef struct yolo_row {
    const char *kind;
    int n;
    double args[5];
    int n_args;
    int from[7]; /* negative: counted back; ends with 0 */
} yolo_row;

#define LIST(...) \
    { \
        __VA_ARGS__ \
    }
#define READS(from_, kind_, n_, ...) \
    { \
        .kind = kind_, .n = n_, .args = {__VA_ARGS__}, \
        .n_args = sizeof((double[]){__VA_ARGS__}) / sizeof(double), \
        .from = LIST from_ \
    }
#define ROW(kind_, n_, ...) READS((0), kind_, n_, __VA_ARGS__)

#define UPSAMPLE      ROW("Upsample", 1, 0)
#define CONCAT(other) READS((-1, other), "Concat", 1, 0)
#define ROWS(table)   table, sizeof table / sizeof *table

typedef struct yolo_body {
    const yolo_row *rows;
    uint32_t n_rows;
    int heads[5];   /* layers that the head reads; ends with 0 */
    int64_t stride; /* sides of the image are multiples of it */
    bool relu;
} yolo_body;

typedef struct yolo {
    double depth, width;
    int64_t most;     /* channels before they are scaled; 0: any */
    const char *size; /* n, s, m, l, x; "": there is one */
    const yolo_body *body;
    const yolo_head *head;
} yolo;

/* Builds the `yolo` that is the variant. */
zoo_fn yolo_build;

#endif
