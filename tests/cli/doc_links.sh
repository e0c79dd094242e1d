# docs/README.md is the index: it links every page, and no link of any page
# leads nowhere.
cd "$CLEAVE_ROOT/docs" || exit 1

for page in *.md; do
    [ "$page" = README.md ] || grep -qF "]($page)" README.md ||
        echo "docs/README.md does not link $page"
done
for page in *.md ../README.md ../CONTRIBUTING.md; do
    { grep -oE '\]\([^)#: ]+' "$page" || true; } | sed 's/^](//' | sort -u |
        while read -r to; do
            [ -e "$(dirname "$page")/$to" ] || echo "docs/$page links $to"
        done
done
echo "links checked"
