# TFLite: counts, the interpreter's block, commands, and files that are no good.
cp "$CLEAVE_ROOT"/tests/data/tflite/cnn_{float,int8}.tflite "$CLEAVE_ROOT"/tests/data/tflite/{lstm_loop,if_else}.tflite .
totals() { jq -c '[.total_params, .total_macs, .coverage.unknown]'; }
for net in cnn_float cnn_int8 lstm_loop; do
    echo "$net: $(cleave profile $net.tflite --json | totals)"
done
cleave profile cnn_float.tflite --json | jq -c '.inputs, .outputs'
cleave profile lstm_loop.tflite --json | jq -c '[.layers[] | select(.macs > 0) | [.type, .macs]]'
cleave memory cnn_int8.tflite | grep Interpreter
cleave profile cnn_float.tflite --batch 2 --json | totals
run cleave profile cnn_float.tflite --dim n=2
run cleave profile cnn_float.tflite --input-shape 1,16,16
cleave export cnn_float.tflite -o net.onnx --quiet >/dev/null && cleave profile net.onnx --json | totals
cleave partition if_else.tflite --strategy fusion --json 2>/dev/null | jq .total_subgraphs
cleave concurrency if_else.tflite --json 2>/dev/null | jq .num_stages
echo "signatures:"
cp "$CLEAVE_ROOT"/tests/data/tflite_more/signatures.tflite .
cleave profile signatures.tflite --signature encode --json | jq -c '[.inputs[0].shape, .total_macs]' # 4 * 6
cleave profile signatures.tflite --signature decode --json | jq -c '[.inputs[0].shape, .total_macs]' # 6 * 3
cleave profile signatures.tflite --json 2>&1 >/dev/null
run cleave profile signatures.tflite --signature nobody
run cleave profile cnn_float.tflite --signature nobody
run cleave profile resnet18 --signature nobody
echo "no good:"
for n in 9 500 2000; do
    head -c $n cnn_float.tflite >cut.tflite
    run cleave profile cut.tflite
done
echo "open sizes: a picture, the smallest that fits, given ones"
cp "$CLEAVE_ROOT"/tests/data/tflite_more/{picture,strip}.tflite .
for net in picture strip; do
    cleave profile $net.tflite --json 2>err | jq -c '[.inputs[0].shape, .total_macs]'
    cat err
    cleave profile $net.tflite --batch 2 --json 2>/dev/null | jq -c '[.inputs[0].shape, .total_macs]'
done
cleave profile strip.tflite --input-shape 1,9,8,4 --json | jq -c '[.inputs[0].shape, .total_macs]'
