# Text fits the terminal: names lose their middle, prose is folded.
for columns in 80 100; do
    export COLUMNS=$columns
    for command in 'profile googlenet' 'profile googlenet --verbose' \
        'validate googlenet' 'diagnose googlenet --expected-gflops 1' 'models' \
        'map resnet18 --hardware h100,t4,a100-80,jetson-orin-nano'; do
        # shellcheck disable=SC2086
        cleave $command | sed 's/[█▏▎▍▌▋▊▉]/#/g' | awk -v n="$columns" -v c="$command" \
            'length($0) > n {bad++} END {if (bad) print n, c ": " bad " lines too long"}'
    done
done
COLUMNS=60 cleave profile googlenet | sed -n 1,12p
