# cleave compare: two versions, different models, many, files, bad input.
run cleave compare resnet18 resnet34
run cleave compare resnet18,mobilenet_v2 --batch 8
run cleave compare alexnet vgg11 resnet18 resnet50
run cleave compare alexnet alexnet
run cleave compare alexnet "$CLEAVE_ROOT/tests/data/onnx/alexnet.dynamo.onnx" --top 3 | sed "s|$CLEAVE_ROOT/||"
cleave compare resnet18 resnet34 --json | jq -c '[.same, .added, .removed, .changed], .changes[0]'
run cleave compare alexnet vgg11 --output c.csv
cat c.csv
# Two exports of one network: no name is the same, and all products are.
run cleave compare "$CLEAVE_ROOT"/tests/data/onnx/bert_tiny.{legacy,dynamo}.onnx --top 4 | sed "s|$CLEAVE_ROOT/||g"
# Markdown for a pull request; a name is never markup. A page of both.
run cleave compare alexnet vgg11 --top 2 -o c.md
cat c.md
cp "$CLEAVE_ROOT/tests/data/report/hostile.onnx" 'a|<b>.onnx'
run cleave compare alexnet 'a|<b>.onnx' --quiet -o h.md
grep -c '[^\\]<' h.md
sed -n '/Layers/,$p' h.md | cut -c 1-100 | head -9
run cleave compare alexnet vgg11 -o c.html
grep -o '<title>.*</title>' c.html
run cleave compare alexnet vgg11 resnet18 -o c.html
run cleave compare alexnet
run cleave compare alexnet vgg99
run cleave compare alexnet vgg11 --batch 1,2
