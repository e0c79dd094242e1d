/* fuzz_commands.c - any bytes as an ONNX model that one of the commands reads,
 * to the end of its report. Which command follows from the bytes. */
#include "cli.h"
#include "fuzz.h"

#include <string.h>

/* The model's name stands for %. */
static const char *const lines[] = {
    "profile % --verbose --showshape",
    "profile % --json --count thop",
    "profile % -o out.csv --depth 2",
    "partition % --strategy fusion --verbose",
    "partition % --strategy capability --backend edgetpu --json",
    "partition % --strategy placement --hardware h100 --curve 4 --json",
    "partition % --strategy pipeline --stages 3",
    "concurrency % --strategy fusion --streams 2 --svg out.svg --verbose",
    "concurrency % --trace out.json --json",
    "memory % --reorder --svg out.svg",
    "memory % --json --budget 1KB",
    "map % --hardware h100,jetson-agx-orin --verbose",
    "map % --hardware h100 --svg out.svg --json",
    "check % --hardware h100 --budget params=1",
    "compare % % --verbose",
    "compare % % --json",
    "sweep % --batch 1,2,4 --formula",
    "sweep % --batch 1,2,3 --json",
    "validate % --json",
    "validate %",
    "diagnose % --expected-gflops 3",
    "diagnose % --json",
    "report % -o out.html",
    "report % % -o out.html --hardware h100 --streams 2",
    "export % -o out.dot",
    "export % -o out.json",
    "export % -o out.onnx --opset 21",
    "export % -o parts --strategy fusion",
    "run % --random --quiet --json",
    "run % --random --strategy fusion --verify --top 3",
};

enum { LINES = sizeof lines / sizeof *lines, ARGS = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char model[] = "fuzz.onnx";
    char text[200], *argv[ARGS + 1] = {NULL};
    fuzz_hash hash;
    fuzz_choices c = fuzz_hashed(&hash, data, size);
    int argc = 0;
    snprintf(text, sizeof text, "cleave %s --max-seconds 5 --max-memory 500MB",
             lines[fuzz_below(&c, LINES)]);
    for (char *at = text, *word; argc < ARGS && (word = strsep(&at, " "));)
        argv[argc++] = strcmp(word, "%") ? word : model;
    clv_graph *g = fuzz_load(data, size);
    bool small = g && fuzz_is_small(g);
    clv_graph_free(g);
    if (!small)
        return 0;
    fuzz_file(model, data, size);
    clv_buf out = {0};
    cli_session session = {.out = &out};
    fuzz_enter();
    cli_main(argc, argv, &session);
    fuzz_leave();
    clv_buf_free(&out);
    fuzz_clear();
    return 0;
}
