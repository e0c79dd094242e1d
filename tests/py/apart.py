"""What torch says in one word: functions of functions, recurrent cells, Fourier
transforms, sparse and nested tensors, programs that are graphs already. MACs are
half of what FlopCounterMode counts in the same work written plainly.
timeout: 600"""
import math
import warnings

import torch
from py_check import check, equal, main
from torch import nn
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.nn import functional as F
from torch.nn.attention.flex_attention import (create_block_mask,
                                               flex_attention)
from torch.nn.utils import parametrizations
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.flop_counter import FlopCounterMode

from cleave import apart
from cleave.torch import capture

RECORD = ("record",)


class Net(nn.Module):
    """Two layers and a function of them."""

    def __init__(self, run, **members):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)
        for name, member in members.items():
            setattr(self, name, member)
        self.run = run

    def forward(self, x):
        return self.run(self, x)


def counted(run):
    """MACs by torch: half of its FLOPs, with all layers taken apart."""
    warnings.simplefilter("ignore")
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    with torch.no_grad(), FlopCounterMode(display=False) as counter, \
            torch.backends.mkldnn.flags(enabled=False), \
            torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        run()
    torch.backends.mha.set_fastpath_enabled(fast)
    return counter.get_total_flops() // 2


def same(name, net, x, plain=None, methods=RECORD):
    """Counts net(x), and the same written plainly."""
    net.eval()
    got = capture(net, x, methods=methods)
    p = got.graph.profile()
    equal(p["total_macs"], counted(lambda: (plain or net)(x)), f"{name} MACs")
    equal(p["total_params"], sum(q.numel() for q in net.parameters()),
          f"{name} parameters")
    equal(got.unknown, [], f"{name} unknown")
    return got


def test_functions_of_functions():
    torch.manual_seed(0)
    x = torch.rand(4, 8)
    both, one = lambda m, x: m.a(m.b(x)), lambda m, x: m.a(x)
    for sign, plain in ((1, both), (-1, one)):
        net = Net(lambda m, x: torch.cond(
            (sign * x).sum() > 0, lambda x: both(m, x), lambda x: one(m, x),
            (x,)))
        got = same(f"cond {sign}", net, x, lambda x: plain(net, x))
        check(got.reads, "a branch is read off the data")
    net = Net(lambda m, x: while_loop(
        lambda i, x: i < 5, lambda i, x: (i + 1, m.a(x)),
        (torch.tensor(0), x))[1])
    same("while_loop", net, x, lambda x: [net.a(x) for _ in range(5)])
    net = Net(lambda m, x: scan(lambda c, x: (m.a(c) + x, c * 2),
                                torch.zeros(8), x)[1])
    same("scan", net, x, lambda x: [net.a(row) for row in x])
    net = Net(lambda m, x: torch_map(lambda x: m.a(x), x))
    same("map", net, x, lambda x: [net.a(row) for row in x])
    net = Net(lambda m, x: torch.cond(
        x.sum() > 0, lambda x: both(m, x), lambda x: one(m, x), (x,)))
    equal(capture(net, x).method, "record", "no other method sees into cond")
    net = Net(lambda m, x: torch.compile(m.a, backend="eager")(x))
    same("compiled inside", net, x, lambda x: net.a(x))


def test_flex_attention():
    torch.manual_seed(0)
    q = torch.rand(1, 2, 128, 8)
    mask = create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 128, 128,
                             device="cpu")
    plain = lambda q: F.scaled_dot_product_attention(q, q, q)
    for name, run in (
            ("flex", lambda m, q: flex_attention(q, q, q)),
            ("flex score", lambda m, q: flex_attention(
                q, q, q, score_mod=lambda s, b, h, i, j: s + (i - j))),
            ("flex mask", lambda m, q: flex_attention(q, q, q,
                                                      block_mask=mask))):
        same(name, Net(run), q, plain)


def test_recurrent():
    torch.manual_seed(0)
    for cell in (nn.LSTMCell(8, 16), nn.GRUCell(8, 16), nn.RNNCell(8, 16)):
        same(type(cell).__name__, Net(lambda m, x: m.cell(x), cell=cell),
             torch.rand(4, 8))
    proj = nn.LSTM(8, 16, 2, proj_size=5, bidirectional=True)
    x = torch.rand(4, 3, 8)
    for method in ("fx", "strict", "record"):
        same(f"LSTM proj {method}", Net(lambda m, x: m.rnn(x)[0], rnn=proj), x,
             methods=(method,))
    one = nn.LSTM(8, 16, proj_size=5)
    same("packed", Net(lambda m, x: m.rnn(pack_padded_sequence(
        x, torch.tensor([4, 2, 1])))[0].data, rnn=one), x)


def test_fourier():
    x = torch.rand(3, 8, 16)
    fast = lambda n: 5 * n * math.log2(n)
    for name, flops in (("fft", 24 * fast(16)), ("ifft", 24 * fast(16)),
                        ("rfft", 24 * fast(16) / 2),
                        ("fft2", 3 * fast(128)),
                        ("rfft2", 3 * fast(128) / 2)):
        of = x if name[0] == "r" else torch.complex(x, x)
        got = capture(getattr(torch.fft, name), of, methods=RECORD)
        equal(got.graph.profile()["total_flops"], int(flops), name)
        equal(got.unknown, [], f"{name} unknown")
    for name, run in (
            ("irfft2", lambda x: torch.fft.irfft2(torch.fft.rfft2(x) * 2j)),
            ("stft", lambda x: torch.stft(
                x[0], 8, 2, window=torch.hann_window(8),
                return_complex=True).abs()),
            ("istft", lambda x: torch.istft(torch.stft(
                x[0], 8, 2, window=torch.hann_window(8), return_complex=True),
                8, 2, window=torch.hann_window(8))),
            ("complex", lambda x: torch.view_as_real(
                torch.complex(x, x) * torch.polar(x, x).conj())),
            ("parts", lambda x: torch.complex(x, x).angle() +
             torch.complex(x, x).imag)):
        equal(capture(run, x).unknown, [], f"{name} unknown")
    got = capture(lambda x: (torch.complex(x, x) @ torch.complex(x, -x).mT
                             ).real, x)
    equal(got.graph.profile()["total_macs"], 3 * 8 * 8 * 16,
          "a complex product counts as torch counts it")


def test_recorded_rows():
    """Rows that other tests do not reach; none is unknown."""
    x = torch.rand(4, 8)
    empty = torch.empty_like
    for name, run in (
            ("vdot", lambda x: torch.vdot(x.flatten(), x.flatten())),
            ("drawn", lambda x: x + torch.randint(0, 9, (4, 8)) +
             torch.randperm(8) + torch.randint_like(x, 5) + empty(x).normal_()
             + empty(x).uniform_() + empty(x).exponential_() +
             torch.normal(x, 1.0)),
            ("strided", lambda x: torch.as_strided(x, (2, 2), (1, 2)) +
             torch.eye(2)),
            ("windows", lambda x: x * torch.hamming_window(8) *
             torch.blackman_window(8))):
        equal(capture(run, x, methods=RECORD).unknown, [], name)


def test_batches_added_up():
    """addbmm, in place too: torch 2.13 takes neither apart where it is asked."""
    x, weights = torch.rand(3, 4, 8), torch.rand(4, 4)
    nets = (lambda a: torch.addbmm(weights, a, a.mT, beta=0.5, alpha=2),
            lambda a: weights.clone().addbmm_(a, a.mT))
    for net in nets:
        for method in ("record", "strict"):
            got = capture(net, x, methods=(method,))
            equal((got.graph.profile()["total_macs"], got.unknown),
                  (3 * 4 * 4 * 8, []), method)


def test_every_operator_has_pieces():
    """What a list says torch takes apart, this torch does."""
    for op in (*apart._ASKED, *apart._ANYWAY):
        check(apart.words_of_torch(op) is not None, f"{op}")


def test_written_weights():
    x = torch.rand(4, 8)
    for make in (parametrizations.weight_norm, nn.utils.weight_norm):
        same(make.__module__, Net(lambda m, x: m.c(x), c=make(nn.Linear(8, 8))),
             x)
    for make in (parametrizations.spectral_norm, nn.utils.spectral_norm):
        net = Net(lambda m, x: m.c(x), c=make(nn.Linear(8, 8))).eval()
        p = capture(net, x).graph.profile()
        # One matrix times a vector and a dot product, which torch leaves out.
        equal(p["total_macs"], counted(lambda: net(x)) + 8 * 8 + 8,
              "spectral_norm")


def test_sparse():
    x, w = torch.rand(4, 8), torch.eye(6, 4)
    dense = counted(lambda: w @ x)
    for name, sparse in (("coo", w.to_sparse()), ("csr", w.to_sparse_csr())):
        net = Net(lambda m, x: m.w @ x, w=sparse)
        got = capture(net, x)
        equal((got.graph.profile()["total_macs"], got.unknown), (dense, []),
              f"{name} as if dense")
    same("made sparse", Net(lambda m, x: x.to_sparse() @ m.a.weight), x)
    for layout, size in (("csr", ()), ("csc", ()), ("bsr", ((2, 2),)),
                         ("bsc", ((2, 2),))):
        def net(x, name=f"to_sparse_{layout}", size=size):
            return getattr(x, name)(*size).to_dense() @ x.t()
        got = capture(net, x)
        equal((got.graph.profile()["total_macs"], got.unknown), (4 * 4 * 8, []),
              f"made {layout}")


def test_nested():
    torch.manual_seed(0)
    rows = [torch.rand(4, 8), torch.rand(2, 8)]
    jagged = torch.nested.nested_tensor(rows, layout=torch.jagged)
    net = Net(lambda m, x: m.a(x).to_padded_tensor(0.0))
    same("jagged", net, jagged, lambda x: [net.a(r) for r in rows])
    heads = jagged.unsqueeze(2).transpose(1, 2)
    attend = lambda m, x: F.scaled_dot_product_attention(x, x, x)
    same("jagged attention", Net(attend), heads,
         lambda x: [attend(None, r[None, None]) for r in rows])
    net = Net(lambda m, x: m.a(x))
    same("strided", net, torch.nested.nested_tensor(rows),
         lambda x: [net.a(r) for r in rows])


def test_graphs_as_models():
    x = torch.rand(4, 8)
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    for name, model in (("exported", torch.export.export(net, (x,))),
                        ("scripted", torch.jit.script(net)),
                        ("traced", torch.jit.trace(net, x)),
                        ("fx", torch.fx.symbolic_trace(net))):
        p = capture(model, x).graph.profile()
        equal((p["total_macs"], p["total_params"]),
              (counted(lambda: net(x)), 8 * 8 + 8 + 24 + 3), name)


def test_two_results_run():
    x = torch.randn(3, 5)
    for name, run in (
            ("var_mean", lambda x: torch.var_mean(x, 1)),
            ("var_mean all", lambda x: torch.var_mean(x)),
            ("std_mean", lambda x: torch.std_mean(x, 1, correction=0,
                                                  keepdim=True)),
            ("aminmax", lambda x: torch.aminmax(x, dim=1)),
            ("logsigmoid", lambda x: F.logsigmoid(x)),
            ("max", lambda x: x.max(1)[0])):
        for method in ("export", "record"):
            got = capture(run, x, methods=(method,))
            equal(got.unknown, [], f"{name} {method} unknown")
            made = got.graph.compile()(x)
            made = made if isinstance(made, (list, tuple)) else [made]
            wanted = run(x)
            wanted = [wanted] if isinstance(wanted, torch.Tensor) else wanted
            equal(len(made), len(wanted), f"{name} {method} results")
            for a, b in zip(made, wanted):
                check(torch.allclose(torch.from_dlpack(a), b, atol=1e-6),
                      f"{name} {method}")


def test_nothing_changes():
    """Neither the model nor what torch keeps for all."""
    torch.manual_seed(0)
    net = Net(lambda m, x: torch.cond(
        x.sum() > 0, lambda x: m.c(m.a(x)), lambda x: m.b(x), (x,)),
        c=parametrizations.spectral_norm(nn.Linear(8, 8))).train()
    net.a.register_forward_hook(lambda *_: None)
    x = torch.rand(4, 8)
    net.b(x).sum().backward()

    def state():
        return ([(n, t.detach().clone(), t.grad is None or t.grad.clone())
                 for n, t in net.named_parameters()],
                [(n, b.clone()) for n, b in net.named_buffers()],
                [(n, m.training, len(m._forward_hooks), sorted(vars(m)))
                 for n, m in net.named_modules()],
                torch.get_rng_state(), torch.get_default_dtype(),
                torch.is_grad_enabled(), torch.get_num_threads(),
                torch.backends.mha.get_fastpath_enabled())

    def alike(a, b):
        if isinstance(a, (tuple, list)):
            return len(a) == len(b) and all(map(alike, a, b))
        return torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b
    before = state()
    for dtype in (torch.float32, torch.float64):
        torch.set_default_dtype(dtype)
        capture(net, x)
        equal(torch.get_default_dtype(), dtype, "the default dtype")
    torch.set_default_dtype(torch.float32)
    check(alike(before, state()), "something changed")


main(globals())
