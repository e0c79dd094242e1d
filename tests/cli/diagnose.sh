# Why a count is not what was expected.
run cleave diagnose alexnet
run cleave diagnose resnet50 --expected-gflops 3.79
run cleave diagnose resnet50 --expected-gflops 4.1
run cleave diagnose resnet50 --expected-gflops 50
cleave diagnose resnet50 --expected-gflops 4.1 --json |
    jq -c '[.expected_flops, .low, (.explanations | length > 0), .convs, .matmuls]'
run cleave diagnose alexnet --output a.csv
cat a.csv
