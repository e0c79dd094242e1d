/* absent.c - cleave-mpi where no MPI was found: says what to install. */
#include <stdio.h>

int main(void)
{
    fputs("cleave-mpi: built without MPI; install it (Debian: libopenmpi-dev "
          "and openmpi-bin, or libmpich-dev and mpich) and build again\n",
          stderr);
    return 3;
}
