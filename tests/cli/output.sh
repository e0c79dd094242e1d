# Where reports go: a file in the format of its ending, JSON, a broken pipe.
run cleave profile alexnet --output a.json
run cleave profile alexnet --output=a.csv
run cleave profile alexnet -o a.txt
cleave profile alexnet --json >b.json
cmp a.json b.json && echo "the same JSON in a file and on standard output"
jq -r '.layers[].name' a.json >names
tail -n +2 a.csv | cut -d , -f 2 | cmp - names && echo "the same layers in CSV"
cmp <(COLUMNS='' cleave profile alexnet) a.txt && echo "the same text in a file"
cleave profile alexnet --json --output c.csv | jq -r .model
cmp a.csv c.csv && echo "JSON and CSV in one run"

echo "an older file is replaced, its mode kept:"
chmod 600 a.json
cleave profile resnet18 --output a.json && jq -r .model a.json && stat -c %a a.json
echo "files here:"
ls

echo "readers that leave early:"
set -o pipefail
for command in 'profile resnet50' 'profile resnet50 --json' 'models' 'help'; do
    # shellcheck disable=SC2086
    cleave $command 2>err | head -1 >first
    echo "$command: exit $?, $(wc -l <first) line, $(wc -c <err) bytes on stderr"
done

echo "colours:"
cleave profile alexnet | grep -c $'\033'
cleave profile alexnet --color always | grep -c $'\033\[1mModule'
cleave profile alexnet --color=never | grep -c $'\033'
true
