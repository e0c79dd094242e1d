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
    awk -v delay=$delay '/ 1 -> 2 / { if ($5 < delay) print "a message took", $5, "ms" }' out
done

# ended TENTHS: all ranks end, with the reason. The launcher of Open MPI waits for
# its daemon behind a wire that is cut: so long after the ranks it is stopped.
ended() {
    local i
    for ((i = 0; i < 600; i++)); do pid_of_rank '.*' | grep -q . || break; sleep 0.1; done
    [ $i -lt 600 ] || echo "a rank lives on"
    for ((i = 0; i < $1; i++)); do [ ! -e rc ] || break; sleep 0.1; done
    [ -e rc ] || ip netns pids "clv$$-1" | xargs -r kill -9
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
ended 600

echo "-- a wire that is cut"
begin --timeout 2
ip -n "clv$$-3" link set $wire down
ended 30
