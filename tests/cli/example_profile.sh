# The example program: totals against the table, errors as the command's.
run profile
read -r params macs <<<"$(awk -F , '$1 == "resnet50" {print $3, $4}' \
    "$CLEAVE_ROOT/tests/data/fvcore_torchvision.csv")"
profile resnet50 8 | grep -o '[0-9]* params, [0-9]* MACs' >got
echo "$params params, $((8 * macs)) MACs" | cmp - got && echo "as in the table, eight times"
run profile resnt50
