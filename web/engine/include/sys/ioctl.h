/* sys/ioctl.h - a page is no terminal. */
#ifndef ENGINE_SYS_IOCTL_H
#define ENGINE_SYS_IOCTL_H

#include_next <sys/ioctl.h>

#define TIOCGWINSZ 0
struct winsize {
    unsigned short ws_row, ws_col;
};

#endif
