# cleave run: every strategy of partition, checked against the plain C kernels.
# Exit code 1 would say that an output differs by more than 1e-3.
cleave backends | grep -q onednn || skip "oneDNN is not installed"
check() {
    local rc=0
    cleave run "$@" --random --backend onednn --verify --json >run.json || rc=$?
    jq -r --arg what "$*" '$what, "  outputs \(.outputs | length), all within 1e-5: \(
        [.outputs[].max_rel_error] | all(. < 1e-5))"' run.json
    [ $rc -eq 0 ] || echo "[exit $rc]"
}
for model in "squeezenet1_1 --input-shape 1,3,64,64" "mobilenet_v3_small --input-shape 2,3,64,64" \
    "shufflenet_v2_x0_5 --input-shape 1,3,64,64"; do
    check $model --strategy op
    check $model --strategy fusion
    check $model --strategy capability
    check $model --strategy capability --cpu-ops relu --max-subgraph-count 200
    check $model --strategy placement --hardware h100
    check $model --strategy placement --hardware t4 --host ampere-altra
    check $model --strategy pipeline --stages 3
done
# A model of operators that oneDNN has not, too.
cp $CLEAVE_ROOT/tests/data/onnx_capability/branches.* .
check branches.onnx --strategy placement --hardware h100
# Fewer threads than there are cores, by OpenMP's own means.
OMP_THREAD_LIMIT=1 check mobilenet_v3_small --input-shape 2,3,64,64 --strategy op
