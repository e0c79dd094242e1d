# Files cut short at every fiftieth of their length: one line that names the byte, exit 3.
data=$CLEAVE_ROOT/tests/data
for f in torch/net.pt2 torch/net_old.pt2 torch/state.pt torch/traced.pt torch/legacy.pt tflite/cnn_int8.tflite \
    stablehlo/mlp_plain.mlir onnx/resnet18-batch.legacy.onnx; do
    size=$(stat -c %s "$data/$f") good=0 open=0
    for i in {1..49}; do
        head -c $((size * i / 50)) "$data/$f" >"cut.${f##*.}"
        if cleave profile "cut.${f##*.}" >out 2>err; then
            open=$((open + 1))
        elif [ $? = 3 ] && [ ! -s out ] && grep -v '^cleave: warning' err | grep -qE 'byte [0-9]+' &&
            [ "$(grep -vc '^cleave: warning' err)" = 1 ]; then
            good=$((good + 1))
        else
            cat err
        fi
    done
    echo "$f: $good say the byte, $open open"
done
