/* csv.h - reads a table of tests/data row by row, quoted fields and all.
 *
 *     csv t;
 *     if (csv_open(&t, "tests/data/ridge.csv"))
 *         while (csv_next(&t))
 *             printf("%s\n", csv_get(&t, "name"));
 *
 * The first line names the columns. Fields are valid until the next row; a row
 * that is too long, or a column that is not there, fails the running case. */
#ifndef CLEAVE_TESTS_CSV_H
#define CLEAVE_TESTS_CSV_H

#include "check.h"

enum { CSV_COLUMNS = 16, CSV_LINE = 4096 };

typedef struct {
    FILE *file;
    char head[CSV_LINE], line[CSV_LINE];
    char *names[CSV_COLUMNS], *fields[CSV_COLUMNS];
    int columns;
} csv;

/* Cuts a line at its commas, in place; returns how many fields it has. */
static inline int csv_split(char *line, char **fields)
{
    int n = 0;
    for (char *in = line, *out; n < CSV_COLUMNS; n++, in++) {
        int quoted = *in == '"';
        fields[n] = out = in;
        for (in += quoted; *in; in++) {
            if (quoted && in[0] == '"' && in[1] == '"')
                in++;
            else if (quoted && *in == '"') {
                quoted = 0;
                continue;
            } else if (!quoted && strchr(",\r\n", *in))
                break;
            *out++ = *in;
        }
        int last = *in != ',';
        *out = '\0';
        if (last)
            return n + 1;
    }
    return n;
}

/* The next row; closes the file and returns 0 after the last. */
static inline int csv_next(csv *t)
{
    if (!fgets(t->line, sizeof t->line, t->file)) {
        fclose(t->file);
        return 0;
    }
    CHECK(strchr(t->line, '\n'));
    CHECK_EQ_INT(csv_split(t->line, t->fields), t->columns);
    return 1;
}

static inline int csv_open(csv *t, const char *path)
{
    t->file = fopen(path, "r");
    if (!check_that(t->file != NULL, __FILE__, __LINE__, "no file %s", path))
        return 0;
    if (!fgets(t->head, sizeof t->head, t->file)) {
        fclose(t->file);
        return check_that(0, __FILE__, __LINE__, "%s is empty", path);
    }
    t->columns = csv_split(t->head, t->names);
    return 1;
}

static inline const char *csv_get(const csv *t, const char *column)
{
    for (int i = 0; i < t->columns; i++)
        if (strcmp(t->names[i], column) == 0)
            return t->fields[i];
    check_that(0, __FILE__, __LINE__, "no column %s", column);
    return "";
}

#endif
