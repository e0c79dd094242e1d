# cleave run: outputs, parts, measured times, and every kind of bad input.
# timeout: 600
data=$CLEAVE_ROOT/tests/data models=$CLEAVE_ROOT/tests/data/onnx_capability
times() { sed -E 's/[0-9]+\.[0-9]+ ms/N ms/g; s/ +[0-9]+\.[0-9]{3}( |$)/ N\1/g; s/[-+][0-9.]+ %/E %/g; s/-{9,}/---/; s/([^ ]) +/\1 /g'; }
show() { echo "\$ cleave run $*"; cleave run "$@" 2>&1 | times; }
cp $models/sort_end.* $models/branches.* .
show sort_end.onnx --input sort_end.x.npy
show sort_end.onnx --input onnx::Gemm_0=sort_end.x.npy --repeat 3 --warmup 1 --output out
ls out
# Measured times beside the roofline: the estimates are those of cleave map.
show sort_end.onnx --random --measure --hardware h100
cleave run sort_end.onnx --random --measure --hardware h100 --json | jq -c '[.parts[].estimate]' >run.txt
cleave map sort_end.onnx --hardware h100 --json | jq -c '[.devices[0].subgraphs[].seconds]' | cmp - run.txt && echo "as map says"
cleave run sort_end.onnx --random --measure --hardware h100 --json |
    jq '(([.parts[].seconds] | add) - .measured_seconds | fabs) < 1e-9,
        ((.estimate_seconds / .measured_seconds - 1 - .estimate_error) | fabs) < 1e-9'
XDG_DATA_HOME=$PWD/none cleave run sort_end.onnx --random --measure 2>&1 >/dev/null
run cleave run sort_end.onnx --random --measure --hardware h100,t4
# The same seed gives the same numbers.
cleave run squeezenet1_1 --input-shape 1,3,32,32 --random=7 -o a -q >/dev/null
cleave run squeezenet1_1 --input-shape 1,3,32,32 --random=7 -o b -q >/dev/null
cmp a/*.npy b/*.npy && echo "same bits"
# Inputs that are missing, extra, of another shape or type, broken.
run cleave run sort_end.onnx
run cleave run sort_end.onnx --input none.npy
run cleave run sort_end.onnx --input nobody=sort_end.x.npy
run cleave run sort_end.onnx --input sort_end.x.npy --input sort_end.x.npy
run cleave run sort_end.onnx --input sort_end.y.npy
run cleave run sort_end.onnx --input branches.x.npy
head -c 100 sort_end.x.npy >short.npy
run cleave run sort_end.onnx --input short.npy
# 32 rows of 28 numbers, each the bytes of a NaN.
(head -c 128 sort_end.x.npy; for _ in $(seq 896); do printf '\0\0\300\177'; done) >nan.npy
cleave run sort_end.onnx --input nan.npy 2>&1 | grep NaN
head -c 3000 $data/packed.npz >short.npz
run cleave run sort_end.onnx --input short.npz
run cleave run sort_end.onnx --input $data/packed.npz 2>&1 | sed "s|$CLEAVE_ROOT|ROOT|"
run cleave run sort_end.onnx --random=x
run cleave run sort_end.onnx --random --backend onnednn
run cleave run sort_end.onnx --random --backend null
# A backend that decides on the cut and runs it is asked once per configuration.
printf '#!/bin/sh\ntee -a asked | sed -u "s/.*/{\\"supported\\": true}/"\n' >compiler
chmod +x compiler
run cleave run squeezenet1_1 --random --backend cmd:./compiler --strategy placement --hardware h100
echo "$(wc -l <asked) questions, $(sort -u asked | wc -l) different ones"
# Said before anything runs: no kernel, no memory, no folder.
run cleave run $CLEAVE_ROOT/tests/data/custom/fancy.onnx --random 2>&1 | sed "s|$CLEAVE_ROOT|ROOT|"
run cleave run squeezenet1_1 --batch 1000000 --random 2>&1 | sed -E 's/needs 39325[0-9.]+ MB/needs 39325.. MB/; s/[0-9.]+ MB of memory/N MB of memory/'
touch file
run cleave run sort_end.onnx --random --output file
run cleave run sort_end.onnx --random --output no/such/folder
run cleave run sort_end.onnx --random --output file/below
run cleave run sort_end.onnx --random --output /proc
run cleave run sort_end.onnx --random --output /proc/below
# Every place of what nobody can run, and nothing is written.
run cleave run $CLEAVE_ROOT/tests/data/custom/fancies.onnx --random --output out2 2>&1 | sed "s|$CLEAVE_ROOT|ROOT|"
ls out2 2>&1
# Tensors of ONNX that end too early, or are of something else.
pb=$CLEAVE_ROOT/tests/data/custom
cleave run sort_end.onnx --input onnx::Gemm_0=$pb/x.pb --json | jq -c ".outputs[0].shape"
for n in 0 1 3 40 3000; do head -c $n $pb/x.pb >short.pb; run cleave run sort_end.onnx --input short.pb; done
cp sort_end.onnx model.pb
run cleave run sort_end.onnx --input model.pb
# Two outputs whose names become one file name keep a file each.
cleave run $CLEAVE_ROOT/tests/data/custom/twins.onnx --random --output twins -q >/dev/null
ls twins
# On a terminal a run of more than a second shows how far it is, and clears that.
bar() { script -qec "cleave run squeezenet1_1 --input-shape 1,3,64,64 --random --backend ref $*" /dev/null | tr '\r' '\n' | tr -d '\033'; }
bar --repeat 100 | grep -c '% *running' | awk '{ print ($1 > 0) ? "a bar" : "no bar" }'
bar --repeat 40 --quiet | grep -c '% *running' || true
cleave run squeezenet1_1 --input-shape 1,3,64,64 --random --repeat 40 2>&1 | grep -c running || true
