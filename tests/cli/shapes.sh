# Every way to give a shape, a batch and a type.
shape() { cleave profile "$@" --json | jq -c '[.inputs[0].shape, .inputs[0].dtype]'; }
shape alexnet
shape alexnet --input-shape 2,3,256,256
shape alexnet --input-shape=2x3x256x256
shape --input-shape 2 3 256 256 --model alexnet
shape alexnet --input-shape x=2,3,256,256
shape alexnet --input-shape '2, 3, 256, 256'
shape alexnet --batch 8
shape alexnet --input-shape 2,3,256,256 -b 8
shape alexnet --dtype fp16
shape alexnet --dtype bfloat16
cleave profile --json -- alexnet | jq -c '[.inputs[0].shape, .inputs[0].dtype]'

echo "four times the batch, four times the work:"
macs() { cleave profile "$@" --json | jq .total_macs; }
[ $((4 * $(macs resnet18))) -eq "$(macs resnet18 --batch 4)" ] && echo yes
echo "half the bytes in half precision:"
bytes() { cleave profile "$@" --json | jq .total_memory; }
[ "$(bytes alexnet)" -eq $((2 * $(bytes alexnet --dtype fp16))) ] && echo yes

# Dimensions with names, as the file has them.
cleave profile "$CLEAVE_ROOT/tests/data/onnx/bert_tiny-free.onnx" --dim sequence=16 --json 2>/dev/null |
    jq -c '.inputs'
cleave profile "$CLEAVE_ROOT/tests/data/onnx/bert_tiny-free.onnx" --dim sequence=16 2>/dev/null |
    grep '^  Input:'
