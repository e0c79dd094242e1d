# cleave sweep: batches, sizes, dimensions, formulas, bad input.
run cleave sweep resnet50
run cleave sweep resnet50 --batch 1,2,4,8 --formula
run cleave sweep vgg11 --input-shape 1,3,224,224 --input-shape 1,3,256,256 --formula
run cleave sweep resnet18 --input-shape 1,3,224,224 --input-shape 1,3,225,225 --formula
cd "$CLEAVE_ROOT" || exit
run cleave sweep tests/data/onnx/bert_tiny-free.onnx --batch 1,2 --dim sequence=16,32 --formula
run cleave sweep tests/data/onnx/bert_tiny-free.onnx --dim seqence=16,32
run cleave sweep tests/data/onnx/bert_tiny-free.onnx --dim sequence=16
cd - >/dev/null || exit
run cleave sweep alexnet --batch 1,2 --formula --json
run cleave sweep alexnet --batch 2,1,2 --output s.csv
cat s.csv
run cleave sweep alexnet --batch 4
run cleave sweep alexnet --batch 1,x
run cleave sweep alexnet --input-shape 1,3,224,224 --input-shape 1,3,256,288
run cleave sweep alexnet --input-shape 1,3,8,8 --input-shape 1,3,224,224
run cleave profile alexnet --dim sequence=16,32
