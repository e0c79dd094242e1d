/* check.h - the whole unit test harness.
 *
 * A test is a void function; a file lists its tests in one table and ends with
 * CHECK_MAIN(table). A failed check prints file, line and expression, and the
 * test goes on, so one run shows everything that is wrong:
 *
 *     static void adds(void) { CHECK_EQ_INT(1 + 1, 2); }
 *     static const check_case cases[] = {{"adds", adds}};
 *     CHECK_MAIN(cases)
 *
 * Each test prints `ok NAME`, `FAIL NAME` or `SKIP NAME: reason`; the last line
 * of the program is what tests/run reads:
 *
 *     # 12 passed, 0 failed, 1 skipped
 *
 * Data-driven tests call check_row(name) before each row: every row then counts
 * as a case of its own and is named when it fails. Arguments of the program
 * select tests by substring of their name. */
#ifndef CLEAVE_TESTS_CHECK_H
#define CLEAVE_TESTS_CHECK_H

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name;
    void (*run)(void);
} check_case;

static struct {
    char name[160];   /* the case that runs now */
    char reason[200]; /* why it was skipped; empty when it was not */
    int bad;          /* failed checks in this case */
    int is_row;       /* a row that passed prints nothing */
    long passed, failed, skipped;
} check_state;

/* Records one check. Prints only on failure, at most 20 lines per case. */
static inline int check_that(int ok, const char *file, int line,
                             const char *fmt, ...)
{
    if (ok)
        return 1;
    if (check_state.bad++ < 20) {
        va_list ap;
        printf("FAIL %s:%d ", file, line);
        va_start(ap, fmt);
        vprintf(fmt, ap);
        va_end(ap);
        printf("  [%s]\n", check_state.name);
    }
    return 0;
}

#define CHECK(cond) check_that((cond) ? 1 : 0, __FILE__, __LINE__, "%s", #cond)

/* Like CHECK, and leaves the test: what follows would make no sense. */
#define CHECK_OR_RETURN(cond) \
    do { \
        if (!CHECK(cond)) \
            return; \
    } while (0)

#define CHECK_EQ_INT(got, want) \
    check_eq_int((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, #got, \
                 #want)
#define CHECK_EQ_U64(got, want) \
    check_eq_u64((uint64_t)(got), (uint64_t)(want), __FILE__, __LINE__, #got, \
                 #want)
#define CHECK_NEAR(got, want, tolerance) \
    check_near((double)(got), (double)(want), (double)(tolerance), __FILE__, \
               __LINE__, #got)
#define CHECK_STR(got, want) check_str(got, want, __FILE__, __LINE__, #got)
/* `needle` occurs in `text`: for messages whose wording may grow. */
#define CHECK_HAS(text, needle) check_has(text, needle, __FILE__, __LINE__)

static inline int check_eq_int(int64_t got, int64_t want, const char *file,
                               int line, const char *a, const char *b)
{
    return check_that(got == want, file, line,
                      "%s == %s: got %" PRId64 ", want %" PRId64, a, b, got,
                      want);
}

static inline int check_eq_u64(uint64_t got, uint64_t want, const char *file,
                               int line, const char *a, const char *b)
{
    return check_that(got == want, file, line,
                      "%s == %s: got %" PRIu64 ", want %" PRIu64, a, b, got,
                      want);
}

static inline int check_near(double got, double want, double tolerance,
                             const char *file, int line, const char *a)
{
    return check_that(fabs(got - want) <= tolerance, file, line,
                      "%s: got %.17g, want %.17g within %g", a, got, want,
                      tolerance);
}

static inline int check_str(const char *got, const char *want, const char *file,
                            int line, const char *a)
{
    int same = got && want ? strcmp(got, want) == 0 : got == want;
    return check_that(same, file, line, "%s: got \"%s\", want \"%s\"", a,
                      got ? got : "(null)", want ? want : "(null)");
}

static inline int check_has(const char *text, const char *needle,
                            const char *file, int line)
{
    int has = text && needle && strstr(text, needle);
    return check_that(has, file, line, "\"%s\" not in \"%s\"",
                      needle ? needle : "(null)", text ? text : "(null)");
}

static inline void check_begin(const char *name, int is_row)
{
    snprintf(check_state.name, sizeof check_state.name, "%s", name);
    check_state.reason[0] = '\0';
    check_state.bad = 0;
    check_state.is_row = is_row;
}

static inline void check_end(void)
{
    if (check_state.bad) {
        check_state.failed++;
        printf("FAIL %s\n", check_state.name);
    } else if (check_state.reason[0]) {
        check_state.skipped++;
        printf("SKIP %s: %s\n", check_state.name, check_state.reason);
    } else {
        check_state.passed++;
        if (!check_state.is_row)
            printf("ok %s\n", check_state.name);
    }
    fflush(stdout);
}

/* Begins a row of a table as a case of its own and ends the row before it. The
 * test that holds the rows is not counted itself, unless a check outside of the
 * rows failed. */
static inline void check_row(const char *name)
{
    if (check_state.is_row || check_state.bad)
        check_end();
    check_begin(name, 1);
}

/* Marks the running case as skipped; the reason is shown in the summary. */
static inline void check_skip(const char *reason)
{
    snprintf(check_state.reason, sizeof check_state.reason, "%s", reason);
}

static inline int check_selected(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strstr(name, argv[i]))
            return 1;
    return argc < 2;
}

/* Attributes asked for that no schema has (src/graph/schema.c). */
extern _Atomic uint32_t clv__schema_misses;

static inline int check_run(const check_case *cases, size_t count, int argc,
                            char **argv)
{
    for (size_t i = 0; i < count; i++) {
        if (!check_selected(cases[i].name, argc, argv))
            continue;
        check_begin(cases[i].name, 0);
        cases[i].run();
        check_end();
    }
    if (clv__schema_misses) {
        printf("FAIL a reader asked an operator for an attribute that its "
               "schema lacks\n");
        check_state.failed++;
    }
    printf("# %ld passed, %ld failed, %ld skipped\n", check_state.passed,
           check_state.failed, check_state.skipped);
    return check_state.failed ? 1 : 0;
}

#define CHECK_MAIN(cases) \
    int main(int argc, char **argv) \
    { \
        return check_run(cases, sizeof(cases) / sizeof((cases)[0]), argc, \
                         argv); \
    }

#endif
