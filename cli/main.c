/* main.c - the program: a heap on large pages, and a start over for plugins,
 * which a static program cannot load. */
#include "cli.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Puts the heap on large pages, all but its beginning, which is enough for
 * most models: a large page costs what 25 to 110 small ones do, depending on
 * the machine. The beginning is what malloc has already and SMALL bytes more,
 * which end where a large page begins. That page stays untouched until malloc
 * needs it. */
static void use_large_pages(void)
{
#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
    enum { LARGE = 2 << 20, SMALL = 384 << 10, HEAP = SMALL + 2 * LARGE };
    uintptr_t now = (uintptr_t)sbrk(0);
    uintptr_t large = (now + SMALL + LARGE - 1) / LARGE * LARGE;
    if (sbrk((intptr_t)(large - SMALL - now)) == (void *)-1)
        return;
    mallopt(M_TOP_PAD, HEAP);
    mallopt(M_MMAP_THRESHOLD, HEAP);
    mallopt(M_TRIM_THRESHOLD, 2 * HEAP);
    void *volatile first = malloc(SMALL / 4 * 3); /* more than there is yet */
    free(first);
    madvise((void *)large, 2 * LARGE, MADV_HUGEPAGE);
#endif
}

/* Is there room to load shared libraries? Without it their loader ends the
 * program with words of its own. */
static bool main_has_room(void)
{
    enum { ROOM = 24 << 20 };
    void *p = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p != MAP_FAILED && munmap(p, ROOM) == 0;
}

/* Runs the command once more in cleave-plugins, the same program linked with
 * shared libraries. Returns when there is none. */
static void main_restart(char **argv)
{
    static const char *const places[] = {"", "../libexec/"};
    char self[1024], path[1100];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (!slash)
        return;
    slash[1] = '\0';
    bool room = main_has_room();
    for (size_t i = 0; i < sizeof places / sizeof *places && room; i++) {
        snprintf(path, sizeof path, "%s%scleave-plugins", self, places[i]);
        execv(path, argv);
        room = errno == ENOENT;
    }
    if (room)
        return;
    snprintf(path, sizeof path, "cannot start cleave-plugins: %s",
             strerror(errno));
    say("", path);
    exit(clv_status_exit(CLV_IO));
}

int main(int argc, char **argv)
{
    cli_session session = {.restart =
                               clv_backend_loads() ? NULL : main_restart};
    clean_on_signals();
    clv_guard_files();
    use_large_pages();
    return cli_main(argc, argv, &session);
}
