# The library knows nothing of the command's flags: what a message is about is
# in clv_err, and the command adds the flag (cli/hints.c).
cd "$CLEAVE_ROOT" || exit 1
grep -nE '"([^"\\]|\\.)*--[a-z]([^"\\]|\\.)*"' -r src --include='*.[ch]' --include='*.def'
grep -nE "\"([^\"\\\\]|\\\\.)*(\`|')cleave [a-z]+(\`|')([^\"\\\\]|\\\\.)*\"" -r src --include='*.[ch]'
echo "strings checked"
