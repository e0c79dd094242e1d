# The backend of docs/backends.md, taken from the page, compiled as a plugin and
# found by its name. Then plugins that are not what they should be.
# builds: plain
cc=${CC:-cc}
command -v ${cc%% *} >/dev/null || skip "no C compiler"
program=$(command -v cleave-plugins || command -v cleave)
cp "$program" ./cleave
sed -n 's/^    //p; /^$/p' "$CLEAVE_ROOT/docs/backends.md" >mine.c
plugin() { # NAME SOURCE
    $cc -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Wno-unused-parameter -Werror -shared -fPIC \
        -fvisibility=hidden -I"$CLEAVE_ROOT/include" -I"$CLEAVE_ROOT/src" "$2" \
        "$CLEAVE_BUILD/libcleave-internal.a" -lm -ldl -lz -lpthread -o "libcleave-$1.so" 2>&1 | head -20
}
plugin mine mine.c
./cleave run "$CLEAVE_ROOT/tests/data/onnx_capability/sort_end.onnx" --random --backend mine --json |
    jq -c '[.backend, (.parts[] | [.device, .operators])]'

with() { # NAME WHAT: the same plugin with another entry
    sed "s/^CLV_PLUGIN(mine_type);/CLV_API const clv_plugin clv_plugin_entry;\nconst clv_plugin clv_plugin_entry = {$2, \&mine_type, clv__memory_from, clv__limits_from};/" \
        mine.c >"$1.c"
    plugin "$1" "$1.c"
    ./cleave partition alexnet --strategy capability --backend "$1"
    echo "exit $?"
}
with newer 'CLV_PLUGIN_ABI + 1, CLV_PLUGIN_LAYOUT, CLV_OP_COUNT'
with larger 'CLV_PLUGIN_ABI, CLV_PLUGIN_LAYOUT + 8, CLV_OP_COUNT'
with fewer 'CLV_PLUGIN_ABI, CLV_PLUGIN_LAYOUT, CLV_OP_COUNT - 1'
echo 'int nothing = 1;' >other.c
plugin other other.c
./cleave partition alexnet --strategy capability --backend other; echo "exit $?"
echo 'not an object' >libcleave-text.so
./cleave partition alexnet --strategy capability --backend text 2>&1 | sed "s|: /.*|: ...|"
./cleave partition alexnet --strategy capability --backend ../mine; echo "exit $?"
./cleave partition alexnet --strategy capability --backend nobody; echo "exit $?"
