# The sections of a profile. Its totals are checked in profile_truth.
run cleave profile alexnet
run cleave profile --model alexnet --showshape --depth 1 --top 2
cleave profile alexnet --verbose | sed -n '/^Layer Details/,$p'
