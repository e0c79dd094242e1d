# The parts of a cut on MPI ranks: equal to one process bit for bit, whatever
# the cut, the schedule and the replicas; each kind of bad input is one line that
# names the rank; a rank that is killed or hangs ends all within seconds.
. "$CLEAVE_ROOT/tests/mpi.bash"
need_mpi

# verdict NAME RANKS DIR FLAGS...: runs and shows only what was verified.
verdict() {
    local name=$1 n=$2
    shift 2
    ranks "$n" cleave-mpi run "$@" --threads 1 --random --verify="$model" >out 2>err ||
        { echo "$name: failed"; grep cleave-mpi err; return; }
    awk -v name="$name" '/Verified/ { sub(/ one process.*/, " one process"); $1 = ""; v = $0 }
        /Whole/ { if ($(NF - 1) < 1e-4) w = "the whole model agrees" }
        END { print name ":" v ", " w }' out
}
cut() { rm -rf parts; cleave partition "$model" --output parts "$@" >/dev/null; }

model=shufflenet_v2_x0_5
cut --input-shape 1,3,64,64 --strategy pipeline --stages 3
verdict "3 stages" 3 parts --micro-batches 5 --repeat 2
verdict "1f1b" 3 parts --micro-batches 5 --schedule 1f1b
verdict "replicas" 5 parts --micro-batches 5 --replicas 0=2,2=2
cut --input-shape 1,3,64,64 --strategy capability --backend all-but:relu
verdict "a rank per device" 2 parts --micro-batches 3 --backend cpu

echo "-- a batch is split and joined"
model=squeezenet1_1
cut --input-shape 1,3,64,64 --strategy pipeline --stages 2
cleave verify parts
cleave run $model --input-shape 4,3,64,64 --random=7 --weights random:0 --backend ref --output whole >/dev/null
ranks 2 cleave-mpi run parts --random=7 --micro-batches 4 --backend ref -q -o joined
ls joined
cmp -s joined/flatten.npy whole/flatten.npy && echo "the same as one batch of 4"

# Launchers take a second or two to end a job that failed, most of it asleep:
# the jobs run at the same time, and their lines are shown in order.
echo "-- bad input: one line"
line() {
    lines=$((lines + 1))
    "$@" 2>&1 | grep 'cleave-mpi:' | sed -E 's/\([^)]*\): /: /; s/ on [^ ]+ (has|was)/ on HOST \1/' \
        >"line.$(printf %02d $lines)" &
}
lines=0
line ranks 3 cleave-mpi run parts --random
line ranks 2 cleave-mpi run parts
line ranks 2 cleave-mpi run nowhere --random
line ranks 2 cleave-mpi run parts --repaet 2
line ranks 2 cleave-mpi run parts --random --replicas 7=2
line ranks 2 cleave-mpi run parts --random --schedule zigzag
wait
line ranks 1 cleave-mpi run parts --random : -n 1 cleave-mpi-other run parts --random
line ranks 1 cleave-mpi run parts --random : -n 1 cleave-mpi run parts --random --repeat 2
line cleave-mpi
cp -r parts mixed
cp parts/partition_000.onnx mixed/partition_001.onnx
line ranks 2 cleave-mpi run mixed --random
cp -r parts gone
rm gone/partition_001.onnx
line ranks 2 cleave-mpi run gone --random
cp -r parts torn
echo '{"partitions": [' >torn/manifest.json
line ranks 2 cleave-mpi run torn --random
wait
cat line.*
ls -d joined.* mixed.* gone.* torn.* 2>/dev/null

echo "-- killed and stopped"
# struck RANK SIGNAL: in a folder of its own, says what ended the job.
struck() {
    mkdir "struck-$1-$2" && cd "struck-$1-$2" || return
    export CLEAVE_TEST_RANKS=$PWD
    (ranks 2 cleave-mpi run ../parts --random --micro-batches 8 --repeat 1000000 --timeout 2 \
        --threads 1 -o killed >/dev/null 2>err; echo $? >rc) &
    until [ -e rc ] || pid_of_rank "$1" | grep -q .; do sleep 0.1; done
    sleep 0.7
    kill -"$2" "$(pid_of_rank "$1")"
    before=$(date +%s)
    wait
    {
        [ $(($(date +%s) - before)) -le 7 ] && [ "$(cat rc)" -ne 0 ] || echo "ended late, or well"
        grep cleave-mpi: err
        ls -d killed* 2>/dev/null
        pid_of_rank '.*' | grep -q . && echo "a rank lives on"
    } >"../struck.$1.$2"
}
for rank in 0 1; do
    (struck $rank KILL) &
    (struck $rank STOP) &
    wait
done
cat struck.0.KILL struck.0.STOP struck.1.KILL struck.1.STOP
