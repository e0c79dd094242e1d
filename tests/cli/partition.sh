# cleave partition: the two strategies, their flags, every output.
run cleave partition resnet18 --strategy fusion
run cleave partition alexnet
run cleave partition resnet18 --strategy fusion --max-fusion-ops 2 --top 3
run cleave partition resnet18 --strategy fusion --output r.csv
head -n 4 r.csv
run cleave partition resnet18 --strategy fusion --json |
    grep -v '"id": \([3-9]\|[12][0-9]\)'
run cleave partition resnet18 --max-fusion-bytes 1000
run cleave partition resnet18 --strategy fuse | sed "s/takes .*, not/takes ..., not/"
run cleave partition resnet18 --strategy fusion --max-fusion-ops 0
run cleave partition
run cleave partition resnet81
