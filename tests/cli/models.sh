# The list of models, its filter, and the same as JSON and CSV.
run cleave models 'resnet*'
run cleave models 'resnet1[08]*' alexnet
cleave models --json >models.json
cleave models --output models.csv
cleave models --names >names
jq -r '.models[].name' models.json | cmp - names && echo "JSON lists every name"
tail -n +2 models.csv | cut -d , -f 1 | cmp - names && echo "CSV lists every name"
[ "$(sort -u names | wc -l)" -eq "$(wc -l <names)" ] && echo "no name twice"
echo "against the table measured with fvcore (it rounds einsum; those are left out):"
jq -r '.models[] | "\(.name) \(.input_shape | join("x")) \(.params) \(.macs)"' models.json |
    awk 'NR == FNR {if (/einsum/) next; split($0, f, ","); want[f[1] " " f[2]] = f[3] " " f[4]; next}
        ($1 " " $2) in want {
            n++
            if (want[$1 " " $2] != $3 " " $4) print $0 ", not " want[$1 " " $2]
        }
        END {print (n >= 10 ? "equal" : "too few")}' \
        "$CLEAVE_ROOT/tests/data/fvcore_torchvision.csv" -
