# Numbers go through functions of our own (core/decimal.h), which follow no
# locale: nothing else reads or writes a point, or asks what a letter is.
cd "$CLEAVE_ROOT" || exit 1
files=$(find src cli python -name '*.[ch]' ! -path src/core/decimal.c)
# shellcheck disable=SC2086
grep -nE '\b(strtod|strtof|strtold|atof|vsnprintf|vsprintf|sprintf|setlocale)\(' $files
# shellcheck disable=SC2086
grep -nE '\b(to(upper|lower)|is(alpha|alnum|digit|space|print|upper|lower)|strn?casecmp)\(' $files
# snprintf and fprintf never write a float; comments and remainders are none.
# shellcheck disable=SC2086
for f in $files; do
    tr '\n' ' ' <"$f" | grep -oE '\b(sn|f|d)?printf\([^;]*;' |
        grep -vE '^(clv|[a-z_]+_)?printf' |
        grep -E '"[^;]*%[-+ 0#]*[0-9*]*(\.[0-9*]+)?[fgeFGE][^;]*"' | sed "s|^|$f: |"
done
# In the environment, too.
want=$(cleave profile alexnet)
for v in LC_ALL=de_DE.UTF-8 LC_NUMERIC=de_DE LC_ALL=tr_TR LANG=nonsense LC_ALL=/../.. \
    LANGUAGE=: LC_ALL= LOCPATH=/nonexistent; do
    [ "$(env "$v" cleave profile alexnet)" = "$want" ] || echo "$v changes it"
done
echo checked
