/* paging.h - model files as memory whose pages are read when they are touched,
 * in a machine without a memory management unit. */
#ifndef ENGINE_PAGING_H
#define ENGINE_PAGING_H

#include "core/core.h"

/* Returns the range that stands for the file behind `fd`, `size` bytes that are
 * zero until they are touched; NULL when there is no room. It stays for good,
 * and takes the descriptor over. */
const uint8_t *engine_page_in(int fd, size_t size);
/* Did a read fail or come up short since the last call? */
bool engine_page_failed(void);

#endif
