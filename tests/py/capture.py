"""Live torchvision models cost what the built-in ones do; bad models are told.
timeout: 1500

With CLEAVE_SLOW=1 every built-in torchvision model is captured."""
import inspect
import os
import threading
import warnings

from py_check import check, equal, main, raises

import cleave
from cleave import neuron
from cleave.torch import CaptureError, abbreviate, capture
from tv import torch, torchvision
from torch import nn

QUICK = """alexnet resnet18 resnet50 mobilenet_v2 mobilenet_v3_small vgg11
squeezenet1_1 shufflenet_v2_x1_0 mnasnet0_5 googlenet regnet_y_400mf
efficientnet_b0 convnext_tiny
inception_v3 vit_b_16""".split()
# MACs only: attention of ViT is one module in torch.nn, and torch.export sees
# Swin's masks being made.
APART = ("vit_", "swin_")


def on_meta(name):
    """Without weights: costs do not need them."""
    make = torchvision.models.get_model_builder(name)
    options = {"weights": None}
    if name in ("googlenet", "inception_v3"):
        options["init_weights"] = False
    if name == "googlenet":    # the zoo has it without the heads for training
        options["aux_logits"] = False
    if "weights_backbone" in inspect.signature(make).parameters:
        options["weights_backbone"] = None
    try:
        with torch.device("meta"):
            return make(**options).eval()
    except NotImplementedError:    # computes its widths with tensors
        return make(**options).to("meta").eval()


def test_live_is_zoo():
    zoo = set(cleave.models())
    names = [n for n in torchvision.models.list_models() if n in zoo]
    for name in names if os.environ.get("CLEAVE_SLOW") else QUICK:
        want = cleave.profile(name)
        shape = want["inputs"][0]["shape"]
        got = capture(on_meta(name), torch.empty(shape, device="meta"),
                      name=name).graph.profile()
        keys = ["total_params", "total_macs"]
        if not name.startswith(APART):
            keys.append("total_flops")
        for key in keys:
            equal(got[key], want[key], f"{name} {key}")
        equal(got["coverage"]["unknown_ops"], [], f"{name} unknown")


def test_every_method():
    """Four ways to the same graph, and the model stays as it was."""
    model = torchvision.models.resnet18()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    want = cleave.profile("resnet18")
    for method in cleave.torch.METHODS:
        got = capture(model, torch.rand(1, 3, 224, 224), methods=(method,))
        profile = got.graph.profile()
        equal(got.method, method, "method")
        for key in ("total_params", "total_macs", "total_flops"):
            equal(profile[key], want[key], f"{method} {key}")
    check(model.training, "training mode kept")
    check(all(torch.equal(v, before[k])
              for k, v in model.state_dict().items()), "weights kept")


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, batch, scale=1.0, extra=None):
        x = self.fc(batch["x"]) * scale
        return {"y": x, "z": [x + 1]}


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.LazyLinear(4)
        self.seen = None

    def forward(self, x):
        if self.seen is None:
            self.seen = x.shape[0]
        return self.fc(x)


class Broken(nn.Module):
    """Breaks Dynamo's graph in two."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        x = self.a(x)
        if x.sum() > 1e9:
            return x
        return self.b(x)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 8)
        self.head = nn.Linear(8, 10, bias=False)
        self.head.weight = self.table.weight

    def forward(self, x):
        return self.head(self.table(x))


class LeftOut(nn.Module):
    """A layer whose result nobody reads, which torch drops from a program that
    it takes apart (for nan_to_num)."""

    def __init__(self):
        super().__init__()
        self.norm, self.fc = nn.LayerNorm(4), nn.Linear(4, 4)

    def forward(self, x):
        self.norm(x)
        return self.fc(torch.nan_to_num(x))


def test_parameters_left_out():
    for method in ("fx", "strict", "export", "record"):
        got = capture(LeftOut(), torch.rand(1, 4), methods=(method,))
        equal(got.graph.profile()["total_params"], 28, method)


def test_kinds_of_model():
    p = capture(Named(), {"batch": {"x": torch.rand(2, 8)}, "scale": 2.0}) \
        .graph.profile()
    equal((p["total_params"], p["total_macs"]), (36, 64), "nested inputs")
    model = Lazy()
    got = capture(model, torch.rand(2, 6))
    equal(got.graph.profile()["total_params"], 28, "lazy module")
    check(model.seen is None and model.fc.has_uninitialized_params(),
          "lazy module untouched")
    got = capture(Broken(), torch.rand(2, 8))
    equal(got.method, "record", "a branch on data")
    check(set(got.failures) == {"fx", "strict", "export", "dynamo"}, got.failures)
    equal(got.graph.profile()["total_params"], 144, "parameters of both")
    got = capture(Broken(), torch.rand(2, 8), methods=("dynamo",))
    check(len(got.modules) >= 2, "partitions")
    equal(got.graph.profile()["total_params"], 144, "parameters of both")
    for method in cleave.torch.METHODS:
        got = capture(Tied(), torch.zeros(1, 3, dtype=torch.long),
                      methods=(method,))
        equal(got.graph.profile()["total_params"], 80, f"tied, {method}")
    p = capture(lambda x: torch.relu(x @ x), torch.rand(4, 4)).graph.profile()
    equal(p["total_macs"], 64, "a function")


class Writes(nn.Module):
    """Leaves marks on itself, its buffers, its parameters, its list, and then
    may fail."""

    def __init__(self, fails=False):
        super().__init__()
        self.fc, self.fails, self.seen = nn.Linear(8, 4), fails, []
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("calls", torch.zeros(1))
        self.register_forward_hook(lambda *_: None)
        self.fc.eval()

    def forward(self, x):
        self.calls += 1
        self.seen.append(1)
        self.last = x
        self.fc.weight.data.clamp_(-0.1, 0.1)
        with torch.no_grad():
            self.fc.bias.mul_(2)
        x = self.norm(self.fc(x)) + torch.rand(4)
        if self.fails:
            raise RuntimeError("late")
        return x.relu_()


def state_of(model):
    """All that a caller could see of a module, bytes included."""
    return ([(k, v.dtype, v.numpy().tobytes())
             for k, v in model.state_dict().items()],
            [(n, m.training, list(m._forward_hooks), list(m._buffers),
              sorted(m.__dict__)) for n, m in model.named_modules()],
            torch.random.get_rng_state().numpy().tobytes())


def test_nothing_changes():
    x = torch.rand(2, 8)
    for fails in (False, True):
        for methods in (None, *((m,) for m in cleave.torch.METHODS)):
            model = Writes(fails).train()
            model.fc.eval()
            before = state_of(model)
            try:
                capture(model, x, methods=methods)
                check(not fails, "captured what raises")
            except CaptureError as e:
                check("late" in str(e) if fails else methods, e)
            what = f"fails {fails}, {methods}"
            equal(state_of(model), before, f"state, {what}")
            equal(model.seen, [], f"list, {what}")
            check(not torch.is_inference_mode_enabled() and
                  torch.is_grad_enabled(), "grad mode")


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x, more):
        return self.fc(x) + more["y"][0]


def test_named_dimensions():
    batch = torch.export.Dim("batch", max=64)
    inputs = (torch.rand(2, 8), {"y": [torch.rand(2, 4)]})
    spec = {"x": {0: batch}, "more": {"y": [{0: batch}]}}
    for size, dims in ((2, None), (16, {"batch": 16})):
        got = capture(Nested(), inputs, dynamic_shapes=spec, dims=dims)
        p = got.graph.profile()
        equal(got.dims, {"batch": size}, "dims")
        equal([i["shape"] for i in p["inputs"]], [[size, 8], [size, 4]],
              "shapes")
        equal(p["total_macs"], 32 * size, "MACs")
        equal([i["dims"] for i in p["inputs"]], [["batch", None]] * 2, "names")
        check(f"[batch={size}, 8] float32" in got.graph.profile(text=True),
              "names in the text")
    with raises(CaptureError, "no dimension 'seq'; there are batch"):
        capture(Nested(), inputs, dynamic_shapes=spec, dims={"seq": 2})
    with raises(CaptureError, "dynamic_shapes"):
        capture(Nested(), inputs, dims={"seq": 2})


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return torch.sigmoid(self.conv(x))


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x) + 1


def test_paths_and_lines():
    first = inspect.getsourcelines(Inner.forward)[1] + 1
    for method in cleave.torch.METHODS:
        nodes = capture(Outer(), torch.rand(1, 3, 8, 8), methods=(method,)
                        ).graph.nodes()
        equal([n["module"] for n in nodes],
              ["inner.conv", "inner", ""], f"modules, {method}")
        equal(nodes[0]["name"], "inner.conv", f"name, {method}")
        # torch.export's innermost frame may be in torch's own layer
        check(nodes[1]["source"] == f"capture.py:{first}",
              f"line, {method}: {nodes[1]['source']}")


class Kinds(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 8, batch_first=True)
        self.gru = nn.GRU(8, 8)
        self.lock = threading.Lock()    # cannot be copied

    def forward(self, x, *, scale=1.0, flip=False):
        if flip:
            x = x.flip(1)
        y, (h, c) = self.rnn(x)
        return self.gru(y)[0].mul_(scale)


def test_calls():
    """Keywords, recurrent layers, attributes that nothing can copy."""
    steps = 5 * (4 * 8 * (4 + 8) + 3 * 8 * (8 + 8))
    for method in cleave.torch.EXPORTS:    # Dynamo leaves recurrent layers out
        p = capture(Kinds(), torch.rand(1, 5, 4), {"scale": 2.0, "flip": True},
                    methods=(method,)).graph.profile()
        equal(p["total_macs"], steps, f"LSTM and GRU, {method}")
        equal(p["total_params"], 4 * 8 * 14 + 3 * 8 * 18, "parameters")
        equal(p["coverage"]["unknown_ops"], [], f"unknown, {method}")


class Exits(nn.Module):
    """Data decide the way and the shape."""

    def forward(self, x):
        n = int(x.sum().item())
        return x[:1 + n % 2].nonzero()


class Foreign(nn.Module):
    """An operator of C++ that torch cannot run without data."""

    def forward(self, x):
        return torch.ops.cleave_test.twice(x) + 1


class Quantised(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.ao.nn.quantized.Linear(8, 8)

    def forward(self, x):
        x = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
        return self.fc(x).dequantize()


def test_odd_models():
    """What torch cannot look into stays in the graph, as unknown."""
    lib = torch.library.Library("cleave_test", "DEF")
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x * 2, "CPU")
    got = capture(Foreign(), torch.rand(3))
    equal(got.unknown, ["twice"], "custom operator")
    check("strict" in got.failures, "reasons kept")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = capture(Quantised(), torch.rand(2, 8))
    equal(got.unknown, [], "quantised layer")
    equal(got.graph.profile()["total_macs"], 2 * 8 * 8, "quantised layer")
    got = capture(Exits(), torch.rand(4, 4))
    equal(got.method, "record", "data-dependent shape")
    got = capture(Exits(), torch.rand(4, 4), methods=("dynamo",))
    check(got.breaks, "says why the graph broke")
    meta = nn.Linear(3, 3, device="meta")
    p = capture(meta, torch.empty(2, 3, device="meta")).graph.profile()
    equal(p["total_macs"], 18, "meta tensors")
    with raises(CaptureError, "meta"):
        capture(meta, torch.rand(2, 3))
    try:
        capture(Exits(), torch.rand(4, 4), methods=("fx", "export"))
        check(False, "captured")
    except CaptureError as e:
        check("fx: " in str(e) and "export: " in str(e) and
              len(str(e)) < 600, f"reasons of each method: {e}")


class Does(nn.Module):
    """A forward pass given as a function."""

    def __init__(self, forward):
        super().__init__()
        self.does = forward

    def forward(self, *args):
        return self.does(*args)


def raising(error):
    def forward(x):
        raise error
    return Does(forward)


def branch(x):
    return x + 1 if x.sum() > 0 else x * 2


def generator(x):
    yield x


def foreign(x):
    return torch.ops.cleave_bad.twice(x) + 1


SQUARE = torch.rand(4, 4)
# A model, its inputs, what capture says (None: it captures), what trace says.
BAD = [
    (raising(RuntimeError("no such luck\nand more")), SQUARE,
     "Does fails on these inputs: RuntimeError: no such luck", ...),
    (raising(ValueError()), SQUARE, "inputs: ValueError", ...),
    (Does(lambda x: {}["absent"]), SQUARE, "inputs: KeyError: 'absent'", ...),
    (Does(lambda x: torch.ops.nobody.knows(x)), SQUARE,
     "has no attribute 'knows'", ...),
    (nn.Module(), SQUARE, 'missing the required "forward"', ...),
    (nn.Linear(5, 4), SQUARE, "shapes cannot be multiplied (4x4 and 5x4)", ...),
    (nn.Linear(4, 4), SQUARE.long(), "got Long and Float", ...),
    (nn.Linear(4, 4), None, "missing 1 required positional argument", ...),
    (nn.Linear(4, 4), (SQUARE, SQUARE), "takes 2 positional arguments", ...),
    (nn.Linear(4, 4), {"y": SQUARE}, "unexpected keyword argument 'y'", ...),
    (nn.Linear(4, 4), "text", "must be Tensor, not str", ...),
    (nn.Linear, SQUARE, "Linear is a class: make one of it", ...),
    (3, SQUARE, "a int is no torch module", ...),
    (Does(generator), SQUARE, "cannot capture Does: fx: ",
     "cannot export the model: export: Found <class 'generator'>"),
    (Does(branch), SQUARE, None, "export: Could not guard on data-dependent"),
    (Does(foreign), SQUARE, None, "strict: Operator does not support running "
     "with fake tensors"),
    (Does(lambda x: None), SQUARE, None, "no operators to partition"),
    (Does(lambda x: torch.fft.fft(x).abs()), SQUARE, None,
     "Model support percentage is very close to 0%"),
    (nn.Linear(4, 4, device="meta"), SQUARE, "is not on the expected device",
     "on the CPU, not on 'meta'"),
    (nn.Linear(4, 4), SQUARE.to("meta"), "is not on the expected device",
     "on the CPU, not on 'meta'"),
]


def says(call, kinds, text):
    """Raises one of the kinds, with text: one line, and not a long one."""
    try:
        call()
    except kinds as e:
        check(text in str(e) and "\n" not in str(e) and len(str(e)) < 900,
              f"{text!r} in {e}")
    else:
        check(False, f"nothing raised: {text}")


def test_bad_models():
    lib = torch.library.Library("cleave_bad", "DEF")
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x * 2, "CPU")
    config = neuron.PartitionerConfig(model_support_percentage_threshold=0)
    for model, inputs, captured, traced in BAD:
        if captured is None:
            check(capture(model, inputs).graph, "captured")
        else:
            says(lambda: capture(model, inputs), CaptureError, captured)
        says(lambda: neuron.trace(model, inputs, partitioner_config=config),
             (cleave.Error, ValueError),
             captured if traced is ... else traced)


def test_bad_types():
    """Quantised tensors go in and out where torch can say what they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = torch.quantize_per_tensor(SQUARE, 0.1, 0, torch.quint8)
        packed = torch.ao.quantization.quantize_dynamic(
            nn.Sequential(nn.Linear(4, 4)), {nn.Linear})
        says(lambda: capture(nn.Linear(4, 4), whole), CaptureError,
             "must have the same dtype, but got QUInt8 and Float")
        says(lambda: neuron.trace(nn.Linear(4, 4), whole), ValueError,
             "quantized tensors cannot be traced")
        got = capture(packed, SQUARE)
        equal(got.unknown, [], "packed weights")
        equal(got.graph.profile()["total_macs"],
              SQUARE.numel() // 4 * 4 * 4, "packed weights")
        says(lambda: neuron.trace(packed, SQUARE), CaptureError,
             "cannot export the model: export: ")
        nested = torch.nested.nested_tensor([SQUARE, SQUARE])
    equal(capture(nn.Linear(4, 4), nested).graph.profile()["total_macs"],
          2 * SQUARE.numel() * 4, "nested")


def test_names():
    for name, want in (
            ("layer1.0.conv1", "layer1.0.conv1"),
            ("g__model___model_0_conv", "model.0.conv"),
            ("getattr_getattr_L__yolo_model___model_23_cv3_0___0_____0___conv",
             "model.23.cv3.0[0][0].conv"),
            ("model.model.4.conv", "model.4.conv")):
        equal(abbreviate(name), want, "abbreviate")
    check(len(abbreviate("a" * 100)) == 48 and "..." in abbreviate("a" * 100),
          "long names are cut")


main(globals())
