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

# Profiles look at types: float32 is converted, these are not.
types() { # PROFILE TYPE
    printf '%s %s: ' "$1" "$2"
    cleave partition alexnet -s capability --backend "$1" --dtype "$2" --json >cut.json
    grep -oE '"(supported|total)": [0-9]+' cut.json | tr '\n' ' '
    echo "$(grep -oE '"reason": "[^"]*(only|must be)[^"]*"' cut.json | head -n 1)"
}
for type in fp32 int8 fp16 bf16; do
    for profile in edgetpu ethos-u55 nvidia-dla; do types $profile $type; done
done

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
printf '{"default": "deny",\n "allow": [{"op": "relu", "rank": "four"}]}' >bad.json
run cleave partition alexnet -s capability --backend bad.json
printf '{"default": "deny",\n "allow": ["relu",}' >bad.json
run cleave partition alexnet -s capability --backend bad.json
printf '{"ops": {"relu": "gpu"}}' >bad.json
run cleave partition alexnet -s capability --backend null --overrides bad.json
run cleave partition alexnet -s capability --backend null --max-subgraph-count 0
run cleave partition alexnet -s capability --backend null --min-subgraph-size -1
run cleave partition alexnet -s capability --backend null --min-subgraph-size 30
run cleave partition alexnet -s capability --backend null --min-operator-percentage-threshold 0.8
run cleave partition alexnet -s capability --backend null --objective fewest
run cleave partition alexnet -s capability --backend cmd:
run cleave partition alexnet -s capability --backend "cmd:echo 'x"

# Commands that hang, die, talk nonsense, say too little, or are not there: a
# "no" with that reason.
ask() {
    printf '$ %s\n' "$1"
    cleave partition alexnet -s capability --backend "cmd:$1" --timeout 0.2 --top 1 |
        sed -n '2,3p;/does not support/,/^$/p'
}
ask 'sleep 9'
ask "sh -c 'kill -9 \$\$'"
ask "sh -c 'exit 3'"
ask "sh -c 'while read x; do echo nonsense; done'"
ask "sh -c 'read x; echo {\\\"supported\\\": true}'"
ask 'no-such-compiler --query'
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

# The ONNX files are read as well.
swap() { # COMMAND... in a fresh copy
    rm -rf broken
    cp -r parts broken
    (cd broken && "$@")
    run cleave verify broken
}
exchange() { mv partition_001.onnx x && mv partition_003.onnx partition_001.onnx && mv x partition_003.onnx; }
swap exchange
swap cp partition_005.onnx partition_001.onnx
swap rm partition_002.onnx
swap truncate -s 100 partition_001.onnx
swap sed -i 's/MaxPool/MinPool/' partition_001.onnx
swap sed -i 's/"shape": \[1, 64, 27, 27\]/"shape": [1, 64, 27, 28]/' partition_001.json

# Nothing half-written: the folder appears whole or not at all.
mkdir -p closed && touch file
run cleave partition alexnet -s capability --backend all-but:max_pool2d -o none/parts
run cleave partition alexnet -s capability --backend all-but:max_pool2d -o file/parts
run cleave partition alexnet -s capability --backend all-but:max_pool2d \
    --max-subgraph-count 2 -o never
(ulimit -f 8; cleave partition alexnet -s capability --backend all-but:max_pool2d -o small 2>&1) |
    sed 's/small\.[A-Za-z0-9]*/small.XXXXXX/'
ls
