# The matrix of operators, one in detail, by a foreign name, and none.
run() { echo "\$ cleave $*"; cleave "$@"; rc=$?; [ $rc -eq 0 ] || echo "exit $rc"; }
run ops 'conv*'
run ops avg_pool2d
run ops LayerNormalization
run ops conv2dd
cleave ops --json | jq -r '.operators | map(select(.onnx == [] and .torch == [])) | map(.name) | join(" ")'
cleave ops --json | jq '.operators[] | select(.name == "gelu")'
