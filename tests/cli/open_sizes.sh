# Sizes that a file leaves open: chosen, said, and the smallest where nothing
# suggests one (smallest.csv is what ONNX Runtime accepts).
data=tests/data/open_sizes
ln -s "$CLEAVE_ROOT/tests" tests
shape() { jq -r '[.inputs[].shape | map(tostring) | join("x")] | join(" ")'; }
for name in classifier detector stated line declared text decoder; do
    cleave profile $data/$name.onnx --json 2>&1 >open.json | grep -v 'taken as 1;'
    echo "$name: $(shape <open.json)"
done
tail -n +2 $data/smallest.csv | while IFS=, read -r name want; do
    got=$(cleave profile $data/$name.onnx --json 2>/dev/null | shape)
    echo "$name: $got, the smallest of ONNX Runtime: $want"
done
run cleave profile $data/never.onnx
run cleave profile $data/sound.onnx --input-shape 1,79 --quiet
