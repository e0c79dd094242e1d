/* module.h - pickled modules, and words to say what their forward does.
 *
 * A pickled torch.nn module is its class and a dict of its members: numbers,
 * parameters, buffers and modules. What it computes is not in the file. For the
 * layers of torch.nn a row of aten.def says it; for blocks of networks a
 * function here says it in these words, which read like the original:
 *
 *     m_val y = m_run(w, m, "cv1", x);
 *     return m_run(w, m, "cv2", m_cat(w, (m_val[]){y, x}, 2, 1));
 *
 * All sizes come from the weights and members in the file, so pruned and fused
 * models are what they are. The first failure sticks; later words do
 * nothing. */
#ifndef CLV_CHECKPOINT_MODULE_H
#define CLV_CHECKPOINT_MODULE_H

#include "formats/aten/aten.h"
#include "formats/pickle/pickle.h"

/* A tensor, or several. */
typedef struct m_val {
    uint32_t v; /* the first; CLV_NONE: none */
    const uint32_t *more;
    uint32_t n;
} m_val;

enum { MODULE_LEVELS = 8 }; /* maps that a head reads */

typedef struct module_walk {
    const pickle_file *file;
    aten_builder b;
    torch_weights weights;
    arena mem;
    clv_err *e;
    clv_status status;
    uint32_t steps; /* modules that may still be entered */
    int depth;
    char path[512];
    m_val outputs[8];
    uint32_t n_outputs;
    int64_t side[2];                  /* height and width of the image */
    int64_t levels[MODULE_LEVELS][2]; /* and of what RT-DETR's decoder reads */
    uint32_t n_levels;
} module_walk;

/* Forward of one class. */
typedef m_val module_fn(module_walk *w, const pickle_node *m, m_val x);

/* The forward of a class, by its name without the package; NULL: none known. */
module_fn *module_forward(const char *cls);

/* Whether m is a network of layers that know what they read: a Sequential
 * called "model", whose children have a member `f`. */
bool module_is_network(const pickle_node *m);
/* Runs the layers of such a network on an image, and gives the graph its
 * outputs. */
CLV_MUST clv_status module_network(module_walk *w, const pickle_node *m,
                                   m_val image);

/* -- members --------------------------------------------------------------*/

/* A module's child, or any other member; NULL when it has none. */
const pickle_node *m_child(const pickle_node *m, const char *name);
const pickle_node *m_member(const pickle_node *m, const char *name);
int64_t m_int(const pickle_node *m, const char *name, int64_t otherwise);
bool m_flag(const pickle_node *m, const char *name);
/* The children of a module in order, and how many. Pairs of name and child. */
pickle_node *const *m_children(const pickle_node *m, uint32_t *n);

/* -- words ----------------------------------------------------------------*/

m_val m_one(uint32_t v);
m_val m_none(void);
m_val m_at(m_val x, uint32_t i);
m_val m_fail(module_walk *w, clv_status s);
/* Runs child `name` of m on x. */
m_val m_run(module_walk *w, const pickle_node *m, const char *name, m_val x);
/* Runs a module that stands at `name` below the current path. */
m_val m_forward(module_walk *w, const pickle_node *m, const char *name,
                m_val x);
/* A call of a function of torch; `args` and what they hold are borrowed. */
m_val m_fn(module_walk *w, const char *name, const aten_arg *args, uint32_t n);
/* A module whose forward is not known here: a node that reads x and all its
 * weights, and makes nobody knows what. */
m_val m_unknown(module_walk *w, const pickle_node *m, m_val x);

m_val m_cat(module_walk *w, const m_val *list, uint32_t n, int64_t axis);
m_val m_add(module_walk *w, m_val a, m_val b);
m_val m_binary(module_walk *w, const char *fn, m_val a, m_val b);
m_val m_scale(module_walk *w, const char *fn, m_val a, double k);
m_val m_unary(module_walk *w, const char *fn, m_val a);
m_val m_chunk(module_walk *w, m_val x, int64_t n, int64_t axis);
m_val m_split(module_walk *w, m_val x, const int64_t *sizes, uint32_t n,
              int64_t axis);
m_val m_view(module_walk *w, m_val x, const int64_t *dims, uint32_t n);
/* The k largest along an axis: values, then indices. */
m_val m_topk(module_walk *w, m_val x, int64_t k, int64_t axis);
m_val m_float(module_walk *w, m_val x);
m_val m_expand(module_walk *w, m_val x, const int64_t *dims, uint32_t n);
m_val m_transpose(module_walk *w, m_val x, int64_t a, int64_t b);
m_val m_permute(module_walk *w, m_val x, const int64_t *perm, uint32_t n);
m_val m_softmax(module_walk *w, m_val x, int64_t axis);
/* x[.., start:end:step, ..] along an axis. */
m_val m_slice(module_walk *w, m_val x, int64_t axis, int64_t start, int64_t end,
              int64_t step);
/* A constant of floats, copied. */
m_val m_const(module_walk *w, const char *name, const float *data,
              const int64_t *dims, uint32_t rank);
/* A parameter of m that is no layer's. */
m_val m_param(module_walk *w, const pickle_node *m, const char *name);
/* A module that stands at `name` below the current path and that evaluation
 * never runs: its weights are there, and counted as never read. */
void m_unused(module_walk *w, const pickle_node *m, const char *name);
/* Size of an axis; 0 when it is not known. */
int64_t m_dim(const module_walk *w, m_val x, uint32_t axis);
uint32_t m_rank(const module_walk *w, m_val x);

#endif
