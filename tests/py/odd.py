"""Models that people write and nobody lists: caches, beams, hooks, views that
autograd keeps, quantised layers, losses. MACs are half of what torch's
FlopCounterMode counts (or a number derived here where it counts nothing),
parameters those of the module, no operator is unknown, and a traced module that
keeps a state gives what eager gives, call after call.
timeout: 900"""
import copy
import warnings

import torch
from py_check import check, equal, main
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

import cleave
from cleave import neuron

warnings.simplefilter("ignore")
torch.manual_seed(0)


class Cache(nn.Module):
    """Attention over keys and values that are kept in buffers."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.register_buffer("k", torch.zeros(1, 32, 16))
        self.register_buffer("v", torch.zeros(1, 32, 16))

    def forward(self, x, at):
        q, k, v = self.qkv(x).chunk(3, -1)
        self.k.index_copy_(1, at, k)
        self.v[:, at] = v
        mask = torch.arange(32)[None] <= at[:, None]
        return F.scaled_dot_product_attention(q, self.k, self.v,
                                              attn_mask=mask)


class Average(nn.Module):
    """A running mean, and a number that counts the calls."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("mean", torch.zeros(4))
        self.calls = 0

    def forward(self, x):
        y = self.fc(x)
        self.mean.mul_(0.5).add_(y.mean(0) * 0.5)
        self.calls += 1
        return y - self.mean * self.calls


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 6, 2, bidirectional=True, batch_first=True)

    def forward(self, x):
        packed = nn.utils.rnn.pack_padded_sequence(
            x, torch.tensor([5, 3]), batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0],
                                                batch_first=True)[0]


class Force(nn.Module):
    """The gradient of an energy, as networks of atoms have it."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 1)

    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            return torch.autograd.grad(self.fc(x).sum(), x)[0]


class Losses(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x, y):
        z = self.fc(x)
        return F.cross_entropy(z, y, label_smoothing=.1) + F.mse_loss(z, -z) + \
            F.smooth_l1_loss(z, z * 0) + F.kl_div(
                z.log_softmax(-1), z.softmax(-1), reduction="batchmean")


class Sets(nn.Module):
    """Shapes that depend on data."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)

    def forward(self, i):
        found, back = torch.unique(i, return_inverse=True)
        count = torch.bincount(i.flatten(), minlength=10)
        return self.table(found)[back] * count[i][..., None]


class Noise(nn.Module):
    """Draws from a generator of its own."""

    def __init__(self):
        super().__init__()
        self.fc, self.draw = nn.Linear(8, 8), torch.Generator()

    def forward(self, x):
        return self.fc(x + torch.randn(x.shape, generator=self.draw))


class Convolved(nn.Module):
    """One kernel per sample: autograd's convolution, not the layer's."""

    def __init__(self):
        super().__init__()
        self.kernel = nn.Linear(4, 2 * 3 * 3 * 3)

    def forward(self, x, z):
        return torch.vmap(lambda x, z: F.conv2d(
            x[None], self.kernel(z).view(2, 3, 3, 3), padding=1))(x, z)


class Odd(nn.Module):
    """Attention with more keys than it is given, and other widths."""

    def __init__(self):
        super().__init__()
        self.mha = nn.MultiheadAttention(16, 4, batch_first=True, kdim=8, vdim=8,
                                         add_bias_kv=True, add_zero_attn=True)

    def forward(self, x, m):
        return self.mha(x, m, m)[0]


MODELS = {
    "cache": (Cache, (torch.rand(1, 3, 16), torch.tensor([4, 5, 6]))),
    "average": (Average, (torch.rand(3, 4),)),
    "packed": (Packed, (torch.rand(2, 5, 8),)),
    "losses": (Losses, (torch.rand(3, 8), torch.tensor([0, 1, 3]))),
    "sets": (Sets, (torch.randint(0, 10, (2, 5)),)),
    "noise": (Noise, (torch.rand(3, 8),)),
    "convolved": (Convolved, (torch.rand(2, 3, 8, 8), torch.rand(2, 4))),
    "attention": (Odd, (torch.rand(2, 5, 16), torch.rand(2, 7, 8)))}


def counted(model, inputs):
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad(), FlopCounterMode(display=False) as counter, \
                torch.backends.mkldnn.flags(enabled=False), \
                torch.nn.attention.sdpa_kernel(
                    torch.nn.attention.SDPBackend.MATH):
            copy.deepcopy(model).eval()(*inputs)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    return counter.get_total_flops() // 2


def test_counts():
    """By the default path and by record."""
    for name, (make, inputs) in MODELS.items():
        model = make().eval()
        want = counted(model, inputs) if name != "noise" else 3 * 8 * 8
        was = {k: v.clone() for k, v in model.state_dict().items()}
        for methods in (None, ("record",)):
            got = cleave.capture(model, inputs, **(
                {"methods": methods} if methods else {}))
            p = got.graph.profile()
            equal(p["total_macs"], want, f"{name} {got.method}: MACs")
            equal(p["total_params"], sum(q.numel() for q in model.parameters()),
                  f"{name} {got.method}: parameters")
            equal(got.unknown, [], f"{name} {got.method}: unknown")
        for key, value in model.state_dict().items():
            check(torch.equal(value, was[key]), f"{name}: {key} was changed")


def runs_of(*kinds):
    """Recurrent layers on a packed sequence of 5 and 3 steps."""
    x = nn.utils.rnn.pack_padded_sequence(torch.rand(2, 5, 8),
                                          torch.tensor([5, 3]), batch_first=True)
    for make, gates in kinds:
        yield lambda d, m=make(8, 6), x=x: m(x._replace(data=d))[0].data, \
            (x.data,), 8 * gates * 6 * (8 + 6)


def few():
    """Calls that no kernel of ours takes: function, inputs, MACs."""
    a, i = torch.rand(4, 6), torch.tensor([[0, 2, 1], [1, 1, 0]])
    eight = torch.randint(-9, 9, (32, 16), dtype=torch.int8)
    yield lambda a: torch.sparse.mm(torch.eye(4).to_sparse(), a), (a,), 4 * 4 * 6
    yield torch._int_mm, (eight, eight.t().contiguous()), 32 * 32 * 16
    yield torch._weight_int8pack_mm, (
        torch.rand(4, 16).bfloat16(), eight, torch.rand(32).bfloat16()), \
        4 * 16 * 32
    yield from runs_of((nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1), (
        lambda *n: nn.RNN(*n, nonlinearity="relu"), 1))
    for call in (torch.fmax, torch.fmin):
        yield call, (a, a.flip(0)), 0
    for call in (torch.bitwise_left_shift, torch.bitwise_right_shift):
        yield call, (i, i), 0
    for call in (torch.nanmedian, torch.mode):
        yield lambda a, f=call: tuple(f(a, 1)), (a,), 0
    yield lambda i: torch.unique(i, return_counts=True), (i,), 0
    yield lambda i: torch.unique(i, dim=0), (i,), 0
    yield lambda i: torch.unique_consecutive(i), (i,), 0
    yield lambda i: torch.unique_consecutive(i, dim=1), (i,), 0
    yield lambda i: torch._unique(i)[0], (i,), 0
    yield lambda a, i: a.scatter_reduce(1, i, a[:2, :3], "amax"), (a, i), 0
    yield lambda a: a.index_reduce(0, torch.tensor([1, 1]), a[:2], "prod"), \
        (a,), 0
    yield lambda i: torch.nonzero_static(i, size=4), (i,), 0
    yield lambda i: torch.bincount(i.flatten()), (i,), 0
    yield lambda a: torch.quantize_per_tensor(a, 0.1, 3, torch.quint8
                                              ).dequantize(), (a,), 0


def linear_algebra():
    """Factorisations, systems and functions that cost FLOPs and no MACs."""
    s = torch.eye(4).expand(2, 4, 4) * 2
    b, low = torch.rand(2, 4, 3), torch.linalg.cholesky(s)
    for call in (
            torch.linalg.cholesky, torch.cholesky_inverse, torch.linalg.inv,
            torch.inverse, torch.linalg.lu_factor, torch.linalg.lu,
            torch.linalg.det, torch.linalg.slogdet, torch.logdet,
            torch.linalg.qr, torch.geqrf, torch.linalg.eigh,
            torch.linalg.eigvalsh, torch.linalg.eig, torch.linalg.eigvals,
            torch.linalg.svd, torch.linalg.svdvals, torch.linalg.matrix_exp,
            lambda a: torch.linalg.solve(a, b),
            lambda a: torch.linalg.solve_triangular(a, b, upper=False),
            lambda a: torch.triangular_solve(b, a)[0],
            lambda a: torch.cholesky_solve(b, low + 0 * a),
            lambda a: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b),
            lambda a: torch.linalg.householder_product(*torch.geqrf(a))):
        yield call, (s,), 0
    yield lambda a: torch.linalg.lstsq(a, b).solution, (s,), 0
    yield lambda a: torch.lu_unpack(*torch.linalg.lu_factor(a))[0], (s,), 0
    a, at = torch.rand(4, 6) / 2, torch.tensor([[1, 2], [3, 4]])
    yield lambda a: torch.empty(0).resize_(4, 6).copy_(a), (a,), 0
    yield lambda a: F.fractional_max_pool2d(a[None], 2, (2, 2)), (a,), 0
    yield lambda a: F.fractional_max_pool3d(a[None, None], 2, (1, 2, 2)), \
        (a.expand(3, 4, 6),), 0
    for call in (torch.lgamma, torch.digamma, torch.erfinv, torch.i0,
                 torch.signbit, torch.special.entr, torch.special.erfcx,
                 torch.special.ndtri, torch.special.log_ndtr,
                 torch.special.i0e, torch.special.i1, torch.special.i1e,
                 torch.special.bessel_j0, torch.special.bessel_j1,
                 torch.poisson, torch._standard_gamma,
                 lambda a: torch.polygamma(1, a), lambda a: torch.binomial(9 * a, a),
                 lambda a: torch._sample_dirichlet(a),
                 lambda a: a.clone().random_(9), lambda a: a.clone().cauchy_(),
                 lambda a: a.clone().log_normal_(),
                 lambda a: a.clone().geometric_(0.5),
                 lambda a: a * torch.kaiser_window(6) * torch.bartlett_window(6),
                 lambda a: F.interpolate(a[None, None], (3, 2), mode="bilinear",
                                         antialias=True),
                 lambda a: F.interpolate(a[None, None], (3, 2), mode="bicubic",
                                         antialias=True)):
        yield call, (a,), 0
    for call in (torch.hypot, torch.copysign, torch.nextafter, torch.igamma,
                 torch.igammac, torch.special.zeta, torch.special.xlog1py,
                 lambda a, b: a.clone().ldexp_(b)):
        yield call, (a, a.flip(0)), 0
    for call in (torch.gcd, torch.lcm, lambda i, j: i << j, lambda i, j: i >> j):
        yield call, (at, at), 0


def test_counted_only():
    for number, (call, inputs, macs) in enumerate([*few(), *linear_algebra()]):
        got = cleave.capture(call, inputs, methods=("record",))
        equal((got.unknown, got.graph.profile()["total_macs"]), ([], macs),
              f"call {number}")


def taken_apart():
    """Operators that torch takes apart nowhere: function, input, MACs. What
    they are made of gives the numbers that they give."""
    a, table = torch.rand(4, 6), nn.Embedding(9, 6, max_norm=1.0)
    yield lambda a: a * torch.fft.fftfreq(6) + torch.fft.rfftfreq(10), a, 0
    yield lambda a: a * torch.fft.fftfreq(5, 0.1).sum(), a, 0
    yield lambda a: a.clone().put_(torch.tensor([3, 5]), a[0, :2]), a, 0
    yield lambda a: torch.diagonal_scatter(a, torch.ones(4)), a, 0
    yield lambda a: torch.as_strided_scatter(a, a[:2, :2], (2, 2), (1, 2)), a, 0
    yield torch.pdist, a, 0
    yield lambda x: torch.conv_tbc(x, torch.ones(3, 8, 6), torch.ones(6), 1), \
        torch.rand(5, 2, 8), 5 * 2 * 3 * 8 * 6
    yield lambda i: table(i), torch.tensor([1, 2, 1]), 0
    yield lambda a: F.rrelu(a - 0.5, training=True), a, 0


def test_taken_apart():
    for number, (call, x, macs) in enumerate(taken_apart()):
        torch.manual_seed(0)
        want = call(x)
        for read in (lambda y: y, lambda y: y * float(y.sum() > -9e9)):
            torch.manual_seed(0)
            got = cleave.capture(lambda x: read(call(x)), x,
                                 methods=("record",))
            p = got.graph.profile()
            equal((got.unknown, p["total_macs"]), ([], macs), f"call {number}")
        equal(p["outputs"][0]["shape"], list(want.shape), f"call {number}")
        if number < 8:    # the last draws
            own = recorded_result(call, x)
            check(torch.allclose(own, want, atol=1e-6), f"call {number}: {own}")


def recorded_result(call, x):
    """What a call gives while it is recorded on data."""
    from cleave.record import Recorder
    with torch.no_grad(), Recorder(nn.Module()):
        return call(x)


def test_views_of_weights():
    """What autograd keeps of a weight is that weight: no second parameter."""
    model = Force()
    p = cleave.profile(model, torch.rand(3, 8))
    equal(p["total_params"], 9, "parameters")
    equal(p["total_macs"], 2 * 3 * 8, "there and back")


def test_quantised():
    """Layers that keep weights in objects of their own count by shape; their
    bytes are those of integers."""
    plain = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
    try:
        model = torch.ao.quantization.quantize_dynamic(plain, {nn.Linear})
        x = torch.rand(3, 16)
        model(x)
    except (AttributeError, RuntimeError):    # torch without its engine
        return
    got = cleave.capture(model, x)
    p = got.graph.profile()
    equal((p["total_macs"], got.unknown), (3 * (16 * 16 + 16 * 4), []), "MACs")
    equal(sum(l["bytes_weights"] for l in p["layers"]),
          (16 + 4) * 16 + 4 * (16 + 4), "bytes of weights")


def test_summary():
    """Scripted and compiled modules, and nested tensors, have a row."""
    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(8, 4)

        def forward(self, a, b):
            rows = torch.nested.nested_tensor([a, b], layout=torch.jagged)
            return self.fc(rows).values()
    scripted = nn.Sequential(torch.jit.script(nn.Linear(8, 4)), nn.ReLU())
    compiled = nn.Sequential(torch.compile(nn.Linear(8, 4), backend="eager"),
                             nn.ReLU())
    for model, inputs in ((scripted, [torch.rand(3, 8)]),
                          (compiled, [torch.rand(3, 8)]),
                          (Nested(), [torch.rand(3, 8), torch.rand(5, 8)])):
        found = cleave.summary(model, input_data=inputs, verbose=0)
        equal(found.total_params, 36, str(found))
        check("Linear" in str(found), str(found))


def test_traced_state():
    """A traced model keeps one state, whatever the shapes of its calls."""
    config = neuron.PartitionerConfig(model_support_percentage_threshold=0)
    torch.manual_seed(3)
    model, state = Average().eval(), torch.random.get_rng_state()
    net = neuron.trace(model, torch.rand(3, 4), partitioner_config=config)
    torch.random.set_rng_state(state)
    eager = copy.deepcopy(model)
    for rows in (3, 2, 3):
        x = torch.rand(rows, 4)
        with torch.no_grad():
            check(torch.allclose(net(x), eager(x), atol=1e-6), f"{rows} rows")
    check("'mean'" in str(net.runtimes()), str(net.runtimes()))
    equal(model.calls, 0, "the model itself")


def test_traced_places():
    """max over an axis, its place too, and casts inside run in cleave."""
    class Best(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(8, 4)

        def forward(self, x):
            value, place = self.fc(x).max(1)
            low, where = x.min(1, keepdim=True)
            return value, place, low, where

    class Half(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(8, 8)

        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return torch.vmap(lambda r: self.fc(r).relu())(x).float()
    for model in (Best().eval(), Half().eval()):
        x = torch.rand(3, 8)
        found = neuron.analyze(model, x)
        equal(found["unsupported_operators"] if isinstance(model, Half) else [],
              [], "supported")
        net = neuron.trace(model, x, partitioner_config=neuron.PartitionerConfig(
            model_support_percentage_threshold=0))
        got, want = net(x), model(x)
        for a, b in zip(*((o if isinstance(o, tuple) else (o,))
                          for o in (got, want))):
            check(a.dtype == b.dtype and torch.allclose(
                a.double(), b.double(), atol=1e-4), f"{a} {b}")


main(globals())
