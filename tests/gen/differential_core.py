"""What the differential tester is made of: draws that shrink, small ONNX models,
ONNX Runtime as the truth, and the program that runs cleave.

A case is drawn by a row, a function that asks a Draw for every choice. The
choices are kept: a case that fails is drawn again with smaller ones until none
can be made smaller. Each list of choices has its simplest first.
"""
import os
import random
import re
import struct
import subprocess

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NEWEST = 26    # the newest opset that ONNX Runtime takes
F16, F32, F64 = np.dtype("f2"), np.dtype("f4"), np.dtype("f8")
BF16 = np.dtype(ml_dtypes.bfloat16)
I8, I16, I32, I64 = (np.dtype(t) for t in ("i1", "i2", "i4", "i8"))
U8, U16, U32, U64 = (np.dtype(t) for t in ("u1", "u2", "u4", "u8"))
BOOL = np.dtype("?")
FLOATS = [F32, F64, F16]
INTS = [I32, I64, I8, U8, I16, U16, U32, U64]
DOMAIN_VERSIONS = {"ai.onnx.ml": 3}    # of others 1, unless a model says
BOUND = 1    # CASE_BOUND of test_differential.c

#        relative error, and absolute error by the size of the result
CLOSE = {F64: (1e-7, 1e-7), F32: (1e-4, 2e-5), F16: (5e-3, 5e-3), BF16: (4e-2, 4e-2)}


def is_float(dtype):
    return dtype.kind == "f" or dtype in CLOSE


# -- draws -------------------------------------------------------------------

class Reject(Exception):
    """The draw makes no valid case."""


_POOL = np.random.default_rng(7).integers(-32, 33, 1 << 12)


class Draw:
    """Random choices, or those of a list; beyond its end, the simplest."""

    def __init__(self, seed=None, choices=None):
        self.random = random.Random(seed) if choices is None else None
        self.given, self.taken = choices, []

    def below(self, n):
        """0 is the simplest."""
        if n < 1:
            raise Reject("nothing to choose from")
        at = len(self.taken)
        if self.random:
            value = self.random.randrange(n)
        else:
            value = min(self.given[at], n - 1) if at < len(self.given) else 0
        self.taken.append(value)
        return value

    def int(self, low, high):
        return low + self.below(high - low + 1)

    def pick(self, items):
        return items[self.below(len(items))]

    def flag(self, percent=50):
        """False is the simplest."""
        return self.below(100) >= 100 - percent

    def dim(self, high=7):
        return self.pick([n for n in (1, 2, 3, 5, 4, 7, 8, 11, 13, 16) if n <= high])

    def shape(self, low=0, high=4, most=60, empty=3):
        """Of one rank in low..high, and at most `most` elements; one percent in
        `empty` has an axis of no elements."""
        out = [self.dim() for _ in range(self.int(low, high))]
        if out and self.flag(empty):
            out[self.below(len(out))] = 0
        for i in range(len(out)):
            while np.prod(out) > most and out[i] > 1:
                out[i] -= 1
        return out

    def axis(self, rank):
        """One of the axes, counted from either end."""
        at = self.below(rank)
        return at - rank if self.flag(30) else at

    def axes(self, rank, low=0, high=None):
        """Some of the axes, in any order."""
        out = [a for a in range(rank) if self.flag()]
        while len(out) < low:
            rest = [a for a in range(rank) if a not in out]
            out.append(self.pick(rest))
        out = out[:high]
        if self.flag(20):
            out.reverse()
        return [a - rank if self.flag(30) else a for a in out]

    def broadcastable(self, shape):
        """A shape that broadcasts to `shape`: ones, and axes left out in front."""
        out = [1 if self.flag(35) else n for n in shape]
        return out[self.below(len(out) + 1) if self.flag(40) else 0:]

    def data(self, shape, dtype=F32, kind="normal"):
        """Numbers on a grid: most types hold them exactly.

        normal    -4 .. 4 in steps of 1/8 (integers: -32 .. 32)
        positive  above 0
        unit      inside (-1, 1)
        small     -2 .. 2
        coord     -1 .. 1 in steps of 1/32
        special   normal, with NaN, infinities and -0 among them
        wide      integers of any size; floats to 1e4
        """
        n = int(np.prod(shape))
        at = self.below(len(_POOL) - 64) if n else 0
        grid = np.resize(_POOL[at:at + max(n, 1) % len(_POOL) + 64], n)
        if dtype == BOOL:
            return (grid > 0).reshape(shape)
        if dtype.kind in "iu":
            return self._integers(grid, dtype, kind).reshape(shape)
        x = grid / 8.0
        if kind == "positive":
            x = np.abs(x) + 0.125
        elif kind == "unit":
            x = grid / 33.0 if dtype in (F32, F64) else grid / 64.0
        elif kind == "small":
            x = x / 2
        elif kind == "coord":
            x = grid / 32.0
        elif kind == "wide":
            x = grid * np.abs(grid) * 8.0
        if kind == "special" and n:
            for value in (np.nan, np.inf, -np.inf, -0.0):
                if self.flag():
                    x[self.below(n)] = value
        return x.astype(dtype).reshape(shape)

    def _integers(self, grid, dtype, kind):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        if kind == "positive":
            return (np.abs(grid) % 13 + 1).astype(dtype)
        if kind == "small":
            return (grid % 5 - 2 if low < 0 else grid % 5).astype(dtype)
        if kind == "wide":
            span = [low, high, high - 1, high // 3, low // 2 + 1, 1]
            return np.array([span[g % 6] if g % 3 else g for g in np.abs(grid).tolist()],
                            object).astype(dtype)
        return (grid if low < 0 else np.abs(grid)).astype(dtype)


# -- models ------------------------------------------------------------------

def onnx_type(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


class Model:
    """A small ONNX model that is being drawn. Values are named v0, v1, ...; what
    is known of each is in `shape` and `dtype`."""

    def __init__(self, draw, opset, domain=""):
        self.draw, self.opset, self.domain = draw, opset, domain
        self.nodes, self.feeds, self.consts = [], {}, {}
        self.outputs, self.shape, self.dtype = [], {}, {}
        self.rtol = self.atol = self.near = None
        self.macs, self.flags, self.label = -1, 0, ""
        self.source = None    # "reference": where ONNX Runtime departs
        self.twin = None      # a model of the same results, which is asked instead
        self.cast = None      # the type of its results, where it forgets it
        self.names = 0
        self.versions = dict(DOMAIN_VERSIONS)
        self.domains = {domain} - {""}

    def _name(self):
        self.names += 1
        return f"v{self.names - 1}"

    def _known(self, array, into):
        name = self._name()
        array = np.asarray(array)
        into[name] = array
        self.shape[name], self.dtype[name] = list(array.shape), array.dtype
        return name

    def feed(self, array):
        """An input of the model."""
        return self._known(array, self.feeds)

    def const(self, array):
        return self._known(array, self.consts)

    def weight(self, array, percent=60):
        """Stored in the model, or given as an input."""
        return self.const(array) if not self.draw.flag(100 - percent) else self.feed(array)

    def ints(self, values, dtype=I64):
        """A shape, axes, sizes: stored, as exporters have them; sometimes given."""
        return self.weight(np.array(values, dtype), 90)

    def node(self, op, inputs, outputs=1, domain=None, **attrs):
        """Adds a node; the name, or names, of its results."""
        domain = self.domain if domain is None else domain
        self.domains |= {domain} - {""}
        names = [self._name() for _ in range(outputs)]
        attrs = {k: v for k, v in attrs.items() if v is not None}
        attrs = {k: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for k, v in attrs.items()}
        empty = [helper.make_attribute(k, v, attr_type=onnx.AttributeProto.INTS)
                 for k, v in attrs.items() if v == []]
        attrs = {k: v for k, v in attrs.items() if v != []}
        node = helper.make_node(op, [i or "" for i in inputs], names, domain=domain, **attrs)
        node.attribute.extend(empty)
        self.nodes.append(node)
        return names[0] if outputs == 1 else names

    def result(self, *names):
        self.outputs += names

    def proto(self):
        infos = [helper.make_tensor_value_info(k, onnx_type(v.dtype), v.shape)
                 for k, v in self.feeds.items()]
        stored = [numpy_helper.from_array(v, k) for k, v in self.consts.items()]
        outs = [helper.make_empty_tensor_value_info(k) for k in self.outputs]
        graph = helper.make_graph(self.nodes, "g", infos, outs, stored)
        sets = [helper.make_opsetid("", self.opset)]
        sets += [helper.make_opsetid(d, self.versions.get(d, 1)) for d in sorted(self.domains)]
        ir = 8 if self.opset < 19 else 10 if self.opset < 23 else 13
        return helper.make_model(graph, opset_imports=sets, ir_version=ir,
                                 producer_name="")


# -- the truth ---------------------------------------------------------------

_OPTIONS = ort.SessionOptions()
_OPTIONS.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
_OPTIONS.intra_op_num_threads = _OPTIONS.inter_op_num_threads = 1
_OPTIONS.log_severity_level = 4
_OPTIONS.enable_cpu_mem_arena = False
# Operators that onnx.reference gets wrong for some draws.
REFERENCE_WRONG = {"GlobalMaxPool"}
REFERENCE_NORM = 14     # its BatchNormalization of older opsets is wrong
REFERENCE_FIRST = 13   # before that, it takes many an operator for a newer one
_lacking = set()     # (operator, opset, types): ONNX Runtime has no kernel


def _runtime(proto, feeds):
    session = ort.InferenceSession(proto.SerializeToString(), _OPTIONS,
                                   providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def _has_kernel_type(array):
    return array.dtype.kind in "fiub" and array.dtype not in (BF16,)


def truth(model, proto):
    """(what the model gives, who says so). Reject: nobody can."""
    if model.twin:
        outs, who = truth(model.twin, model.twin.proto())
        return outs[:len(model.outputs)], who
    source = model.source
    key = (tuple((n.domain, n.op_type) for n in model.nodes), model.opset,
           tuple(a.dtype for a in [*model.feeds.values(), *model.consts.values()]))
    reason = "no kernel"
    if source != "reference" and key not in _lacking and \
            all(_has_kernel_type(a) for a in model.feeds.values()):
        try:
            return _runtime(proto, model.feeds), "ONNX Runtime"
        except Exception as e:    # ORT has a type of exception for each code
            reason = str(e)
            if "NOT_IMPLEMENTED" in reason or "not implemented" in reason:
                _lacking.add(key)
            else:
                raise Reject(reason) from None
    if model.domains - {"ai.onnx.preview.training", "ai.onnx.preview", "ai.onnx.ml"} or model.opset < REFERENCE_FIRST or any(n.op_type in REFERENCE_WRONG for n in model.nodes):
        raise Reject(reason)
    if model.opset < REFERENCE_NORM and any(n.op_type == "BatchNormalization" for n in model.nodes):
        raise Reject(reason)
    try:
        with np.errstate(all="ignore"):
            out = ReferenceEvaluator(proto).run(None, model.feeds)
    except Exception as e:
        raise Reject(f"{reason}; reference: {e!r}") from None
    return [np.asarray(a, model.cast) for a in out], "onnx.reference"


def tolerance(model, outs):
    """(rtol, atol) of all outputs."""
    floats = [a for a in outs if is_float(a.dtype)]
    if model.atol is not None or not floats:
        return model.rtol or 0.0, model.atol or 0.0
    kinds = [a.dtype for a in floats]
    kinds += [a.dtype for a in [*model.feeds.values(), *model.consts.values()]
              if a.dtype in CLOSE]
    rtol, atol = max(CLOSE.get(k, (0, 0)) for k in kinds)
    if model.near is not None:    # that of a chain, by the size of its results
        rtol, atol = model.rtol, model.near
    largest = 1.0
    for a in floats:
        a = np.abs(a.astype("f8"))
        a = a[np.isfinite(a)]
        largest = max(largest, a.max(initial=0))
    return rtol, min(atol * largest, 1e30)


# -- cleave ------------------------------------------------------------------

def _block(data):
    return struct.pack("<I", len(data)) + data


def packed(array):
    return numpy_helper.from_array(array).SerializeToString()


def record(name, proto, feeds, outs, close, macs=-1, flags=0):
    """A case as test_differential.c reads it."""
    body = struct.pack("<ffqBBB", *close, macs, len(feeds), len(outs), flags)
    body += _block(name.encode()[:140]) + _block(proto.SerializeToString())
    for a in [*feeds, *outs]:
        body += _block(b"" if a is None else packed(a))
    return _block(body)


class Answer:
    """kind is ok, refuse, wrong or crash; `ops` are the operators of the graph."""

    def __init__(self, kind, why="", ops=(), backend=False):
        self.kind, self.why, self.ops, self.backend = kind, why, ops, backend

    def key(self):
        """Failures of one cause mostly have one key."""
        return self.kind + " " + re.sub(r"\d+", "#", re.sub(
            r"-?(\d[\d.e+-]*|nan|inf)\b", "#", re.sub(r"'[^']*'", "''", self.why)))


class Runner:
    """test_differential --pipe, started again when it dies."""

    def __init__(self, build):
        self.command = [os.path.join(build, "tests", "test_differential"), "--pipe"]
        self.process = None

    def ask(self, data):
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, cwd=ROOT)
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
            line = self.process.stdout.readline().decode()
        except BrokenPipeError:
            line = ""
        if not line:
            code = self.process.wait()
            self.process = None
            return Answer("crash", f"ended with {code}")
        word, ops, why = line.rstrip("\n").split("\t")
        return Answer(word.lstrip("+"), why, ops.split(), word[0] == "+")


# -- shrinking ---------------------------------------------------------------

def shrink(choices, fails, attempts=600):
    """The smallest choices that still fail, as far as so many attempts lead."""
    best, left = list(choices), [attempts]

    def smaller(candidate):
        nonlocal best
        if left[0] <= 0 or candidate == best:
            return False
        left[0] -= 1
        if not fails(candidate):
            return False
        best = candidate
        return True

    progress = True
    while progress and left[0] > 0:
        progress = False
        for size in (8, 4, 2, 1):
            at = len(best) - size
            while at >= 0:
                progress |= smaller(best[:at] + best[at + size:])
                at -= size
        for at in range(len(best) - 1, -1, -1):
            if at >= len(best):
                continue
            for value in (0, best[at] // 2, best[at] - 1):
                if at < len(best) and 0 <= value < best[at] and \
                        smaller(best[:at] + [value] + best[at + 1:]):
                    progress = True
                    break
    return best
