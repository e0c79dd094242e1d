# Small attacks: each ends at once, in one line, or does no harm.
data=$CLEAVE_ROOT/tests/data/crashes

# Names that are formulas, turn the writing around or end the line.
cleave profile "$data/names.onnx" -o p.csv && cut -d, -f1-3 p.csv | sed -n '2,4p'
cleave profile "$data/names.onnx" --verbose | grep -c $'\u202e'
cleave run "$data/multiline_error.onnx" --random 2>&1 >/dev/null | grep -vc warning

# Names too long for a file: all outputs are written.
cleave run "$data/long_output.onnx" --random --quiet -o outputs >/dev/null && ls outputs |
    sed -E 's/o{200}/o*200/'

# One long name does not pad every row.
cleave profile "$data/long_output.onnx" --verbose | awk '{ if (length > most) most = length } END { print (most < 400) }'

# Files that are none.
mkdir folder bundle huge
: >empty
mkfifo pipe bundle/manifest.json
for f in folder empty pipe /dev/zero /dev/null missing; do
    timeout 300 cleave partition alexnet --strategy placement --hardware h100 --costs $f
    timeout 300 cleave partition alexnet --strategy capability --backend null --overrides $f
    timeout 300 cleave profile alexnet --ops $f
done 2>&1 >/dev/null
timeout 300 cleave verify bundle
echo '{"nodes": 67108863, "outputs": [67108863], "partitions": []}' >huge/manifest.json
cleave verify huge

# A command that is not there; a backend that is not a name.
cleave partition alexnet --strategy capability --backend cmd:/nonexistent
cleave partition alexnet --strategy capability --backend ../folder/x 2>&1 | cut -d';' -f1

# What the program is called does not say where plugins lie.
mkdir evil && echo nonsense >evil/libcleave-onednn.so
(exec -a "$PWD/evil/cleave" cleave backends >out 2>&1) || cat out
(exec -a "$PWD/evil/cleave" cleave run "$data/Sum_e1.onnx" --random --backend onednn 2>&1) |
    grep -c 'cannot be loaded'

# OpenMP's variables say nonsense.
if cleave run "$data/relu2.onnx" --random --backend onednn --quiet 2>&1 | grep -q 'not installed'; then
    echo "oneDNN is not installed"
    exit 77
fi
# The search for leaks crashes on threads of OpenMP, which these start.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
for v in OMP_NUM_THREADS=100000 OMP_NUM_THREADS=-1 OMP_NUM_THREADS=1,x OMP_STACKSIZE=1T \
    OMP_THREAD_LIMIT=0 OMP_DISPLAY_ENV=true OMP_DYNAMIC=maybe; do
    env $v cleave run alexnet --random --backend onednn --quiet >out 2>err || { echo "$v"; cat err; }
    [ -s err ] && { echo "$v"; head -3 err; }
done
echo done
