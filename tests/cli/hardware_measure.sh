# cleave hardware --measure: this machine becomes the device host; device files.
cleave backends | grep -q onednn || skip "no onednn backend"
export XDG_DATA_HOME=$PWD/data
run cleave map alexnet --hardware host
cleave hardware --measure --json >measured.json 2>note.txt ||
    { grep -q 'not installed' note.txt && skip "oneDNN is not installed"; cat note.txt; }
sed "s|$PWD|PLACE|" note.txt
jq -c '.devices[0] | .name, .kind, (.fp32.value > 1e8), (.launch.value > 0 and .launch.value < 0.01),
       (.bandwidth.value > 1e8), (.bandwidth_l1.value > .bandwidth.value), .fp32.unit' measured.json
# What is kept is what was printed, and is listed and found like any other.
cmp measured.json data/cleave/hardware/host.json && echo same
cleave hardware --json | jq '.devices[-1].name'
cleave hardware host | grep -q 'product of side 2048' && echo measured
cleave map alexnet --hardware host --json | jq -c '.devices[0] | .device, (.seconds > 0)'
# A file of any name is a device too; a broken one is a warning in the list.
jq '.devices[0].name = "mine" | .devices[0].fp32.value = 1e12' measured.json >mine.json
cleave map alexnet --hardware mine.json --json | jq -c '.devices[0].device'
cleave hardware ./mine.json | tail -n +2 | awk 'NR == 1 { print $1, $2 }'
echo '{"devices": [{"name": "odd", "fp32": {"value": -1}}]}' >data/cleave/hardware/odd.json
cleave hardware host 2>&1 >/dev/null | sed "s|$PWD|PLACE|"
cleave map alexnet --hardware odd 2>&1 | sed "s|$PWD|PLACE|"
rm data/cleave/hardware/odd.json
echo '{"devices": [{"name": "odd", "kind": "toaster"}]}' >odd.json
run cleave hardware ./odd.json
echo '{' >odd.json
run cleave hardware ./odd.json
: >odd.json
run cleave hardware ./odd.json
run cleave hardware ./none.json
# A folder that cannot be written is said before anything is measured.
touch file
XDG_DATA_HOME=$PWD/file cleave hardware --measure 2>&1 | sed "s|$PWD|PLACE|"
run env -u XDG_DATA_HOME -u HOME cleave hardware --measure
run cleave hardware --measure h100
