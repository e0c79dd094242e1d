# The examples of a partitioner's application note as ONNX (torch.sort becomes
# TopK): counts, the exact error, a supported operator sent to the CPU.
models=$CLEAVE_ROOT/tests/data/onnx_capability
lines() { grep -E 'arithmetic operations|Num Partitions|supports|^  [a-z]+:|^ +[0-9]  '; }
cleave partition $models/sort_end.onnx -s capability --backend all-but:topk | lines
cleave partition $models/sort_middle.onnx -s capability --backend all-but:topk \
    --max-subgraph-count 2
echo "exit $?"
cleave partition $models/sort_end.onnx -s capability --backend all-but:TopK \
    --min-support 0.8 --cpu-ops aten::log_softmax | lines
cleave partition $models/branches.onnx -s capability --backend all-but:topk | lines
