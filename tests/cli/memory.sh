# cleave memory: timeline, peak, arena, budgets, reordering, pictures, bad input.
run cleave memory resnet18
run cleave memory resnet18 --strategy fusion --no-inplace
run cleave memory googlenet --reorder --batch 4
run cleave memory resnet18 --budget 100MB
run cleave memory resnet18 --budget 50MB --quiet
run cleave memory alexnet --output m.csv --svg m.svg
head -n 4 m.csv
grep -c '<rect' m.svg
cleave memory alexnet --json | head -n 20
run cleave memory alexnet --budget lots
run cleave memory alexnet --budget -5MB
run cleave memory alexnet --budget 1MB,2MB
run cleave memory alexnet --budget macs=1G
run cleave memory alexnet --max-fusion-ops 3
run cleave memory alexnet --svg /nowhere/m.svg
run cleave memory alexnet vgg11
