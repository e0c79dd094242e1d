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
jq -c '[.signature, (.metrics | length)]' c.netron.json
