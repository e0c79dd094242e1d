"""Mistakes: each is refused in one line with the method, the reason and the way
on, as docs/python-errors.md shows; and a refusal leaves everything as it was.
timeout: 900"""
import logging
import os
import re

from py_check import check, equal, main

import python_errors as errors
from python_errors import cleave, nn, torch

logging.disable(logging.WARNING)
PAGE = os.path.join(os.environ["CLEAVE_ROOT"], "docs", "python-errors.md")
# Words that lead on, whichever way a refusal says it.
ON = re.compile(r": \S|; |did you mean|takes |writes |are 1 or more")


def test_lines():
    with open(PAGE) as f:
        page = f.read()
    same = f"torch {torch.__version__.partition('+')[0]};" in page
    n = 0
    for code, found in errors.rows():
        check(found is not None, f"{code}: nothing is raised")
        if found is None:
            continue
        kind, text = found
        n += 1
        check("\n" not in text and len(text) < 1500, f"{code}: {text!r}")
        method = re.match(r"(\w+)(: | has no flag | writes )", text)
        check(method is not None, f"{code}: no method in {text!r}")
        if method is not None:
            check(ON.search(text, method.start(2)), f"{code}: no way on in {text!r}")
        if same:
            check(f"| `{errors.cell(code)}` | {kind}: {errors.cell(text)} |\n"
                  in page, f"docs/python-errors.md: {code}: {kind}: {text}")
    check(n >= 40, f"{n} mistakes")


def test_nothing_changes():
    """Hooks, gradients, the random state, the mode and the default type."""
    def hook(*_):
        raise ValueError("no")

    net = nn.Sequential(nn.Linear(8, 4), nn.Dropout()).train()
    handle = net[0].register_forward_hook(hook)
    net[0].weight.grad = torch.ones(4, 8)
    torch.set_default_dtype(torch.float64)
    state, hooks = torch.random.get_rng_state(), dict(net[0]._forward_hooks)
    for call in (lambda: cleave.capture(net, torch.rand(2, 8).float()),
                 lambda: cleave.summary(net, input_data=torch.ones(2, 8).float()),
                 lambda: cleave.fvcore.FlopCountAnalysis(
                     net, torch.ones(2, 8).float()).total()):
        torch.random.set_rng_state(state)
        try:
            call()
            check(False, "the hook was not called")
        except cleave.Error as e:
            check("no: the model itself raises this" in str(e), e)
        equal(dict(net[0]._forward_hooks), hooks, "hooks")
        check(net.training and net[1].training, "mode")
        check(bool((net[0].weight.grad == 1).all()), "gradients")
        equal(torch.get_default_dtype(), torch.float64, "default type")
    torch.random.set_rng_state(state)
    try:
        cleave.capture(net, torch.ones(2, 8))
    except cleave.Error:
        pass
    check(bool((torch.random.get_rng_state() == state).all()), "random state")
    torch.set_default_dtype(torch.float32)
    handle.remove()


main(globals())
