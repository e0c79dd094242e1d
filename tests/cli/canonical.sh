# What a node computes is its operator, its attributes and its inputs: no rule,
# kernel, cut or run looks at the name a node had at its source, nor at the
# format it came from; and no reader of an attribute states a default.
cd "$CLEAVE_ROOT" || exit 1
echo "names of the source read where meaning is decided:"
grep -rnE -e '->(origin|source|format)\b|\.(origin|source)\b *=' \
    src/ops src/analysis src/cut src/backend src/run |
    grep -vE '\.def:|format_desc|opts->format|o->format|\.origin = clv__op_origin|->format = '
echo "defaults given by readers:"
grep -rnzoE 'attr_(int|float|str|is_set)\([^();]*CLV_A_[A-Z_0-9]+, *[^)"][^)]*\)' src --include='*.[ch]' |
    tr '\0' '\n' | grep -E 'attr_' | grep -v '^src/formats/onnx/read'
echo "docs/operators.md is what the tables say:"
sed -n '/^| operator/,$p' docs/operators.md | diff - <(cleave ops --markdown) && echo yes
