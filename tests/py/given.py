"""Models as they are handed over: graphs that were made for other inputs,
layers without sizes yet, nested tensors, quantised recurrent layers, work in
other threads, forward passes that write to what is not theirs. MACs are derived
here, as torch's FlopCounterMode runs none of these."""
import concurrent.futures
import copy
import warnings

import torch
from py_check import check, equal, main, raises
from torch import nn

import cleave
from cleave.torch import CaptureError

warnings.simplefilter("ignore")
torch.manual_seed(0)


def macs(model, *inputs, methods=None):
    got = cleave.capture(model, inputs, methods=methods)
    equal(got.unknown, [], f"{type(model).__name__}: unknown operators")
    return got.graph.profile()["total_macs"]


def test_graphs_for_other_inputs():
    """A graph holds the sizes it was made with; other inputs have others."""
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)).eval()
    one = 8 * 8 + 8 * 4
    traced = torch.fx.symbolic_trace(net)
    torch.fx.passes.shape_prop.ShapeProp(traced).propagate(torch.rand(2, 8))
    batch = torch.export.Dim("batch", max=64)
    program = torch.export.export(net, (torch.rand(2, 8),),
                                  dynamic_shapes=({0: batch},))
    for given in (traced, program, program.module()):
        for rows in (2, 5):
            equal(macs(given, torch.rand(rows, 8)), rows * one,
                  f"{type(given).__name__} of {rows} rows")
    fixed = torch.export.export(net, (torch.rand(2, 8),))
    equal(macs(fixed.module(), torch.rand(2, 8)), 2 * one, "its own inputs")
    try:
        macs(fixed, torch.rand(5, 8))
        check(False, "a program of 2 rows took 5")
    except CaptureError as e:
        check("fails on these inputs" in str(e), str(e))


def test_lazy():
    """Layers that learn their sizes in the first call stay as they were."""
    net = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(),
                        nn.LazyLinear(5))
    p = cleave.capture(net, torch.rand(2, 3, 8, 8)).graph.profile()
    equal(p["total_macs"], 2 * (4 * 36 * 27 + 144 * 5), "MACs")
    equal(p["total_params"], 4 * 27 + 4 + 8 + 144 * 5 + 5, "parameters")
    check(isinstance(net[0], nn.LazyConv2d), "the model's own layer")


class Nested(nn.Module):
    def __init__(self, layout):
        super().__init__()
        self.layout, self.fc = layout, nn.Linear(8, 16)

    def forward(self, x):
        rows = torch.nested.nested_tensor([x[0, :5], x[1, :9]],
                                          layout=self.layout)
        return torch.nested.to_padded_tensor(self.fc(rows).relu(), 0.0)


def test_nested():
    """Rows that are there, whatever the layout."""
    for layout in (torch.jagged, torch.strided):
        equal(macs(Nested(layout).eval(), torch.rand(2, 16, 8)), 14 * 8 * 16,
              f"{layout}")


class Only(nn.Module):
    def __init__(self, layer, packed=False):
        super().__init__()
        self.layer, self.packed = layer, packed

    def forward(self, x):
        if self.packed:
            x = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]))
        return self.layer(x)[0]


def test_quantised_recurrent():
    """Dynamically quantised layers and cells count as what they stand for;
    their weights are bytes, their biases floats."""
    layers = [(nn.LSTM(8, 6), torch.rand(5, 2, 8), 10, 4),
              (nn.GRU(8, 6), torch.rand(5, 2, 8), 10, 3),
              (nn.LSTM(8, 6), torch.rand(5, 2, 8), 8, 4),
              (nn.LSTMCell(8, 6), torch.rand(2, 8), 2, 4),
              (nn.GRUCell(8, 6), torch.rand(2, 8), 2, 3),
              (nn.RNNCell(8, 6), torch.rand(2, 8), 2, 1)]
    for layer, x, steps, gates in layers:
        try:
            model = torch.ao.quantization.quantize_dynamic(
                Only(layer, steps == 8), {type(layer)})
            model(x)
        except (AttributeError, RuntimeError):    # torch without its engine
            return
        p = cleave.capture(model, x).graph.profile()
        rows = gates * 6
        equal(p["total_macs"], steps * rows * (8 + 6), f"{layer}: MACs")
        equal(p["total_params"], sum(q.numel() for q in model.parameters()),
              f"{layer}: parameters")
        held = sum(l["bytes_weights"] for l in p["layers"])
        check(rows * 14 <= held <= rows * (14 + 8) + 8, f"{layer}: {held} bytes")


class Threads(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return sum(pool.map(self.fc, [x, x]))


class Aside(nn.Module):
    """Parameters that no module holds, and a copy made on the way."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.aside = {"fc": nn.Linear(8, 8)}
        self.list = [nn.Parameter(torch.rand(8, 8))]

    def forward(self, x):
        return copy.deepcopy(self.fc)(self.aside["fc"](self.fc(x)) @ self.list[0])


def test_parameters_of_no_module():
    """They are read and counted; the model's parameters are those it has."""
    net, x = Aside(), torch.rand(2, 8)
    for methods in (None, ("record",)):
        p = cleave.capture(net, x, methods=methods).graph.profile()
        equal((p["total_params"], p["total_macs"]), (72, 4 * 2 * 8 * 8),
              f"{methods}")


def test_hooks_of_the_model_itself():
    """What hooks compute is counted by every method, or it says no."""
    w, x = torch.rand(8, 8), torch.rand(2, 8)
    for add in ("register_forward_hook", "register_forward_pre_hook"):
        net = nn.Sequential(nn.Linear(8, 8))
        getattr(net, add)(lambda module, x, *out: (out or x)[0] @ w)
        got = cleave.capture(net, x)
        equal(got.graph.profile()["total_macs"], 2 * 2 * 8 * 8, add)
        with raises(cleave.Error, "hooks of the model itself"):
            cleave.capture(net, x, methods=("fx",))
    norm = nn.utils.spectral_norm(nn.Linear(8, 8))
    equal(cleave.capture(norm, x).graph.profile()["total_macs"],
          2 * 8 * 8 + 8 * 8 + 8, "spectral_norm on the model itself")


def test_threads():
    """A recording sees one thread, and says so."""
    try:
        macs(Threads(), torch.rand(2, 8), methods=("record",))
        check(False, "what ran in other threads was lost")
    except CaptureError as e:
        check("another thread" in str(e), str(e))


class Writes(nn.Module):
    """Doubles its input, and leaves gradients."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        x.mul_(2)
        with torch.enable_grad():
            self.fc(x).sum().backward()
        return x.detach()


def test_nothing_is_written():
    for methods in (None, ("dynamo",), ("record",)):
        model, x = Writes(), torch.ones(2, 8)
        model.fc.bias.grad = old = torch.ones(8)
        cleave.capture(model, x, methods=methods)
        check(bool((x == 1).all()), f"{methods}: the input")
        check(model.fc.weight.grad is None, f"{methods}: a new gradient")
        check(model.fc.bias.grad is old and bool((old == 1).all()),
              f"{methods}: an old gradient")


class Standardised(nn.Module):
    """A convolution whose weight is normalised first, as BiT has it."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)

    def forward(self, x):
        weight = nn.functional.batch_norm(
            self.conv.weight.reshape(1, 8, -1), None, None, training=True)
        return nn.functional.conv2d(x, weight.reshape(8, 3, 3, 3))


def test_own_statistics():
    """fvcore counts four per element where a batch norm takes its own
    statistics, two where it has them; ours is an instance norm's five."""
    for methods in (("fx",), ("strict",), ("record",)):
        got = cleave.capture(Standardised(), torch.rand(1, 3, 8, 8),
                             methods=methods)
        equal(got.graph.counts("fvcore")["by_operator"],
              {"batch_norm": 4 * 216, "conv": 36 * 216}, f"{methods}: fvcore")
        equal(got.graph.profile()["total_flops"], 2 * 36 * 216 + 5 * 216,
              f"{methods}: FLOPs")


class Slope(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        return torch.func.jvp(self.fc, (x,), (x,))[1]


def test_slopes():
    """The value and its slope are a product each."""
    equal(macs(Slope(), torch.rand(2, 8)) % (2 * 8 * 8), 0, "MACs")


main(globals())
