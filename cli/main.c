/* main.c - the cleave command. */
#include "cleave.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "version") == 0) {
        printf("cleave %s\n", clv_version());
        return 0;
    }
    fputs("usage: cleave COMMAND [ARGUMENT...]\n", stderr);
    return 2;
}
