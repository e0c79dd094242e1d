# The shared library shows public names only, and the command starts with
# nothing to load but libc and libm. (builds: plain)

echo "public names: $(nm -D --defined-only "$CLEAVE_BUILD/libcleave.so" |
    awk '$3 ~ /^clv_[a-z]/ {n++} END {print (n ? "some" : "none")}')"
echo "other names:"
nm -D --defined-only "$CLEAVE_BUILD/libcleave.so" | awk '$3 !~ /^clv_[a-z]/ {print $3}'
echo "libraries the command needs beside libc and libm:"
readelf -d "$CLEAVE_BUILD/cli/cleave" | awk '/NEEDED/ {print $5}' |
    grep -vxE '\[lib[cm]\.so\.6\]'
true
