/* test_report.c - the JSON and CSV writers, numbers with units, tables, and
 * reports when memory runs out. */
#include "core/jsonw.h"
#include "report/csv.h"
#include "report/table.h"
#include "starve.h"

#include <limits.h>
#include <stdlib.h>

/* -- JSON -----------------------------------------------------------------*/

static void write_sample(clv_buf *b, jsonw_style style)
{
    jsonw w;
    jsonw_start(&w, b, style);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "n", 1);
    jsonw_ints(&w, "dims", (int64_t[]){1, 3}, 2);
    jsonw_array(&w, "rows");
    jsonw_object(&w, NULL);
    jsonw_bool(&w, "a", true);
    jsonw_null(&w, "b");
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_array(&w, "none");
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
}

static void json_styles(void)
{
    static const struct {
        jsonw_style style;
        const char *want;
    } rows[] = {
        {JSONW_COMPACT, "{\"n\":1,\"dims\":[1,3],\"rows\":[{\"a\":true,"
                        "\"b\":null}],\"none\":[]}\n"},
        {JSONW_LINES, "{\n  \"n\": 1,\n  \"dims\": [1, 3],\n  \"rows\": [\n"
                      "    {\"a\": true, \"b\": null}\n  ],\n"
                      "  \"none\": []\n}\n"},
        {JSONW_PRETTY, "{\n  \"n\": 1,\n  \"dims\": [1, 3],\n  \"rows\": [\n"
                       "    {\n      \"a\": true,\n      \"b\": null\n    }\n"
                       "  ],\n  \"none\": []\n}\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clv_buf b = {0};
        write_sample(&b, rows[i].style);
        CHECK_STR(b.text, rows[i].want);
        clv_buf_free(&b);
    }
}

static const char *json_of(const char *text, clv_buf *b)
{
    jsonw w;
    clv_buf_free(b);
    jsonw_start(&w, b, JSONW_COMPACT);
    jsonw_str(&w, NULL, text);
    return b->text;
}

static void json_text(void)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"plain", "\"plain\""},
        {"", "\"\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""},
        {"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
         "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"\xff", "\"\xef\xbf\xbd\""},                 /* never a first byte */
        {"\xc3(", "\"\xef\xbf\xbd(\""},               /* cut short */
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""}, /* overlong */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"x\xe2\x82", "\"x\xef\xbf\xbd\xef\xbf\xbd\""},
        {NULL, "null"},
    };
    clv_buf b = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_STR(json_of(rows[i].text, &b), rows[i].want);
    clv_buf_free(&b);
}

static void json_numbers(void)
{
    static const struct {
        double x;
        const char *want;
    } rows[] = {
        {0, "0"},
        {1, "1"},
        {-2.5, "-2.5"},
        {0.1, "0.1"},
        {1e300, "1e+300"},
        {1.0 / 3, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {5e-324, "4.94065645841247e-324"},
        {INFINITY, "null"},
        {-INFINITY, "null"},
        {NAN, "null"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clv_buf b = {0};
        jsonw w;
        jsonw_start(&w, &b, JSONW_COMPACT);
        jsonw_num(&w, NULL, rows[i].x);
        CHECK_STR(b.text, rows[i].want);
        clv_buf_free(&b);
    }
    char text[24];
    clv__int_text(INT64_MIN, text);
    CHECK_STR(text, "-9223372036854775808");
    clv__int_text(INT64_MAX, text);
    CHECK_STR(text, "9223372036854775807");
    clv__int_text(0, text);
    CHECK_STR(text, "0");
}

/* Doubles read back as the same number, whatever their bits. */
static void doubles_round_trip(void)
{
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        double x;
        char text[32];
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x))
            continue;
        CHECK(clv__double_text(x, text, sizeof text) < sizeof text);
        CHECK(strtod(text, NULL) == x);
    }
}

/* Ratios of counts, as reports have them: printf's shortest digits. */
static void ratios_are_shortest(void)
{
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 50000; i++) {
        char text[32], want[32];
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        double x = (double)(bits >> (8 + i % 40)) / (double)(bits % 9973 + 1);
        x = i & 1 ? -x : x;
        int digits = 14;
        do
            snprintf(want, sizeof want, "%.*g", ++digits, x);
        while (digits < 17 && strtod(want, NULL) != x);
        if (fabs(x) >= 1e15 || fabs(x) < 1e-4 || x == trunc(x))
            continue;
        CHECK_EQ_INT(clv__double_text(x, text, sizeof text), strlen(want));
        CHECK_STR(text, want);
    }
}

/* Two decimals as printf rounds them, for any bits and for exact halves of a
 * hundredth. */
static void fixed_is_printf(void)
{
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 60000; i++) {
        double x;
        char text[400], want[400];
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(&x, &bits, sizeof x);
        if (i % 3 == 0)
            x = (double)(int64_t)(bits >> 20) / 8;
        if (i % 3 == 1)
            x = (double)(bits >> (i % 60)) / (double)(bits % 9973 + 1);
        snprintf(want, sizeof want, "%.2f", x);
        CHECK_EQ_INT(clv__fixed_text(x, text, sizeof text), strlen(want));
        CHECK_STR(text, want);
    }
}

/* -- CSV ------------------------------------------------------------------*/

static void csv_quoting(void)
{
    clv_buf b = {0};
    csv_text(&b, "plain");
    csv_text(&b, "a,b");
    csv_text(&b, "say \"hi\"");
    csv_text(&b, "two\nlines");
    csv_text(&b, "");
    csv_int(&b, -7);
    csv_num(&b, 0.5);
    csv_num(&b, NAN);
    csv_bool(&b, true);
    csv_shape(&b, 4, (int64_t[]){1, 64, 112, 112});
    csv_shape(&b, 0, NULL);
    csv_shape(&b, CLV_NONE, NULL);
    csv_end(&b);
    csv_text(&b, "");
    csv_text(&b, "x");
    csv_end(&b);
    CHECK_STR(b.text, "plain,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",\"\",-7,"
                      "0.5,\"\",true,1x64x112x112,\"\",\"\"\n\"\",x\n");
    clv_buf_free(&b);
}

/* -- text -----------------------------------------------------------------*/

static void units(void)
{
    static const struct {
        int64_t n;
        const char *count, *digits;
    } rows[] = {
        {0, "0", "0"},
        {7, "7", "7"},
        {999, "999", "999"},
        {1000, "1.00 K", "1,000"},
        {1004, "1.00 K", "1,004"},
        {1005, "1.01 K", "1,005"},
        {999994, "999.99 K", "999,994"},
        {999995, "1.00 M", "999,995"},
        {999999999, "1.00 G", "999,999,999"},
        {4089184256, "4.09 G", "4,089,184,256"},
        {-1500, "-1.50 K", "-1,500"},
        {-999, "-999", "-999"},
        {INT64_MAX, "9.22 E", "9,223,372,036,854,775,807"},
        {INT64_MIN, "-9.22 E", "-9,223,372,036,854,775,808"},
    };
    char buf[TEXT_MAX];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_STR(text_count(rows[i].n, buf), rows[i].count);
        CHECK_STR(text_digits(rows[i].n, buf), rows[i].digits);
    }
    CHECK_STR(text_bytes(964, buf), "964 B");
    CHECK_STR(text_bytes(102230000, buf), "102.23 MB");
    CHECK_STR(text_percent(1, 3, buf), "33.33 %");
    CHECK_STR(text_percent(0, 0, buf), "0.00 %");
}

static void widths(void)
{
    CHECK_EQ_INT(text_width("conv1", 5), 5);
    CHECK_EQ_INT(text_width("\xc3\xa9t\xc3\xa9", 5), 3);
    CHECK_EQ_INT(text_width("\xe6\x97\xa5\xe6\x9c\xac", 6), 4); /* wide */
    CHECK_EQ_INT(text_width("e\xcc\x81", 3), 1);                /* combining */
    CHECK_EQ_INT(text_width("\x1b[", 2), 1);
}

static const table_col two[] = {{"Name", TABLE_CUT}, {"N", TABLE_RIGHT}};

static void tables(void)
{
    clv_buf b = {0};
    clv_report_opts o = {.size = sizeof o};
    table t;
    table_start(&t, two, 2);
    table_text(&t, "a");
    table_count(&t, 5);
    table_indent(&t, 1);
    table_text(&t, "\xc3\xa9t\xc3\xa9");
    table_count(&t, 1234);
    table_text(&t, "\x1b[31mred\xff");
    table_text(&t, "");
    table_print(&t, &o, &b);
    CHECK_STR(b.text, "Name            N\n"
                      "-----------------\n"
                      "a               5\n"
                      "  \xc3\xa9t\xc3\xa9      1.23 K\n"
                      "?[31mred?\n");
    clv_buf_free(&b);
}

/* A text of any length is written whole. */
static void long_texts(void)
{
    const clv_report_opts o = {.size = sizeof o};
    clv_buf out = {0};
    char name[3001];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    text_field(&out, "Name:", "%s.", name);
    CHECK(out.len > 3000 && !strcmp(out.text + out.len - 3, "n.\n"));
    clv_buf_free(&out);
    text_wrap(&out, &o, 0, "a %s.", name);
    CHECK(out.len == 3004 && !strcmp(out.text + out.len - 3, "n.\n"));
    clv_buf_free(&out);
    text_heading(&out, &o, "%s", name);
    CHECK_EQ_INT(out.len, 3002);
    clv_buf_free(&out);
}

static void narrow_tables(void)
{
    clv_buf b = {0};
    clv_report_opts o = {.size = sizeof o, .width = 24};
    table t;
    table_start(&t, two, 2);
    table_text(&t, "layer1.0.downsample.conv1");
    table_count(&t, 12345);
    table_text(&t, "日本語日本語日本");
    table_count(&t, 1);
    table_print(&t, &o, &b);
    CHECK_STR(b.text, "Name                   N\n"
                      "------------------------\n"
                      "laye...le.conv1  12.35 K\n"
                      "日本...本語日本        1\n");
    clv_buf_free(&b);
}

static void wrapped_cells(void)
{
    static const table_col cols[] = {{"Type", TABLE_LEFT},
                                     {"N", TABLE_RIGHT | TABLE_DROP},
                                     {"Why", TABLE_WRAP}};
    clv_buf b = {0};
    clv_report_opts o = {.size = sizeof o, .width = 34};
    table t;
    table_start(&t, cols, 3);
    t.margin = 2;
    table_text(&t, "relu");
    table_count(&t, 17);
    table_text(&t, "on the list of operators taken as free");
    table_print(&t, &o, &b);
    CHECK_STR(b.text, "  Type   N  Why\n"
                      "  --------------------------------\n"
                      "  relu  17  on the list of\n"
                      "            operators taken as\n"
                      "            free\n");
    clv_buf_free(&b);
}

static void prose(void)
{
    clv_buf b = {0};
    clv_report_opts o = {.size = sizeof o, .width = 16};
    text_wrap(&b, &o, 2, "%s", "one two three four five");
    CHECK_STR(b.text, "  one two three\n  four five\n");
    clv_buf_free(&b);
    text_spark(&b, (double[]){0, 1, 2, 4}, 4);
    CHECK_STR(b.text, "▁▃▅█");
    clv_buf_free(&b);
    text_bar(&b, 3, 8, 2);
    CHECK_STR(b.text, "▊");
    clv_buf_free(&b);
}

/* A graph whose names try to drive the terminal. */
static clv_graph *hostile_graph(void)
{
    clv_graph *g;
    uint32_t x, y;
    const char *bad = "a\033[2J\r\nb\x9b\xff";
    clv_value_arg in = {.size = sizeof in,
                        bad,
                        CLV_VALUE_INPUT,
                        CLV_FLOAT32,
                        2,
                        (int64_t[]){2, 3}};
    clv_node_arg node = {.size = sizeof node,
                         .op = "\033]0;x\a",
                         .name = bad,
                         .module = "m\033.n\n",
                         .inputs = &x,
                         .n_inputs = 1};
    if (clv_graph_new(bad, &g, NULL) != CLV_OK ||
        clv_graph_add_value(g, &in, &x, NULL) != CLV_OK ||
        clv_graph_add_node(g, &node, &y, NULL) != CLV_OK ||
        clv_graph_add_output(g, y, NULL) != CLV_OK ||
        clv_graph_infer(g, NULL) != CLV_OK) {
        clv_graph_free(g);
        return NULL;
    }
    return g;
}

static void hostile_names(void)
{
    clv_graph *g = hostile_graph();
    clv_profile *p;
    clv_diagnosis *d;
    CHECK_OR_RETURN(g != NULL);
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, NULL) == CLV_OK);
    CHECK_OR_RETURN(clv_diagnosis_new(g, 1000, &d, NULL) == CLV_OK);
    clv_report_opts o = {
        .size = sizeof o, .verbose = true, .shapes = true, .width = 80};
    clv_buf b = {0};
    clv_report_profile(p, &o, &b);
    clv_report_diagnosis(clv_graph_name(g), clv_diagnosis_get(d), &o, &b);
    CHECK(strlen(b.text) == b.len);
    for (const char *s = b.text; *s; s++)
        CHECK(*s == '\n' || (unsigned char)*s >= 0x20);
    CHECK_HAS(b.text, "a?[2J??b??");
    clv_buf_free(&b);
    o.format = CLV_REPORT_JSON;
    clv_report_profile(p, &o, &b);
    CHECK_HAS(b.text, "\"a\\u001b[2J\\r\\nb\xef\xbf\xbd\xef\xbf\xbd\"");
    clv_buf_free(&b);
    clv_diagnosis_free(d);
    clv_profile_free(p);
    clv_graph_free(g);
}

/* -- memory ---------------------------------------------------------------*/

typedef clv_status writer(const clv_graph *g, const clv_report_opts *o,
                          clv_buf *out, clv_err *err);

typedef struct {
    const clv_graph *g;
    clv_report_opts o;
    writer *write;
} reported;

static clv_status write_profile(const clv_graph *g, const clv_report_opts *o,
                                clv_buf *out, clv_err *err)
{
    clv_profile *p;
    clv_status s = clv_profile_new(g, NULL, &p, err);
    if (s == CLV_OK)
        clv_report_profile(p, o, out);
    clv_profile_free(p);
    return s;
}

static clv_status write_validation(const clv_graph *g, const clv_report_opts *o,
                                   clv_buf *out, clv_err *err)
{
    clv_validation *v;
    clv_status s = clv_validation_new(g, &v, err);
    const clv_validation *all[] = {v};
    if (s == CLV_OK)
        clv_report_validation(all, (const char *[]){"alexnet"}, 1, o, out);
    clv_validation_free(v);
    return s;
}

static clv_status write_diagnosis(const clv_graph *g, const clv_report_opts *o,
                                  clv_buf *out, clv_err *err)
{
    clv_diagnosis *d;
    clv_status s = clv_diagnosis_new(g, 700000000, &d, err);
    if (s == CLV_OK)
        clv_report_diagnosis("alexnet", clv_diagnosis_get(d), o, out);
    clv_diagnosis_free(d);
    return s;
}

static clv_status write_models(const clv_graph *g, const clv_report_opts *o,
                               clv_buf *out, clv_err *err)
{
    clv_model_cost one = {clv_zoo_at(0), 1, 2};
    (void)g, (void)err;
    clv_report_models(&one, 1, o, out);
    return CLV_OK;
}

/* Everything a command does; a buffer that could not grow is out of memory. */
static clv_status report_once(void *ctx, clv_err *err)
{
    const reported *r = ctx;
    clv_buf out = {0};
    clv_status s = r->write(r->g, &r->o, &out, err);
    if (s == CLV_OK && out.failed)
        *err = (clv_err){.code = s = CLV_NOMEM, .msg = "out of memory"};
    clv_buf_free(&out);
    return s;
}

static void memory_runs_out(void)
{
    static writer *const all[] = {write_profile, write_validation,
                                  write_diagnosis, write_models};
    clv_graph *g;
    CHECK_OR_RETURN(clv_graph_open("alexnet", NULL, &g, NULL) == CLV_OK);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int format = CLV_REPORT_TEXT; format <= CLV_REPORT_CSV; format++) {
            clv_report_opts o = {.size = sizeof o,
                                 .format = (clv_report_format)format,
                                 .shapes = true};
            CHECK(starve(report_once, &(reported){g, o, all[i]}, 1) > 0);
        }
    clv_graph_free(g);
}

static const check_case cases[] = {
    {"JSON in three styles", json_styles},
    {"JSON text", json_text},
    {"JSON numbers", json_numbers},
    {"doubles round trip", doubles_round_trip},
    {"ratios are shortest", ratios_are_shortest},
    {"long texts are whole", long_texts},
    {"two decimals are those of printf", fixed_is_printf},
    {"CSV quoting", csv_quoting},
    {"units", units},
    {"display width", widths},
    {"tables", tables},
    {"narrow tables", narrow_tables},
    {"wrapped cells", wrapped_cells},
    {"prose and pictures", prose},
    {"hostile names", hostile_names},
    {"memory runs out", memory_runs_out},
};

CHECK_MAIN(cases)
