# CONTRIBUTING's recipe "Add an operator", followed in a copy: frac, x - trunc(x),
# which ONNX calls Frac there. Every file that is changed is one that the recipe
# names; then ONNX and torch reach the operator, and its values are right.
# builds: plain
# timeout: 600
command -v meson >/dev/null && command -v ninja >/dev/null || skip "no meson"
mkdir copy
(cd "$CLEAVE_ROOT" && tar cf - meson.build meson_options.txt CONTRIBUTING.md bench cli data \
    docs examples fuzz/*.c fuzz/meson.build include mpi python src tools web/dist \
    tests/*.* tests/cases tests/cli/recipe.sh tests/gen/ops.py \
    tests/py/operators.py) | tar xf - -C copy
cd copy || exit

# row FILE AFTER ROW: adds a row behind the first line that has AFTER.
changed=()
row() {
    local at
    at=$(grep -nF -m 1 -- "$2" "$1" | cut -d: -f1)
    [ -n "$at" ] || { echo "$1 has no line with $2"; exit 1; }
    sed -i "${at}r /dev/stdin" "$1" <<<"$3"
    changed+=("$1")
}
row src/ops/ops.def 'OP(TRUNC,' \
    'OP(FRAC, "frac", ELTWISE, COMPUTE, ELTWISE, same, 1, infer_same, cost_eltwise, par_eltwise, 0)'
row tests/gen/ops.py 'case("abs", "2,3:complex64"' \
    '    case("frac", "2,3", torch.frac, flops="out")'
row tests/cases/ops.txt '= macs' '
# flops = out
frac
< float32[2,3]
> float32[2,3]
= macs 0 flops 6'
row src/backend/kernels.def 'KERNEL(TRUNC,' 'KERNEL(FRAC, kernel_unary)'
row src/backend/ref/unary.c 'FN(fn_trunc,' 'FN(fn_frac, x - trunc(x))'
row src/backend/ref/unary.c 'PLAIN(TRUNC,' '    PLAIN(FRAC, fn_frac),'
row src/formats/onnx/onnx.def '"Floor",' 'ONNX(AI, "Frac", FRAC, "", 0, 0, 0, 0)'
row src/formats/aten/aten.def 'FN("trunc",' 'FN("frac", FRAC, "input$")'
row tests/py/operators.py 'same_name("round", torch, x, decimals=1)' 'same_name("frac", torch, x)'

# Only what is asked is built, without optimizing.
build() { ninja -C build "$@" >ninja.log 2>&1 || { grep -A4 -E 'error|FAILED' ninja.log; exit 1; }; }
meson setup build -Dbuildtype=plain -Dstatic=disabled >setup.log 2>&1 || { tail -5 setup.log; exit 1; }
build cli/cleave tests/test_ops tests/test_registry tests/test_onnx
PATH=$PWD/build/cli:$PATH
{ sed '/^| operator/,$d' docs/operators.md; cleave ops --markdown; } >page && mv page docs/operators.md
changed+=(docs/operators.md)

echo "changed, but not named by the recipe:"
sed -n '/^## Add an operator/,/^## Add a model/p' CONTRIBUTING.md >recipe
for f in "${changed[@]}"; do
    grep -qF -e "\`$f\`" -e "\`${f%/*}/\`" recipe || echo "$f"
done
echo "named by the recipe, but not there:"
grep -oE '`(src|tests|docs)/[^`]*`' recipe | tr -d '`' | while read -r f; do [ -e "$f" ] || echo "$f"; done
echo "in docs/operators.md: $(diff -U0 "$CLEAVE_ROOT/docs/operators.md" docs/operators.md | grep '^[-+]|')"
run cleave ops frac
# Every row has a case, a formula, an importer and its place in the order.
for t in test_ops test_registry "test_onnx table_in_order"; do
    build/tests/$t | sed -n "s/^# [0-9]* passed/$t: some passed/p; /^FAIL/p"
done

# field NUMBER CONTENT: a field of bytes in the wire format, as escapes; int likewise.
size() { local s; s=$(printf '%b.' "$1" | wc -c); echo $((s - 1)); }
field() { printf '\\x%02x\\x%02x%s' $(($1 << 3 | 2)) "$(size "$2")" "$2"; }
int() { printf '\\x%02x\\x%02x' $(($1 << 3)) "$2"; }
value() { # NAME: a float tensor of 6 elements
    field 1 "$1"
    field 2 "$(field 1 "$(int 1 1)$(field 2 "$(field 1 "$(int 1 6)")")")"
}
node=$(field 1 x)$(field 2 y)$(field 4 Frac)
graph=$(field 1 "$node")$(field 2 g)$(field 11 "$(value x)")$(field 12 "$(value y)")
printf '%b' "$(int 1 8)$(field 7 "$graph")$(field 8 "$(int 2 17)")" >frac.onnx
cleave profile frac.onnx --json | jq -c '[.total_flops, .layers[0].type, .coverage.unknown]'
# -2.75 -0.5 0 0.25 3.5 1000.125: all exact in float32, as are their fractions.
header="{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }"
{
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header"
    printf '\0\0\x30\xc0\0\0\0\xbf\0\0\0\0\0\0\x80\x3e\0\0\x60\x40\0\x08\x7a\x44'
} >x.npy
cleave run frac.onnx --input x.npy --output out >/dev/null && tail -c 24 out/y.npy | od -An -w24 -t f4

# From torch, where there is one.
python=$CLEAVE_ROOT/build/venv/bin/python
[ -z "${CLEAVE_VENV-}" ] || python=$CLEAVE_VENV/bin/python
if ! "$python" -c 'import torch' 2>/dev/null; then
    skip "no Python with PyTorch (tools/pyenv): torch.frac was not captured"
fi
build python/cleave/_cleave.abi3.so
cp python/cleave/*.py build/python/cleave/
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=build/python "$python" - <<'PY'
import torch
import cleave


class Frac(torch.nn.Module):
    def forward(self, x):
        return torch.frac(x * 3)


x = torch.randn(4, 5)
with torch.no_grad():
    want = Frac()(x)
graph = cleave.load(Frac(), (x,))
print([n["op"] for n in graph.nodes()])
got = torch.from_dlpack(graph.compile().run([x])[0])
print("equal to eager:", torch.equal(got, want))
PY
