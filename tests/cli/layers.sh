# A layer of src/ includes only itself and the layers above it (the order of
# src/meson.build); tables (.def) are plain data and may be read by any. The
# command uses the public headers and its own, nothing of src/.
cd "$CLEAVE_ROOT" || exit 1
layers=$(sed -n "/foreach/,/^\]/p" src/meson.build | grep -o "'[a-z]*'" | tr -d "'" | xargs)

grep -HnE '^# *include "[^"]*/' -r src cli --include='*.[ch]' | LC_ALL=C sort |
    awk -v layers="$layers" -F '"' '
    BEGIN { n = split(layers, l, " "); for (i = 1; i <= n; i++) rank[l[i]] = i }
    $2 ~ /\.def$/ || $2 ~ /^cleave\// { next }
    {
        split($1, where, ":"); split(where[1], path, "/"); split($2, to, "/")
        if (path[1] == "cli")
            print where[1] ":" where[2] ": the command includes " $2
        else if (!(to[1] in rank) || rank[to[1]] > rank[path[2]])
            print where[1] ":" where[2] ": " path[2] " may not include " $2
    }
    END { print (n >= 5 ? "layers checked" : "no layers found") }'

# Reports only write what results say: what is sorted, summed or averaged is a
# field of a result, computed by a layer above.
grep -nE 'qsort|sat_add|sat_mul|\+= *[^;]*(flops|bytes|seconds)' -r src/report --include='*.[ch]'
echo "reports checked"
