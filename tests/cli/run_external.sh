# cleave run: weights in a file of their own; absent, short, outside the folder.
# Weights that are not there are drawn when asked for, never else.
cp $CLEAVE_ROOT/tests/data/onnx_external/* .
cleave run model.onnx --input x.npy --output out | grep '  y'
head -c 100 w.bin >short && mv w.bin whole
run cleave run model.onnx --input x.npy
cp short w.bin
run cleave run model.onnx --input x.npy
rm w.bin
mkdir below && cp model.onnx below && ln -s ../whole below/w.bin
run cleave run below/model.onnx --input x.npy
mkdir w.bin
run cleave run model.onnx --input x.npy
rm -r w.bin
cleave run model.onnx --input x.npy --weights random | grep '  y' | grep -o '.*]'
run cleave run model.onnx --input x.npy --weights zeros
cleave profile model.onnx | grep -c product
# the same file, with neither data nor a file that has it
cp $CLEAVE_ROOT/tests/data/onnx_absent/model.onnx absent.onnx
run cleave run absent.onnx --input x.npy
cleave run absent.onnx --input x.npy --weights random:7 |
    grep '  y' | grep -o '.*]'
run cleave export absent.onnx --opset 18 -o new.onnx
run cleave export absent.onnx --opset 18 -o new.onnx --weights random
