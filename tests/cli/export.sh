# cleave export: pictures by the ending of the file, and what can go wrong.
run cleave export alexnet -o a.dot
cat a.dot
run cleave export vit_b_32 -o vit.dot
grep -c '^  s[0-9]* \[' vit.dot
grep '×' vit.dot
run cleave export resnet50 --depth 2 -o r.dot
grep -o 'layer[0-9.]* … layer[0-9.]*   ×[0-9]*' r.dot
run cleave export googlenet --verbose --strategy fusion -o g.dot
echo "$(grep -c '^  s[0-9]* \[' g.dot) boxes, $(grep -c rank=same g.dot) stages with several"
if command -v dot >/dev/null; then
    cleave export resnet18 -o r.svg
    cleave export resnet18 -o r.dot
    [ "$(grep -c 'class="node"' r.svg)" = "$(grep -c '^  [sio][0-9]* \[' r.dot)" ] ||
        echo "the picture does not show every box"
fi
run env PATH="$CLEAVE_BUILD/cli" cleave export alexnet -o a.svg | sed 's/PATH=[^ ]*/PATH=.../'
run cleave export alexnet -o a.xyz | sed 's/writes .* files/writes ... files/'
run cleave export alexnet -o a | sed 's/writes .* files/writes ... files/'
run cleave export alexnet
run cleave export alexnet --strategy op --max-fusion-ops 3 -o a.dot
run cleave export alexnet -o /nowhere/a.dot
run cleave export alexnet --hardware h1000 -o a.dot
# Overlays: each node once, by its output, with the FLOPs of the profile.
run cleave export alexnet -o c.explorer.json
jq -c '[keys, .gradient, (.results | length), .results["features.0"]]' c.explorer.json
[ "$(jq '[.results[].value] | add' c.explorer.json)" = "$(cleave profile alexnet --json | jq .total_flops)" ] && echo "the same FLOPs"
run cleave export alexnet -o c.netron.json
jq -c '[.signature, (.metrics | length), (.metadata | length), .metrics[2], .metadata[2]]' c.netron.json
[ "$(jq '[.metrics[] | select(.kind == "node" and .name == "FLOPs").value] | add' c.netron.json)" = "$(cleave profile alexnet --json | jq .total_flops)" ] && echo "the same FLOPs"
# A trace: what is under its counters is the work of the model; a chain on one
# stream has the peak of `cleave memory`.
run cleave export googlenet --hardware h100-sxm --streams 2 -o c.trace.json
jq -c '[.otherData.device, ([.traceEvents[].ph] | unique), ([.traceEvents[] | select(.ph == "C").name] | unique)]' c.trace.json
area() { jq --arg n "$1" '[.traceEvents[] | select(.ph == "C" and .name == $n)] as $c | reduce range(1; $c | length) as $i (0; . + $c[$i - 1].args.value * ($c[$i].ts - $c[$i - 1].ts) / 1e6)' c.trace.json; }
jq -n --argjson a "$(area FLOP/s)" --argjson b "$(cleave profile googlenet --json | jq .total_flops)" '($a / $b - 1 | fabs) < 1e-9'
jq -n --argjson a "$(area bytes/s)" --argjson b "$(cleave partition googlenet --strategy fusion --json | jq .total_memory)" '($a / $b - 1 | fabs) < 1e-9'
run cleave export vgg11 --hardware h100-sxm -o d.trace.json
[ "$(jq '[.traceEvents[] | select(.ph == "C" and .name == "live bytes").args.value] | max' d.trace.json)" = "$(cleave memory vgg11 --strategy fusion --json | jq .peak_bytes)" ] && echo "the same peak"
run cleave export alexnet -o e.trace.json
jq -c '[.otherData.time, ([.traceEvents[] | select(.ph == "C").name] | unique)]' e.trace.json
