# The example program: runs a model, and says what is wrong as the command does.
model=$CLEAVE_ROOT/tests/data/onnx_capability/sort_end.onnx
example=$CLEAVE_BUILD/examples/run
$example $model | grep -cE '^first output: -?[0-9.]+$'
a=$($example $model) b=$($example $model ref)
[ "$a" = "$b" ] && echo same
$example none.onnx
echo "exit $?"
$example $model nobody
echo "exit $?"
