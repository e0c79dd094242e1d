"""What runs is recorded: every model that runs in eager has a graph, whose MACs
are half of what torch's FlopCounterMode counts in the same run.
timeout: 600"""
import warnings

import torch
from py_check import check, equal, main
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from cleave.torch import CaptureError, capture
from tv import torchvision


class Loop(nn.Module):
    """As many layers as the data ask for."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        for _ in range(9):
            if x.abs().max() < 0.2:
                break
            x = self.layer(x) * 0.5
        return x


class Decoder(nn.Module):
    """Greedy decoding with a cache that grows."""

    def __init__(self):
        super().__init__()
        self.table, self.cell = nn.Embedding(11, 8), nn.GRUCell(8, 8)
        self.head = nn.Linear(8, 11)

    def forward(self, h):
        token, said = torch.zeros(1, dtype=torch.long), []
        while len(said) < 6:
            h = self.cell(self.table(token), h)
            token = self.head(h).argmax(-1)
            said.append(token)
            if token.item() == 10 and len(said) > 3:
                break
        return torch.stack(said)


class Experts(nn.Module):
    """Each token goes to the expert that its data choose."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 3)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        choice, out = self.gate(x).argmax(-1), torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = (choice == i).nonzero()[:, 0]
            out.index_add_(0, rows, expert(x[rows]))
        return out


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.exp() @ x

    @staticmethod
    def backward(ctx, grad):
        return grad


class Blocks(nn.Module):
    """Layers that torch runs in other ways on other machines."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
        self.rnn = nn.LSTM(8, 8, batch_first=True)
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x):
        x = self.norm(self.conv(x)).relu_().flatten(2).transpose(1, 2)
        x, _ = self.rnn(x)
        return self.layer(self.attend(x, x, x)[0])


def counted(model, *args):
    """MACs by torch: half of its FLOPs. An LSTM it takes apart where oneDNN is
    off, and attention too."""
    warnings.simplefilter("ignore")    # of TF32, which is not there
    with torch.no_grad(), FlopCounterMode(display=False) as counter, \
            torch.backends.mkldnn.flags(enabled=False), \
            torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        fast = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        model(*args)
        torch.backends.mha.set_fastpath_enabled(fast)
    return counter.get_total_flops() // 2


def recorded(name, model, *args):
    got = capture(model, args, methods=("record",))
    p = got.graph.profile()
    equal(p["total_macs"], counted(model, *args), f"{name} MACs")
    if isinstance(model, nn.Module):
        equal(p["total_params"], sum(q.numel() for q in model.parameters()),
              f"{name} parameters")
    equal(got.unknown, [], f"{name} unknown")
    return got


def test_what_runs_in_eager():
    torch.manual_seed(0)
    x = torch.rand(4, 8)
    got = recorded("loop", Loop(), x * 9)
    check(got.reads and all(f.endswith("record.py") for f, _ in got.reads),
          f"where data decide: {got.reads}")
    check("one path" in repr(got), repr(got))
    recorded("decoder", Decoder().eval(), torch.zeros(1, 8))
    recorded("experts", Experts(), x)
    recorded("blocks", Blocks().eval(), torch.rand(2, 3, 6, 6))
    recorded("autograd", Twice.apply, torch.rand(4, 4))
    recorded("vmap", lambda a: torch.vmap(lambda m: m @ m)(a),
             torch.rand(3, 4, 4))
    recorded("grad", torch.func.grad(lambda a: (a @ a).sum()),
             torch.rand(4, 4))
    recorded("weight norm", nn.utils.parametrizations.weight_norm(
        nn.Linear(8, 8)), x)
    recorded("no data", lambda a: F.conv2d(a, torch.ones(2, 3, 3, 3)),
             torch.rand(1, 3, 8, 8))


def test_the_default_finds_it():
    """Dynamo leaves a loop over data out without a word."""
    torch.manual_seed(0)
    model, x = Loop(), torch.rand(4, 8) * 9
    got = capture(model, x)
    equal(got.method, "record", "method")
    equal(got.graph.profile()["total_macs"], counted(model, x), "MACs")
    check("dynamo" in got.failures, "why not Dynamo")


def test_torchvision():
    shape = {"s3d": (1, 3, 16, 224, 224), "r3d_18": (1, 3, 4, 56, 56)}
    for name in """alexnet resnet18 mobilenet_v3_small vit_b_32 swin_v2_t
            convnext_tiny maxvit_t googlenet regnet_y_400mf r3d_18
            lraspp_mobilenet_v3_large densenet121""".split():
        model = torchvision.models.get_model(name, weights=None, **(
            {"weights_backbone": None} if "lraspp" in name else
            {"init_weights": False} if name == "googlenet" else {})).eval()
        recorded(name, model, torch.rand(shape.get(name, (1, 3, 224, 224))))


def test_modules_and_lines():
    got = capture(Loop(), torch.rand(4, 8), methods=("record",))
    nodes = got.graph.nodes()
    linear = [n for n in nodes if n["op"] == "linear"]
    check(linear and linear[0]["module"] == "layer", f"{nodes[:3]}")
    check("record.py:" in linear[0]["source"], linear[0]["source"])


def test_nothing_stays():
    """Hooks, random state and the default of attention are as before."""
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout())
    fast = torch.backends.mha.get_fastpath_enabled()
    state = torch.random.get_rng_state()
    hooks = torch.nn.modules.module
    before = (len(hooks._global_forward_hooks),
              len(hooks._global_forward_pre_hooks))
    capture(model, torch.rand(2, 8), methods=("record",))
    with raises_any():
        capture(lambda x: x.no_such(), torch.rand(2), methods=("record",))
    equal((len(hooks._global_forward_hooks),
           len(hooks._global_forward_pre_hooks)), before, "hooks")
    equal(torch.backends.mha.get_fastpath_enabled(), fast, "fast path")
    check(model.training, "training mode")
    torch.random.set_rng_state(state)
    first = torch.rand(1)
    torch.random.set_rng_state(state)
    capture(model, torch.zeros(2, 8), methods=("record",))
    check(torch.equal(torch.rand(1), first), "random state")


class raises_any:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        check(kind is not None and issubclass(kind, CaptureError), f"{kind}")
        return True


main(globals())
