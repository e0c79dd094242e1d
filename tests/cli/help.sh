# Help for the command and for each of its verbs, from one table.
cleave help | grep -v '^  '
run cleave help profile
run cleave profile --help >a
run cleave help profile >b
[ "$(tail -n +2 a)" = "$(tail -n +2 b)" ] && echo "--help and help agree"
run cleave --help >a
run cleave help >b
[ "$(tail -n +2 a)" = "$(tail -n +2 b)" ] && echo "--help and help agree"
echo "commands without help of their own:"
for verb in $(cleave help --completion | cut -d ' ' -f 1); do
    cleave help "$verb" | grep -q "^usage: cleave $verb" || echo "$verb"
    cleave help | grep -q "^  $verb " || echo "$verb"
done
echo "lines over 80 columns:"
for verb in $(cleave help --completion | cut -d ' ' -f 1); do
    cleave help "$verb" | awk -v v="$verb" 'length($0) > 80 {print v ": " $0}'
done
cleave help --man >cleave.1
if command -v groff >/dev/null; then groff -man -Tascii -ww cleave.1 >page; fi
echo "flags that the manual leaves out:"
for flag in $(cleave help --completion | tr ' ' '\n' | grep ^--); do
    grep -qF -- "$(sed 's/-/\\-/g' <<<"$flag")" cleave.1 || echo "$flag"
done
