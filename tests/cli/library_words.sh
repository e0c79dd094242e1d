# The library knows nothing of the command's flags: what a message is about is
# in clv_err, and the command adds the flag (cli/hints.c).
cd "$CLEAVE_ROOT" || exit 1
# What is written for another engine names that engine's flags.
grep -nE '"([^"\\]|\\.)*--[a-z]([^"\\]|\\.)*"' -r src --include='*.[ch]' --include='*.def' |
    grep -v '^src/report/handover'
grep -nE "\"([^\"\\\\]|\\\\.)*(\`|')cleave [a-z]+(\`|')([^\"\\\\]|\\\\.)*\"" -r src --include='*.[ch]'
echo "strings checked"
