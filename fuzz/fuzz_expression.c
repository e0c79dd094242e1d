/* fuzz_expression.c - any text as what a user says of an operator (--ops): its
 * shape, its MACs and its FLOPs, one expression per line, over the sizes and
 * attributes of a node that has it. */
#include "core/jsonw.h"
#include "fuzz.h"

static void line_of(const char **text, const char *end, char *buf, size_t size)
{
    size_t n = 0;
    while (*text < end && **text != '\n') {
        if (n + 1 < size)
            buf[n++] = **text;
        ++*text;
    }
    *text += *text < end;
    buf[n] = '\0';
}

static void describe(clv_buf *out, const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *end = text + size;
    char line[512];
    jsonw w;
    jsonw_start(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_object(&w, "Fancy");
    jsonw_array(&w, "inputs");
    jsonw_array(&w, NULL);
    jsonw_str(&w, NULL, "N");
    jsonw_str(&w, NULL, "D");
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_array(&w, "output");
    line_of(&text, end, line, sizeof line);
    jsonw_str(&w, NULL, "N");
    jsonw_str(&w, NULL, line);
    jsonw_end(&w);
    line_of(&text, end, line, sizeof line);
    jsonw_str(&w, "macs", line);
    line_of(&text, end, line, sizeof line);
    jsonw_str(&w, "flops", line);
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    clv_buf text = {0};
    clv_graph *g;
    clv_profile *p;
    describe(&text, data, size);
    clv_open_opts o = {.size = sizeof o,
                       .ops_file = fuzz_file("ops.json", text.text, text.len)};
    if (clv_graph_open(fuzz_tiny_file(), &o, &g, NULL) == CLV_OK) {
        if (clv_profile_new(g, NULL, &p, NULL) == CLV_OK)
            clv_profile_free(p);
        clv_graph_free(g);
    }
    clv_buf_free(&text);
    return 0;
}
