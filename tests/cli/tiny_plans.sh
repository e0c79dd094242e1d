# Memory, maps, checks and sweeps of graphs with no node, one, or two parts.
cd "$CLEAVE_ROOT/tests/data/tiny" || exit
for g in empty single parts; do
    run cleave memory $g.onnx
    cleave memory $g.onnx --json | jq -c '[.steps, .peak_bytes, .arena_bytes, .timeline]'
    run cleave map $g.onnx --hardware h100 --quiet
    run cleave check $g.onnx --budget flops=16,peak=1KB --hardware t4
    cleave memory $g.onnx --svg /dev/stdout | grep -c '<rect'
    cleave map $g.onnx --hardware t4 --svg /dev/stdout | grep -c '<circle'
done
run cleave compare single.onnx parts.onnx
run cleave sweep parts.onnx --batch 1,2 --formula
