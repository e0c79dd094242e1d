/* test_version.c - the version is three numbers, and the same everywhere. */
#include "check.h"
#include "cleave.h"

#include <stdio.h>

static void three_numbers(void)
{
    int major = 0, minor = 0, patch = 0;
    CHECK_EQ_INT(sscanf(clv_version(), "%d.%d.%d", &major, &minor, &patch), 3);
    CHECK(major >= 0 && minor >= 0 && patch >= 0);
}

static void numbers_agree(void)
{
    char text[40];
    snprintf(text, sizeof text, "%d.%d.%d", CLV_VERSION_MAJOR,
             CLV_VERSION_MINOR, CLV_VERSION_PATCH);
    CHECK_STR(text, CLV_VERSION);
    CHECK_STR(clv_version(), CLV_VERSION);
    CHECK_EQ_INT(clv_version_number(), CLV_VERSION_NUMBER);
    CHECK(CLV_VERSION_NUMBER >= 100);
}

static const check_case cases[] = {
    {"version is three numbers", three_numbers},
    {"version numbers agree", numbers_agree},
};

CHECK_MAIN(cases)
