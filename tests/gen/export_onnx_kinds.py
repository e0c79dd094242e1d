"""export_onnx_kinds.py - adds to tests/data/onnx what export_onnx.py lacks:
quantised and fused files, half precision, language models, recurrent nets,
control flow, free dims, local functions.

Columns as in export_onnx.py: params and macs are measured on the live module.
Needs the environment of `tools/pyenv --gen`.

    export_onnx_kinds.py [-o FOLDER] [KIND ...]       (all kinds by default)
"""
import argparse
import io
import os
import subprocess
import tempfile
import warnings

import numpy
import onnx
from onnx import parser
import onnxruntime
from export_onnx import Folder, MODELS, build, default_folder, measure, shaken
from tv import torch, torchvision

torch.backends.mkldnn.enabled = False    # recurrent nets as plain products


def legacy(model, args, opset=17, training=torch.onnx.TrainingMode.PRESERVE,
           **more):
    out = io.BytesIO()
    torch.onnx.export(model, args, out, dynamo=False, opset_version=opset,
                      training=training, **more)
    return onnx.load_from_string(out.getvalue())


def dynamo(model, args, **more):
    return torch.onnx.export(model, args, dynamo=True, verbose=False,
                             **more).model_proto


def live(model, args, note="", macs=None):
    """The figures of a row. Inputs are joined by '+'."""
    shapes = ["x".join(map(str, a.shape)) for a in args]
    return {"params": sum(p.numel() for p in model.parameters()),
            "macs": measure(model, args) if macs is None else macs,
            "input": "+".join(shapes), "note": note}


def swin():
    """Two stages of swin_t: one shifted window, one merging of patches."""
    torch.manual_seed(0)
    model = torchvision.models.SwinTransformer(
        patch_size=[4, 4], embed_dim=96, depths=[2, 1], num_heads=[3, 6],
        window_size=[7, 7])
    return shaken(model), (torch.rand(MODELS["swin_t"][0]),)


def maxvit():
    """One block of each attention of maxvit_t."""
    torch.manual_seed(0)
    model = torchvision.models.MaxVit(
        input_size=(224, 224), stem_channels=64, partition_size=7,
        block_channels=[64], block_layers=[1], head_dim=32,
        stochastic_depth_prob=0.2)
    return shaken(model), (torch.rand(MODELS["maxvit_t"][0]),)


def in_file(proto, step):
    """Runs step(source, target), two file names, on a model; the result."""
    with tempfile.TemporaryDirectory() as d:
        source, target = os.path.join(d, "a.onnx"), os.path.join(d, "b.onnx")
        onnx.save_model(proto, source)
        step(source, target)
        return onnx.load(target)


# 1. Quantised -------------------------------------------------------------

class OneSample:
    """What onnxruntime asks for to calibrate: inputs, then None."""

    def __init__(self, proto, args):
        self.feeds = [{i.name: x.numpy()
                       for i, x in zip(proto.graph.input, args)}]

    def get_next(self):
        return self.feeds.pop() if self.feeds else None


def quantised(style, model, args):
    """By onnxruntime; batch norm is folded, as its users do."""
    from onnxruntime import quantization as q
    proto = legacy(model, args, training=torch.onnx.TrainingMode.EVAL)

    def static(source, target):
        q.quantize_static(source, target, OneSample(proto, args),
                          quant_format=getattr(q.QuantFormat, style),
                          per_channel=True)

    def dynamic(source, target):
        q.quantize_dynamic(source, target)

    made = in_file(proto, dynamic if style == "dynamic" else static)
    return made, live(model, args, f"int8, {style}; batch norm folded")


def matmul_nbits():
    """A language model with 4-bit weights (com.microsoft MatMulNBits)."""
    from onnxruntime.quantization import matmul_nbits_quantizer as q
    model, args = llama()
    quantizer = q.MatMulNBitsQuantizer(legacy(model, args), block_size=32)
    quantizer.process()
    return quantizer.model.model, live(model, args, "4-bit weights")


# 2. Fused by onnxruntime ---------------------------------------------------

def optimised(proto, level):
    """A model as onnxruntime saves it after its own graph optimisation."""

    def step(source, target):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(
            onnxruntime.GraphOptimizationLevel, level)
        options.optimized_model_filepath = target
        options.log_severity_level = 4
        onnxruntime.InferenceSession(source, options,
                                     ["CPUExecutionProvider"])

    return in_file(proto, step)


def runtime_optimised(level):
    model, args = build("resnet18")
    return optimised(legacy(model, args), level), live(
        model, args, f"onnxruntime {level}; batch norm folded")


def channels_last():
    """A quantised model, as onnxruntime arranges its convolutions."""
    proto, row = quantised("QDQ", *build("squeezenet1_1"))
    return optimised(proto, "ORT_ENABLE_ALL"), row


def filled_blocks():
    """Channels that are no multiple of 8 are filled up, and so is the work."""
    model, args = build("efficientnet_b0")
    return optimised(legacy(model, args), "ORT_ENABLE_ALL"), live(
        model, args, "blocks filled up; batch norm folded", macs="")


def fused_transformer(make, kind):
    from onnxruntime.transformers import optimizer
    model, args = make()
    proto = legacy(model, args)

    def step(source, target):
        optimizer.optimize_model(source, kind, num_heads=2, hidden_size=128,
                                 opt_level=0).save_model_to_file(target)

    return in_file(proto, step), live(model, args, "onnxruntime fusions")


# 3. Language models ---------------------------------------------------------

class Wrapped(torch.nn.Module):
    """A transformers model from tensors to one tensor."""

    def __init__(self, body, *names):
        super().__init__()
        self.body, self.names = body, names

    def forward(self, *args):
        out = self.body(**dict(zip(self.names, args)), return_dict=False)
        return out[0]


TINY = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}


def ids(vocab, length=16):
    return torch.randint(0, vocab, (1, length))


def text_model(kind, *names, vocab=1000, **config):
    """A transformers model of tiny size with random weights."""
    import transformers
    torch.manual_seed(0)
    config = getattr(transformers, kind + "Config")(
        vocab_size=vocab, attn_implementation="eager", use_cache=False,
        **config)
    make = {"Bert": "BertModel", "GPT2": "GPT2LMHeadModel",
            "Llama": "LlamaForCausalLM"}[kind]
    bare = {"add_pooling_layer": False} if kind == "Bert" else {}
    body = getattr(transformers, make)(config, **bare)
    args = [ids(vocab)] + [torch.ones(1, 16, dtype=torch.int64)
                           for _ in names[1:]]
    return shaken(Wrapped(body, *names)), tuple(args)


def bert():
    return text_model("Bert", "input_ids", "attention_mask",
                      intermediate_size=512, **TINY)


def gpt2():
    return text_model("GPT2", "input_ids", "attention_mask", n_embd=128,
                      n_layer=2, n_head=2)


def llama():
    return text_model("Llama", "input_ids", "attention_mask",
                      intermediate_size=384, num_key_value_heads=1, **TINY)


def plain(make, run, **more):
    model, args = make()
    return run(model, args, **more), live(model, args)


def bert_free():
    """Both dims of the input free."""
    model, args = bert()
    names = ["input_ids", "attention_mask"]
    free = {n: {0: "batch", 1: "sequence"} for n in names}
    proto = legacy(model, args, input_names=names, dynamic_axes=free)
    return proto, live(model, args, "free: batch, sequence")


# 4. Other kinds --------------------------------------------------------------

def yolov8n():
    """From the definition that ultralytics ships, random weights."""
    from ultralytics.nn.tasks import DetectionModel
    torch.manual_seed(0)
    model = DetectionModel("yolov8n.yaml", verbose=False)
    for head in model.modules():
        if hasattr(head, "export"):
            head.export, head.format = True, "onnx"
    model = shaken(model)
    args = (torch.rand(1, 3, 640, 640),)
    model(*args)
    return legacy(model, args, input_names=["images"],
                  output_names=["output0"]), live(model, args)


def half():
    model, args = build("mobilenet_v3_small")
    row = live(model, args, "float16")
    return legacy(model.half(), (args[0].half(),)), row


def free_batch(run, **more):
    model, args = build("resnet18")
    return run(model, args, **more), live(model, args, "free: batch")


def tied():
    """A fresh resnet18: the exporter merges equal tensors by Identity."""
    model = torchvision.models.resnet18(weights=None).eval()
    args = (torch.rand(MODELS["resnet18"][0]),)
    return legacy(model, args), live(model, args, "equal tensors merged")


def old_opset(name, opset):
    model, args = build(name)
    return legacy(model, args, opset=opset), live(model, args)


OLD_TORCH = """
import sys, torch, torchvision
torch.manual_seed(0)
model = getattr(torchvision.models, sys.argv[1])(weights=None).eval()
with torch.no_grad():
    for t in [*model.parameters(), *model.buffers()]:
        if t.is_floating_point():
            t.add_(torch.rand_like(t), alpha=1e-3)
torch.onnx.export(model, torch.rand(1, 3, 224, 224), sys.argv[2],
                  training=torch.onnx.TrainingMode.PRESERVE)
"""


def old_torch(name):
    """By the system's PyTorch (1.13 on Debian 12), its default opset."""
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "a.onnx")
        subprocess.run(["/usr/bin/python3", "-c", OLD_TORCH, name, path],
                       check=True, stdout=subprocess.DEVNULL)
        proto = onnx.load(path)
    note = f"by PyTorch {proto.producer_version}"
    return proto, live(*build(name), note)


def folded(name):
    """Batch norm folded into convolutions, the exporter's default."""
    model, args = build(name)
    proto = legacy(model, args, training=torch.onnx.TrainingMode.EVAL)
    return proto, live(model, args, "batch norm folded")


def recurrent_net(cell):
    """Two layers, both directions, 10 steps of 32 features into 64."""
    torch.manual_seed(0)
    model = getattr(torch.nn, cell)(32, 64, num_layers=2, bidirectional=True)
    return shaken(model), (torch.rand(10, 1, 32),)


def recurrent(cell):
    model, args = recurrent_net(cell)
    return legacy(model, args), live(model, args)


class Generator(torch.nn.Sequential):
    """The generator of DCGAN: transposed convolutions, 100 to 3x64x64."""

    def __init__(self):
        layers, channels = [], [100, 512, 256, 128, 64, 3]
        for i, (a, b) in enumerate(zip(channels, channels[1:])):
            layers.append(torch.nn.ConvTranspose2d(
                a, b, 4, 1 if i == 0 else 2, 0 if i == 0 else 1, bias=False))
            layers += ([torch.nn.BatchNorm2d(b), torch.nn.ReLU()]
                       if b != 3 else [torch.nn.Tanh()])
        super().__init__(*layers)


def generator():
    torch.manual_seed(0)
    return shaken(Generator()), (torch.rand(1, 100, 1, 1),)


class Repeat(torch.nn.Module):
    """A loop around a linear layer, then a branch on the data."""

    def __init__(self):
        super().__init__()
        self.step = torch.nn.Linear(16, 16)

    def forward(self, x):
        for _ in range(x.size(0) + 1):
            x = torch.relu(self.step(x))
        if bool(x.sum() > 0):
            x = x * 2
        else:
            x = x - 1
        return x


def control():
    torch.manual_seed(0)
    model, args = Repeat().eval(), (torch.rand(4, 16),)
    row = live(model, args, "Loop of 5, then If on the data")
    return legacy(torch.jit.script(model), args), row


def branches():
    """An If on the data whose else branch does not fit its input."""
    def branch(name, rows):
        weight = onnx.helper.make_tensor(
            "w", onnx.TensorProto.FLOAT, (rows, 4), numpy.arange(rows * 4.0))
        result = onnx.helper.make_tensor_value_info(
            name, onnx.TensorProto.FLOAT, None)
        node = onnx.helper.make_node("MatMul", ["x", "w"], [name])
        return onnx.helper.make_graph([node], name, [], [result], [weight])

    made = onnx.helper.make_node("If", ["c"], ["y"], name="If",
                                 then_branch=branch("a", 8),
                                 else_branch=branch("b", 5))
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [made], "branches",
        [info("x", onnx.TensorProto.FLOAT, (2, 8)),
         info("c", onnx.TensorProto.BOOL, ())],
        [info("y", onnx.TensorProto.FLOAT, None)])
    row = {"params": 32, "macs": 64, "input": "2x8", "note": "one branch fits"}
    return onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), row


FUNCTIONS = """
<ir_version: 9, opset_import: ["" : 18, "local" : 1]>
agraph (float[2, 8] x, float[8, 8] w, float[8] b) => (float[2, 8] y)
{
    h = local.dense <alpha = 0.5> (x, w, b)
    y = local.dense (h, w, b)
}
<domain: "local", opset_import: ["" : 18, "local" : 1]>
dense <alpha: float = 0.1> (x, w, b) => (y)
{
    p = MatMul (x, w)
    s = Add (p, b)
    y = local.act <alpha: float = @alpha> (s)
}
<domain: "local", opset_import: ["" : 18]>
act <alpha> (x) => (y)
{
    y = LeakyRelu <alpha: float = @alpha> (x)
}
"""


def functions():
    """Nested local functions, with an attribute passed on and a default."""
    proto = parser.parse_model(FUNCTIONS)
    onnx.checker.check_model(proto)
    feeds = {n: numpy.ones(s, "float32") for n, s in
             (("x", (2, 8)), ("w", (8, 8)), ("b", (8,)))}
    session = onnxruntime.InferenceSession(proto.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    assert session.run(None, feeds)[0].shape == (2, 8)
    return proto, {"params": 0, "macs": 2 * 2 * 8 * 8, "input": "2x8+8x8+8",
                   "note": "two matrix products of 2x8 by 8x8; no weights"}


BATCH = torch.export.Dim("batch", min=1, max=64)

KINDS = {
    "mobilenet_v2-qdq": lambda: quantised("QDQ", *build("mobilenet_v2")),
    "mobilenet_v2-qoperator": lambda: quantised(
        "QOperator", *build("mobilenet_v2")),
    "mobilenet_v2-dynamic": lambda: quantised(
        "dynamic", *build("mobilenet_v2")),
    "squeezenet1_1-qdq": lambda: quantised("QDQ", *build("squeezenet1_1")),
    "squeezenet1_1-qoperator": lambda: quantised(
        "QOperator", *build("squeezenet1_1")),
    "bert_tiny-qdq": lambda: quantised("QDQ", *bert()),
    "bert_tiny-qoperator": lambda: quantised("QOperator", *bert()),
    "dcgan-qdq": lambda: quantised("QDQ", *generator()),
    "llama_tiny-4bit": matmul_nbits,
    "resnet18-ort_basic": lambda: runtime_optimised("ORT_ENABLE_BASIC"),
    "resnet18-ort_extended": lambda: runtime_optimised("ORT_ENABLE_EXTENDED"),
    "resnet18-ort_all": lambda: runtime_optimised("ORT_ENABLE_ALL"),
    "efficientnet_b0-ort_all": filled_blocks,
    "squeezenet1_1-ort_all": channels_last,
    "lstm-dynamic": lambda: quantised("dynamic", *recurrent_net("LSTM")),
    "bert_tiny-fused": lambda: fused_transformer(bert, "bert"),
    "gpt2_tiny-fused": lambda: fused_transformer(gpt2, "gpt2"),
    "bert_tiny.legacy": lambda: plain(bert, legacy),
    "bert_tiny.dynamo": lambda: plain(bert, dynamo),
    "bert_tiny-free": bert_free,
    "gpt2_tiny.legacy": lambda: plain(gpt2, legacy),
    "gpt2_tiny.dynamo": lambda: plain(gpt2, dynamo),
    "llama_tiny.legacy": lambda: plain(llama, legacy),
    "llama_tiny.dynamo": lambda: plain(llama, dynamo),
    "yolov8n.legacy": yolov8n,
    "mobilenet_v3_small-half": half,
    "resnet18-batch.legacy": lambda: free_batch(
        legacy, input_names=["x"], output_names=["y"],
        dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}}),
    "resnet18-batch.dynamo": lambda: free_batch(
        dynamo, dynamic_shapes=({0: BATCH},)),
    "resnet18-tied": tied,
    "resnet18-opset8": lambda: old_opset("resnet18", 8),
    "shufflenet_v2_x1_0-opset9": lambda: old_opset("shufflenet_v2_x1_0", 9),
    "efficientnet_b0-opset12": lambda: old_opset("efficientnet_b0", 12),
    "resnet18-torch1.13": lambda: old_torch("resnet18"),
    "vit_b_32-torch1.13": lambda: old_torch("vit_b_32"),
    "mobilenet_v3_small-torch1.13": lambda: old_torch("mobilenet_v3_small"),
    "swin_short.legacy": lambda: plain(swin, legacy),
    "maxvit_short.legacy": lambda: plain(maxvit, legacy),
    "resnet50-folded": lambda: folded("resnet50"),
    "lstm": lambda: recurrent("LSTM"),
    "gru": lambda: recurrent("GRU"),
    "rnn": lambda: recurrent("RNN"),
    "dcgan": lambda: plain(generator, legacy),
    "control_flow": control,
    "branches": branches,
    "functions": functions,
}


def main():
    p = argparse.ArgumentParser(description="writes other kinds of ONNX files")
    p.add_argument("-o", default=default_folder())
    p.add_argument("kinds", nargs="*", default=[])
    a = p.parse_args()
    warnings.filterwarnings("ignore")
    folder = Folder(a.o)
    for kind in a.kinds or KINDS:
        try:
            proto, row = KINDS[kind]()
        except Exception as e:
            print(f"{kind}: FAILED {type(e).__name__}: {e!s:.300}")
            continue
        exporter = "dynamo" if kind.endswith(".dynamo") else "legacy"
        if kind in ("functions", "branches"):
            exporter = "onnx"
        name = kind.split(".")[0].split("-")[0]
        folder.add(proto, {**row, "file": kind + ".onnx", "model": name,
                           "exporter": exporter})


if __name__ == "__main__":
    main()
