# cli.bash - what every transcript (tests/cli/*.sh) may use. Transcripts start
# in an empty folder; $CLEAVE_ROOT is the checkout, $CLEAVE_BUILD its build.

# run COMMAND...: shows the command, its output and, unless 0, its exit code.
run() {
    local rc=0
    printf '$ %s\n' "$*"
    "$@" 2>&1 || rc=$?
    [ "$rc" -eq 0 ] || printf '[exit %d]\n' "$rc"
}

# skip REASON: this transcript cannot run here.
skip() {
    echo "$*"
    exit 77
}
