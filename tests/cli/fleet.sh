# One command over many models: a line each, errors too, in the order of the
# models however many processes there are; a run that was killed goes on.
mkdir -p zoo/deep
cp "$CLEAVE_ROOT"/tests/data/ort_forms/recurrent_*.onnx zoo/deep
cp "$CLEAVE_ROOT"/tests/data/ort_forms/recurrent_gru_usual.onnx zoo/b.onnx
echo "no model" >zoo/a.onnx
echo "no model" >zoo/readme.txt
short() { jq -c '[.file, .exit, .error, .result.operators]' "$@"; }

echo "-- a folder, a pattern that the shell does not know, names"
cleave profile zoo --json-lines >all.jsonl; echo "exit $?"
short all.jsonl | head -3
cleave profile 'zoo/**/*.onnx' --json-lines 2>/dev/null | cmp - all.jsonl && echo "the pattern finds the same"
cleave profile resnet18 nothing zoo/b.onnx --json-lines | short
cleave memory resnet18 alexnet --json-lines | jq -c '[.file, .result.peak_bytes > 0]'
cleave partition resnet18 alexnet -s fusion --json-lines | jq -c '[.file, .result.total_subgraphs]'
cleave check resnet18 alexnet --budget params=20M --json-lines | jq -c '[.file, .exit]'

echo "-- the same for any number of processes"
for jobs in 1 3 7; do cleave profile zoo --json-lines --jobs $jobs 2>/dev/null | cmp - all.jsonl; done

echo "-- going on"
head -c $(($(head -2 all.jsonl | wc -c) + 20)) all.jsonl >cut.jsonl
cleave profile zoo --json-lines --output cut.jsonl --resume 2>&1; cmp cut.jsonl all.jsonl
cleave profile zoo --json-lines --output cut.jsonl --resume && cmp cut.jsonl all.jsonl && echo "nothing left to do"

echo "-- shares"
for r in 0 1 2; do cleave profile zoo --json-lines --shard $r/3 2>/dev/null; done | sort | cmp - <(sort all.jsonl)

echo "-- ranks, as a launcher starts them: models that fail do not end the others"
for r in 0 1; do
    OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=2 cleave profile zoo --json-lines --shard mpi -o ranks.jsonl
    echo "exit $?"
done 2>&1
cat ranks.jsonl.? | sort | cmp - <(sort all.jsonl)

echo "-- ten thousand"
mkdir many
for i in $(seq -w 0 9999); do ln zoo/b.onnx many/$i.onnx; done
cleave profile many --json-lines --jobs 2 -o many.jsonl
wc -l <many.jsonl
jq -r .result.operators many.jsonl | sort | uniq -c | awk '{print $1, "of one kind"}'

echo "-- bad input"
run cleave profile resnet18 --jobs 2
run cleave profile zoo --json-lines --resume
run cleave profile zoo --json-lines --shard 3/3
run cleave profile zoo --json-lines --shard mpi
run cleave profile 'zoo/*.nothing' --json-lines
run cleave profile zoo --json-lines --output nowhere/x.jsonl
