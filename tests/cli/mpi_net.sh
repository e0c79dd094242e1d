# The parts of a cut on ranks in network namespaces: each has its own name, its
# own address and no other way to the others than a wire of 1 Gbit/s, and then one
# with a delay of 5 ms as well. Outputs equal those of one process bit for bit; a
# rank that is killed on another machine is named, and so is a wire that is cut.
. "$CLEAVE_ROOT/tests/mpi.bash"
need_mpi
need_namespaces

model=shufflenet_v2_x0_5
cleave partition $model --input-shape 1,3,64,64 --strategy pipeline --stages 3 -o parts >/dev/null

# shown NAME: that the outputs are equal, and that they went over the wire.
shown() {
    local sent
    sent=$(sent_by 1)
    awk -v name="$1" -v sent=$((sent - before)) '
        /Verified/ { sub(/ one process.*/, " one process"); $1 = ""; v = $0 }
        END { print name ":" v (sent > 5 * 16384 ? ", over the wire" : ", but " sent " bytes were sent") }' out
    grep -h cleave-mpi: err
}

job() { ranks_apart 3 cleave-mpi run parts --random --threads 1 "$@"; }

for delay in 0 5; do
    network 3 $delay
    before=$(sent_by 1)
    job --micro-batches 5 --verify=$model >out 2>err
    shown "1 Gbit/s, $delay ms"
    awk -v delay=$delay '/ 1 -> 2 / { if ($5 < delay || $5 > delay + 50) print "a message took", $5, "ms" }' out
done

# ended SECONDS: all ranks end within so many seconds, with the reason.
ended() {
    local begun=$EPOCHREALTIME took
    for _ in $(seq 200); do pid_of_rank '.*' | grep -q . && sleep 0.1 || break; done
    took=$(((${EPOCHREALTIME/./} - ${begun/./}) / 1000))
    [ $took -le $((1000 * $1)) ] || echo "ended after $took ms"
    wait $started
    grep cleave-mpi: err | sed -E 's/.*\(clv[^)]*\)/cleave-mpi: all others/' | sort -u
}
# begin FLAGS...: starts a job, and waits until its batches run.
begin() {
    rm -f rc
    (job --micro-batches 5 --repeat 1000000 "$@" >out 2>err; echo $? >rc) &
    started=$!
    local before
    before=$(sent_by 1)
    until [ -e rc ] || [ $(($(sent_by 1) - before)) -gt 400000 ]; do sleep 0.1; done
}
echo "-- killed on another machine"
begin
kill -9 "$(pid_of_rank 2)"
ended 5

# The ranks that are left end by themselves; Open MPI's launcher waits for its
# daemon on the other machine, and is stopped here.
echo "-- a wire that is cut"
patience=10 begin --timeout 1
ip -n "clv$$-3" link set $wire down
ended 8
