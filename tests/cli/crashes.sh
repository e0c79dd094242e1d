# Small broken files: each command ends by itself, with at most one line of
# error. Files that only some commands once failed on are run by all.
tried=0
limit=10 # seconds of the processor; a sleeper ends, too
[ -e "$CLEAVE_BUILD/libcleave.so" ] || limit=100 # sanitizers take their time
within() { (ulimit -t $limit && exec timeout $((30 * limit)) "$@"); }
for f in "$CLEAVE_ROOT"/tests/data/crashes/*.onnx; do
    for c in profile 'run --random'; do
        rc=0
        # shellcheck disable=SC2086
        within cleave $c "$f" >out 2>err || rc=$?
        errors=$(grep -vc '^cleave: warning: ' err)
        if [ "$rc" -gt 3 ] || [ "$errors" -ne $((rc != 0)) ]; then
            echo "${f##*/}: $c: exit $rc, $errors lines of error"
            head -5 err
        fi
        tried=$((tried + 1))
    done
done
[ "$tried" -ge 70 ] && echo "all end well"
within cleave run "$CLEAVE_ROOT/tests/data/crashes/mp_same_big.onnx" \
    --random --backend onednn >out 2>err || cat err
for f in ub_max ub_avg layer_norm_one_scale; do
    cleave run "$CLEAVE_ROOT/tests/data/crashes/$f.onnx" --random \
        --backend onednn --verify >out 2>err
    [ $? -le 3 ] && ! grep differs err
done
cleave partition alexnet --strategy placement --hardware h100 \
    --curve 4294967295 >out 2>err ||
    cat err
