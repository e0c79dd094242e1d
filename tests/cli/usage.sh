# Wrong words, flags and values: one line that says what to do, exit 2.
run cleave proflie resnet18
run cleave xyzzy
run cleave help proflie
run cleave profile
run cleave profile alexnet resnet18
run cleave profile alexnet --showshap
run cleave profile alexnet --frobnicate
run cleave profile alexnet -x
run cleave profile alexnet --top
run cleave profile alexnet --json=yes
run cleave profile alexnet --batch 0
run cleave profile alexnet --batch -1
run cleave profile alexnet --batch 1.5
run cleave profile alexnet --batch many
run cleave profile alexnet --batch ''
run cleave profile alexnet --batch 1,2
run cleave profile alexnet --top 0
run cleave profile alexnet --ai-threshold 0
run cleave profile alexnet --ai-threshold nan
run cleave profile alexnet --dtype fp12
run cleave profile alexnet --count guess
run cleave profile alexnet --color blue
run cleave profile alexnet --dim batch
run cleave profile alexnet --dim batch=0
run cleave profile alexnet --dim a=1 --dim b=2 --dim a=3
run cleave profile alexnet --input-shape 1,3,224
run cleave profile alexnet --input-shape 1,3,0,224
run cleave profile alexnet --input-shape 1,3,-224,224
run cleave profile alexnet --input-shape 1,3,224,
run cleave profile alexnet --input-shape 1,3,22.4,224
run cleave profile alexnet --input-shape 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1
run cleave profile alexnet --input-shape image=1,3,224,224
run cleave profile alexnet --input-shape 1,3,224,224 --input-shape 1,3,320,320
run cleave diagnose alexnet --expected-gflops many
run cleave diagnose alexnet --expected-gflops 1e30
# A dimension that the model has not.
batch=$CLEAVE_ROOT/tests/data/onnx/resnet18-batch.legacy.onnx
for verb in profile memory diagnose; do
    cleave $verb "$batch" --dim bach=2 2>&1 | sed "s#$CLEAVE_ROOT/##"
done
cleave profile "$batch" --dim seq=2 2>&1 | sed "s#$CLEAVE_ROOT/##"
cleave profile resnet18 --dim batch=2
echo "exit $?"
# A dimension with two values, and one with the same value twice.
free=$CLEAVE_ROOT/tests/data/onnx/bert_tiny-free.onnx
cleave profile "$free" --dim batch=1 --dim sequence=2 --dim batch=3
echo "exit $?"
cleave profile "$free" --dim batch=2 --dim sequence=2 --dim batch=2 >/dev/null
echo "exit $?"
