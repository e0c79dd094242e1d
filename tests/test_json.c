/* test_json.c - the JSON reader: values, places, and everything malformed.
 * Which texts are JSON follows RFC 8259. */
#include "check.h"
#include "core/decimal.h"
#include "core/json.h"

#include <locale.h>
#include <stdlib.h>

static const json *parse(arena *a, const char *text, clv_err *e)
{
    const json *root = NULL;
    size_t len = strlen(text);
    char *exact = malloc(len ? len : 1); /* a byte too far is seen */
    memcpy(exact, text, len);
    clv_status s = json_parse(a, exact, len, &root, e);
    free(exact);
    return s == CLV_OK ? root : NULL;
}

static void values(void)
{
    arena a = {0};
    const json *r =
        parse(&a,
              " {\"a\": [1, -2, 3.5, 1e3, true, false, null, \"x\"],"
              "\n \"b\": {\"c\": 9223372036854775807},\n"
              "  \"d\": 9223372036854775808, \"a\": 7}",
              NULL);
    CHECK_OR_RETURN(r != NULL);
    const json *list = json_get(r, "a");
    CHECK_EQ_INT(list->n, 8);
    const json *v = list->child;
    CHECK(v->type == JSON_INT && v->u.i == 1);
    v = v->next;
    CHECK(v->type == JSON_INT && v->u.i == -2);
    v = v->next;
    CHECK(v->type == JSON_NUMBER && v->u.d == 3.5);
    v = v->next;
    CHECK(v->type == JSON_NUMBER && v->u.d == 1000);
    v = v->next;
    CHECK(v->type == JSON_BOOL && v->u.b);
    v = v->next;
    CHECK(v->type == JSON_BOOL && !v->u.b);
    v = v->next;
    CHECK(v->type == JSON_NULL);
    v = v->next;
    CHECK(v->type == JSON_STRING);
    CHECK_STR(v->u.s, "x");
    CHECK(v->next == NULL);
    CHECK_EQ_INT(json_get(r, "b")->line, 2);
    CHECK_EQ_INT(json_int(json_get(r, "b"), "c", 0), INT64_MAX);
    CHECK_EQ_INT(json_get(r, "d")->type, JSON_NUMBER);
    CHECK_EQ_INT(json_get(r, "d")->line, 3);
    CHECK_NEAR(json_number(r, "d", 0), 9223372036854775808.0, 1);
    arena_free(&a);
}

static void defaults(void)
{
    arena a = {0};
    const json *r = parse(&a, "{\"i\": 1, \"s\": \"t\", \"z\": null}", NULL);
    CHECK_EQ_INT(json_int(r, "none", 5), 5);
    CHECK_EQ_INT(json_int(r, "s", 5), 5);
    CHECK_EQ_INT(json_int(NULL, "i", 5), 5);
    CHECK_STR(json_string(r, "i", "no"), "no");
    CHECK_STR(json_string(r, "s", "no"), "t");
    CHECK(json_bool(r, "i", true));
    CHECK_NEAR(json_number(r, "i", 0), 1, 0);
    CHECK(json_get(r, "z") == NULL);
    CHECK(json_get(r->child, "i") == NULL);
    arena_free(&a);
}

static const struct {
    const char *text, *want;
} strings[] = {
    {"\"\"", ""},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
    {"\"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac"},
    {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
    {"\"\\ud83d\"", "\xef\xbf\xbd"},
    {"\"\\ude00x\"", "\xef\xbf\xbdx"},
    {"\"\\ud83d\\u0041\"", "\xef\xbf\xbd"},
    {"\"\xc3\xa9\"", "\xc3\xa9"},
};

static void text(void)
{
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        arena a = {0};
        check_row(strings[i].text);
        const json *r = parse(&a, strings[i].text, NULL);
        if (CHECK(r && r->type == JSON_STRING)) {
            CHECK_STR(r->u.s, strings[i].want);
            CHECK_EQ_INT(r->n, strlen(strings[i].want));
        }
        arena_free(&a);
    }
}

static const struct {
    const char *text, *where;
} malformed[] = {
    {"", "line 1, column 1"},
    {"  \n ", "line 2, column 2"},
    {"{", "line 1"},
    {"[", "line 1"},
    {"[1", "expected ',' or ']'"},
    {"[1,", "line 1, column 4"},
    {"[1,]", "line 1"},
    {"[1 2]", "expected ',' or ']'"},
    {"{\"a\"}", "expected ':'"},
    {"{\"a\" 1}", "expected ':'"},
    {"{a: 1}", "name in quotes"},
    {"{\"a\": 1,}", "name in quotes"},
    {"{\"a\": 1", "expected ',' or '}'"},
    {"\"abc", "does not end"},
    {"\"abc\\", "does not end"},
    {"\"\\q\"", "bad escape"},
    {"\"\\u12\"", "bad escape"},
    {"\"\\u12g4\"", "bad escape"},
    {"\"a\nb\"", "control character"},
    {"tru", "line 1"},
    {"nul", "line 1"},
    {"-", "line 1"},
    {"+1", "line 1"},
    {"01", "line 1"},
    {"-01", "line 1"},
    {"1.", "line 1"},
    {".5", "line 1"},
    {"1e", "line 1"},
    {"1e+", "line 1"},
    {"0x10", "line 1"},
    {"1-2", "line 1"},
    {"Infinity", "line 1"},
    {"NaN", "line 1"},
    {"1 2", "text after the end"},
    {"{} x", "text after the end"},
    {"\xef\xbb\xbf{}", "line 1"},
};

static void malformed_texts(void)
{
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        arena a = {0};
        clv_err e = {0};
        check_row(*malformed[i].text ? malformed[i].text : "empty");
        CHECK(parse(&a, malformed[i].text, &e) == NULL);
        CHECK_EQ_INT(e.code, CLV_FORMAT);
        CHECK_HAS(e.msg, malformed[i].where);
        arena_free(&a);
    }
}

static void nesting(void)
{
    char deep[400];
    for (int levels = 60; levels <= 70; levels += 10) {
        arena a = {0};
        memset(deep, '[', (size_t)levels);
        memset(deep + levels, ']', (size_t)levels);
        deep[2 * levels] = '\0';
        CHECK((parse(&a, deep, NULL) != NULL) == (levels == 60));
        arena_free(&a);
    }
}

/* Numbers are the same text in every locale. Where the machine has none with
 * a decimal comma this looks at the C locale alone. */
static void locales(void)
{
    static const char *const names[] = {"C", "de_DE.UTF-8", "de_DE", "fr_FR"};
    static const struct {
        const char *text;
        double value;
        int used;
    } rows[] = {{"1.5e-7", 1.5e-7, 6}, {"-2.25", -2.25, 5}, {"1,5", 1, 1},
                {"3.5,4.5", 3.5, 3},   {"12", 12, 2},       {".5x", .5, 2}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (!setlocale(LC_NUMERIC, names[k]))
            continue;
        char buf[64], *end;
        clv__double_text(1.5e-7, buf, sizeof buf);
        CHECK(!strcmp(buf, "1.5e-07"));
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            CHECK(clv_text_double(rows[i].text, &end) == rows[i].value);
            CHECK_EQ_INT(end - rows[i].text, rows[i].used);
        }
        arena a = {0};
        const json *x = parse(&a, "2.5e-3", NULL);
        CHECK(x && x->type == JSON_NUMBER && x->u.d == 2.5e-3);
        arena_free(&a);
    }
    setlocale(LC_NUMERIC, "C");
}

static const check_case cases[] = {
    {"values", values},   {"defaults", defaults},
    {"text", text},       {"malformed_texts", malformed_texts},
    {"nesting", nesting}, {"locales", locales},
};
CHECK_MAIN(cases)
