# kill -9 of each rank in turn: as soon as it has its minder, while the batches run,
# and after them, while rank 0 compares and writes. All ranks end, one line names
# the one that was killed, and no file is left half written. bench/mpi.py shows how
# soon they end.
. "$CLEAVE_ROOT/tests/mpi.bash"
need_mpi
cleave partition squeezenet1_1 --input-shape 1,3,64,64 --strategy pipeline --stages 3 -o parts >/dev/null

# Is rank 0 at work on what comes after the batches? It maps all parts then.
compares() {
    local pid
    pid=$(pid_of_rank 0)
    [ -n "$pid" ] && grep -q partition_001.onnx "/proc/$pid/maps" 2>/dev/null
}

# Has rank R its minder? Before, nobody but the launcher knows of it.
minded() {
    local pid
    pid=$(pid_of_rank "$1")
    [ -n "$pid" ] && pgrep -P "$pid" -x clv-minder >/dev/null
}

# begun WHEN RANK FLAGS...: starts a job, and kills the rank when it is time.
begun() {
    local when=$1 rank=$2 pid
    shift 2
    rm -f rc
    (ranks 3 cleave-mpi run ../parts --random "$@" --threads 1 -o killed >out 2>err; echo $? >rc) &
    until [ -e rc ] || minded "$rank"; do :; done
    case $when in
    middle) sleep 1 ;;
    end) until [ -e rc ] || compares; do sleep 0.05; done ;;
    esac
    pid=$(pid_of_rank "$rank")
    [ -z "$pid" ] || kill -9 "$pid"
    wait
}

# struck WHEN RANK: in a folder of its own, says what ended the job. A job that had
# ended before it was hit is begun again with more to compare.
struck() {
    local many=20 i
    mkdir "$1-$2" && cd "$1-$2" || return
    export CLEAVE_TEST_RANKS=$PWD
    if [ "$1" != end ]; then
        begun "$1" "$2" --repeat 1000000
    else
        while
            begun "$1" "$2" --micro-batches $many --backend ref --verify
            [ "$(cat rc)" -eq 0 ] && [ $((many *= 2)) -le 2000 ]
        do
            rm -rf killed*
        done
    fi
    {
        echo "$1: $(grep cleave-mpi: err)"
        [ "$(cat rc)" -ne 0 ] || echo "ended well"
        ls -d killed* 2>/dev/null
        for ((i = 0; i < 600; i++)); do pid_of_rank '.*' | grep -q . || break; sleep 0.1; done
        [ $i -lt 600 ] || echo "a rank lives on"
    } >said
}
for when in start middle end; do
    for rank in 0 1 2; do (struck $when $rank) & done
    wait
done
cat start-?/said middle-?/said end-?/said
