# Operators that the user describes: 2*2*16*16*64 = 65,536 MACs, and FLOPs
# 4*2*16*16*64 + 5*2*4*16*16 = 141,312. Then files that are wrong, by line.
model=$CLEAVE_ROOT/tests/data/custom/fancy.onnx
ops=$CLEAVE_ROOT/tests/data/custom/ops.json
cleave profile "$model" --json 2>/dev/null | jq -c '[.total_macs, .coverage.unknown, .coverage.unknown_ops]'
cleave profile "$model" --ops "$ops" --json |
    jq -c '[.total_macs, .layers[0].flops, .layers[0].trust, .coverage.given, .coverage.unknown, .outputs[0].shape]'
cleave profile "$model" --ops "$ops" | tail -1

wrong() {
    printf '%s\n' "$1" >bad.json
    cleave profile "$model" --ops bad.json 2>&1 | sed "s|$CLEAVE_ROOT/||"
    echo "exit ${PIPESTATUS[0]}"
}
wrong '{"FancyAttention": {"macs": "N*"}}'
wrong '{"FancyAttention": {
  "inputs": [["N", "S"]],
  "macs": "N*Q"}}'
wrong '{"FancyAttention": {"macs": "in0.9", "output": "same as input 0"}}'
wrong '{"FancyAttention": {"output": ["in0.9"]}}'
wrong '{"FancyAttention": {"cost": "1"}}'
wrong '{"FancyAttention": ['
wrong '[]'
cleave profile "$model" --ops missing.json 2>&1 | sed "s|$CLEAVE_ROOT/||"
