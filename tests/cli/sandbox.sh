# --sandbox: all of a command's own work goes on; nothing else does. (builds: plain)
cleave profile resnet18 --sandbox | grep Coverage
mkdir a b
cleave profile resnet18 --sandbox -o a/p.json && ls a
cleave memory resnet18 --sandbox -o a/m.json --svg b/m.svg
cleave run squeezenet1_1 --input-shape 1,3,64,64 --random --sandbox --quiet -o a/out >/dev/null && ls a/out
cleave partition alexnet --sandbox --strategy capability --backend cmd:cat
cleave profile "$CLEAVE_ROOT/tests/data/onnx/resnet18.legacy.onnx" --sandbox | grep Coverage
ls
