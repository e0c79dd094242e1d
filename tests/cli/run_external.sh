# cleave run: weights in a file of their own; absent, short, outside the folder.
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
