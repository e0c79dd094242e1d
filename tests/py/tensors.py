"""Tensors cross without a copy, both ways, and live as long as anyone holds
them; a Model runs from several threads."""
import gc
import threading
import weakref

from py_check import check, equal, main, raises

import cleave
from tv import torch
import numpy as np
from torch import nn


def compiled(module, *inputs, backend=None):
    return cleave.capture(module.eval(), inputs).graph.compile(backend)


def pointer(t):
    """Where a cleave.Tensor is, by the way of NumPy."""
    return np.asarray(t).__array_interface__["data"][0]


x = torch.rand(2, 3, 8, 8)
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())


def test_outputs_are_shared():
    out, = compiled(net, x)(x)
    want = net(x).detach()
    equal((out.shape, out.dtype), ((2, 4, 6, 6), "float32"), "kind")
    equal(out.__dlpack_device__(), (1, 0), "device")
    array, tensor, view = np.asarray(out), torch.from_dlpack(out), \
        memoryview(out)
    equal(tensor.data_ptr(), pointer(out), "one memory")
    equal(np.from_dlpack(out).__array_interface__["data"][0], pointer(out),
          "NumPy's DLPack")
    equal(view.shape, (2, 4, 6, 6), "buffer")
    array[0, 0, 0, 0] = 7
    equal(float(tensor[0, 0, 0, 0]), 7.0, "written through one, read by "
          "the other")
    check(torch.allclose(tensor.flatten()[1:], want.flatten()[1:], 1e-4, 1e-4),
          "numbers")


def test_inputs_are_read_in_place():
    """An identity hands its input on: nothing in between may copy it."""
    model = compiled(net, x)
    want = net(x).detach()
    for given in (x, x.numpy(), memoryview(x.numpy()), model(x)):
        if isinstance(given, list):
            continue
        got = torch.from_dlpack(model.run([given])[0])
        check(torch.allclose(got, want, 1e-4, 1e-4), type(given).__name__)
    chained = compiled(nn.ReLU(), want)
    got, = chained(model(x)[0])    # a cleave.Tensor is an input too
    check(torch.allclose(torch.from_dlpack(got), want, 1e-4, 1e-4), "chained")


class Counted(np.ndarray):
    """An array that can be watched."""


def test_inputs_are_let_go():
    model = compiled(net, x)
    array = x.numpy().copy().view(Counted)
    seen = weakref.ref(array)
    model.run([array])
    del array
    gc.collect()
    check(seen() is None, "an input is held after the run")


def test_outputs_outlive_all():
    model = compiled(net, x)
    tensor = torch.from_dlpack(model(x)[0])
    array = np.asarray(model(x * 2)[0])
    kept = tensor.clone(), array.copy()
    for _ in range(20):
        model(torch.rand_like(x))
    del model
    gc.collect()
    junk = [torch.rand(2, 4, 6, 6) for _ in range(50)]
    check(torch.equal(tensor, kept[0]) and np.array_equal(array, kept[1]),
          "later runs wrote to it")
    del junk


class Passed(nn.Module):
    """Outputs that no kernel makes: an input, a weight, one twice."""

    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.arange(4.0))

    def forward(self, a):
        b = a + 1
        return a, self.w, b, b.view(-1), b


def test_outputs_of_others():
    model = compiled(Passed(), x)
    a, w, b, flat, again = model(x)
    equal(len({pointer(t) for t in (a, w, b, flat, again)}), 5, "apart")
    np.asarray(w)[:] = 0
    np.asarray(a)[:] = 0
    _, w, b, flat, again = model(x)
    check(np.array_equal(np.asarray(w), [0, 1, 2, 3]), "the weight is as it was")
    for t in (b, flat, again):
        check(np.allclose(np.asarray(t).ravel(), x.numpy().ravel() + 1), "sum")


def test_types():
    for dtype in (torch.float64, torch.int64, torch.int32, torch.uint8,
                  torch.bool, torch.bfloat16, torch.float16):
        a = torch.ones(3, dtype=dtype)
        out, = compiled(Where(), a)(a)
        equal(torch.from_dlpack(out).dtype, dtype, "dtype")
        if dtype is torch.bfloat16:
            with raises(BufferError, "__dlpack__ has"):
                memoryview(out)
        else:
            equal(str(np.asarray(out).dtype), str(a.numpy().dtype), "dtype")


class Where(nn.Module):
    def forward(self, a):
        return torch.flip(a, (0,))


def test_bad_inputs():
    model = compiled(net, x)
    with raises(ValueError, "1 inputs, not 2"):
        model(x, x)
    with raises(TypeError, "list or a tuple"):
        model.run(x)
    with raises(TypeError, "neither a buffer nor"):
        model("x")
    with raises(ValueError, "contiguous"):
        model(x.transpose(2, 3))
    with raises(ValueError, "contiguous"):
        model(x.numpy()[:, ::-1])
    with raises(cleave.Error, "is float64, must be float32"):
        model(x.double())
    with raises(cleave.Error, "shape [1, 3, 8, 8], must be [2, 3, 8, 8]"):
        model(x[:1])
    with raises(ValueError, "type that cleave has not"):
        model(np.zeros((2, 3, 8, 8), "U3"))
    with raises(TypeError, "by their place"):
        model(input=x)
    with raises((RuntimeError, ValueError, BufferError), ""):
        model(torch.empty(x.shape, device="meta"))
    with raises(TypeError, "cannot create"):
        cleave.Tensor()


def test_threads():
    model = compiled(net, x)
    want, wrong = net(x).detach(), []

    def work():
        for _ in range(50):
            if not torch.allclose(torch.from_dlpack(model(x)[0]), want, 1e-4,
                                  1e-4):
                wrong.append(1)
    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    equal(wrong, [], "wrong results")


main(globals())
