#!/usr/bin/env bash
# tests/gen/layout.sh - how many edges cross when Graphviz draws a model of the
# zoo: what `dot -v` says of its layers. Writes tests/data/layout/dot.txt.
#
#   tests/gen/layout.sh CLEAVE [MODEL ...] > tests/data/layout/dot.txt
#
# Without names, all models of the zoo. An edge per pair of operators, nodes of
# one size. Models that dot does not
# finish in a minute of the processor are left out.
set -euo pipefail
cleave=${1:-build/cli/cleave}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "# model, crossings ($(dot -V 2>&1)); written by tests/gen/layout.sh"
names=("${@:2}")
[ $# -ge 2 ] || mapfile -t names < <("$cleave" models --names)
for model in "${names[@]}"; do
    "$cleave" export "$model" -o "$work/g.json" --quiet >/dev/null
    jq -r '[.nodes[] | {i: .id, o: .outputs[]}] as $made
        | ([$made[] | {key: (.o | tostring), value: .i}] | from_entries) as $maker
        | "digraph { node [shape=box width=0.5 fixedsize=true label=\"\"]",
          (.nodes[] | "n\(.id)"),
          ([.nodes[] | .id as $to | .inputs[] | select(. != null)
            | $maker[tostring] | select(. != null) | "n\(.) -> n\($to)"] | unique[]),
          "}"' "$work/g.json" >"$work/g.dot"
    if (ulimit -t 60; exec dot -v -Tplain "$work/g.dot" -o /dev/null 2>"$work/log"); then
        n=$(grep -oE 'mincross .*: [0-9]+ crossings' "$work/log" | grep -oE '[0-9]+ cross' |
            awk '{ n += $1 } END { print n + 0 }')
        echo "$model $n"
    else
        echo "# $model: more than a minute"
    fi
done
