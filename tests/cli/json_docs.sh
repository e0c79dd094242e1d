# Every key that a command's JSON can have is named in its section of docs/json.md.
section() { sed -n "/^## $1\$/,/^## /p" "$CLEAVE_ROOT/docs/json.md"; }

# keys: names of members, without those of objects whose keys are data.
keys() {
    jq -r 'def data: ["op_types", "kinds", "unsupported", "operation_types", "partition_reasons",
            "parallelism_distribution"];
        def walk_keys: if type == "object" then
                to_entries[] | .key as $k | $k,
                    (if data | index($k) then .value[]? else .value end | walk_keys)
            elif type == "array" then .[] | walk_keys else empty end;
        walk_keys' | sort -u
}

# check VERB ARGUMENTS...: runs it and looks its keys up.
check() {
    local key
    section "$1" | grep -q . || { echo "$1 has no section"; return; }
    "cleave" "$@" --json | keys | while read -r key; do
        section "$1" | grep -qF "\`$key\`" || [ "$key" = schema ] || echo "$1: $key"
    done
}
check profile resnet18
check profile resnet18 --count fvcore
check models alexnet
check formats
check validate alexnet
check diagnose resnet50 --expected-gflops 4.1
check partition resnet18 --strategy fusion
check partition resnet18 --strategy capability --backend null
check partition resnet18 --strategy placement --hardware h100 --curve 3
check partition resnet18 --strategy pipeline --stages 3 --hardware h100
check concurrency resnet18
check concurrency resnet18 --strategy fusion --streams 2 --hardware h100
check memory resnet18 --budget 100MB
check map resnet18 --hardware h100
check hardware h100
check compare resnet18 resnet50
check sweep resnet18 --batch 1,2 --formula
check check resnet18 --hardware h100 --budget params=20M 2>/dev/null
check run squeezenet1_1 --random --input-shape 1,3,32,32
echo "checked"
