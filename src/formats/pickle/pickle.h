/* pickle.h - pickles read as data. Nothing in them is ever called.
 *
 *   machine.c  the opcodes: a pickle becomes a graph of nodes
 *   value.c    reading nodes: members, numbers, names of classes
 *   file.c     the files of torch.save, and the tensors in them
 *
 * A pickle is a program for a stack machine that names functions and calls
 * them. Here a name is a node with a text, and a call is a node that holds the
 * name and the arguments; what it would have made is known for a few names
 * (tensors, ordered dicts, sets) and stays a named node for all others. Names
 * whose only use is to do harm (os.system) are refused.
 *
 * Every opcode takes at least a byte and makes at most one node, so memory is
 * in proportion to the pickle. Nodes may be shared and may form cycles: whoever
 * walks them bounds the steps. */
#ifndef CLV_PICKLE_H
#define CLV_PICKLE_H

#include "formats/torch/archive.h"
#include "formats/torch/weights.h"

typedef enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_FLOAT,
    PICKLE_STRING,
    PICKLE_BYTES, /* also an integer of more than 64 bits */
    PICKLE_LIST,
    PICKLE_TUPLE,
    PICKLE_DICT, /* items: key, value, key, value .. */
    PICKLE_SET,
    PICKLE_GLOBAL,  /* text: "torch._utils _rebuild_tensor_v2" */
    PICKLE_OBJECT,  /* cls called with args, then given state and items */
    PICKLE_STORAGE, /* args: what names it outside of the pickle */
    PICKLE_SHAPE    /* a tensor of floats without contents; no file has one */
} pickle_kind;

typedef struct pickle_node pickle_node;
struct pickle_node {
    pickle_kind kind;
    uint32_t n, cap; /* items; of a text, its bytes; of a shape, its axes, and
                      * whether it is a parameter */
    uint32_t at;     /* byte of the pickle that made it */
    union {
        bool b;
        int64_t i;
        double f;
        const char *s; /* NUL-terminated */
        pickle_node **items;
        const int64_t *dims;
    } u;
    const pickle_node *cls, *args, *state; /* of an object */
};

/* -- machine.c ------------------------------------------------------------*/

/* Runs the pickle at the start of the bytes. *used becomes its length. All
 * nodes are in mem. `base` is what offsets in messages count from. Fails with
 * CLV_FORMAT, naming the byte. */
CLV_MUST clv_status pickle_run(arena *mem, const uint8_t *bytes, size_t size,
                               size_t base, const pickle_node **root,
                               size_t *used, clv_err *e);

/* -- value.c; all take NULL for a missing node ----------------------------*/

/* The value under a text key of a dict, of an ordered dict, or of the state of
 * an object. NULL when there is none. */
const pickle_node *pickle_get(const pickle_node *n, const char *key);
/* The pairs of a dict or ordered dict, and how many there are. */
pickle_node *const *pickle_pairs(const pickle_node *n, uint32_t *count);
/* The items of a list, tuple or set. */
pickle_node *const *pickle_items(const pickle_node *n, uint32_t *count);
bool pickle_int(const pickle_node *n, int64_t *out); /* bools too */
bool pickle_number(const pickle_node *n, double *out);
bool pickle_true(const pickle_node *n, bool otherwise);
const char *pickle_text(const pickle_node *n, const char *otherwise);
/* Reads a list of integers; -1 when it is none, or longer than max. One integer
 * is a list of one. */
int pickle_ints(const pickle_node *n, int64_t *out, int max);
/* The class of an object without its package: "Conv2d"; "" for none. */
const char *pickle_class(const pickle_node *n);
/* "package.module Class" of an object or a name; "" for none. */
const char *pickle_class_path(const pickle_node *n);

/* -- file.c ---------------------------------------------------------------*/

/* A file of torch.save. Starts as {0}; borrows the bytes. */
typedef struct pickle_file {
    arena mem;
    torch_archive zip;
    const uint8_t *bytes;
    size_t size;
    const pickle_node *root;
    strmap storages; /* of an old file, by key: place in `old` */
    struct pickle_storage {
        size_t at, size;
    } * old;
    uint32_t n_old;
} pickle_file;

/* Reads the pickle `name` ("data.pkl") of an archive, or an old file. */
CLV_MUST clv_status pickle_open(const uint8_t *bytes, size_t size,
                                pickle_file *p, clv_err *e);
/* Reads one more pickle of an archive that is open. */
CLV_MUST clv_status pickle_read(pickle_file *p, const char *name,
                                const pickle_node **root, clv_err *e);
void pickle_close(pickle_file *p);
/* Whether the bytes begin as a file of torch.save from before torch 1.6. */
bool pickle_is_old(const uint8_t *bytes, size_t size);

/* Whether a node is a tensor or parameter; t becomes what it is. Its storage is
 * looked for in folder `data/` of the archive. */
bool pickle_tensor(const pickle_file *p, const pickle_node *n, torch_tensor *t);
/* The same with another folder, such as "constants/". */
bool pickle_tensor_in(const pickle_file *p, const char *folder,
                      const pickle_node *n, torch_tensor *t);
/* Whether a node is a torch.nn.Parameter. */
bool pickle_is_parameter(const pickle_node *n);

#endif
