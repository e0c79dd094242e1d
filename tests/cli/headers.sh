# Every header compiles by itself; the public ones also as C++.
headers() { (cd "$1" && find . -name '*.h' | sed 's|^\./||' | LC_ALL=C sort); }
alone() { # COMPILER STANDARD HEADER: checks one header; COMPILER may be two words
    local flags="-Wall -Wextra -Wpedantic -Werror -D_DEFAULT_SOURCE -fsyntax-only"
    # shellcheck disable=SC2086
    echo "#include \"$3\"" | $1 $flags "-std=$2" -x "${4:-c}" \
        -I"$CLEAVE_ROOT/include" -I"$CLEAVE_ROOT/src" - || echo "FAILED $1 $3"
}

for h in $(headers "$CLEAVE_ROOT/include") $(headers "$CLEAVE_ROOT/src"); do
    alone "${CC:-cc}" c11 "$h"
done
if command -v c++ >/dev/null; then
    for h in $(headers "$CLEAVE_ROOT/include"); do alone c++ c++17 "$h" c++; done
fi
echo "checked"
