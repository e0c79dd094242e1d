# Cuts by what a backend supports, by time, into stages; export and verify.
run cleave partition alexnet -s capability --backend all-but:max_pool2d
run cleave partition alexnet -s capability --backend all-but:max_pool2d \
    --max-subgraph-count 3 --demote --top 3

cat >rules.json <<'END'
{"name": "mine", "default": "allow",
 "deny": [{"op": "conv2d", "attributes": {"kernel": {"min": 4}}, "reason": "kernels up to 3x3"}]}
END
run cleave partition alexnet -s capability --backend rules.json --cpu-nodes classifier
echo '{"nodes": {"features.*": "cpu", "features.0": "accelerator"}}' >sides.json
cleave partition alexnet -s capability --backend rules.json --overrides sides.json --json >cut.json
grep -c '"id"' cut.json
grep -E '"(minimum_subgraphs|accelerator_subgraphs|certificate)"' cut.json

# An external command: asked once per configuration.
cat >compiler <<'END'
#!/bin/sh
tee -a asked | sed -u 's/.*"op":"max_pool2d".*/{"supported": false, "reason": "no pools"}/
t
s/.*/{"supported": true}/'
END
chmod +x compiler
cleave partition resnet18 -s capability --backend cmd:./compiler | sed -n 2,12p
wc -l <asked

# Limits that cannot be met.
run cleave partition alexnet -s capability --backend all-but:max_pool2d --max-subgraph-count 2
run cleave partition alexnet -s capability --backend all-but:max_pool2d --min-subgraph-size 2
run cleave partition alexnet -s capability --backend all-but:max_pool2d --min-support 0.9

# Wrong words.
run cleave partition alexnet -s capability
run cleave partition alexnet -s capability --backend edgetpuu
run cleave partition alexnet -s capability --backend null --cpu-ops rellu
run cleave partition alexnet -s capability --backend null --cpu-nodes 'x*'
run cleave partition alexnet -s capability --backend none.json
run cleave partition alexnet -s capability --backend null --min-support 50
run cleave partition alexnet --backend null
printf '{"default": "deny",\n "alow": []}' >bad.json
run cleave partition alexnet -s capability --backend bad.json
run cleave partition alexnet -s capability --backend 'cmd:sleep 9' --timeout 0.2 --top 1 |
    sed -n '2,4p;/does not support/,/^$/p'
run cleave partition alexnet -s placement
run cleave partition alexnet -s pipeline

# A folder, its check, and what the check finds.
run cleave partition alexnet -s capability --backend all-but:max_pool2d -o parts >/dev/null
ls parts
run cleave verify parts
cleave partition alexnet -s capability --backend all-but:max_pool2d -o again >/dev/null
diff -r parts again && echo "the same to the byte"
run cleave partition alexnet -s capability --backend all-but:max_pool2d -o parts
tamper() {
    rm -rf broken
    cp -r parts broken
    sed -i "$2" "broken/$1"
    run cleave verify broken
}
tamper manifest.json 's/"nodes": \[2\], "inputs": \[4\]/"nodes": [2], "inputs": [4, 0]/'
tamper manifest.json '/partition_003/d'
tamper partition_001.json 's/"inputs": \[4\]/"inputs": [9]/'
tamper partition_001.json 's/"id": 2,/"id": 1,/'
tamper manifest.json 's/"id": 1, "file": "partition_001.json", "device": "cpu"/"id": 1, "file": "partition_001.json", "device": "mine"/'
tamper manifest.json 's/"outputs": \[38\]/"outputs": [37]/'
tamper manifest.json 's/{//'
run cleave verify none
