# cleave whatif: batch, type, device, operators in int8, on the CPU, gone.
run cleave whatif resnet50 --hardware h100 --batch 8 --int8 layer4 --cpu-nodes '#3-5' --remove avgpool
run cleave whatif alexnet --dtype fp16
run cleave whatif alexnet --batch 4 --remove 'classifier.*' --output w.csv
cat w.csv
run cleave whatif alexnet --hardware t4 --int8 features.0 -o w.md
cat w.md
# Batch and type alone are what profile says.
diff <(cleave whatif resnet18 --batch 3 --dtype fp16 --json | jq '.after | {total_params, total_macs, total_flops, total_memory}') \
    <(cleave profile resnet18 --batch 3 --dtype fp16 --json | jq '{total_params, total_macs, total_flops, total_memory}') && echo same
cleave whatif resnet18 --hardware h100 --host i7-12700k --cpu-nodes fc --link 32 --json | jq -c '.operators, .after'
run cleave whatif alexnet --int8 nosuch
run cleave whatif alexnet --remove '#99'
run cleave whatif alexnet --hardware h100,t4
run cleave whatif alexnet --hardware nosuch
run cleave whatif nosuch
