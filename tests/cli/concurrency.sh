# cleave concurrency: one model, several, schedules, traces, bad input.
run cleave concurrency resnet18 --streams 2
run cleave concurrency resnet18 --strategy fusion --hardware h100 --verbose
run cleave concurrency resnet18,mobilenet_v2,efficientnet_b0
run cleave concurrency alexnet --batch 1,64 --trace t.json --streams 1
head -n 6 t.json
run cleave concurrency alexnet --strategy fusion --svg a.svg --output a.csv
grep -c '<rect .*<title>' a.svg
head -n 3 a.csv
run cleave concurrency alexnet --strategy fusion --json --streams 2
run cleave concurrency alexnet --hardware h1000
run cleave concurrency alexnet --hardware h100,a100
run cleave concurrency alexnet vgg11 --trace t.json
run cleave concurrency alexnet vgg11 --svg t.svg
run cleave concurrency alexnet --max-fusion-ops 3
run cleave concurrency alexnet --streams 0
run cleave concurrency alexnet --trace /nowhere/t.json
run cleave concurrency
