# What `make install` leaves is enough to use the command, the manual, and the
# library, shared and static, through pkg-config. (builds: plain)
dest=$PWD/dest
make --no-print-directory -C "$CLEAVE_ROOT" install BUILD="$CLEAVE_BUILD" \
    DESTDIR="$dest" PREFIX=/usr/local >log 2>&1 || { cat log; exit 1; }
(cd "$dest" && find . ! -type d | sed -e 's|/lib/[^/]*-linux-[^/]*/|/lib/|' \
    -e 's|so\.[0-9.]*$|so.N|' | LC_ALL=C sort -u | grep -v '^./usr/local/include/')
(cd "$dest/usr/local/include" && find . -name '*.h' ! -path '*/plugin/*' | LC_ALL=C sort) >installed
(cd "$CLEAVE_ROOT/include" && find . -name '*.h' | LC_ALL=C sort) | diff - installed &&
    echo "every public header is there"

pc=$(find "$dest" -name cleave.pc)
lib=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$dest
cat >version.c <<'C'
#include <cleave.h>
#include <stdio.h>
int main(void)
{
    return puts(clv_version()) < 0;
}
C

# build OUTPUT SOURCE [LINK FLAGS]: compiles against the installed files only.
build() {
    local out=$1 source=$2
    shift 2
    # shellcheck disable=SC2046
    cc -std=c11 -Wall -Wextra -Werror "$source" -o "$out" \
        $(pkg-config --cflags cleave) "$@"
}
for source in version.c "$CLEAVE_ROOT"/examples/*.c; do
    [ -e "$source" ] || continue
    name=$(basename "$source" .c)
    # shellcheck disable=SC2046
    build "$name-shared" "$source" $(pkg-config --libs cleave) &&
        build "$name-static" "$source" "$lib/libcleave.a" -lm -ldl -lz &&
        LD_LIBRARY_PATH=$lib "./$name-shared" >shared.out &&
        "./$name-static" >static.out && cmp shared.out static.out &&
        echo "$name: same output from both libraries"
done
# The backend of docs/backends.md, built of what is installed and put there.
sed -n 's/^    //p; /^$/p' "$CLEAVE_ROOT/docs/backends.md" >mine.c
# shellcheck disable=SC2046
cc -std=c11 -Wall -Wextra -Wno-unused-parameter -Werror -shared -fPIC -fvisibility=hidden mine.c \
    $(pkg-config --cflags --libs cleave-plugin) -o "$lib/libcleave-mine.so" &&
    "$dest/usr/local/bin/cleave" run "$CLEAVE_ROOT/tests/data/onnx_capability/sort_end.onnx" \
        --random --backend mine --json | jq -c '[.backend, (.parts[] | [.device, .operators])]'
(cd "$dest/usr/local/include/cleave/plugin" && find . -name '*.h') | while read -r h; do
    # shellcheck disable=SC2046
    echo "#include \"$h\"" | cc -std=c11 -fsyntax-only $(pkg-config --cflags cleave-plugin) -x c - ||
        echo "$h does not compile alone"
done

[ "$("$dest/usr/local/bin/cleave" version)" = "cleave $(pkg-config --modversion cleave)" ] &&
    echo "the command and pkg-config agree on the version"
