# Bash completion for cleave. The words come from the command itself, so they
# cannot fall behind it: `cleave help --completion` prints one line per command,
# its name and then its options; `cleave models --names` prints the models.

_cleave() {
    local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]-} words
    if [ "$COMP_CWORD" -eq 1 ]; then
        words=$(cleave help --completion 2>/dev/null | cut -d ' ' -f 1)
    elif [[ $cur == -* ]]; then
        words=$(cleave help --completion 2>/dev/null |
            sed -n "s/^$command //p")
    else
        words=$(cleave models --names 2>/dev/null)
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -F _cleave cleave
