# What a command may take, and how it ends when a signal ends it.
m=$CLEAVE_ROOT/tests/data/onnx/resnet18.legacy.onnx
for flags in '--max-nodes 10' '--max-memory 50kB' '--max-seconds 0.000001' \
    '--max-memory much' '--max-seconds -1' '--max-nodes 0'; do
    # shellcheck disable=SC2086
    cleave profile "$m" $flags 2>&1 >/dev/null | sed "s|byte [0-9]*|byte N|; s|$CLEAVE_ROOT/||"
    echo "${PIPESTATUS[0]}"
done
cleave run "$CLEAVE_ROOT/tests/data/crashes/loop_inf.onnx" --random \
    --max-seconds 0.2 2>&1 | grep -o 'not done after.*'

# A file runs in the memory that its shapes state, up to 2 GB: this one of 4 KB
# draws 60 million weights. Others run in little memory, unless the command line
# asks for more.
small=$CLEAVE_ROOT/tests/data/onnx/light/light_bvlc_alexnet.onnx
cleave run "$small" --random --backend cpu 2>&1 | head -1
cleave run "$small" --random --backend cpu --max-memory 200MB 2>&1 | grep -o 'needs more than.*'

cleave run alexnet --random --backend cpu --repeat 9223372036854775807 2>&1
cleave run alexnet --random --backend cpu --warmup 9223372036854775807 2>&1

# A single kernel that takes long is ended by the alarm.
cleave run resnet50 --random --batch 64 --max-seconds 0.1 2>&1 | grep -o 'not done after.*'

# A command that was asked does not outlive its asker, which leaves no files.
printf '#!/bin/sh\necho $$ >pid\nexec sleep 100\n' >slow
chmod +x slow
for signal in TERM HUP KILL; do
    rm -f pid
    cleave partition alexnet --strategy capability --backend cmd:./slow --timeout 50 >out 2>&1 &
    asker=$!
    for _ in $(seq 200); do [ -s pid ] && break; sleep 0.05; done
    kill -$signal $asker
    wait $asker 2>/dev/null
    echo "SIG$signal: $?"
    for _ in $(seq 100); do kill -0 "$(cat pid)" 2>/dev/null || break; sleep 0.05; done
    kill -0 "$(cat pid)" 2>/dev/null && echo "it lives on"
done
ls -A
