/* main.c - the command, in a page. */
#include "cli.h"

int main(int argc, char **argv)
{
    cli_session session = {0};
    return cli_main(argc, argv, &session);
}
