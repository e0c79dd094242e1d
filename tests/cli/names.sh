# Names of static functions carry their module: a name that two files define
# (build, fill, report) tells a stranger nothing. Lists what more than one defines.
cd "$CLEAVE_ROOT" || exit 1

grep -rEo --include='*.c' '^static [a-z_0-9 *]*[ *][a-z_0-9]+\(' src cli |
    sed -E 's/^([^:]*):.*[ *]([a-z_0-9]+)\($/\2 \1/' | LC_ALL=C sort -u |
    awk '{ files[$1]++; n++ }
    END {
        for (f in files) if (files[f] > 1) print f ": defined in " files[f] " files"
        print (n > 1000 ? "names checked" : "no names found")
    }'
