# Names of the library: none of its layers calls a later one (the order of
# src/meson.build), and a program may use every name but clv_* itself. (builds: plain)
objects=$CLEAVE_BUILD/libcleave-internal.a.p
layers=$(sed -n "/foreach/,/^\]/p" "$CLEAVE_ROOT/src/meson.build" | grep -o "'[a-z]*'" | tr -d "'" | xargs)
for o in "$objects"/*src_*.o; do
    layer=${o##*src_}
    nm -P -g "$o" | sed "s|^|${layer%%_*} ${o##*src_} |"
done >symbols
awk -v layers="$layers" '
    BEGIN { n = split(layers, l, " "); for (i = 1; i <= n; i++) rank[l[i]] = i }
    NR == FNR { if ($4 != "U") home[$3] = $1; next }
    $4 == "U" && rank[home[$3]] > rank[$1] { print $2 " of " $1 " calls " $3 " of " home[$3] }
    END { print (length(home) > 1000 ? "layers checked" : "no symbols found") }' symbols symbols

lib=$CLEAVE_BUILD/libcleave.a
echo "global names without clv_:"
nm -P -g --defined-only "$lib" | awk 'NF > 2 && $1 !~ /^clv_[a-z]/ {print $1}'
nm -P -g --defined-only "$lib" | awk '$1 ~ /^clv_[a-z]/ {n++} END {print (n > 100 ? "public names: some" : "public names: none")}'

# A program that has every global name of the library's inside for itself.
{
    echo '#include <cleave.h>'
    echo '#include <stdio.h>'
    awk '$4 != "U" && $3 !~ /^clv_[a-z]/ && $3 !~ /^_/ {print $3}' symbols |
        cat - <(printf '%s\n' add scale input numel map arena_alloc) | LC_ALL=C sort -u |
        sed 's/.*/int &(void);\nint &(void) { return 1; }/'
    echo 'int main(void)'
    echo '{'
    echo '    clv_graph *g = NULL;'
    echo '    clv_profile *p = NULL;'
    echo '    if (clv_graph_open("resnet18", NULL, &g, NULL) || clv_profile_new(g, NULL, &p, NULL))'
    echo '        return 1;'
    echo '    printf("%lld MACs, %d\n", (long long)clv_profile_totals(p)->macs, add() + scale() + input() + map());'
    echo '    clv_profile_free(p);'
    echo '    clv_graph_free(g);'
    echo '    return 0;'
    echo '}'
} >own.c
grep -c '^int [a-z_0-9]*(void);' own.c | awk '{print ($1 > 500 ? "own names: some" : "own names: none")}'
# shellcheck disable=SC2086
${CC:-cc} -std=c11 -Wall -fno-builtin -I"$CLEAVE_ROOT/include" own.c "$lib" -lm -ldl -lz -lpthread -o own && ./own
