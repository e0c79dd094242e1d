# What the shell offers when the tab key is pressed.
. "$CLEAVE_ROOT/tools/completion.bash"
press() { # WORDS...: completes the last one
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _cleave
    echo "$* -> ${COMPREPLY[*]}"
}
press cleave pro
press cleave dia
press cleave profile --sh
press cleave profile --input
press cleave profile resnet1
press cleave diagnose resnet50 --exp
press cleave nothing --exp
