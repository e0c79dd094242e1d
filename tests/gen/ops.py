"""ops.py - writes tests/cases/ops.txt: what PyTorch makes of every operator.

Each case runs the real operator. Shapes and types are those of its results;
MACs are FlopCounterMode's (half its count) where it counts the operator, else
the formula in the case. FLOPs are our own convention, so they are always a
formula, printed above the case; in it `x` is the elements of input 0, `out`
those of output 0, `macs` the MACs. Operators that only ONNX has run in ONNX
Runtime. Masks are all true and values all distinct, so that a result whose
size depends on data has its largest size. A case of `fails` must be refused by
PyTorch too.

    ops.py > tests/cases/ops.txt          (environment of tools/pyenv)
"""
import math
import random
import re
import sys

import numpy
import onnx
import onnxruntime
from torch.utils.flop_counter import FlopCounterMode
from torch.nn.attention import SDPBackend, sdpa_kernel
import torch.nn.functional as F

from tv import nms, torch, torchvision

torch.backends.mkldnn.enabled = False    # recurrent nets as plain products
torch.manual_seed(0)
done = set()


def tensor(text):
    """'2,3', '2,3:int64', '2:int64=3,4' with contents, '()', or '-'."""
    if text == "-":
        return None
    text, _, given = text.partition("=")
    dims, _, dtype = text.partition(":")
    dtype = getattr(torch, dtype or "float32")
    dims = [] if dims == "()" else [int(d) for d in dims.split(",")]
    if given:
        return torch.tensor([float(v) for v in given.split(",")]).to(dtype) \
            .reshape(dims)
    if dtype == torch.bool:
        return torch.ones(dims, dtype=dtype)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.rand(dims).to(dtype)
    return torch.zeros(dims, dtype=dtype)


def describe(t, contents=""):
    if t is None:
        return "-"
    dims = ",".join(str(d) for d in t.shape)
    held = "{%s}" % contents if contents else ""
    return "%s[%s]%s" % (str(t.dtype)[6:], dims, held)


def attribute(key, value):
    if isinstance(value, str):
        return '%s="%s"' % (key, value)
    if isinstance(value, (list, tuple)):
        return "%s=[%s]" % (key, ",".join(str(v) for v in value))
    return "%s=%s" % (key, int(value) if isinstance(value, bool) else value)


def head(op, ins, attrs):
    print(" ".join([op] + [attribute(k, v) for k, v in attrs.items()]))
    known = [re.sub(r"^[^=]*=?", "", i) for i in ins.split()]
    shown = [describe(tensor(i), k) for i, k in zip(ins.split(), known)]
    if shown:
        print("< " + " ".join(shown))


def case(op, ins, fn, macs=None, flops=None, bytes=None, bound=False, outs=None,
         **attrs):
    given = [tensor(i) for i in ins.split()]
    with FlopCounterMode(display=False) as counter:
        results = fn(*given)
    if not isinstance(results, (tuple, list)):
        results = [results]
    results = results[:outs] if outs else results
    numel = math.prod(results[0].shape)
    names = {"out": numel, "math": math,
             "x": given[0].numel() if given and given[0] is not None else 0}
    counted = counter.get_total_flops() // 2
    if macs is not None:
        print("# macs = %s" % macs)
        counted = eval(str(macs), names)
    names["macs"] = counted
    cost = ["macs %d" % counted]
    for key, formula in (("flops", flops), ("bytes", bytes)):
        if formula is not None:
            print("# %s = %s" % (key, formula))
            cost.append("%s %d" % (key, eval(str(formula), names)))
    head(op, ins, attrs)
    mark = "?" if bound else ""
    print("> " + " ".join(describe(r) + mark for r in results))
    print("= " + " ".join(cost) + "\n")
    done.add(op)


def fails(op, ins, fn, message, **attrs):
    given = [tensor(i) for i in ins.split()]
    try:
        fn(*given)
    except Exception:        # whatever PyTorch calls it
        head(op, ins, attrs)
        print("! %s\n" % message)
        return
    raise SystemExit("%s %s: PyTorch does not refuse it" % (op, ins))


def onnx_run(kind, *given, n_out=1, opset=23, **attrs):
    """One ONNX operator in ONNX Runtime."""
    def info(name, array=None, rank=None):
        if array is None:
            return onnx.ValueInfoProto(name=name)
        kind_of = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        return onnx.helper.make_tensor_value_info(name, kind_of, array.shape)
    arrays = {"x%d" % i: t.numpy() for i, t in enumerate(given)
              if t is not None}
    names = ["x%d" % i if t is not None else "" for i, t in enumerate(given)]
    outs = ["y%d" % i for i in range(n_out)]
    node = onnx.helper.make_node(kind, names, outs, **attrs)
    graph = onnx.helper.make_graph([node], "case", [
        info(k, a) for k, a in arrays.items()], [info(o) for o in outs])
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    model.ir_version = 10
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"])
        results = session.run(None, arrays)
    except Exception:        # types that its kernels leave out
        from onnx.reference import ReferenceEvaluator
        results = ReferenceEvaluator(model).run(None, arrays)
    return [torch.from_numpy(numpy.array(r)) for r in results]


def onnx_case(op, kind, ins, n_out=1, opset=23, given=None, **more):
    attrs = given or {}
    case(op, ins, lambda *t: onnx_run(kind, *t, n_out=n_out, opset=opset,
                                      **attrs), **more)


# -- convolution --------------------------------------------------------------

def convolutions():
    for nd, conv in ((1, F.conv1d), (2, F.conv2d), (3, F.conv3d)):
        op = "conv%dd" % nd
        s = ",".join(["9", "8", "7"][:nd])
        k = ",".join(["3", "3", "3"][:nd])
        plain, biased = "2*macs", "2*macs + out"
        case(op, f"2,4,{s} 6,4,{k} 6", conv, flops=biased)
        case(op, f"2,4,{s} 6,4,{k}",
             lambda x, w: conv(x, w, stride=2, padding=1), flops=plain,
             stride=2, padding=1)
        case(op, f"2,4,{s} 6,2,{k} 6",
             lambda x, w, b: conv(x, w, b, groups=2, dilation=2), flops=biased,
             groups=2, dilation=2)
        case(op, f"4,{s} 6,4,{k} 6", conv, flops=biased)
        case(op, f"0,4,{s} 6,4,{k} 6", conv, flops=biased)
        for mode in ("same", "valid"):
            case(op, f"1,4,{s} 8,1,{k} 8",
                 lambda x, w, b: conv(x, w, b, groups=4, padding=mode,
                                      dilation=2), flops=biased, groups=4,
                 auto_pad=mode, dilation=2)
        fails(op, f"1,4,{s} 6,3,{k}", conv, "input has 4 channels")
        fails(op, f"1,4,{s} 6,4,{k}",
              lambda x, w: conv(x, w, groups=3), "weight expects 12", groups=3)
        fails(op, f"1,6,{s} 4,2,{k}", lambda x, w: conv(x, w, groups=3),
              "4 output channels in 3 groups", groups=3)
        fails(op, f"1,3,{s} 4,3,{k} 5", conv, "bias of 5 for 4 channels")
        fails(op, f"1,1,4,{s} 6,4,{k}", conv, "rank")
        fails(op, f"1,4,{s.replace('9', '2')} 6,4,{k}", conv,
              "kernel of 3 is larger than the padded input of 2")
        fails(op, f"1,4,{s} 6,4,{k}", lambda x, w: conv(x, w, stride=0),
              "stride is 0", stride=0)
    case("conv2d", "1,3,224,224 64,3,7,7",
         lambda x, w: F.conv2d(x, w, stride=2, padding=3), flops="2*macs",
         stride=2, padding=3)
    case("conv2d", "1,32,14,14 32,1,3,3",
         lambda x, w: F.conv2d(x, w, padding=1, groups=32), flops="2*macs",
         padding=1, groups=32)
    case("conv2d", "1,2,9,8 4,2,3,1",
         lambda x, w: F.conv2d(x, w, stride=(2, 3), padding=(1, 0),
                               dilation=(2, 1)), flops="2*macs",
         stride=(2, 3), padding=(1, 0), dilation=(2, 1))
    case("conv2d", "1,2,9,8:float16 4,2,3,3:float16", F.conv2d,
         flops="2*macs", bytes="2*(144 + 72 + out)")
    onnx_case("conv2d", "Conv", "1,2,9,8 4,2,3,3", given={
        "auto_pad": "SAME_UPPER", "strides": [2, 2]}, macs="72*5*4",
        flops="2*macs", auto_pad="same", stride=2)
    onnx_case("conv2d", "Conv", "1,2,9,8 4,2,3,3", given={
        "pads": [0, 1, 2, 3]}, macs="72*9*10", flops="2*macs",
        padding=[0, 1, 2, 3])
    for nd, conv in ((1, F.conv_transpose1d), (2, F.conv_transpose2d),
                     (3, F.conv_transpose3d)):
        op = "conv_transpose%dd" % nd
        s = ",".join(["5", "4", "3"][:nd])
        k = ",".join(["3", "3", "3"][:nd])
        case(op, f"2,4,{s} 4,6,{k} 6", conv, flops="2*macs + out")
        case(op, f"2,4,{s} 4,3,{k}",
             lambda x, w: conv(x, w, stride=2, padding=1, output_padding=1,
                               groups=2, dilation=2), flops="2*macs",
             stride=2, padding=1, output_padding=1, groups=2, dilation=2)
        case(op, f"4,{s} 4,6,{k}", conv, flops="2*macs")
        fails(op, f"1,3,{s} 4,6,{k}", conv, "input has 3 channels")
        fails(op, f"1,4,{s} 4,6,{k}",
              lambda x, w: conv(x, w, output_padding=2), "output padding 2",
              output_padding=2)
    onnx_case("conv_transpose2d", "ConvTranspose", "1,2,5,4 2,3,3,3", given={
        "strides": [2, 2], "auto_pad": "SAME_UPPER"}, macs="20*54",
        flops="2*macs", stride=2, auto_pad="same")
    onnx_case("conv_transpose2d", "ConvTranspose", "1,2,5,4 2,3,3,3", given={
        "strides": [2, 2], "output_shape": [10, 9]}, macs="20*54",
        flops="2*macs", stride=2, output_size=[10, 9])
    # Samples replace the taps of a convolution, whose shape and MACs it has.
    case("deform_conv2d", "1,4,8,8 6,2,3,3 1,18,6,6 6",
         lambda x, w, o, b: F.conv2d(x, w, b, groups=2),
         flops="2*macs + out + 7*(4*9*36)", groups=2)
    case("deform_conv2d", "1,4,8,8 6,4,3,3 1,36,4,4 - 1,18,4,4",
         lambda x, w, o, b, m: F.conv2d(x, w, stride=2, padding=1),
         flops="2*macs + 8*(4*9*16)", stride=2, padding=1)
    fails("deform_conv2d", "1,4,8,8 6,4,3,3 1,17,6,6",
          lambda x, w, o: o.reshape(1, 18, 6, 6), "the offsets do not fit")


# -- products -----------------------------------------------------------------

def products():
    case("linear", "2,5,8 4,8 4", F.linear, flops="2*macs + out")
    case("linear", "8 4,8", F.linear, flops="2*macs")
    case("linear", "0,8 4,8 4", F.linear, flops="2*macs + out")
    case("linear", "1,2048 1000,2048 1000", F.linear, flops="2*macs + out",
         bytes="4*(2048 + 2048*1000 + 1000 + out)")
    fails("linear", "2,7 4,8", F.linear, "inner dims 7 and 8 differ")
    fails("linear", "2,8 4,8 5", F.linear, "bias of 5 for 4 outputs")
    for pair in ("3,4 4,5", "2,3,4 4,5", "7,1,3,4 2,4,5", "4 4,5", "2,3,4 4",
                 "2,3,4 2,4,5", "3,0 0,5", "2,1,6,3,4 5,1,4,2"):
        left, right = (tuple(map(int, p.split(","))) for p in pair.split())
        case("matmul", pair, torch.matmul, macs="out*%d" % left[-1],
             flops="2*macs")
    fails("matmul", "3,4 5,4", torch.matmul, "inner dims 4 and 5 differ")
    fails("matmul", "2,3,4 3,4,5", torch.matmul, "do not broadcast")
    case("bmm", "2,3,4 2,4,5", torch.bmm, flops="2*macs")
    fails("bmm", "2,3,4 1,4,5", torch.bmm, "batches of 2 and 1")
    fails("bmm", "3,4 4,5", torch.bmm, "ranks 2 and 2, takes 3 and 3")
    case("mv", "3,4 4", torch.mv, macs="3*4", flops="2*macs")
    fails("mv", "3,4 4,1", torch.mv, "ranks 2 and 2, takes 2 and 1")
    case("dot", "7 7", torch.dot, macs="7", flops="2*macs")
    fails("dot", "7 6", torch.dot, "inner dims 7 and 6 differ")
    case("addmm", "5 3,4 4,5", torch.addmm, flops="2*macs + out")
    case("addmm", "3,1 3,4 4,5", torch.addmm, flops="2*macs + out")
    fails("addmm", "4 3,4 4,5", torch.addmm, "do not broadcast")
    case("baddbmm", "2,3,5 2,3,4 2,4,5", torch.baddbmm, flops="2*macs + out")
    case("baddbmm", "5 2,3,4 2,4,5", torch.baddbmm, flops="2*macs + out")
    onnx_case("gemm", "Gemm", "4,3 5,4 5", given={"transA": 1, "transB": 1},
              macs="3*4*5", flops="2*macs + out", trans_a=1, trans_b=1)
    onnx_case("gemm", "Gemm", "3,4 4,5", macs="3*4*5", flops="2*macs")
    for equation, ins in (("bij,bjk->bik", "2,3,4 2,4,5"),
                          ("ij,jk", "3,4 4,5"),
                          ("...ij,...jk->...ik", "2,1,3,4 7,4,5"),
                          ("bhid,bhjd->bhij", "2,3,4,5 2,3,6,5"),
                          ("bqd,kd->bqk", "2,3,4 5,4")):
        case("einsum", ins, lambda *t: torch.einsum(equation, *t),
             flops="2*macs", equation=equation)
    for equation, ins, macs, flops in (
            ("i,j->ij", "3 4", 0, "out"), ("ii->i", "3,3", 0, "0"),
            ("ii", "3,3", 0, "3"), ("ij->ji", "3,4", 0, "0"),
            ("ij->j", "3,4", 0, "12"), ("ij,ij->ij", "3,4 3,4", 0, "out"),
            ("ij,jk,kl->il", "3,4 4,5 5,6", "3*4*5 + 3*5*6", "2*macs"),
            ("ijk,kl->il", "3,4,5 5,6", "3*5*6", "2*macs + 3*4*5"),
            ("b...,b...->b", "2,3,4 2,3,4", "2*12", "2*macs"),
            ("Ba,aB", "2,3 3,2", "6", "2*macs")):
        case("einsum", ins, lambda *t: torch.einsum(equation, *t), macs=macs,
             flops=flops, equation=equation)
    for equation, ins, message in (
            ("ij,jk->ik", "3,4 5,6", "an axis of 4 and of 5"),
            ("ijk,jk->ik", "3,4 4,5", "3 axes named of rank 2"),
            ("ij,jk->iz", "3,4 4,5", "an axis of its own"),
            ("ij,jk->ii", "3,4 4,5", "an axis twice"),
            ("ij->ij", "3,4 3,4", "operands"), ("i%->i", "3,4", "unexpected"),
            ("ij,jk->ik,", "3,4 4,5", "more after the result")):
        fails("einsum", ins, lambda *t: torch.einsum(equation, *t), message,
              equation=equation)
    case("bilinear", "7,3 7,4 5,3,4 5", F.bilinear, macs="7*5*(3*4 + 4)",
         flops="2*macs + out")
    fails("bilinear", "7,3 6,4 5,3,4", F.bilinear, "the batches differ")
    case("cdist", "2,3,4 2,5,4", torch.cdist, flops="out*(3*4 + 1)")
    case("cdist", "3,4 2,5,4", torch.cdist, flops="out*(3*4 + 1)")
    fails("cdist", "3,4 5,3", torch.cdist, "inner dims 4 and 3 differ")
    grouped = getattr(torch, "_grouped_mm")
    case("grouped_matmul", "48,16 3,16,32 3:int32=16,16,48",
         lambda a, b, ends: grouped(a, b, offs=ends), macs="48*16*32")
    case("grouped_matmul", "3,8,16 16,48 3:int32=16,16,48",
         lambda a, b, ends: grouped(a, b, offs=ends), macs="8*16*48")
    case("grouped_matmul", "8,48 48,32 3:int32=16,16,48",
         lambda a, b, ends: grouped(a, b, offs=ends), macs="8*48*32")
    case("grouped_matmul", "3,8,16 3,16,32", grouped, macs="3*8*16*32")


# -- attention ----------------------------------------------------------------

def sdpa(q, k, v, mask=None, **more):
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(q, k, v, mask, **more)


def mha(embed, heads, batch_first=False, kdim=None, vdim=None, bias=True):
    module = torch.nn.MultiheadAttention(
        embed, heads, batch_first=batch_first, kdim=kdim, vdim=vdim, bias=bias)
    return lambda q, k, v, *rest: module(q, k, v)


def attention():
    op = "scaled_dot_product_attention"
    case(op, "2,8,5,16 2,8,7,16 2,8,7,16", sdpa, flops="2*macs + 6*2*8*5*7")
    case(op, "2,8,5,16 2,8,7,16 2,8,7,12 5,7", sdpa,
         flops="2*macs + 7*2*8*5*7")
    case(op, "2,8,5,16 2,2,7,16 2,2,7,16",
         lambda q, k, v: sdpa(q, k, v, enable_gqa=True),
         flops="2*macs + 6*2*8*5*7")
    case(op, "2,5,16 2,7,16 2,7,16", sdpa, flops="2*macs + 6*2*5*7")
    case(op, "2,8,5,16 2,8,5,16 2,8,5,16",
         lambda q, k, v: sdpa(q, k, v, is_causal=True),
         flops="2*macs + 6*2*8*5*5", causal=1)
    fails(op, "2,8,5,16 2,8,7,12 2,8,7,16", sdpa, "inner dims 16 and 12")
    fails(op, "2,8,5,16 2,8,7,16 2,8,6,16", sdpa, "7 keys for 6 values")
    fails(op, "2,8,5,16 2,3,7,16 2,3,7,16", sdpa, "8 query and 3 key heads")
    op = "multi_head_attention"
    weights = "24,8 24 8,8 8"
    case(op, "5,2,8 5,2,8 5,2,8 " + weights, mha(8, 2),
         flops="2*macs + 4*8*10 + 6*2*2*5*5", heads=2)
    case(op, "2,5,8 2,7,8 2,7,8 " + weights, mha(8, 2, True),
         flops="2*macs + 2*8*10 + 2*8*14 + 6*2*2*5*7", heads=2, layout="batch")
    case(op, "5,8 7,8 7,8 " + weights, mha(8, 4),
         flops="2*macs + 2*8*5 + 2*8*7 + 6*4*5*7", heads=4)
    case(op, "5,2,8 7,2,6 7,2,4 - - 8,8 - - 8,8 8,6 8,4",
         mha(8, 2, kdim=6, vdim=4, bias=False), flops="2*macs + 6*2*2*5*7",
         heads=2)
    fails(op, "5,2,8 5,2,8 5,2,8", lambda *t: mha(8, 3)(*t),
          "8 features for 3 heads", heads=3)
    onnx_case("attention", "Attention", "2,4,3,8 2,2,5,8 2,2,5,6",
              macs="2*4*3*5*(8 + 6)", flops="2*macs + 6*2*4*3*5")
    onnx_case("attention", "Attention",
              "2,3,32 2,5,16 2,5,12 3,9 2,2,4,8 2,2,4,6", n_out=3,
              given={"q_num_heads": 4, "kv_num_heads": 2},
              macs="2*4*3*9*(8 + 6)", flops="2*macs + 7*2*4*3*9", heads=4,
              kv_heads=2)
    onnx_case("rotary_embedding", "RotaryEmbedding",
              "2,4,3,8 50,4 50,4 2,3:int64", flops="3*out")


# -- norms and activations ----------------------------------------------------

def norms():
    case("batch_norm", "2,4,5,5 4 4 4 4",
         lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b), flops="2*out")
    case("batch_norm", "2,4", lambda x: F.batch_norm(
        x, None, None, training=True), flops="5*out")
    fails("batch_norm", "2,4,5 3 3 3 3",
          lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b),
          "3 elements for 4 channels")
    for shape, weight in (((8,), "8 8"), ((6, 8), "6,8 6,8")):
        case("layer_norm", "2,6,8 " + weight,
             lambda x, w, b: F.layer_norm(x, shape, w, b), flops="7*out",
             shape=shape)
    case("layer_norm", "2,6,8", lambda x: F.layer_norm(x, (8,)),
         flops="5*out", axis=-1)
    onnx_case("layer_norm", "LayerNormalization", "2,6,8 6,8 6,8", n_out=3,
              given={"axis": 1}, flops="7*out", axis=1)
    fails("layer_norm", "2,6,8 7", lambda x, w: F.layer_norm(x, (8,), w),
          "do not broadcast", axis=-1)
    fails("layer_norm", "2,6,8", lambda x: F.layer_norm(x, (7,)),
          "norm over 7, axis has 8", shape=[7])
    case("group_norm", "2,6,5,5 6 6",
         lambda x, w, b: F.group_norm(x, 3, w, b), flops="7*out", groups=3)
    case("group_norm", "2,6", lambda x: F.group_norm(x, 3), flops="5*out",
         groups=3)
    fails("group_norm", "2,6,5", lambda x: F.group_norm(x, 4),
          "6 channels in 4 groups", groups=4)
    case("instance_norm", "2,4,5,5", F.instance_norm, flops="5*out")
    case("rms_norm", "2,6,8 8", lambda x, w: F.rms_norm(x, (8,), w),
         flops="4*out")
    case("rms_norm", "2,6,8", lambda x: F.rms_norm(x, (8,)), flops="3*out")
    case("local_response_norm", "2,4,5,5",
         lambda x: F.local_response_norm(x, 5), flops="(5 + 4)*out", size=5)
    case("lp_norm", "2,4,5", F.normalize, flops="3*out", axis=1)
    onnx_case("mean_variance_norm", "MeanVarianceNormalization", "2,4,5,5",
              flops="5*out", axes=[0, 2, 3])


def activations():
    for op, fn, unit in (
            ("relu", F.relu, 1), ("relu6", F.relu6, 2),
            ("leaky_relu", F.leaky_relu, 2), ("rrelu", F.rrelu, 2),
            ("elu", F.elu, 4), ("selu", F.selu, 5), ("celu", F.celu, 5),
            ("gelu", F.gelu, 5), ("silu", F.silu, 5), ("mish", F.mish, 5),
            ("sigmoid", F.sigmoid, 4), ("logsigmoid", F.logsigmoid, 5),
            ("tanh", F.tanh, 1), ("hardtanh", F.hardtanh, 2),
            ("hardswish", F.hardswish, 5), ("hardsigmoid", F.hardsigmoid, 4),
            ("softplus", F.softplus, 3), ("softsign", F.softsign, 3),
            ("threshold", lambda x: F.threshold(x, 0.1, 20), 1),
            ("hardshrink", F.hardshrink, 2), ("softshrink", F.softshrink, 3),
            ("tanhshrink", F.tanhshrink, 2)):
        case(op, "2,3,4", fn, flops="%d*out" % unit)
    case("relu", "()", F.relu, flops="out")
    case("relu", "0,3", F.relu, flops="out")
    case("relu", "2,3:int32", F.relu, flops="out")
    case("gelu", "2,3,4", lambda x: F.gelu(x, approximate="tanh"),
         flops="9*out", approximate="tanh")
    case("sigmoid", "2,3:int64", torch.sigmoid, flops="4*out")
    onnx_case("shrink", "Shrink", "2,3", flops="3*out")
    case("prelu", "2,3,4 3", F.prelu, flops="2*out", axis=1)
    case("prelu", "2,3,4 1", F.prelu, flops="2*out", axis=1)
    onnx_case("prelu", "PRelu", "2,3,4 3,1", flops="2*out")
    fails("prelu", "2,3,4 2", F.prelu, "no slope for each of the 3", axis=1)
    fails("prelu", "2,3,4 3", lambda x, w: x * w, "do not broadcast")
    case("glu", "2,6,4", lambda x: F.glu(x, 1), flops="5*out", axis=1)
    fails("glu", "2,3", F.glu, "odd size 3")
    for op, fn, unit in (("softmax", F.softmax, 5),
                         ("log_softmax", F.log_softmax, 5),
                         ("softmin", F.softmin, 6)):
        case(op, "2,3,4", lambda x: fn(x, dim=1), flops="%d*out" % unit, axis=1)
    case("softmax", "2,3:float16", lambda x: F.softmax(
        x, dim=-1, dtype=torch.float32), flops="5*out", axis=-1,
        dtype="float32")
    fails("softmax", "2,3", lambda x: F.softmax(x, dim=2),
          "axis 2 of a rank-2 tensor", axis=2)
    onnx_case("hardmax", "Hardmax", "2,3,4", flops="out", axis=-1)


# -- elementwise --------------------------------------------------------------

BINARY = (("add", torch.add, 1), ("sub", torch.sub, 1), ("mul", torch.mul, 1),
          ("div", torch.div, 1), ("floor_divide", torch.floor_divide, 2),
          ("remainder", torch.remainder, 1), ("fmod", torch.fmod, 1),
          ("pow", torch.pow, 1), ("atan2", torch.atan2, 1),
          ("maximum", torch.maximum, 1), ("minimum", torch.minimum, 1))
COMPARE = (("eq", torch.eq), ("ne", torch.ne), ("lt", torch.lt),
           ("le", torch.le), ("gt", torch.gt), ("ge", torch.ge),
           ("logical_and", torch.logical_and), ("logical_or", torch.logical_or),
           ("logical_xor", torch.logical_xor))
BITS = (("bitwise_and", torch.bitwise_and), ("bitwise_or", torch.bitwise_or),
        ("bitwise_xor", torch.bitwise_xor),
        ("shift_left", torch.bitwise_left_shift),
        ("shift_right", torch.bitwise_right_shift))
SHAPES = ("2,3,4 4", "2,1,4 3,1", "() 2,3", "0,3 1,3", "2,3 2,3")
TYPES = ("int32 int64", "uint8 int8", "uint8 int16", "int64 float16",
         "float16 bfloat16", "float16 float32", "bool int8", "bool float32",
         "float32 float64", "float64 complex64", "int32 bool")


def full_of(t, value=1):
    return t if t.dtype.is_floating_point or t.dtype.is_complex \
        else torch.full_like(t, value)


def binary():
    def ones(fn):
        return lambda a, b: fn(full_of(a), full_of(b))
    for op, fn, unit in BINARY:
        for shapes in SHAPES[:2]:
            case(op, shapes, fn, flops="%d*out" % unit)
        case(op, "2,3:int32 2,3:int32", ones(fn), flops="%d*out" % unit)
        fails(op, "2,3 4", fn, "[2, 3] and [4] do not broadcast")
    for shapes in SHAPES:
        case("add", shapes, torch.add, flops="out")
    for types in TYPES:
        a, b = types.split()
        case("mul", f"2,3:{a} 2,3:{b}", torch.mul, flops="out")
    for types in ("int32 int64", "int64 float32", "float16 float32",
                  "float16 float64", "int8 float16", "bool int16"):
        a, b = types.split()                  # a zero-dim tensor gives way
        case("add", f"2,3:{a} ():{b}", torch.add, flops="out")
        case("add", f"():{b} 2,3:{a}", torch.add, flops="out")
    for dtype, value in (("int32", 2), ("int32", 2.5), ("float16", 2.5),
                         ("bool", 2), ("uint8", 3)):
        case("mul", f"2,3:{dtype}", lambda x: x * value, flops="out",
             value=value)
    case("div", "2,3:int64", lambda x: x / 2, flops="out", value=2)
    case("div", "2,3:int64 3:int64",
         lambda a, b: torch.div(full_of(a), full_of(b), rounding_mode="floor"),
         flops="out", mode="floor")
    for op, fn in COMPARE:
        case(op, "2,3,4 4", fn, flops="out")
        case(op, "2,3:int64 1,3", fn, flops="out")
        fails(op, "2,3 2,4", fn, "do not broadcast")
    case("gt", "2,3", lambda x: x > 0, flops="out", value=0)
    for op, fn in BITS:
        case(op, "2,3:int32 3:int64", fn, flops="out")
        fails(op, "2,3 2,3", lambda a, b: a & b, "bits of float32")
    case("bitwise_not", "2,3:bool", torch.bitwise_not, flops="out")
    onnx_case("maximum", "Max", "2,3 3 2,1", flops="2*out")
    onnx_case("add_n", "Sum", "2,3 2,3 2,3 1", flops="3*out")
    onnx_case("mean_n", "Mean", "2,3 2,3 2,3", flops="3*out")
    case("addcmul", "2,3 2,3 3", torch.addcmul, flops="3*out")
    case("addcdiv", "2,3 2,3 2,1", torch.addcdiv, flops="3*out")
    case("lerp", "2,3 2,3 2,3", torch.lerp, flops="3*out")
    case("clamp", "2,3", lambda x: x.clamp(0, 1), flops="2*out", min=0, max=1)
    case("clamp", "2,3", lambda x: x.clamp(min=0), flops="out", min=0)
    case("clamp", "2,3 - 3", lambda x, a, b: x.clamp(max=b), flops="out")
    case("clamp", "2,3:int64", lambda x: x.clamp(0.5, 1.5), flops="2*out",
         min=0.5, max=1.5)
    case("where", "2,3:bool 3 ()", torch.where, flops="out")
    case("where", "2,1:bool 3:int64 3", torch.where, flops="out")
    case("masked_fill", "2,3 3:bool", lambda x, m: x.masked_fill(m, 0.0),
         flops="out", value=0.0)
    case("masked_fill", "3:int64 2,3:bool ():int64", torch.masked_fill,
         flops="out")
    case("masked_scatter", "2,3 2,3:bool 6", torch.masked_scatter)


def unary():
    floats = ("reciprocal", "sqrt", "exp", "exp2", "log", "log2", "log10",
              "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
              "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "lgamma", "digamma")
    for op in floats:
        case(op, "2,3", getattr(torch, op), flops="out")
        case(op, "2,3:int32", getattr(torch, op), flops="out")
    for op in ("rsqrt", "expm1", "log1p"):
        case(op, "2,3:int64", getattr(torch, op), flops="2*out")
    for op in ("neg", "abs", "sign", "floor", "ceil", "round", "trunc",
               "square"):
        case(op, "2,3", getattr(torch, op), flops="out")
        case(op, "2,3:int32", getattr(torch, op), flops="out")
    case("abs", "2,3:complex64", torch.abs, flops="out")
    case("square", "2,3:bool", torch.square, flops="out")
    for op in ("logical_not", "isnan", "isinf", "isfinite"):
        case(op, "2,3", getattr(torch, op), flops="out")
    case("cast", "2,3", lambda x: x.to(torch.float16), flops="0",
         bytes="6*4 + 6*2", dtype="float16")
    case("dropout", "2,3", lambda x: F.dropout(x, 0.5, False), flops="0",
         bytes="0")
    case("stochastic_depth", "2,3",
         lambda x: torchvision.ops.stochastic_depth(x, 0.5, "row", False),
         flops="0", bytes="0")
    case("identity", "2,3", torch.nn.Identity(), flops="0", bytes="0")


# -- pools and reductions -----------------------------------------------------

def pools():
    size = {1: "9", 2: "9,8", 3: "9,8,7"}
    for nd in (1, 2, 3):
        s = size[nd]
        most = getattr(F, "max_pool%dd" % nd)
        mean = getattr(F, "avg_pool%dd" % nd)
        lp = getattr(F, "lp_pool%dd" % nd)
        op = "max_pool%dd" % nd
        k3, k2 = 3 ** nd, 2 ** nd
        case(op, f"2,4,{s}", lambda x: most(x, 3, 2, 1),
             flops=f"{k3 - 1}*out", kernel=3, stride=2, padding=1)
        case(op, f"2,4,{s}", lambda x: most(x, 2, return_indices=True),
             flops=f"{k2 - 1}*out", kernel=2)
        case(op, f"4,{s}", lambda x: most(x, 3, 2, 1, 2, ceil_mode=True),
             flops=f"{k3 - 1}*out", kernel=3, stride=2, padding=1, dilation=2,
             ceil=1)
        one = ",".join("1" * nd)
        case(op, f"1,1,{one}", lambda x: most(x, 2, 2, ceil_mode=True),
             flops=f"{k2 - 1}*out", kernel=2, stride=2, ceil=1)
        fails(op, f"1,1,{one}", lambda x: most(x, 2),
              "kernel of 2 is larger than the padded input of 1", kernel=2)
        fails(op, "4", lambda x: most(x, 2), "rank", kernel=2)
        op = "avg_pool%dd" % nd
        case(op, f"2,4,{s}", lambda x: mean(x, 3, 2, 1), flops=f"{k3}*out",
             kernel=3, stride=2, padding=1)
        case(op, f"2,4,{s}", lambda x: mean(x, 2, 3, 1, ceil_mode=True),
             flops=f"{k2}*out", kernel=2, stride=3, padding=1, ceil=1)
        op = "lp_pool%dd" % nd
        case(op, f"2,4,{s}", lambda x: lp(x, 2.0, 3), flops=f"{2 * k3}*out",
             kernel=3, p=2)
        for kind in ("avg", "max"):
            op = f"adaptive_{kind}_pool{nd}d"
            fn = getattr(F, op)
            def cost(outs):
                ins, total = [int(v) for v in s.split(",")], 8
                for i, o in zip(ins, outs):
                    total *= sum(-(-(j + 1) * i // o) - j * i // o
                                 for j in range(o))
                return total - (math.prod(outs) * 8 if kind == "max" else 0)
            for outs in ((1,) * nd, (5, 3, 4)[:nd], (12, 2, 7)[:nd]):
                case(op, f"2,4,{s}", lambda x: fn(x, outs), flops=cost(outs),
                     output_size=outs)
    case("max_pool2d", "1,3,112,112", lambda x: F.max_pool2d(x, (3, 2), (2, 1)),
         flops="5*out", kernel=(3, 2), stride=(2, 1))
    case("adaptive_avg_pool2d", "4,9,8",
         lambda x: F.adaptive_avg_pool2d(x, (None, 2)), flops="4*9*8",
         output_size=(-1, 2))
    case("adaptive_max_pool2d", "4,9,8",
         lambda x: F.adaptive_max_pool2d(x, 3, return_indices=True),
         flops="4*9*(8 + 3 - 1) - out", output_size=3)
    case("max_unpool", "2,4,4,3 2,4,4,3:int64",
         lambda x, i: F.max_unpool2d(x, i, 2), flops="0", kernel=2)
    case("max_unpool", "2,4,4,3 2,4,4,3:int64",
         lambda x, i: F.max_unpool2d(x, i, 2, output_size=(9, 7)), kernel=2,
         output_size=[9, 7])


def reductions():
    for op, fn, unit in (("sum", torch.sum, 1), ("mean", torch.mean, 1),
                         ("max", torch.amax, 1), ("min", torch.amin, 1),
                         ("logsumexp", torch.logsumexp, 4),
                         ("var", torch.var, 4), ("std", torch.std, 4),
                         ("norm", torch.linalg.vector_norm, 2)):
        case(op, "2,3,4", lambda x: fn(x, dim=(0, -1)), flops="%d*x" % unit,
             axes=[0, -1])
        case(op, "2,3,4", lambda x: fn(x, dim=(1,), keepdim=True),
             flops="%d*x" % unit, axes=[1], keepdim=1)
        fails(op, "2,3", lambda x: fn(x, dim=(2,)), "axis 2 of a rank-2 tensor",
              axes=[2])
        fails(op, "2,3", lambda x: fn(x, dim=(1, -1)), "axis 1 twice",
              axes=[1, -1])
    for op in ("sum", "mean", "max", "prod", "any", "all", "var"):
        case(op, "2,3,4", getattr(torch, op),
             flops="%d*x" % (4 if op == "var" else 1))
    for op in ("sum", "prod"):
        case(op, "2,3:int32", getattr(torch, op), flops="x")
        case(op, "2,3:bool", getattr(torch, op), flops="x")
    case("sum", "2,3:float16", lambda x: x.sum(dtype=torch.float32), flops="x",
         dtype="float32")
    case("sum", "()", torch.sum, flops="x")
    case("sum", "2,0", lambda x: x.sum(1), flops="x", axes=[1])
    case("prod", "2,3,4", lambda x: x.prod(1), flops="x", axes=[1])
    for op in ("any", "all"):
        case(op, "2,3", lambda x: getattr(torch, op)(x, 1), flops="x", axes=[1])
    case("max", "2,3,4", lambda x: x.max(1), flops="x", axes=[1])
    case("min", "2,3,4", lambda x: x.min(1, keepdim=True), flops="x", axes=[1],
         keepdim=1)
    case("count_nonzero", "2,3,4", lambda x: torch.count_nonzero(x, 1),
         flops="2*x", axes=[1])
    onnx_case("sum_square", "ReduceSumSquare", "2,3,4 1:int64=1", flops="2*x",
              keepdim=1)
    onnx_case("log_sum", "ReduceLogSum", "2,3,4 1:int64=1", flops="x",
              keepdim=1)
    onnx_case("mean", "ReduceMean", "2,3,4 2:int64=1,2",
              given={"keepdims": 0}, flops="x")
    for op in ("argmax", "argmin"):
        fn = getattr(torch, op)
        case(op, "2,3,4", lambda x: fn(x, 1), flops="x", axis=1)
        case(op, "2,3,4", lambda x: fn(x, -1, True), flops="x", axis=-1,
             keepdim=1)
        case(op, "2,3,4", fn, flops="x")
        fails(op, "2,3", lambda x: fn(x, 2), "axis 2", axis=2)
        fails(op, "0,3", fn, "no element is the greatest of none")
    for op in ("cumsum", "cumprod"):
        fn = getattr(torch, op)
        case(op, "2,3", lambda x: fn(x, -1), flops="out", axis=-1)
        case(op, "2,3:int32", lambda x: fn(x, 0), flops="out", axis=0)
        fails(op, "2,3", lambda x: fn(x, 2), "axis 2", axis=2)
    onnx_case("cumsum", "CumSum", "2,3 ():int64=1", flops="out")
    case("cummax", "2,3", lambda x: x.cummax(1), flops="out", axis=1)
    case("cummin", "2,3", lambda x: x.cummin(1), flops="out", axis=1)
    case("logcumsumexp", "2,3", lambda x: x.logcumsumexp(1), flops="4*out",
         axis=1)


# -- layout -------------------------------------------------------------------

def views():
    def free(op, ins, fn, **attrs):
        case(op, ins, fn, flops="0", bytes="0", **attrs)
    free("reshape", "2,3,4", lambda x: x.reshape(6, -1), shape=[6, -1])
    free("reshape", "2,3,4", lambda x: x.reshape(24), shape=[24])
    free("reshape", "1,1", lambda x: x.reshape([]), shape=[])
    free("reshape", "0,3", lambda x: x.reshape(3, 0), shape=[3, 0], allowzero=1)
    onnx_case("reshape", "Reshape", "2,3,4 2:int64=0,-1", flops="0")
    fails("reshape", "2,3", lambda x: x.reshape(4, -1), "do not fit",
          shape=[4, -1])
    fails("reshape", "2,3", lambda x: x.reshape(-1, -1), "dimension -1",
          shape=[-1, -1])
    free("flatten", "2,3,4,5", lambda x: x.flatten(1), start=1)
    free("flatten", "2,3,4,5", lambda x: x.flatten(1, -2), start=1, end=-2)
    free("flatten", "()", torch.flatten)
    fails("flatten", "2,3,4", lambda x: x.flatten(2, 1), "from axis 2 to 1",
          start=2, end=1)
    free("unflatten", "2,12,3", lambda x: x.unflatten(1, (3, -1)), axis=1,
         shape=[3, -1])
    fails("unflatten", "2,12", lambda x: x.unflatten(1, (5, -1)),
          "12 does not unflatten to 5", axis=1, shape=[5, -1])
    free("permute", "2,3,4", lambda x: x.permute(2, 0, -2), perm=[2, 0, -2])
    fails("permute", "2,3,4", lambda x: x.permute(0, 0, 1), "axis 0 twice",
          perm=[0, 0, 1])
    fails("permute", "2,3,4", lambda x: x.permute(0, 1), "2 axes for a rank-3",
          perm=[0, 1])
    free("transpose", "2,3,4", lambda x: x.transpose(0, -1), axes=[0, -1])
    free("expand", "3,1", lambda x: x.expand(2, 3, 4), shape=[2, 3, 4])
    free("expand", "3,1", lambda x: x.expand(-1, 4), shape=[-1, 4])
    fails("expand", "3,2", lambda x: x.expand(3, 4), "do not broadcast",
          shape=[3, 4])
    free("squeeze", "2,1,3,1", torch.squeeze)
    free("squeeze", "2,1,3,1", lambda x: x.squeeze(1), axes=[1])
    free("squeeze", "2,1,3,1", lambda x: x.squeeze(0), axes=[0])
    free("unsqueeze", "2,3", lambda x: x.unsqueeze(1), axes=[1])
    free("unsqueeze", "2,3", lambda x: x.unsqueeze(-1), axes=[-1])
    fails("unsqueeze", "2,3", lambda x: x.unsqueeze(4), "axis 4", axes=[4])
    for part, start, end, step in (
            (slice(1, 3), 1, 3, 1), (slice(None, None, 2), 0, 2 ** 62, 2),
            (slice(-2, None), -2, 2 ** 62, 1), (slice(3, 1), 3, 1, 1),
            (slice(-100, 100), -100, 100, 3)):
        free("slice", "2,7", lambda x: x[:, part][:, ::step if part.step is None
                                                    and step > 1 else 1],
             start=[start], end=[end], axes=[1], step=[step])
    onnx_case("slice", "Slice",
              "4,7 1:int64=-1 1:int64=-100 1:int64=1 1:int64=-2", flops="0")
    free("select", "2,3,4", lambda x: x.select(1, -1), axis=1, index=-1)
    fails("select", "2,3", lambda x: x.select(1, 3), "axis 3", axis=1, index=3)
    free("sliding_window", "2,9", lambda x: x.unfold(1, 4, 2), axis=1, size=4,
         step=2)
    fails("sliding_window", "2,3", lambda x: x.unfold(1, 4, 2),
          "windows of 4 every 2 over 3", axis=1, size=4, step=2)
    free("diagonal", "3,5", torch.diagonal)
    free("diagonal", "2,3,5", lambda x: x.diagonal(-1, 1, 2), offset=-1,
         axes=[1, 2])
    free("diagonal", "3,5", lambda x: x.diagonal(4), offset=4)
    fails("diagonal", "3,5", lambda x: x.diagonal(0, 1, 1), "and itself",
          axes=[1, 1])
    free("chunk", "2,7", lambda x: x.chunk(3, 1), axis=1, sections=3)
    free("chunk", "6,2", lambda x: x.chunk(2), sections=2)
    free("split", "2,7", lambda x: x.split([2, 4, 1], 1), axis=1,
         sections=[2, 4, 1])
    free("split", "2,7", lambda x: x.split(3, 1), axis=1, sections=3)
    fails("split", "2,7", lambda x: x.split([8], 1), "1 of 7 are in no part", axis=1,
          sections=[6])
    free("unbind", "2,3", lambda x: x.unbind(1), axis=1)


def copies():
    def move(op, ins, fn, **attrs):
        case(op, ins, fn, flops="0", bytes="4*(x + out)", **attrs)
    case("cat", "2,3 2,4 2,1", lambda *t: torch.cat(t, 1), flops="0",
         bytes="4*2*out", axis=1)
    case("cat", "2,3:int32 2,3", lambda *t: torch.cat(t), flops="0")
    fails("cat", "2,3 3,4", lambda *t: torch.cat(t, 1),
          "input 1 is 3 along axis 0", axis=1)
    fails("cat", "2,3 2,3,1", lambda *t: torch.cat(t), "another rank")
    case("stack", "2,3 2,3", lambda *t: torch.stack(t, -1), flops="0",
         bytes="4*2*out", axis=-1)
    fails("stack", "2,3 2,4", lambda *t: torch.stack(t), "another shape")
    move("contiguous", "2,3", lambda x: x.contiguous())
    move("repeat", "3,1", lambda x: x.repeat(2, 2, 4), repeats=[2, 2, 4])
    onnx_case("repeat", "Tile", "2,3 2:int64=2,1", flops="0")
    fails("repeat", "2,3", lambda x: x.repeat(2), "1 repeats for a rank-2",
          repeats=[2])
    move("repeat_interleave", "2,3", lambda x: x.repeat_interleave(2, 1),
         repeats=2, axis=1)
    move("repeat_interleave", "2,3", lambda x: x.repeat_interleave(2),
         repeats=2)
    move("repeat_interleave", "2,3",
         lambda x: x.repeat_interleave(torch.tensor([1, 0, 4]), 1),
         repeats=[1, 0, 4], axis=1)
    move("roll", "2,3", lambda x: x.roll((1, -1), (0, 1)), shifts=[1, -1],
         axes=[0, 1])
    fails("roll", "2,3", lambda x: x.roll(1, 2), "axis 2", shifts=[1], axes=[2])
    move("flip", "2,3", lambda x: x.flip(0), axes=[0])
    onnx_case("reverse_sequence", "ReverseSequence", "4,3 3:int64=1,2,3",
              flops="0")
    move("pad", "2,3,4", lambda x: F.pad(x, (1, 2)), padding=[0, 0, 1, 0, 0, 2])
    move("pad", "2,3,4", lambda x: F.pad(x, (1, 2, 0, -1)), axes=[-1, 1],
         padding=[1, 0, 2, -1])
    move("pad", "2,3,4", lambda x: F.pad(x, (3, 3), "reflect"), axes=[2],
         padding=[3, 3], mode="reflect")
    move("pad", "2,3,4", lambda x: F.pad(x, (9, 1), "replicate"), axes=[2],
         padding=[9, 1], mode="replicate")
    move("pad", "2,3,4", lambda x: F.pad(x, (4, 1), "circular"), axes=[2],
         padding=[4, 1], mode="circular")
    fails("pad", "2,3,4", lambda x: F.pad(x, (4, 0), "reflect"),
          "reflect padding of 4 around 4", axes=[2], padding=[4, 0],
          mode="reflect")
    fails("pad", "2,3,4", lambda x: F.pad(x, (-5, 0)), "would be -1", axes=[2],
          padding=[-5, 0])
    onnx_case("pad", "Pad", "2,3 2:int64=1,2 - 1:int64=1", flops="0")
    move("unfold", "2,3,8,7", lambda x: F.unfold(x, 3, 2, 1, 2), kernel=3,
         dilation=2, padding=1, stride=2)
    move("unfold", "3,8,7", lambda x: F.unfold(x, (3, 2)), kernel=(3, 2))
    fails("unfold", "2,3,2,7", lambda x: F.unfold(x, 3), "kernel of 3",
          kernel=3)
    case("fold", "2,12,12", lambda x: F.fold(x, (4, 5), 2), flops="x",
         output_size=(4, 5), kernel=2)
    fails("fold", "2,12,11", lambda x: F.fold(x, (4, 5), 2), "12 windows",
          output_size=(4, 5), kernel=2)
    move("pixel_shuffle", "2,12,3,4", lambda x: F.pixel_shuffle(x, 2), block=2)
    fails("pixel_shuffle", "2,6,3,4", lambda x: F.pixel_shuffle(x, 2),
          "6 channels in blocks of 2^2", block=2)
    move("pixel_unshuffle", "2,3,4,6", lambda x: F.pixel_unshuffle(x, 2),
         block=2)
    fails("pixel_unshuffle", "2,3,5,6", lambda x: F.pixel_unshuffle(x, 2),
          "5 by 6 in blocks of 2", block=2)
    move("channel_shuffle", "2,6,3,4", lambda x: F.channel_shuffle(x, 3),
         groups=3)
    onnx_case("depth_to_space", "DepthToSpace", "2,12,3,4",
              given={"blocksize": 2}, flops="0", block=2)
    onnx_case("space_to_depth", "SpaceToDepth", "2,3,4,6",
              given={"blocksize": 2}, flops="0", block=2)
    move("tril", "3,4", torch.tril)
    move("triu", "3,4", torch.triu)
    case("meshgrid", "2 3 4", lambda *t: torch.meshgrid(*t, indexing="ij"),
         flops="0", mode="ij")
    case("meshgrid", "2 3", lambda *t: torch.meshgrid(*t, indexing="xy"),
         flops="0", mode="xy")


# -- indexing -----------------------------------------------------------------

def indexing():
    case("gather_elements", "4,5 3,5:int64", lambda x, i: x.gather(0, i),
         flops="0", bytes="4*out + 8*15 + 4*out", axis=0)
    case("gather_elements", "4,5 3,9:int64", lambda x, i: x.gather(1, i), axis=1)
    fails("gather_elements", "4,5 5,5:int64", lambda x, i: x.gather(1, i),
          "5 indices along axis 0 of 4", axis=1)
    fails("gather_elements", "4,5 3:int64", lambda x, i: x.gather(1, i),
          "indices of rank 1 into rank 2", axis=1)
    case("take_along", "4,5 1,2:int64",
         lambda x, i: torch.take_along_dim(x, i, 1), flops="0", axis=1)
    case("take_along", "4,5 7:int64", torch.take_along_dim, flops="0")
    case("index_select", "4,5,6 3:int64", lambda x, i: x.index_select(1, i),
         flops="0", bytes="4*out + 8*3 + 4*out", axis=1)
    onnx_case("index_select", "Gather", "4,5,6 2,3:int64", given={"axis": 1},
              flops="0", bytes="4*120 + 8*6 + 4*out", axis=1)
    onnx_case("index_select", "Gather", "4,5,6 ():int64", given={"axis": -1},
              flops="0", bytes="4*20 + 8 + 4*out", axis=-1)
    fails("index_select", "4,5 3:int64", lambda x, i: x.index_select(2, i),
          "axis 2", axis=2)
    case("take", "4,5 2,3:int64", torch.take, flops="0",
         bytes="4*6 + 8*6 + 4*6")
    onnx_case("gather_nd", "GatherND", "2,3,4 5,2:int64", flops="0")
    onnx_case("gather_nd", "GatherND", "2,3,4 2,5,1:int64",
              given={"batch_dims": 1}, flops="0", batch_dims=1)
    onnx_case("gather_nd", "GatherND", "2,3,4 5,3:int64", flops="0")
    case("index", "4,5,6 3:int64", lambda x, i: x[i], flops="0",
         bytes="4*90 + 8*3 + 4*out")
    case("index", "4,5,6 - 3:int64", lambda x, _, i: x[:, i])
    case("index", "4,5,6 2,3:int64 3:int64", lambda x, i, j: x[i, j])
    case("index", "4,5,6 2,3:int64 - 3:int64", lambda x, i, _, j: x[i, :, j])
    case("index", "4,5,6,7 - 3:int64 2,1:int64",
         lambda x, _, i, j: x[:, i, j])
    case("index", "4,5,6 4,5:bool", lambda x, m: x[m], bound=True)
    case("index", "4,5,6 - 5:bool", lambda x, _, m: x[:, m], bound=True)
    fails("index", "4,5 3:int64 3:int64 3:int64", lambda x, i, j, k: x[i, j, k],
          "more indices than 2 axes")
    fails("index", "4,5 4,6:bool", lambda x, m: x[m],
          "mask of 6 over an axis of 5")
    fails("index", "4,5 2:int64 3:int64", lambda x, i, j: x[i, j],
          "do not broadcast")
    case("scatter_elements", "4,5 3,5:int64 3,5", lambda x, i, u: x.scatter(0, i, u),
         flops="0", axis=0)
    case("scatter_elements", "4,5 3,5:int64", lambda x, i: x.scatter(0, i, 1.0),
         flops="0", axis=0, value=1.0)
    fails("scatter_elements", "4,5 3,6:int64 3,6", lambda x, i, u: x.scatter(0, i, u),
          "6 indices along axis 1 of 5", axis=0)
    onnx_case("scatter_elements", "ScatterElements", "4,5 1,5:int64 1,5",
              flops="0", axis=0)
    case("scatter_add", "4,5 3,5:int64 3,5",
         lambda x, i, u: x.scatter_add(0, i, u), flops="15", axis=0)
    onnx_case("scatter_nd", "ScatterND", "4,5 3,1:int64 3,5", flops="0")
    case("index_add", "4,5 3:int64 3,5", lambda x, i, u: x.index_add(0, i, u),
         flops="15", axis=0)
    fails("index_add", "4,5 3:int64 2,5", lambda x, i, u: x.index_add(0, i, u),
          "updates of 2 along axis 0", axis=0)
    case("index_put", "4,5 3:int64 3,5", lambda x, i, u: x.index_put((i,), u),
         flops="0")
    case("slice_scatter", "4,5 2,5", lambda x, u: x.slice_scatter(u, 0, 1, 3),
         flops="0")
    case("select_scatter", "4,5 5", lambda x, u: x.select_scatter(u, 0, 1),
         flops="0")
    case("masked_select", "4,5 5:bool", torch.masked_select, bound=True,
         flops="0")
    onnx_case("compress", "Compress", "4,5 3:bool", given={"axis": 0}, axis=0,
              flops="0", bound=True)
    onnx_case("compress", "Compress", "4,5 7:bool", flops="0", bound=True)
    case("nonzero", "2,3,4", lambda x: torch.ones_like(x).nonzero(), flops="0",
         bound=True)
    onnx_case("nonzero", "NonZero", "2,3,4:bool", flops="0", bound=True, by_axis=1)
    case("embedding", "100,8 2,3:int64", lambda w, i: F.embedding(i, w),
         flops="0", bytes="4*48 + 8*6 + 4*out")
    case("embedding", "100,8 ():int64", lambda w, i: F.embedding(i, w),
         flops="0")
    fails("embedding", "100 2,3:int64", lambda w, i: F.embedding(i, w),
          "weight of rank 1")
    for mode, flops in (("sum", "2*3*8"), ("mean", "2*3*8 + out"),
                        ("max", "2*3*8")):
        case("embedding_bag", "100,8 2,3:int64",
             lambda w, i: F.embedding_bag(i, w, mode=mode), flops=flops,
             bytes="4*48 + 8*6 + 4*out", mode=mode)
    case("embedding_bag", "100,8 6:int64 3:int64=0,2,4 6",
         lambda w, i, o, p: F.embedding_bag(i, w, o.to(torch.int64), mode="sum",
                                            per_sample_weights=p),
         flops="2*6*8", mode="sum")
    fails("embedding_bag", "100,8 6:int64", lambda w, i: F.embedding_bag(i, w),
          "indices of rank 1")
    case("one_hot", "2,3:int64", lambda x: F.one_hot(x, 7), flops="0", depth=7)
    onnx_case("one_hot", "OneHot", "2,3:int64 ():int64=7 2", flops="0",
              given={"axis": 1}, axis=1)
    case("histogram", "5,7", lambda x: torch.histc(x, 4, 0, 1), flops="3*x",
         bins=4, min=0, max=1)
    case("bucketize", "2,3 7", lambda x, b: torch.bucketize(x, b.sort()[0]),
         flops="3*x")


# -- sampling -----------------------------------------------------------------

def sampling():
    for mode, shape, unit in (("nearest", "2,3,5", 0), ("linear", "2,3,5", 3),
                              ("nearest", "2,3,5,4", 0),
                              ("bilinear", "2,3,5,4", 7),
                              ("bicubic", "2,3,5,4", 31),
                              ("nearest", "2,3,5,4,3", 0),
                              ("trilinear", "2,3,5,4,3", 15)):
        case("interpolate", shape,
             lambda x: F.interpolate(x, scale_factor=2.5, mode=mode),
             flops="%d*out" % unit, scales=[2.5], mode=mode)
    case("interpolate", "2,3,5,4",
         lambda x: F.interpolate(x, (7, 9), mode="bilinear"), flops="7*out",
         size=(7, 9), mode="bilinear")
    case("interpolate", "2,3,5,4", lambda x: F.interpolate(x, 7), flops="0",
         size=7)
    case("interpolate", "2,3,6,4", lambda x: F.interpolate(
        x, scale_factor=(0.5, 1.9), mode="area"), flops="x", scales=(0.5, 1.9),
        mode="area")
    fails("interpolate", "2,3", lambda x: F.interpolate(x, 7), "rank 2", size=7)
    fails("interpolate", "2,3,5,4", lambda x: F.interpolate(x, (7, 8, 9)),
          "3 sizes for a rank-4", size=[7, 8, 9])
    for mode, unit in (("bilinear", 7), ("nearest", 0), ("bicubic", 31)):
        case("grid_sample", "2,3,5,4 2,7,6,2", lambda x, t: F.grid_sample(
            x, t, mode, align_corners=False), flops="%d*out" % unit, mode=mode)
    case("grid_sample", "2,3,5,4,3 2,7,6,5,3", lambda x, t: F.grid_sample(
        x, t, align_corners=False), flops="15*out")
    fails("grid_sample", "2,3,5,4 1,7,6,2", lambda x, t: F.grid_sample(x, t),
          "for a batch of 2")
    case("affine_grid", "2,2,3", lambda t: F.affine_grid(
        t, (2, 3, 5, 4), align_corners=False), macs="2*5*4*2*3",
        flops="2*macs", size=(2, 3, 5, 4))
    case("affine_grid", "2,3,4", lambda t: F.affine_grid(
        t, (2, 3, 5, 4, 6), align_corners=False), macs="2*5*4*6*3*4",
        flops="2*macs", size=(2, 3, 5, 4, 6))
    fails("affine_grid", "2,2,4", lambda t: F.affine_grid(
        t, (2, 3, 5, 4), align_corners=False), "theta", size=(2, 3, 5, 4))
    case("roi_align", "1,3,8,8 5,5", lambda x, b: torchvision.ops.roi_align(
        x, b * 0, (7, 6), sampling_ratio=2), macs=0, flops="8*4*out",
        output_size=(7, 6), sampling=2)
    case("max_roi_pool", "1,3,8,8 5,5", lambda x, b: onnx_run(
        "MaxRoiPool", x, b * 0, opset=20, pooled_shape=[7, 6]),
        flops="5*3*64", output_size=(7, 6))
    def apart(boxes, scores):
        at = torch.arange(len(boxes))[:, None] * 10.0
        return nms(torch.cat([at, at, at + 1, at + 1], 1), scores, 0.5)
    case("nms", "6,4 6", apart, flops="13*(6*5//2)", bound=True)
    fails("nms", "6,3 6", lambda b, s: b[:, 3], "boxes")


def recurrent():
    def run(kind, *size, **more):
        module = getattr(torch.nn, kind)(*size, **more)
        def go(x, *rest):
            y, state = module(x)
            return (y, *state) if kind == "LSTM" else (y, state)
        return go
    for op, kind, unit, gates in (("lstm", "LSTM", 18, 4), ("gru", "GRU", 15, 3),
                                  ("rnn", "RNN", 1, 1)):
        unit += 2 * gates
        case(op, "5,2,3", run(kind, 3, 4), flops=f"2*macs + 10*4*{unit}",
             hidden=4)
        case(op, "2,5,3",
             run(kind, 3, 4, 2, bidirectional=True, batch_first=True),
             flops=f"2*macs + 10*2*2*4*{unit}", hidden=4, layers=2,
             bidirectional=1, layout="batch")
        case(op, "5,3", run(kind, 3, 4, bias=False),
             flops=f"2*macs + 5*4*{unit - 2 * gates}", hidden=4, bias=0)
        fails(op, "5", run(kind, 3, 4), "rank 1", hidden=4)
    case("lstm", "5,2,3", run("LSTM", 3, 4, 2, proj_size=2),
         flops="2*macs + 10*2*4*26", hidden=4, layers=2, proj=2)
    onnx_case("lstm", "LSTM", "5,2,3 2,16,3 2,16,4 2,32", n_out=3,
              given={"hidden_size": 4, "direction": "bidirectional"},
              macs="10*2*16*7", flops="2*macs + 10*2*4*26", hidden=4,
              direction="bidirectional", layout="onnx")
    onnx_case("gru", "GRU", "5,2,3 1,12,3 1,12,4", n_out=2,
              given={"hidden_size": 4}, macs="10*12*7",
              flops="2*macs + 10*4*15", hidden=4, layout="onnx", bias=0)


def ordering():
    case("topk", "2,9", lambda x: x.topk(3), flops="x*2", k=3)
    case("topk", "2,9", lambda x: x.topk(2, 0), flops="x*2", k=2, axis=0)
    onnx_case("topk", "TopK", "2,9 1:int64=3", n_out=2, flops="x*2")
    fails("topk", "2,9", lambda x: x.topk(10), "the largest 10 of 9", k=10)
    case("sort", "2,9", lambda x: x.sort(), flops="x*4")
    case("sort", "2,9", lambda x: x.sort(0), flops="x*1", axis=0)
    fails("sort", "2,9", lambda x: x.sort(2), "axis 2", axis=2)
    case("argsort", "2,9", torch.argsort, flops="x*4")
    case("kthvalue", "2,9", lambda x: x.kthvalue(3), flops="x*4", k=3)
    fails("kthvalue", "2,9", lambda x: x.kthvalue(10), "value 10 of 9", k=10)
    case("median", "2,9", lambda x: x.median(1), flops="x*4", axis=1)
    case("median", "2,9", torch.median, flops="x*5")
    case("unique", "2,9", torch.unique, flops="x*5", bound=True)
    onnx_case("unique", "Unique", "18", n_out=4, flops="x*5", bound=True)


# -- made and quantised -------------------------------------------------------

def made():
    onnx_case("shape", "Shape", "2,3,4", flops="0", bytes="0")
    onnx_case("shape", "Shape", "2,3,4", given={"start": 1, "end": -1},
              start=1, end=-1)
    onnx_case("size", "Size", "2,3,4", flops="0", bytes="0")
    case("range", "", lambda: torch.arange(2, 9, 3), flops="0", bytes="8*out",
         start=2, end=9, step=3)
    case("range", "", lambda: torch.arange(1.0, 0.0, -0.3), start=1.0, end=0.0,
         step=-0.3)
    case("range", "", lambda: torch.arange(5, dtype=torch.int32), end=5,
         dtype="int32")
    onnx_case("range", "Range", "():int64=0 ():int64=10 ():int64=4", flops="0")
    fails("range", "", lambda: torch.arange(0, 5, 0), "by 0", end=5, step=0)
    case("linspace", "", lambda: torch.linspace(0, 1, 7), flops="0",
         start=0.0, end=1.0, size=7)
    case("full", "", lambda: torch.full((2, 3), 7), flops="0", shape=[2, 3],
         value=7)
    case("full", "", lambda: torch.full((2, 3), 0.5), shape=[2, 3], value=0.5)
    case("full", "", lambda: torch.full([], 0.5), shape=[], value=0.5)
    case("zeros", "", lambda: torch.zeros(2, 3), flops="0", bytes="4*out",
         shape=[2, 3])
    case("ones", "", lambda: torch.ones(2, 3, dtype=torch.bool), shape=[2, 3],
         dtype="bool")
    fails("zeros", "", lambda: torch.zeros(2, -1), "shape is -1", shape=[2, -1])
    onnx_case("constant_of_shape", "ConstantOfShape", "2:int64=4,5", flops="0")
    case("full_like", "2,3", lambda x: torch.full_like(
        x, 1, dtype=torch.int64), flops="0", bytes="8*out", dtype="int64")
    case("eye", "", lambda: torch.eye(3, 4), flops="0", shape=[3, 4])
    case("random", "", lambda: torch.rand(2, 3), flops="out", shape=[2, 3])
    case("random_like", "2,3", torch.rand_like, flops="out", bytes="4*out")
    case("bernoulli", "2,3", torch.bernoulli, flops="out")
    case("multinomial", "2,9", lambda x: x.multinomial(3), samples=3)


def quantised():
    onnx_case("quantize_linear", "QuantizeLinear", "2,3 () ():int8",
              flops="3*out", bytes="4*6 + 4 + 1 + 6")
    onnx_case("quantize_linear", "QuantizeLinear", "2,3 ()", flops="3*out")
    onnx_case("dequantize_linear", "DequantizeLinear", "2,3:uint8 () ():uint8",
              flops="2*out")
    onnx_case("dynamic_quantize_linear", "DynamicQuantizeLinear", "2,3",
              n_out=3, flops="5*out")
    case("fake_quantize", "2,3", lambda x: torch.fake_quantize_per_tensor_affine(
        x, 0.1, 0, 0, 255), flops="6*out")
    onnx_case("conv_integer", "ConvInteger",
              "1,2,5,5:uint8 3,2,3,3:uint8 ():uint8", macs="9*54",
              flops="2*macs")
    onnx_case("qlinear_conv", "QLinearConv",
              "1,2,5,5:uint8 () ():uint8 3,2,3,3:uint8 () ():uint8 () "
              "():uint8 3:int32", given={"strides": [2, 2]}, macs="4*54",
              flops="2*macs + out + 3*out", stride=2)
    onnx_case("matmul_integer", "MatMulInteger", "3,4:uint8 4,5:uint8",
              macs="60", flops="2*macs")
    onnx_case("qlinear_matmul", "QLinearMatMul",
              "2,3,4:uint8 () ():uint8 4,5:uint8 () ():uint8 () ():uint8",
              macs="120", flops="2*macs + 3*out")


# -- at random ----------------------------------------------------------------

DTYPES = ("bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 "
          "complex64 complex128").split()


def all_types():
    """Every pair of types, with and without axes."""
    for a in DTYPES:
        for b in DTYPES:
            case("mul", f"2:{a} 2:{b}", torch.mul)
            if not (a == "float16" and "complex" in b):    # complex32
                case("mul", f"2:{a} ():{b}", torch.mul)
            if "complex" not in a + b:
                case("div", f"2:{a} 2:{b}", torch.div)


def attempt(op, ins, fn, macs=None, **attrs):
    """A case if PyTorch accepts it, else one that must be refused."""
    try:
        fn(*[tensor(i) for i in ins.split()])
    except (RuntimeError, ValueError, IndexError, TypeError):
        fails(op, ins, fn, "node", **attrs)
    else:
        case(op, ins, fn, macs=macs, **attrs)


def random_windows(r):
    two = lambda low, high: (r.randint(low, high), r.randint(low, high))
    for _ in range(60):
        h, w = two(1, 12)
        k, s, d = two(1, 4), two(1, 3), two(1, 3)
        p = two(0, 3)
        g = r.choice((1, 1, 2, 3))
        attrs = dict(stride=s, padding=p, dilation=d)
        attempt("conv2d", f"2,{2 * g},{h},{w} {3 * g},2,{k[0]},{k[1]}",
                lambda x, f: F.conv2d(x, f, None, s, p, d, g), groups=g, **attrs)
        o = two(0, 2)
        attempt("conv_transpose2d", f"2,{2 * g},{h},{w} {2 * g},3,{k[0]},{k[1]}",
                lambda x, f: F.conv_transpose2d(x, f, None, s, p, o, g, d),
                groups=g, output_padding=o, **attrs)
        c = r.random() < 0.6
        p = (r.randint(0, k[0] // 2), r.randint(0, k[1] // 2))
        attrs = dict(kernel=k, stride=s, padding=p)
        attempt("max_pool2d", f"2,3,{h},{w}",
                lambda x: F.max_pool2d(x, k, s, p, d, c), dilation=d, ceil=c,
                **attrs)
        attempt("avg_pool2d", f"2,3,{h},{w}",
                lambda x: F.avg_pool2d(x, k, s, p, c), ceil=c, **attrs)
        attempt("unfold", f"2,3,{h},{w}", lambda x: F.unfold(x, k, d, p, s),
                dilation=d, **attrs)


def random_slices(r):
    for _ in range(60):
        n, start, end = r.randint(0, 9), r.randint(-12, 12), r.randint(-12, 12)
        step = r.randint(1, 4)
        attempt("slice", f"2,{n}", lambda x: x[:, start:end:step], axes=[1],
                start=[start], end=[end], step=[step])
        scale = r.choice((0.3, 0.5, 1.5, 2.0, 2.7, 3.3))
        attempt("interpolate", f"1,2,{n},5", lambda x: F.interpolate(
            x, scale_factor=scale, mode="bilinear"), scales=[scale],
            mode="bilinear")
        parts = r.randint(1, 5)
        attempt("chunk", f"{n},2", lambda x: x.chunk(parts), sections=parts)
        first, last = r.randint(-4, 3), r.randint(-4, 3)
        attempt("flatten", "2,3,4,5", lambda x: x.flatten(first, last),
                start=first, end=last)
        attempt("diagonal", f"4,{n}", lambda x: x.diagonal(start),
                offset=start)


def random_broadcasts(r):
    def shape():
        return [r.choice((1, 1, 2, 3, 0)) for _ in range(r.randint(0, 4))]
    def text(dims):
        return ",".join(map(str, dims)) if dims else "()"
    for _ in range(80):
        a, b, c = shape(), shape(), shape()
        attempt("add", f"{text(a)} {text(b)}", torch.add)
        attempt("where", f"{text(a)}:bool {text(b)} {text(c)}", torch.where)
        k = a[-1] if a else 0
        attempt("matmul", f"{text(a)} {text(b)}", torch.matmul,
                macs="out*%d" % k)
        attempt("cat", f"{text(a)} {text(b)}", lambda *t: torch.cat(t, -1),
                axis=-1)
    for _ in range(60):
        x = [r.choice((2, 3)) for _ in range(r.randint(1, 4))]
        shapes = [r.choice(("-", "3", "2,1", "1", "2,3"))
                  for _ in range(r.randint(1, len(x)))]
        if all(s == "-" for s in shapes):
            continue
        ins = [s if s == "-" else s + ":int64" for s in shapes]
        def pick(x, *index):
            return x[tuple(slice(None) if i is None else i for i in index)]
        attempt("index", " ".join([text(x)] + ins), pick)


def random_einsums(r):
    """Two operands over a few letters; MACs as FlopCounterMode counts them."""
    sizes = dict(zip("abcdef", (2, 3, 4, 5, 2, 3)))
    for _ in range(80):
        terms = ["".join(r.sample("abcdef", r.randint(1, 4))) for _ in "xy"]
        both = sorted(set("".join(terms)))
        kept = "".join(r.sample(both, r.randint(0, len(both))))
        equation = ",".join(terms) + r.choice(("->" + kept, "->" + kept, ""))
        ins = " ".join(",".join(str(sizes[c]) for c in t) for t in terms)
        attempt("einsum", ins, lambda *t: torch.einsum(equation, *t),
                equation=equation)


def at_random():
    r = random.Random(2)
    random_windows(r)
    random_slices(r)
    random_broadcasts(r)
    random_einsums(r)


def hostile():
    """Sizes that no tensor has; PyTorch refuses them too."""
    print("# sizes that do not fit 64 bits\n")
    huge = 2 ** 40
    def refuse(*_):
        return torch.empty(huge, huge)
    def bad(op, ins, message, **attrs):
        head_text = [op] + [attribute(k, v) for k, v in attrs.items()]
        print(" ".join(head_text))
        print("< " + ins)
        print("! %s\n" % message)
    try:
        refuse()
        raise SystemExit("2^80 elements fit?")
    except RuntimeError:
        pass
    bad("matmul", f"float32[{huge},2] float32[2,{huge}]", "does not fit 64 bits")
    bad("add", f"float32[{huge},1] float32[1,{huge}]", "does not fit 64 bits")
    bad("expand", "float32[1]", "does not fit 64 bits", shape=[huge, huge])
    bad("repeat", f"float32[{huge}]", "does not fit 64 bits", repeats=[huge])
    bad("conv_transpose1d", f"float32[1,1,{huge}] float32[1,1,3]",
        "does not fit 64 bits", stride=huge)
    bad("linear", "float32[]", "1 inputs, takes 2 to 3")
    bad("linear", "- float32[2,2]", "input 0 (x) is missing")


for part in (convolutions, products, attention, norms, activations, binary,
             unary, pools, reductions, views, copies, indexing, sampling,
             recurrent, ordering, made, quantised, all_types, at_random,
             hostile):
    print("# -- %s %s\n" % (part.__name__, "-" * (72 - len(part.__name__))))
    part()
print("# -- unknown " + "-" * 65 + "\n")
print("unknown\n< float32[2,3]\n")
print("%d operators" % len(done), file=sys.stderr)
