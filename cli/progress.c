/* progress.c - one line on standard error while long work is under way.
 *
 * Shown on a terminal only, once the work has taken a second, at most ten times
 * a second; gone when the work is done. */
#include "cli.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 30 };

double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void progress_start(progress *p, const options *o)
{
    p->start = p->last = seconds_now();
    p->shown = false;
    p->silent = o->quiet || !isatty(STDERR_FILENO);
}

void progress_show(progress *p, const char *what, double share)
{
    static const char full[] = "##############################";
    double t = p->silent ? 0 : seconds_now();
    if (p->silent || t - p->start < 1 || t - p->last < 0.1)
        return;
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    int n = (int)(share * BAR);
    p->last = t;
    p->shown = true;
    fprintf(stderr, "\r[%.*s%*s] %3d %%  %-.40s\033[K", n, full, BAR - n, "",
            (int)(share * 100), what);
    fflush(stderr);
}

void progress_end(progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}
