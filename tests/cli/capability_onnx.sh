# The examples of a partitioner's application note as ONNX (torch.sort becomes
# TopK): counts, the exact error, a supported operator sent to the CPU.
models=$CLEAVE_ROOT/tests/data/onnx_capability
lines() { grep -E 'arithmetic operations|Num Partitions|supports|^  [a-z]+:|^ +[0-9]  '; }
cleave partition $models/sort_end.onnx -s capability --backend all-but:topk | lines
cleave partition $models/sort_middle.onnx -s capability --backend all-but:topk \
    --max-subgraph-count 2
echo "exit $?"
cleave partition $models/sort_end.onnx -s capability --backend all-but:TopK \
    --min-support 0.8 --cpu-ops aten::log_softmax | lines
cleave partition $models/branches.onnx -s capability --backend all-but:topk | lines

# Graphs that partitioners are known to get wrong.
count() { # MODEL BACKEND [OPTION]
    printf '%s: ' "$*"
    cleave partition "$models/$1.onnx" -s capability --backend "${@:2}" |
        sed -n 's/^  Num Partitions: //p'
}
count crossed_pair all-but:sin
count crossed_pair all-but:sin --connected
count exchange all-but:sin
count shared_constant all-but:sin,mul
echo '{"name": "few", "default": "deny", "allow": ["relu", "add", "mul"]}' >few.json
count getitem few.json
count getitem all-but:split

# Draws of random numbers keep their order: subgraph 1 reads nothing of 0, and
# waits for it; two subgraphs would do otherwise.
cleave partition $models/random_order.onnx -s capability --backend all-but:random_like \
    -o cut.json
grep -oE '"(node_names|depends_on)": \[[^]]*\]' cut.json
for m in crossed_pair exchange shared_constant getitem random_order; do
    cleave partition $models/$m.onnx -s capability --backend all-but:sin,random_like,split \
        -o $m >/dev/null
    run cleave verify $m
done
grep -h '"after"' random_order/*.json | grep -oE '"(name|after)": [^,]*'
tamper() { # FILE EXPRESSION
    rm -rf broken
    cp -r random_order broken
    sed -i "$2" "broken/$1"
    cmp -s random_order/$1 broken/$1 && echo "nothing changed"
    run cleave verify broken
}
tamper partition_001.json 's/"after": 0/"after": 3/'
tamper manifest.json '/"id": 1,/s/"depends_on": \[0\]/"depends_on": []/'
tamper manifest.json '/"id": 2,/s/"depends_on": \[1\]/"depends_on": [0, 1]/'
