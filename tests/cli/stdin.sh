# '-' is a model file on standard input: redirected, or through a pipe.
file=$CLEAVE_ROOT/tests/data/onnx/gru.onnx
cleave profile "$file" --json | jq 'del(.model)' >want
cleave profile - --json <"$file" | jq 'del(.model)' | cmp - want && echo "redirected: the same"
# shellcheck disable=SC2002
cat "$file" | cleave profile --model - --json | jq 'del(.model)' | cmp - want && echo "piped: the same"
echo "opened more than once:"
cleave sweep "$file" --batch 1,2 --json | jq -c '[.points[].macs]' >want
# shellcheck disable=SC2002
cat "$file" | cleave sweep - --batch 1,2 --json | jq -c '[.points[].macs]' | cmp - want && echo "piped: the same"
head -c 100 "$file" | run cleave profile -
run cleave profile - </dev/null
