# Every header compiles by itself; the public ones also as C++. Public structs
# that grow begin with their size, and each header says what threads may do.
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

# Rows of lists have no size.
rows='clv_(shape|dim|attr|data)_arg'
grep -A 1 -E '^typedef struct clv_[a-z_]*_(opts|info|arg) \{' -h -r "$CLEAVE_ROOT/include" |
    awk -v rows="$rows" '/^typedef/ {name = $3} !/^typedef|^--/ && !/size_t size;/ && name !~ rows {print name " has no size"}'
grep -L 'Threads:' "$CLEAVE_ROOT"/include/cleave/*.h
echo "checked"
