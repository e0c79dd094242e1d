# cleave run: sizes from the inputs, and files of every kind, both ways.
cp $CLEAVE_ROOT/tests/data/run_io/* .
shape() { cleave run "$@" --json | jq -c '.outputs[0].shape'; }
# Open sizes are those of the files; a name stands for one size.
shape open.onnx -i two.npy -i six.npy
shape open.onnx -i b=six.pb -i a=six.npy
shape open.onnx -i both.npz
shape open.onnx -i both.npz --dim N=2
cleave run open.onnx -i a=six.npy --random --json 2>/dev/null | jq -c '.outputs[0].shape'
run cleave run open.onnx -i two.npy -i nine.npy
run cleave run open.onnx -i both.npz --dim N=4
run cleave run open.onnx -i two.npy -i two.npy
run cleave run open.onnx -i x.npy -i six.npy
run cleave run open.onnx -i a=both.npz
run cleave run open.onnx -i both.npz -i a=two.npy
shape nameless.onnx -i six.npy
cp trips.npy n.npy
cleave run quotients.onnx -i n.npy -o . -q >/dev/null 2>&1 && cmp q.npy want_q.npy && echo "q is equal"
# What .npy cannot hold is a TensorProto, and is read back: of each type, the
# numbers are those of onnx.reference.
cleave run casts.onnx -i x.npy -o out -q >/dev/null
ls out
args=(); for f in out/*.pb; do t=${f##*/}; args+=(-i "${t%.pb}=$f"); done
cleave run back.onnx "${args[@]}" -o back -q >/dev/null
for f in back/*.npy; do t=${f##*/}; cmp $f ${t%_f.npy}.npy && echo "$t is equal"; done
# The same in one archive.
cleave run casts.onnx -i x.npy -o all.npz -q >/dev/null
cleave run back.onnx -i all.npz -o back.npz -q >/dev/null
cleave run back.onnx -i all.npz -o again -q >/dev/null
for f in back/*.npy; do cmp $f again/${f##*/}; done && echo "the same again"
head -c 300 all.npz >cut.npz
run cleave run back.onnx -i cut.npz
run cleave run casts.onnx -i x.npy -o no/such/file.npz
# Texts and sequences: what onnx.reference gives.
cleave run texts.onnx -i words.pb -i tail.pb -o texts | grep -A 8 Outputs
for f in texts/*; do cmp $f want_${f##*/} && echo "${f##*/} is equal"; done
for n in 0 1 2 3; do
    cleave run regex$n.onnx -i words.pb -o regex -q >/dev/null
    cmp regex/y.npy want_regex$n.npy && echo "regex$n is equal"
done
run cleave run regex_bad.onnx -i words.pb
cleave run grow.onnx -i n=trips.npy -i x=six.npy -i s0=none.pb -o grown | grep -A 2 Outputs
cleave run join.onnx -i grown/s1.pb -o joined -q >/dev/null
cmp joined/y.npy want_y.npy && echo "y is equal"
cleave run grow.onnx -i n=trips.npy -i x=six.npy -i s0=grown/s1.pb -o more.npz -q >/dev/null
cleave run join.onnx -i more.npz --json | jq -c '.outputs[].shape'
run cleave run join.onnx -i six.npy
run cleave run join.onnx -i words.pb
run cleave run texts.onnx --random
run cleave run join.onnx --random
