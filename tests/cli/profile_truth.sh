# Totals of every model against the table measured with fvcore and torch.fx.
table=$CLEAVE_ROOT/tests/data/fvcore_torchvision.csv

# truth MODEL: params, MACs, fvcore's total and the input it was measured at.
# fvcore rounds einsum to four digits, so models with one are left out.
truth() { awk -F , -v m="$1" '$1 == m && !/einsum/ {print $3, $4, $5, $2}' "$table"; }

count=0
for model in $(cleave models --names); do
    read -r params macs fvcore input <<<"$(truth "$model")"
    [ -n "$params" ] || continue
    count=$((count + 1))
    shape=${input//x/,}
    got=$(cleave profile "$model" --input-shape "$shape" --json |
        jq -r '"\(.total_params) \(.total_macs)"')
    [ "$got" = "$params $macs" ] || echo "$model: $got, not $params $macs"
    got=$(cleave profile "$model" --input-shape "$shape" --count fvcore --json |
        jq -r .total_flops)
    [ "$got" = "$fvcore" ] || echo "$model as fvcore: $got, not $fvcore"
done
[ "$count" -ge 10 ] && echo "all equal"

echo "text says the same:"
read -r params macs _ <<<"$(truth resnet50)"
grouped() { sed ':a; s/\B[0-9]\{3\}\>/,&/; ta' <<<"$1"; }
cleave profile resnet50 >text
grep -c "Parameters: .*($(grouped "$params"))" text
grep -c "MACs: .*($(grouped "$macs"))" text
