# StableHLO, TFLite and torch.export files written as ONNX compute what they did.
data=$CLEAVE_ROOT/tests/data
results() { jq -c '[.outputs[] | [.shape, ([.min, .mean, .max] | map(if type == "number" then . * 1000 | round else . end))]]'; }
same() {
    local file=$1
    shift
    cleave export "$file" -o out.onnx --quiet "$@" >/dev/null 2>err || cat err
    cleave run "$file" --random --json "$@" 2>/dev/null | results >a
    cleave run out.onnx --random --json 2>/dev/null | results >b
    if cmp -s a b && [ -s a ]; then echo "$(basename "$file"): same"; else echo "$(basename "$file"): differs"; fi
}
for name in control conv_gradients convs depthwise lstm mixer products resnet scanned shapes transformer vit; do
    same "$data/stablehlo/$name.mlir" --params none
done
for name in rsqrt reshape_scalar shape; do same "$data/tflite/$name.tflite"; done
for name in scan loop; do same "$data/torch/$name.pt2"; done
