# Our count against other tools'. fvcore's totals come from the table.
run cleave validate resnet18
cleave validate resnet18,resnet50 vgg16 --json >some.json
cleave validate --models "resnet18,resnet50,vgg16" --json | cmp - some.json &&
    echo "commas, words and --models mean the same"
jq -r '.models[].model' some.json
cleave validate all --json >all.json
jq -r '.models[].model' all.json | cmp - <(cleave models --names) && echo "all is the zoo"
echo "fvcore as in the table:"
jq -r '.models[] | "\(.model) \(.conventions[] | select(.convention == "fvcore") | .total)"' all.json |
    awk 'NR == FNR {split($0, f, ","); want[f[1]] = f[5]; at[f[1]] = f[2]; next}
        $1 in want && at[$1] == "1x3x224x224" {
            n++
            if (want[$1] != $2) print $0 ", not " want[$1]
        }
        END {print (n >= 10 ? "equal" : "too few")}' \
        "$CLEAVE_ROOT/tests/data/fvcore_torchvision.csv" -
echo "differences that do not add up:"
jq -r '.models[] | .model as $m | .our_flops as $o | .conventions[] |
    select(.difference != ([.differences[].difference] | add // 0) or
           .difference != $o - .flops or
           (.differences | map(select(.difference != .ours - .theirs)) | length > 0)) |
    "\($m) \(.convention)"' all.json
cleave validate resnet18 resnet50 -o some.csv && head -1 some.csv && wc -l <some.csv
