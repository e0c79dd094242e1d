/* folded.h - what results say of the rows of a folded layout. */
#ifndef CLV_FOLDED_H
#define CLV_FOLDED_H

#include "cleave/cut.h"
#include "cleave/layout.h"

/* Layers of rows: sums over the nodes of each, and the words of the one that is
 * drawn. `rows` has room for l->n_rows. */
void clv__folded_layers(const clv_layout_info *l, const clv_profile *p,
                        clv_layer *rows);

/* One subgraph for all whose nodes are of the same rows. */
typedef struct folded_cut {
    uint32_t *number; /* per subgraph: its place in the list, or CLV_NONE.
                         NULL: all are listed */
    uint32_t *times;  /* per subgraph in the list: how many it stands for */
    uint32_t n;       /* in the list */
    const clv_layout_info *layout; /* NULL: all are listed */
} folded_cut;

/* With l NULL all subgraphs are listed. Returns false when memory ran out. */
bool clv__folded_cut_make(const clv_layout *l, const clv_cut *c,
                          folded_cut *out);
void clv__folded_cut_free(folded_cut *f);
/* The number of subgraph k in the list, CLV_NONE when it is left out. */
uint32_t clv__folded_number(const folded_cut *f, uint32_t k);
/* How many subgraphs stand behind subgraph k of the list. */
uint32_t clv__folded_times(const folded_cut *f, uint32_t k);
/* Whether a node is drawn, and not another for it. */
bool clv__folded_drawn(const folded_cut *f, uint32_t node);

#endif
