/* service.h - for programs that serve files of others: limits, files that
 * shrink while they are read, and a clean end by a signal.
 *
 *     clv_limits limits = {.size = sizeof limits, .max_seconds = 10};
 *     clv_limits_set(&limits, &err);
 *     clv_graph_open(path, NULL, &g, &err);   // CLV_EXCEEDED after 10 s
 *     clv_limits_set(NULL, &err);
 *
 * Threads: limits are those of the thread that sets them, and hold for all its
 * calls. clv_guard_files is for the start of a program. clv_cleanup may be
 * called by a signal handler. */
#ifndef CLEAVE_SERVICE_H
#define CLEAVE_SERVICE_H

#include "cleave/base.h"

/* Zero is no limit, where it does not say otherwise. */
typedef struct clv_limits {
    size_t size;        /* sizeof(clv_limits) */
    int64_t max_memory; /* bytes that the calls hold at one time; as long as
                           memory comes from malloc */
    double max_seconds; /* from clv_limits_set on */
    int64_t max_nodes;  /* of a graph, and of each body */
    int64_t max_trips;  /* of a loop that runs; 0: a million */
    int64_t max_growth; /* bytes that its states may grow by; 0: 256 MB */
    int64_t memory_per_byte; /* added to max_memory for each byte of the files
                                that are read since; without max_memory: none */
} clv_limits;

/* Limits what this thread's calls may take from now on, in place of the limits
 * before. They hold for loading, folding, cutting, running and reporting. A
 * call that reaches one fails with CLV_EXCEEDED, and its message says which.
 * Time is looked at between nodes and inside of our own kernels; a primitive of
 * another library (oneDNN) is not interrupted. NULL takes all limits away. */
CLV_API CLV_MUST clv_status clv_limits_set(const clv_limits *limits,
                                           clv_err *err);
/* Lets this thread hold so many bytes, if its limit of memory is lower. */
CLV_API void clv_limits_raise(int64_t max_memory);

/* Makes a file that is cut short while it is mapped an error of the call that
 * reads it (CLV_IO), where it would be SIGBUS. Installs a handler of SIGBUS,
 * which hands on what does not lie in a mapped model. */
CLV_API void clv_guard_files(void);
/* Fails with CLV_IO when any file was cut short since the last such call. */
CLV_API CLV_MUST clv_status clv_files_intact(clv_err *err);

/* Removes the files and folders that are not finished and ends the commands
 * that were started, of all threads. For a program that is about to end; may be
 * called in a signal handler. */
CLV_API void clv_cleanup(void);
/* A file, or a folder of files, that clv_cleanup is to remove until
 * clv_finished is called. */
CLV_API void clv_unfinished(const char *path);
CLV_API void clv_finished(const char *path);

#endif
