/* test_wire.c - the reader of protobuf's wire format, on good and bad bytes. */
#include "check.h"
#include "formats/onnx/wire.h"

#define BYTES(...) \
    (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static void fields(void)
{
    static const uint8_t data[] = {0x08, 0x96, 0x01,             /* 1: 150 */
                                   0x12, 0x02, 'h',  'i',        /* 2: "hi" */
                                   0x1d, 0x00, 0x00, 0x80, 0x3f, /* 3: 1.0f */
                                   0x21, 1,    0,    0,    0,    0, 0, 0, 0};
    wire w = wire_over(data, sizeof data);
    wire_field f;
    CHECK(wire_next(&w, &f, NULL) == CLV_OK);
    CHECK_EQ_INT(f.number, 1);
    CHECK_EQ_INT(f.value, 150);
    CHECK(wire_next(&w, &f, NULL) == CLV_OK);
    CHECK_EQ_INT(f.number, 2);
    CHECK_EQ_INT(wire_left(&f.bytes), 2);
    CHECK(!memcmp(f.bytes.cur, "hi", 2));
    double x = 0;
    size_t n = 0;
    CHECK(wire_next(&w, &f, NULL) == CLV_OK);
    CHECK(wire_floats(&f, &x, 1, &n, NULL) == CLV_OK);
    CHECK_NEAR(x, 1.0, 0);
    CHECK(wire_next(&w, &f, NULL) == CLV_OK);
    CHECK_EQ_INT(f.value, 1);
    CHECK_EQ_INT(wire_left(&w), 0);
}

static void lists(void)
{
    /* 1: 3, 1: [-1, 4] packed, 1: 5 */
    static const uint8_t data[] = {0x08, 3,    0x0a, 11,   0xff, 0xff,
                                   0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                   0xff, 0x01, 4,    0x08, 5};
    wire w = wire_over(data, sizeof data);
    int64_t v[3];
    size_t n = 0;
    while (wire_left(&w)) {
        wire_field f;
        CHECK_OR_RETURN(wire_next(&w, &f, NULL) == CLV_OK);
        CHECK(wire_ints(&f, v, 3, &n, NULL) == CLV_OK);
    }
    CHECK_EQ_INT(n, 4); /* counts what did not fit, too */
    CHECK_EQ_INT(v[0], 3);
    CHECK_EQ_INT(v[1], -1);
    CHECK_EQ_INT(v[2], 4);
}

static void bad(const char *name, const uint8_t *data, size_t size,
                const char *message)
{
    check_row(name);
    wire w = wire_over(data, size);
    clv_err e = {0};
    clv_status s = CLV_OK;
    while (s == CLV_OK && wire_left(&w)) {
        wire_field f;
        s = wire_next(&w, &f, &e);
    }
    CHECK_EQ_INT(s, CLV_FORMAT);
    CHECK_HAS(e.msg, message);
}

static void bad_bytes(void)
{
    bad("endless varint",
        BYTES(0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255),
        "byte 1: a number of more than ten bytes");
    bad("cut varint", BYTES(0x08, 0x80), "byte 1: the file ends");
    bad("length past the end", BYTES(0x08, 1, 0x12, 5, 'a'),
        "byte 3: a field of 5 bytes where 1 are left");
    bad("length near 2^64",
        BYTES(0x12, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1),
        "byte 1: a field of 18446744073709551615 bytes");
    bad("group", BYTES(0x0b, 0x0c), "byte 0: not a field");
    bad("field 0", BYTES(0x00, 1), "byte 0: not a field");
    bad("cut float", BYTES(0x1d, 0, 0), "byte 1: the file ends");
    bad("cut double", BYTES(0x21, 0, 0), "byte 1: the file ends");
}

static void bad_list(void)
{
    static const uint8_t data[] = {0x22, 3, 0, 0, 0};
    wire w = wire_over(data, sizeof data);
    wire_field f;
    double x;
    size_t n = 0;
    clv_err e = {0};
    CHECK_OR_RETURN(wire_next(&w, &f, NULL) == CLV_OK);
    CHECK(wire_floats(&f, &x, 1, &n, &e) == CLV_FORMAT);
    CHECK_HAS(e.msg, "ends inside one");
}

static const check_case cases[] = {
    {"fields", fields},
    {"lists", lists},
    {"bad_bytes", bad_bytes},
    {"bad_list", bad_list},
};
CHECK_MAIN(cases)
