# The totals of a profile, added up again from its layers by jq.
cat >sums.jq <<'JQ'
def sum(f): map(f) | add // 0;
def same(what; a; b): if a == b then empty else "\(what): \(a) and \(b)" end;
. as $p | .layers as $l |
same("operators"; $l | length; $p.operators),
same("params"; ($l | sum(.params)) + $p.unused_params; $p.total_params),
same("macs"; $l | sum(.macs); $p.total_macs),
same("flops"; $l | sum(.flops); $p.total_flops),
same("memory"; $l | sum(.memory); $p.total_memory),
same("memory of a layer"; $l | sum(.bytes_in + .bytes_out + .bytes_weights); $p.total_memory),
same("bytes_in"; $l | sum(.bytes_in); $p.bytes_in),
same("bytes_out"; $l | sum(.bytes_out); $p.bytes_out),
same("bytes_weights"; $l | sum(.bytes_weights); $p.bytes_weights),
same("types"; $l | group_by(.type) | map({key: .[0].type, value:
    {count: length, flops: sum(.flops), macs: sum(.macs)}}) | from_entries; $p.op_types),
same("coverage"; $l | map(.trust) | group_by(.) | map({key: .[0], value: length}) | from_entries;
    $p.coverage | del(.unknown_ops) | with_entries(select(.value > 0))),
same("bottlenecks"; $l | map(.bottleneck) | group_by(.) | map({key: .[0], value: length}) | from_entries;
    $p.bottlenecks | with_entries(select(.value > 0))),
same("classes"; $l | map(select(.bottleneck !=
    (if .arithmetic_intensity > 50 then "compute_bound"
     elif .arithmetic_intensity > 10 then "balanced"
     elif .arithmetic_intensity > 1 then "memory_bound"
     else "bandwidth_bound" end))) | length; 0),
same("intensity"; $l | map(select(.memory > 0 and
    ((.flops / .memory - .arithmetic_intensity) | fabs) > 1e-9 * .arithmetic_intensity)) | length; 0),
same("ids"; $l | map(.id); [range($l | length)]),
same("threads"; $l | map(.parallelism | select(.batch * .channels * .spatial != .total_threads)) | length; 0)
JQ
count=0
for model in alexnet resnet50 googlenet mobilenet_v2 densenet121 vgg16_bn; do
    for flags in '' '--batch 3' '--dtype fp16' '--count fvcore' '--count thop'; do
        # shellcheck disable=SC2086
        cleave profile $model $flags --json | jq -r -f sums.jq | sed "s/^/$model $flags /"
        count=$((count + 1))
    done
done
echo "$count profiles added up"

echo "keys:"
cleave profile alexnet --json | jq -r 'keys_unsorted | join(" ")'
cleave profile alexnet --json | jq -r '.layers[0] | keys_unsorted | join(" ")'
cleave profile alexnet --json | jq -r '.layers[0].parallelism | keys_unsorted | join(" ")'
cleave profile alexnet --json | jq -c '.inputs, .outputs, .coverage'

echo "twice the same bytes:"
cmp <(cleave profile resnet50 --json) <(cleave profile resnet50 --json) && echo yes
