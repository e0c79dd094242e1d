/* tree.h - the rows of the hierarchical table.
 *
 * Modules and the operators called in them, in the order in which they first
 * run. An operator has a row of its own where its module is more than that
 * operator: in a module that has others below it, or several kinds of them. */
#ifndef CLV_TREE_H
#define CLV_TREE_H

#include "cleave/profile.h"
#include "core/core.h"

typedef struct tree_row {
    uint32_t module; /* index in clv_profile_modules; its own or its parent */
    uint32_t node;   /* CLV_NONE: the row is the module itself */
    uint32_t depth;  /* the root is 0 */
} tree_row;

/* Returns the rows (caller frees with clv__free), NULL when memory ran out. */
tree_row *clv__tree_rows(const clv_profile *p, uint32_t *count);

#endif
