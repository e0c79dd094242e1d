/* engine_posix.h - calls of POSIX that wasi-libc has not, included before every
 * source. What makes or changes files fails; the page has none to make. */
#ifndef ENGINE_POSIX_H
#define ENGINE_POSIX_H

#include <stdio.h>
#include <sys/types.h>

int chmod(const char *path, mode_t mode);
int dup(int fd);
int dup2(int from, int to);
int fchmod(int fd, mode_t mode);
char *mkdtemp(char *path);
int mkstemp(char *path);
mode_t umask(mode_t mask);
FILE *engine_tmpfile(void);
#define tmpfile engine_tmpfile

#endif
