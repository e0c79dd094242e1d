# The shared library shows public names only. The command starts with nothing to
# load where there is a static libc, else with libc, libm and zlib; a copy of it alone
# does all but load plugins. (builds: plain)

echo "public names: $(nm -D --defined-only "$CLEAVE_BUILD/libcleave.so" |
    awk '$3 ~ /^clv_[a-z]/ {n++} END {print (n ? "some" : "none")}')"
echo "other names:"
nm -D --defined-only "$CLEAVE_BUILD/libcleave.so" | awk '$3 !~ /^clv_[a-z]/ {print $3}'
echo "libraries the command needs beside libc, libm and zlib:"
readelf -d "$CLEAVE_BUILD"/cli/cleave{,-plugins} 2>/dev/null |
    awk '/NEEDED/ {print $5}' | grep -vxE '\[(lib([cm]\.so\.6|z\.so\.1)|ld-linux.*)\]'

cp "$(command -v cleave)" .
echo "a copy of the command alone:"
./cleave profile resnet18 | grep Coverage
./cleave run squeezenet1_1 --input-shape 1,3,32,32 --random >/dev/null; echo "exit $?"
./cleave partition resnet18 --strategy capability --backend onednn 2>err; echo "exit $?"
sed "s/ installed: .*/ installed: .../" err

echo "hardened:"
for f in cli/cleave libcleave.so libcleave-onednn.so; do
    [ -e "$CLEAVE_BUILD/$f" ] || continue
    readelf -lW "$CLEAVE_BUILD/$f" | grep -q GNU_RELRO || echo "$f: no RELRO"
    readelf -lW "$CLEAVE_BUILD/$f" | grep 'GNU_STACK' | grep -q 'RWE' && echo "$f: an executable stack"
    nm -a "$CLEAVE_BUILD/$f" | grep -q '__stack_chk_fail' || echo "$f: no stack protector"
done
readelf -dW "$CLEAVE_BUILD/libcleave.so" | grep -q NOW && echo "relocations are read-only"
