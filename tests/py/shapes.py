"""Objects in the shape of torchinfo and fvcore, beside the real ones where they
are installed: the same figures. Handles of operators, inputs by size, progress.
timeout: 900"""
import contextlib
import importlib.util
import io
import logging
import sys
import time

from py_check import check, equal, main, raises, skip

from tv import torch, torchvision
from torch import nn

import cleave
from cleave import fvcore as ours
from cleave import handles, waiting

QUICK = ("alexnet", "resnet18", "mobilenet_v2", "squeezenet1_1",
         "shufflenet_v2_x1_0", "regnet_y_400mf", "efficientnet_b0",
         "convnext_tiny", "vit_b_16", "swin_t")
logging.disable(logging.WARNING)    # both warn of what they have no rule for


class Net(nn.Module):
    """fvcore's own example, with a layer that is frozen and one unused."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(1000, 10)
        self.conv = nn.Conv2d(3, 10, 1)
        self.act = nn.ReLU()
        self.unused = nn.Linear(3, 3)
        self.conv.requires_grad_(False)

    def forward(self, x):
        return self.fc(self.act(self.conv(x)).flatten(1))


net, x = Net().eval(), torch.rand(1, 3, 10, 10)


def test_flops():
    flops = ours.FlopCountAnalysis(net, x)
    equal((flops.total(), flops.total("fc"), flops.total("act")),
          (13000, 10000, 0), "total")
    equal(flops.by_operator(), {"linear": 10000, "conv": 3000}, "operators")
    equal(flops.by_module(), {"": 13000, "fc": 10000, "conv": 3000, "act": 0,
                              "unused": 0}, "modules")
    equal(flops.by_module_and_operator()["conv"], {"conv": 3000}, "both")
    equal(flops.uncalled_modules(), {"unused"}, "uncalled")
    equal(flops.unsupported_ops(), {}, "unsupported")
    acts = ours.ActivationCountAnalysis(net, x)
    equal((acts.total(), acts.by_operator()),
          (1010, {"conv": 1000, "linear": 10}), "activations")
    equal(ours.parameter_count(net)[""], 10010 + 40 + 12, "parameters")
    table = ours.flop_count_table(flops, activations=acts)
    check("| module" in table and "#activations" in table and
          "13.000 K" in table and "(10, 1000)" in table, table)
    check("#flops: 10.000 K" in ours.flop_count_str(flops) and
          "(fc): Linear(" in ours.flop_count_str(flops), "text")
    check("10.050 K" in ours.parameter_count_table(net) or
          "10.062 K" in ours.parameter_count_table(net), "table")
    giga, unsupported = ours.flop_count(net, x)
    equal((giga["conv"], unsupported), (3e-6, {}), "flop_count")


def test_handles():
    """set_op_handle, and ops= of a live module: a callback per operator."""
    flops = ours.FlopCountAnalysis(net, x).set_op_handle(
        "aten::relu", lambda i, o: 2 * o[0].numel(), "aten::linear", None)
    equal(flops.by_operator(), {"conv": 3000, "relu": 2000}, "handles")
    equal(flops.copy().total(), 5000, "copied")
    flops.set_op_handle(**{"aten::_convolution": lambda i, o: {"mine": 7}})
    equal(flops.by_operator(), {"mine": 7, "relu": 2000}, "by its own name")
    seen = []

    def convolution(inputs, outputs):
        seen.append([o.shape for o in (*inputs, *outputs)])
        return 5, 11    # multiply-adds and FLOPs

    p = cleave.profile(net, x, ops={"aten::conv2d": convolution, "relu": None})
    layers = {l["type"]: l for l in p["layers"]}
    equal((layers["conv2d"]["macs"], layers["conv2d"]["flops"],
           layers["conv2d"]["trust"]), (5, 11, "given"), "given")
    equal((layers["relu"]["flops"], p["total_macs"]), (0, 10005), "totals")
    equal(seen, [[(1, 3, 10, 10), (10, 3, 1, 1), (10,), (1, 10, 10, 10)]],
          "operands")
    equal(p["coverage"]["given"], 2, "coverage")
    with raises(cleave.Error, "capture: the handle of 'relu' raised "
                "ZeroDivisionError: division by zero; its operands were"):
        cleave.profile(net, x, ops={"relu": lambda i, o: 1 / 0})
    for bad in (-1, "many", None, float("nan"), 2 ** 63):
        with raises(cleave.Error, "give a number of FLOPs"):
            cleave.profile(net, x, ops={"relu": lambda i, o: bad})


def test_summary():
    stats = cleave.summary(net, input_size=(1, 3, 10, 10), verbose=0, col_names=(
        "input_size", "output_size", "num_params", "params_percent",
        "kernel_size", "mult_adds", "trainable", "frozen_params"))
    equal((stats.total_params, stats.trainable_params, stats.frozen_params),
          (10010 + 40 + 12, 10010 + 12, 40), "trained and frozen")
    equal(stats.total_mult_adds, 10010 + 100 * 40, "multiply-adds")
    equal(stats.total_macs, 13000, "as we count")
    equal(stats.total_output_bytes, 2 * 4 * (1000 + 10), "outputs")
    text = repr(stats)
    for part in ("Layer (type:depth-idx)", "├─Conv2d: 1-1", "[1, 10, 10, 10]",
                 "(40)", "Non-trainable params: 40", "False",
                 "Total mult-adds: 14,010"):
        check(part in text, f"no {part!r} in {text}")
    page = stats._repr_html_()
    check(page.startswith("<table>") and "<th>Output Shape</th>" in page and
          "<td>[1, 10, 10, 10]</td>" in page, page[:300])
    equal([l.class_name for l in stats.summary_list],
          ["Net", "Conv2d", "ReLU", "Linear"], "in order of the calls")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        cleave.summary(net, verbose=1)
    check("Linear: 1-1" in out.getvalue() and "Output" not in out.getvalue(),
          "without inputs")
    hooks = [len(m._forward_hooks) for m in net.modules()]
    equal(sum(hooks), 0, "no hook stays")


def test_inputs():
    embed = nn.Embedding(9, 4)
    for said in ([torch.long], "int64", torch.int64):
        equal(cleave.profile(embed, input_size=(2, 5), dtypes=said)["inputs"][0]
              ["dtype"], "int64", said)
    got = cleave.capture(nn.Bilinear(3, 4, 5), input_size=[(2, 3), (2, 4)])
    equal(got.graph.profile()["total_macs"], cleave.profile(
        nn.Bilinear(3, 4, 5), (torch.rand(2, 3), torch.rand(2, 4)))
        ["total_macs"], "two inputs")
    equal(cleave.profile(net, input_size=(1, 3, 10, 10), device="CPU")
          ["total_macs"], 13000, "a device in any case")
    equal(cleave.load("resnet18").map("H100-SXM"),
          cleave.load("resnet18").map("h100-sxm"), "a device of ours too")


def test_progress():
    class Slow(nn.Module):
        def forward(self, x):
            if not isinstance(x, torch.fx.Proxy):
                time.sleep(1.2)
            return x + 1

    for wanted, lines in ((True, 1), (None, 0), (False, 0)):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            cleave.capture(Slow(), torch.rand(2), methods=("fx",),
                           progress=wanted)
        equal(err.getvalue().count("cleave: capturing Slow ... 1 s\n"), lines,
              f"{wanted}: {err.getvalue()!r}")


def test_beside_fvcore():
    if importlib.util.find_spec("fvcore") is None:
        return skip("fvcore is not installed")
    import fvcore.nn as theirs
    for name in QUICK:
        model = torchvision.models.get_model(name, weights=None).eval()
        image = torch.rand(1, 3, 224, 224)
        for kind in ("FlopCountAnalysis", "ActivationCountAnalysis"):
            with torch.no_grad():
                a = getattr(theirs, kind)(model, image)
                b = getattr(ours, kind)(model, image)
                equal(b.by_module_and_operator(), a.by_module_and_operator(),
                      f"{name} {kind}")
                equal(b.total(), a.total(), f"{name} {kind}")
        equal(ours.parameter_count(model), theirs.parameter_count(model), name)
    # a handle of fvcore's own
    from fvcore.nn.jit_handles import elementwise_flop_counter
    handle = elementwise_flop_counter(0, 3)
    equal(ours.FlopCountAnalysis(net, x).set_op_handle("aten::relu", handle)
          .total(), theirs.FlopCountAnalysis(net, x)
          .set_op_handle("aten::relu", handle).total(), "its handles")


def test_beside_torchinfo():
    if importlib.util.find_spec("torchinfo") is None:
        return skip("torchinfo is not installed")
    import torchinfo
    row = lambda l: (l.class_name, l.depth, l.depth_index, l.num_params,
                     l.trainable_params, l.macs, list(l.output_size),
                     l.is_recursive)
    for name in QUICK:
        model = torchvision.models.get_model(name, weights=None)
        for p in list(model.parameters())[:4]:
            p.requires_grad_(False)
        size = (1, 3, 224, 224)
        a = torchinfo.summary(model, input_size=size, verbose=0)
        b = cleave.summary(model, input_size=size, verbose=0)
        for key in ("total_params", "trainable_params", "total_mult_adds",
                    "total_output_bytes", "total_param_bytes"):
            equal(getattr(b, key), getattr(a, key), f"{name} {key}")
        equal([row(l) for l in b.summary_list], [row(l) for l in
              a.summary_list], f"{name} layers")


main(globals())
