/* test_version.c - the version is three numbers. */
#include "check.h"
#include "cleave.h"

#include <stdio.h>

static void three_numbers(void)
{
    int major = 0, minor = 0, patch = 0;
    CHECK_EQ_INT(sscanf(clv_version(), "%d.%d.%d", &major, &minor, &patch), 3);
    CHECK(major >= 0 && minor >= 0 && patch >= 0);
}

static const check_case cases[] = {
    {"version is three numbers", three_numbers},
};

CHECK_MAIN(cases)
