# Files of PyTorch: what torch counts and computes, and files that are no good.
cp "$CLEAVE_ROOT"/tests/data/torch/* .
near() { # the output of a run is that of torch
    cleave run "$1" --input "$2.x.npy" --output out --quiet >/dev/null || return
    mv out/*.npy got.npy
    rmdir out
    od -An -v -t f4 -j 128 got.npy >got.txt
    od -An -v -t f4 -j 128 "$2.y.npy" | paste - got.txt |
        awk '{for (i = 1; i <= NF / 2; i++) {d = $i - $(i + NF / 2); if (d < 0) d = -d; if (d > most) most = d}}
            END {print (most < 1e-4 ? "as torch" : "differs by " most)}'
}
while IFS=, read -r name params macs; do
    [ "$name" = name ] && continue
    file=$name.pt2
    [ -e "$file" ] || file=$name.pt
    [ -e "$file" ] || file=$name.onnx
    cleave profile "$file" --json >p.json
    echo "$name: $(jq -r --arg p "$params" --arg m "$macs" \
        'if (.total_params | tostring) == $p and (.total_macs | tostring) == $m then "counts as torch" else "\(.total_params) \(.total_macs)" end' p.json), $(near "$file" "$name")"
done <"truth.csv"
echo "an older archive: $(near "net_old.pt2" net)"
totals() { jq -c '[.inputs, .total_params, .total_macs, .coverage.unknown]'; }
cleave profile net.pt2 --batch 5 --json | totals
cleave profile net.pt2 --dim s77=7 --json | totals
cleave profile sizes.pt2 --input-shape 4,4 --json | totals # 2 products in the other branch
run cleave profile net.pt2 --dim s77=65
run cleave profile net.pt2 --dim batch=2
run cleave profile loop.pt2 --batch 3
cleave export traced.pt -o net.onnx --quiet >/dev/null && cleave profile net.onnx --json | totals
echo "weights without a graph:"
cleave profile state.pt --json | totals
cleave profile legacy.pt --json | totals
cleave profile state.pt --json | jq -r '.layers[] | "\(.module) \(.params)"'
echo "TorchScript:"
run cleave profile scripted.pt
cleave profile scripted.pt --input-shape 1,3,9,9 --json | totals
cleave profile traced.pt --json | totals
run cleave profile choice.pt --input-shape 2,2
echo "no good:"
run cleave profile harm.pt
[ -e harmed ] || echo "nothing was run"
for n in 100 5000 20000; do
    head -c $n net.pt2 >cut.pt2
    run cleave profile cut.pt2
done
head -c 300 legacy.pt >cut.pt
run cleave profile cut.pt
