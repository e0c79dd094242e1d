# cleave report: one page that needs nothing else, and bad input.
run cleave report alexnet
ls
run cleave report resnet18 resnet34 -o two.html --hardware h100,raspberry-pi-5 --backend edgetpu
grep -o '<title>.*</title>' report.html two.html
grep -c 'default-src .none.; script-src .sha256-' report.html
grep -o 'type="application/x-cleave" id="[a-z]*-[01]"' two.html | cut -d'"' -f4 | xargs
# Nothing is fetched from anywhere: there is no address in it.
grep -oE '(https?:)?//[a-z]+\.[a-z./0-9]*' report.html | sort -u
cleave report alexnet -o again.html && cmp report.html again.html && echo same
# A name of a file that would be markup.
cp "$CLEAVE_ROOT/tests/data/report/hostile.onnx" '<b>.onnx'
run cleave report '<b>.onnx' --quiet -o hostile.html
grep -o '<title>.*</title>' hostile.html
grep -c 'pwned' hostile.html
# A device without a rate for the type is left out, and the page says so.
run cleave report alexnet --hardware coral-edge-tpu -o int8.html
run cleave report nosuch
run cleave report alexnet --hardware nosuch
run cleave report alexnet --backend nosuch
run cleave report alexnet -o /nowhere/r.html
run cleave report alexnet resnet18 vgg11
run cleave report alexnet --hardware a10,a30,a40,h100,h200,b200,l4,l40s,gh200
# --open hands the page to the desktop's program.
mkdir bin && printf '#!/bin/sh\necho "opened $1"\n' >bin/xdg-open && chmod +x bin/xdg-open
PATH=$PWD/bin:$PATH run cleave report alexnet -o o.html --open
