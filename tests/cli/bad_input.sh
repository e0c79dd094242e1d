# What cannot be read, built, counted or written: exit 3, and nothing left.
run cleave profile resnt18
run cleave profile resnet
run cleave profile no/such/model.onnx
run cleave models 'nothing*'
run cleave models resnt18
run cleave validate resnet18,resnt18
run cleave profile vgg16 --input-shape 1,3,16,16
run cleave profile alexnet --input-shape 1,3,16,16
run cleave profile alexnet --input-shape 1,4,224,224
run cleave profile alexnet --batch 9223372036854775807
run cleave profile alexnet --batch 99999999999999999999
run cleave profile alexnet --batch 10000000000000
run cleave profile alexnet --input-shape 1,3,3000000000,3000000000
run cleave profile alexnet --output no/such/folder/a.json
mkdir folder
run cleave profile alexnet --output folder
run cleave profile alexnet --output folder/
if [ -w /dev/full ]; then
    run cleave profile alexnet --output /dev/full
    echo '$ cleave profile alexnet >/dev/full'
    cleave profile alexnet 2>&1 >/dev/full
    echo "[exit $?]"
fi
echo '$ (ulimit -f 1; cleave profile resnet50 --output big.json)'
(ulimit -f 1; cleave profile resnet50 --output big.json 2>&1; echo "[exit $?]") | cat
echo "left behind:"
find . -type f
