# cleave check: suitability, budgets, exit codes, bad input.
run cleave check resnet18 --hardware raspberry-pi-4
run cleave check resnet18 --compute-units 4 --memory 256MB --min-intensity 5
run cleave check resnet50 --hardware h100
run cleave check resnet50 --hardware h100 --batch 33 --memory 100MB
run cleave check resnet50 --budget macs=4.2G,params=30M,peak=80MB,flops=9G
run cleave check resnet50 --budget macs=4G,weights=100MB --budget unknown=0
run cleave check resnet50 --hardware t4 --budget latency=1us --strategy fusion
run cleave check alexnet --budget params=100M,memory=1GB,arena=1MB --json
run cleave check alexnet --budget params=100M --output c.csv
cat c.csv
run cleave check resnet50 --budget macs=4.2G,params=20M,peak=80MB -o c.md
cat c.md
run cleave check alexnet
run cleave check alexnet --budget
run cleave check alexnet --budget mac=1G
run cleave check alexnet --budget zzz=1G
run cleave check alexnet --budget 100MB
run cleave check alexnet --budget macs=many
run cleave check alexnet --budget macs=1G,macs=2G
run cleave check alexnet --budget latency=5ms
run cleave check alexnet --hardware t4 --budget latency=5MB
run cleave check alexnet --hardware t5
run cleave check alexnet --hardware t4,h100
run cleave check alexnet --memory 0
run cleave check alexnet --budget params=1G --max-fusion-ops 3
