# cleave map and hardware: one device, several, batches, types, bad input.
run cleave map resnet50 --hardware h100
run cleave map resnet50 --hardware h100,jetson-agx-orin,raspberry-pi-4 --batch 1,32
run cleave map mobilenet_v2 --hardware t4 --strategy op --dtype int8 --top 3
run cleave map alexnet --hardware h100 --output a.csv --svg a.svg
head -n 3 a.csv
grep -c '<circle' a.svg
cleave map alexnet --hardware h100 --json | head -n 24
run cleave map alexnet
run cleave map alexnet --hardware h1000
run cleave map alexnet --hardware nothing-like-it
run cleave map alexnet --hardware h100,t4 --svg a.svg
run cleave hardware 'jetson*'
run cleave hardware h100
run cleave hardware hundred
cleave hardware --json | jq '.devices | length >= 45'
