# cleave compare: two versions, different models, many, files, bad input.
run cleave compare resnet18 resnet34
run cleave compare resnet18,mobilenet_v2 --batch 8
run cleave compare alexnet vgg11 resnet18 resnet50
run cleave compare alexnet alexnet
run cleave compare alexnet "$CLEAVE_ROOT/tests/data/onnx/alexnet.dynamo.onnx" --top 3 | sed "s|$CLEAVE_ROOT/||"
cleave compare resnet18 resnet34 --json | jq -c '[.same, .added, .removed, .changed], .changes[0]'
run cleave compare alexnet vgg11 --output c.csv
cat c.csv
run cleave compare alexnet
run cleave compare alexnet vgg99
run cleave compare alexnet vgg11 --batch 1,2
