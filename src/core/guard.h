/* guard.h - mappings whose file may shrink, and what a signal must not leave
 * behind. */
#ifndef CLV_GUARD_H
#define CLV_GUARD_H

#include "cleave/service.h"
#include "core/core.h"

/* A mapping is there, and is about to go. */
void clv__guard_add(const void *data, size_t size);
void clv__guard_remove(const void *data);
/* Fails with CLV_IO when the file of that mapping was cut short. */
CLV_MUST clv_status clv__guard_check(const void *data, clv_err *e);

/* The process that leads a group was started; it and its group are gone. */
void clv__process_started(int64_t pid);
void clv__process_ended(int64_t pid);

#endif
