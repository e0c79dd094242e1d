# Graphs at the edge: no node, one node, two parts that share nothing.
cp "$CLEAVE_ROOT"/tests/data/tiny/*.onnx .
for m in empty single parts; do
    run cleave partition $m.onnx --strategy fusion
    run cleave partition $m.onnx --json
    run cleave concurrency $m.onnx --streams 2
    run cleave concurrency $m.onnx --json --streams 2
    run cleave export $m.onnx -o $m.dot
    grep -v '^  \(graph\|node\|edge\|label\)' $m.dot
done
