# mpi.bash - what the tests of cleave-mpi share; sourced after cli.bash.

# Skips where there is no MPI to test with.
need_mpi() {
    cleave-mpi --version >/dev/null 2>&1 || skip "cleave-mpi was built without MPI"
    command -v mpirun >/dev/null || skip "there is no mpirun"
}

# ranks N COMMAND...: starts N ranks, whoever the user is and however few cores
# there are. The launcher's own words about an end go to launcher.err.
ranks() {
    local flags=()
    if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
        flags=(--oversubscribe --mca btl_vader_single_copy_mechanism none)
        [ "$(id -u)" -ne 0 ] || flags+=(--allow-run-as-root)
        # Jobs that start at the same time race for one folder.
        mkdir -p "$PWD/.mpi.$BASHPID"
        flags+=(--mca orte_tmpdir_base "$PWD/.mpi.$BASHPID")
    fi
    local n=$1
    shift
    timeout 120 mpirun "${flags[@]}" -n "$n" "$@"
}

# The folder of this test marks its ranks: others may run ranks of their own.
export CLEAVE_TEST_RANKS=$PWD

# pid_of_rank R: the process of rank R of this test's job; any rank if R is '.*'.
pid_of_rank() {
    local p
    for p in $(pgrep -f '^cleave-mpi run'); do
        tr '\0' '\n' 2>/dev/null <"/proc/$p/environ" >environ || continue
        grep -qxF "CLEAVE_TEST_RANKS=$PWD" environ &&
            grep -qxE "(OMPI_COMM_WORLD_RANK|PMI_RANK)=$1" environ && echo "$p"
    done | head -1
}
