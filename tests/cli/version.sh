# The version, and what a call without a command says.
run cleave version
run cleave --version
run cleave
