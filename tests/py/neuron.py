"""The partitioner's trace: its three examples, texts and logs, saving and
loading, other processes, every way to call. test_1, test_2 and test_4 are the
note's blocks of code, with what blocks 3 and 5 say is printed.
timeout: 600"""
import contextlib
import copy
import inspect
import io
import logging
import os
import pickle
import subprocess
import sys
import tempfile

from py_check import check, equal, main, raises

import cleave
import torch_neuronx
from cleave.neuron import _default_backend
from tv import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self, input_size=28 * 28, output_size=10, layers=[256, 128]):
        super(MLP, self).__init__()
        self.fc1 = nn.Linear(input_size, layers[0])
        self.fc2 = nn.Linear(layers[0], layers[1])
        self.fc3 = nn.Linear(layers[1], output_size)
        self.relu = nn.ReLU()

    def forward(self, x):
        f1 = self.fc1(x)
        r1 = self.relu(f1)
        f2 = self.fc2(r1)
        r2 = self.relu(f2)
        f3 = self.fc3(r2)
        out = torch.log_softmax(f3, dim=1)
        sort_out, _ = torch.sort(out)
        return sort_out


class Sandwich(MLP):
    def forward(self, x):
        r1 = self.relu(self.fc1(x))
        sort_r1, _ = torch.sort(r1)
        r2 = self.relu(self.fc2(sort_r1))
        return torch.log_softmax(self.fc3(r2), dim=1)


class Branches(nn.Module):
    """Two branches, each linear, sort, linear: run by run there are 5."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.d = (nn.Linear(8, 8) for _ in range(4))

    def forward(self, x):
        left = self.b(torch.sort(self.a(x))[0])
        right = self.d(torch.sort(self.c(x))[0])
        return left + right


class Log(logging.Handler):
    def __init__(self):
        super().__init__(logging.INFO)
        self.lines = []
        logging.getLogger("Neuron").addHandler(self)
        logging.getLogger("Neuron").setLevel(logging.INFO)

    def emit(self, record):
        self.lines.append(record.getMessage().strip())

    def has(self, *lines):
        """These lines, in this order, with others in between."""
        rest = iter(self.lines)
        return all(line in rest for line in lines)


inputs = torch.rand(32, 784)


def same(net, model, *args):
    with torch.no_grad():
        got, want = net(*args), model.eval()(*args)
    check(torch.allclose(got, want, rtol=1e-4, atol=1e-4),
          f"off by {(got - want).abs().max()}")


def test_1_default_usage():
    n = MLP().eval()
    neuron_net = torch_neuronx.trace(
        n, inputs, partitioner_config=torch_neuronx.PartitionerConfig(),
        backend=_default_backend())
    same(neuron_net, n, inputs)
    equal([d for d, _, _ in neuron_net.runtimes()], ["NEURON", "CPU"], "devices")
    equal([r for _, r, _ in neuron_net.runtimes()], ["cleave", "torch"], "runs in")
    same(neuron_net, n, torch.rand(32, 784))
    same(neuron_net, n, torch.rand(32, 784) - 1)


def test_2_too_many_subgraphs():
    with raises(ValueError, "The partitioner has found 3 subgraphs which "
                "exceeds the specified max subgraph count of 2."):
        torch_neuronx.trace(
            Sandwich().eval(), inputs,
            partitioner_config=torch_neuronx.PartitionerConfig(
                max_subgraph_count=2))


def test_4_forced_operators():
    log = Log()
    n = MLP().eval()
    config = torch_neuronx.PartitionerConfig(
        min_operator_percentage_threshold=0.8,
        ops_to_partition=set(["aten::log_softmax"]))
    same(torch_neuronx.trace(n, inputs, partitioner_config=config), n, inputs)
    check(log.has(
        "The following operations are currently supported:",
        "aten::linear", "aten::relu", "aten::log_softmax",
        "The following operations are currently not supported:"), log.lines)
    check(any(l.startswith("aten::sort, neuron.py(") for l in log.lines),
          log.lines)
    check(log.has("85.71% of arithmetic operations (6 of 7) are supported",
                  "Num Partitions: 2",
                  "Creating Partition #1 for device: Device.NEURON",
                  "The following operators will be included in this partition:",
                  "prim::GetAttr:9", "aten::linear:3", "aten::relu:2",
                  "Creating Partition #2 for device: Device.CPU",
                  "prim::Constant:4"), log.lines)
    check(log.has("Creating Partition #2 for device: Device.CPU",
                  "aten::sort:1"), "sort on the CPU")
    check(log.has("Creating Partition #2 for device: Device.CPU",
                  "aten::log_softmax:1"), "log_softmax on the CPU")


def test_4_printed():
    """A script that only sets the level of the logger prints the lines."""
    with open("unsup.py", "w") as f:
        f.write("import logging, torch, torch_neuronx\nimport torch.nn as nn\n"
                'logger = logging.getLogger("Neuron")\n'
                "logger.setLevel(logging.INFO)\n" + inspect.getsource(MLP) + """
n = MLP()
n.eval()
inputs = torch.rand(32,784)
partitioner_config = torch_neuronx.PartitionerConfig(min_operator_percentage_threshold=0.8,ops_to_partition=set(["aten::log_softmax"]))
neuron_net = torch_neuronx.trace(n, inputs, partitioner_config=partitioner_config)
""")
    out = subprocess.run([sys.executable, "unsup.py"], capture_output=True,
                         text=True)
    rest = iter(out.stderr.splitlines())
    for line in ("Neuron: The following operations are currently supported:",
                 "Neuron: aten::linear", "Neuron: aten::relu",
                 "Neuron: aten::log_softmax", "Neuron: The following operations "
                 "are currently not supported:", "Neuron: aten::sort, unsup.py(",
                 "Neuron: 85.71% of arithmetic operations (6 of 7) are "
                 "supported", "Neuron: Num Partitions: 2", "",
                 "Neuron: Creating Partition #1 for device: Device.NEURON",
                 "Neuron: The following operators will be included in this "
                 "partition:", "Neuron: prim::GetAttr:9", "Neuron: "
                 "aten::linear:3", "Neuron: aten::relu:2", "Neuron: Creating "
                 "Partition #2 for device: Device.CPU", "Neuron: The following "
                 "operators will be included in this partition:",
                 "Neuron: prim::Constant:4"):
        check(any(got.startswith(line) for got in rest),
              f"no {line!r} in {out.stderr}")
    equal(sorted(rest), ["Neuron: aten::log_softmax:1", "Neuron: aten::sort:1"],
          "on the CPU")
    equal(out.stdout, "", "nothing else")


def test_fewest_subgraphs():
    n = Branches().eval()
    net = torch_neuronx.trace(
        n, torch.rand(4, 8),
        partitioner_config=torch_neuronx.PartitionerConfig())
    equal(len(net.devices), 3, "branches")
    same(net, n, torch.rand(4, 8))


def test_limits_and_texts():
    config = torch_neuronx.PartitionerConfig
    for options, text in (
            ({"min_subgraph_size": 2}, "Partitioner created a CPU subgraph "
             "with 1 operators, which is less than the specified min subgraph "
             "size of 2"),
            ({"model_support_percentage_threshold": 0.9},
             "Model support percentage of 85.71% below threshold of 90.00%")):
        with raises(ValueError, text):
            torch_neuronx.trace(MLP(), inputs,
                                partitioner_config=config(**options))
    with raises(ValueError, "very close to 0%"):
        torch_neuronx.trace(
            MLP(), inputs, backend="all-but:linear,relu,log_softmax,sort",
            partitioner_config=config(model_support_percentage_threshold=0))
    with raises(TypeError, "unheard_of"):
        config(unheard_of=1)
    with raises(ValueError, "0 to 1"):
        config(model_support_percentage_threshold=80)
    with raises(ValueError, "at least 1"):
        config(max_subgraph_count=0)
    with raises(ValueError, "analyze_parameters"):
        config(analyze_parameters={"speed": 1})
    with raises(ValueError, "nobody"):
        torch_neuronx.trace(MLP(), inputs, partitioner_config=config(
            ops_to_partition={"aten::nobody_knows"}))


class ShapeOnly(nn.Module):
    """view_as reads the sorted tensor for its shape: torch waits for it, our
    graph does not. relu, sort, relu, sort, add then alternate: five parts."""

    def forward(self, x):
        s = torch.sort(torch.relu(x))[0]
        return torch.sort(torch.relu(x.view(-1).view_as(s)))[0] + s


def test_no_partition_after_the_limits():
    x = torch.rand(4, 4)
    config = lambda n: torch_neuronx.PartitionerConfig(
        max_subgraph_count=n, model_support_percentage_threshold=0)
    with raises(ValueError, "found 5 subgraphs which exceeds the specified max "
                "subgraph count of 4"):
        torch_neuronx.trace(ShapeOnly(), x, partitioner_config=config(4))
    net = torch_neuronx.trace(ShapeOnly(), x, partitioner_config=config(5))
    equal(net.devices, ["NEURON", "CPU"] * 2 + ["NEURON"], "devices")
    same(net, ShapeOnly(), x)


class Views(nn.Module):
    """One arithmetic operator on either device, and views beside them."""

    def forward(self, x):
        y = torch.relu(x.view(2, 8).transpose(0, 1))
        return torch.sort(y)[0].reshape(4, 4).unsqueeze(0)


def test_one_meaning_of_size():
    """Views do not count: not here, not in the command, not in C."""
    x, backend = torch.rand(4, 4), "all-but:sort"
    text = "subgraph with 1 operators, which is less than the specified min " \
        "subgraph size of 2"
    graph = cleave.capture(Views(), x).graph
    cut = graph.partition("capability", backend=backend, min_subgraph_size=1)
    check(max(len(s["node_names"]) for s in cut["subgraphs"]) > 1, "views")
    with raises(ValueError, text):
        graph.partition("capability", backend=backend, min_subgraph_size=2)
    for size, ok in ((1, True), (2, False)):
        config = torch_neuronx.PartitionerConfig(min_subgraph_size=size)
        with raises(ValueError, text) if not ok else contextlib.nullcontext():
            net = torch_neuronx.trace(Views(), x, backend=backend,
                                      partitioner_config=config)
    equal(net.devices, ["NEURON", "CPU"], "devices")


def test_without_a_partitioner():
    with raises(ValueError, "85.71% below threshold of 100.00%; pass a "
                "partitioner_config"):
        torch_neuronx.trace(MLP(), inputs)
    with raises(ValueError, "no operators"):
        torch_neuronx.trace(nn.Identity(), inputs)


def test_accelerator_by_name():
    """Texts call the accelerator what the log does, whatever it is here."""
    with raises(ValueError, "created a NEURON subgraph with 6 operators"):
        torch_neuronx.trace(MLP(), inputs, backend="all-but:sort",
                            partitioner_config=torch_neuronx.PartitionerConfig(
                                min_subgraph_size=7))


def test_import_does_nothing():
    code = """
import logging, cleave.neuron as n
print(n._runtime.cache_info().currsize, logging.getLogger("Neuron").handlers)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True,
                         text=True)
    equal(out.stdout, "0 []\n", out.stderr)


def test_split():
    """What trace calls: arguments are checked, nothing is guessed."""
    graph = cleave.capture(MLP(), inputs).graph
    names = [n["torch"] for n in graph.nodes()]
    chain = [(n, [i - 1] if i else []) for i, n in enumerate(names)]
    devices, places = graph.split(chain, "all-but:sort", max_subgraph_count=2)
    equal((devices, places), (["all-but", "cpu"], [0] * 6 + [1]), "a chain")
    for reads, error in (([("a", [0])], ValueError), ([("a", [-1])], OverflowError),
                         ([("a", ["b"])], TypeError), (["a"], TypeError),
                         ([("a", 1)], TypeError), (None, TypeError)):
        with raises(error, ""):
            graph.split(reads, "null")
    with raises(ValueError, "min_subgraph_size is 0 (no limit) or more, not -1"):
        graph.split(chain, "null", min_subgraph_size=-1)
    with raises(ValueError, "0 to 1, not 2"):
        graph.split(chain, "null", min_support=2)
    with raises(LookupError, "nobody"):
        graph.split(chain, "nobody")
    with raises(TypeError, "captured"):
        cleave.load("alexnet").split([], "null")


def test_analyze():
    found = torch_neuronx.analyze(MLP(), inputs)
    equal(found["support_percentage"], "85.71%", "percentage")
    equal(found["supported_operators"],
          {"aten::linear": 3, "aten::relu": 2, "aten::log_softmax": 1},
          "supported")
    equal([o["kind"] for o in found["unsupported_operators"]], ["aten::sort"],
          "unsupported")


def test_save_and_load():
    n = MLP().eval()
    net = torch_neuronx.trace(
        n, inputs, partitioner_config=torch_neuronx.PartitionerConfig())
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    again = torch.load(file, weights_only=False)
    same(again, n, inputs)
    equal(again.runtimes(), net.runtimes(), "runs in")


class Named(nn.Module):
    """Arguments of every kind in, a dict out."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x, pair, mask=None, scale=1.0):
        y = self.fc(x) * pair["a"] + pair["b"]
        y = y if mask is None else y * mask
        return {"y": y * scale, "all": (y, [torch.sort(y)[0]])}


def test_ways_to_call():
    model = Named().eval()
    one, two, three = torch.rand(3, 2, 8)
    pair, cfg = {"a": two, "b": three}, torch_neuronx.PartitionerConfig()
    want = model(one, pair, mask=two)

    def matches(got):
        check(torch.allclose(got["y"], want["y"], 1e-4, 1e-4) and
              torch.allclose(got["all"][1][0], want["all"][1][0], 1e-4, 1e-4),
              "dict of tuples")
    net = torch_neuronx.trace(model, {"x": one, "pair": pair, "mask": two},
                              partitioner_config=cfg)
    matches(net(x=one, pair=pair, mask=two))
    matches(net(mask=two, x=one, pair=pair))
    matches(net(one, pair, two))
    matches(net(one, mask=two, pair=pair))
    matches(net({"x": one, "pair": pair, "mask": two}))
    net = torch_neuronx.trace(model, (one, pair, two), partitioner_config=cfg)
    matches(net(one, pair, two))
    matches(net(one, pair, mask=two))
    for bad in (lambda: net(one, pair), lambda: net(one, two, pair),
                lambda: net(one, pair, two, three), lambda: net()):
        with raises(ValueError, "differ in structure"):
            bad()


class Less(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, a, b, c=None):
        y = self.fc(a) - torch.sort(b)[0]
        return y if c is None else y * c


def test_calls_that_come_again():
    """Of the same tensors in another order, of other types and shapes, and of
    what is no plain tensor: every call is its own, the second time too."""
    n = Less().eval()
    for config in (torch_neuronx.PartitionerConfig(),
                   torch_neuronx.PartitionerConfig(
                       trace_kwargs={"backend": "all-but:sort"})):
        net = torch_neuronx.trace(n, (torch.rand(2, 8), torch.rand(2, 8)),
                                  partitioner_config=config)
        for turn in range(3):
            for rows in (2, 3):
                a, b = torch.rand(rows, 8), torch.rand(rows, 8)
                want = n(a, b)
                for got in (net(a, b), net(a, b=b), net(b=b, a=a),
                            net(nn.Parameter(a), b)):
                    check(torch.allclose(got, want, 1e-4, 1e-4), "same call")
                    check(not got.requires_grad, "no gradient")
                check(torch.allclose(net(b=a, a=b), n(b, a), 1e-4, 1e-4),
                      "other way round")
        with raises(ValueError, "differ in structure"):
            net(a, b, a)
        again = pickle.loads(pickle.dumps(net))
        same_two = torch.rand(2, 2, 8)
        for _ in range(2):
            check(torch.allclose(again(*same_two), n(*same_two), 1e-4, 1e-4),
                  "read from a file")


def test_other_shapes():
    n = MLP().eval()
    net = torch_neuronx.trace(
        n, inputs, partitioner_config=torch_neuronx.PartitionerConfig())
    same(net, n, torch.rand(5, 784))
    with raises(cleave.Error, "MLP fails on these inputs: RuntimeError: mat1"):
        net(torch.rand(32, 7))


class Baked(nn.Module):
    """Sizes and plain arguments that torch.export writes into its graph."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x, scale=2.0, flip=False):
        y = self.fc(x) / x.shape[0] + torch.arange(x.shape[0])[:, None]
        if flip:
            y = y.flip(0)
        return y.view(x.shape[0], -1) * scale


def test_sizes_are_not_written_in():
    n = Baked().eval()
    net = torch_neuronx.trace(
        n, torch.rand(3, 8), partitioner_config=torch_neuronx.PartitionerConfig(
            model_support_percentage_threshold=0))
    for rows in (3, 1, 7, 5, 3, 7):
        same(net, n, torch.rand(rows, 8))
    equal(len(net._plans), 3, "plans for other sizes")
    net = torch_neuronx.trace(
        n, (torch.rand(3, 8), 2.0, False),
        partitioner_config=torch_neuronx.PartitionerConfig(
            model_support_percentage_threshold=0))
    x = torch.rand(4, 8)
    for scale, flip in ((2.0, False), (3.0, False), (2.0, True)):
        check(torch.allclose(net(x, scale, flip), n(x, scale, flip), 1e-4, 1e-4),
              f"scale {scale}, flip {flip}")


def test_loaded_models_do_not_guess():
    n = Baked().eval()
    net = torch_neuronx.trace(
        n, torch.rand(3, 8), partitioner_config=torch_neuronx.PartitionerConfig(
            model_support_percentage_threshold=0))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.pt")
        torch_neuronx.save(net, path)
        again = torch_neuronx.load(path)
        torch.save({"a": 1}, path)
        with raises(TypeError, "does not hold a traced model"):
            torch_neuronx.load(path)
    same(again, n, torch.rand(3, 8))
    with raises(ValueError, "traced for inputs of shape [(3, 8)], not [(4, 8)], "
                "and was loaded"):
        again(torch.rand(4, 8))
    with raises(TypeError, "a Linear is not a traced model"):
        torch_neuronx.save(nn.Linear(2, 2), "x")


def test_half_precision():
    """Within the precision of the type; nothing stops at 0 % support."""
    for dtype, near in ((torch.bfloat16, 2e-2), (torch.float16, 2e-3)):
        n = MLP().eval().to(dtype)
        x = torch.rand(4, 784).to(dtype)
        net = torch_neuronx.trace(
            n, x, partitioner_config=torch_neuronx.PartitionerConfig())
        got, want = net(x), n(x)
        equal(got.dtype, dtype, "type")
        check(torch.allclose(got.float(), want.float(), near, near), f"{dtype}")


def test_data_parallel():
    n = MLP().eval()
    net = torch_neuronx.trace(
        n, torch.rand(4, 784),
        partitioner_config=torch_neuronx.PartitionerConfig())
    check(torch_neuronx.dynamic_batch(net) is net, "any batch as it is")
    x = torch.rand(11, 784)
    for devices in (None, [0], [0, 1, 2], 4):
        many = torch_neuronx.DataParallel(net, device_ids=devices)
        check(torch.allclose(many(x), n(x), 1e-4, 1e-4), f"{devices}")
    with raises(ValueError, "device_ids names no device"):
        torch_neuronx.DataParallel(net, device_ids=[])
    with raises(ValueError, "dynamic batching is off"):
        torch_neuronx.DataParallel(net, 2, set_dynamic_batching=False)(x)
    with raises(TypeError, "a MLP is not a traced model"):
        torch_neuronx.DataParallel(n)


def test_options_of_trace():
    n, x = nn.Linear(4, 4), torch.rand(2, 4)
    cfg = torch_neuronx.PartitionerConfig()
    with raises(TypeError, "by name: partitioner_config="):
        torch_neuronx.trace(n, x, cfg)
    with raises(ValueError, "takes no compiler_args"):
        torch_neuronx.trace(n, x, partitioner_config=cfg,
                            compiler_args=["--model-type=unet"])
    with raises(ValueError, "takes no compiler_args"):
        torch_neuronx.trace(n, x, partitioner_config=torch_neuronx.PartitionerConfig(
            trace_kwargs={"compiler_args": "-O1"}))
    with raises(TypeError, "trace has no option 'inline_weights'"):
        torch_neuronx.trace(n, x, partitioner_config=cfg, inline_weights=True)
    same(torch_neuronx.trace(n, x, partitioner_config=cfg,
                             compiler_workdir="/tmp/none"), n, x)


class Written(nn.Module):
    """Operators in place, on views and not."""

    def forward(self, x):
        a = x + 1
        a.relu_()
        b = a.view(-1)
        b.mul_(2)
        a[0] = 7
        return torch.sort(a)[0] + a, b


def test_operators_in_place():
    x = torch.rand(4, 4) - 0.5
    net = torch_neuronx.trace(
        Written(), x, partitioner_config=torch_neuronx.PartitionerConfig(
            model_support_percentage_threshold=0))
    for got, want in zip(net(x), Written()(x)):
        check(torch.allclose(got, want), "in place")


def test_tensors_without_numbers():
    cfg = torch_neuronx.PartitionerConfig()
    with torch.device("meta"):
        model = nn.Linear(4, 4)
    with raises(ValueError, "on the CPU, not on 'meta'"):
        torch_neuronx.trace(model, torch.rand(2, 4), partitioner_config=cfg)
    with raises(ValueError, "on the CPU, not on 'meta'"):
        torch_neuronx.trace(nn.Linear(4, 4), torch.rand(2, 4, device="meta"),
                            partitioner_config=cfg)
    whole = torch.quantize_per_tensor(torch.rand(2, 4), 0.1, 0, torch.qint8)
    with raises(ValueError, "quantized"):
        torch_neuronx.trace(nn.Linear(4, 4), whole, partitioner_config=cfg)
    with raises(cleave.Error, "fails on these inputs"):
        torch_neuronx.trace(nn.Linear(4, 4), torch.rand(2, 5),
                            partitioner_config=cfg)
    with raises(TypeError, "no option 'compiler'"):
        torch_neuronx.trace(nn.Linear(4, 4), torch.rand(2, 4), compiler=1)
    with raises(TypeError, "PartitionerConfig"):
        torch_neuronx.trace(nn.Linear(4, 4), torch.rand(2, 4),
                            partitioner_config={})


def test_the_faster_one():
    """Without a backend that is named, each part runs where it is faster, and
    the whole in eager where that is."""
    for n, x in ((MLP().eval(), inputs), (nn.Linear(4, 4).eval(),
                                          torch.rand(2, 4))):
        net = torch_neuronx.trace(
            n, x, partitioner_config=torch_neuronx.PartitionerConfig())
        same(net, n, x)
        same(net, n, torch.rand(7, x.shape[1]))
        for device, where, why in net.runtimes():
            check(where == "cleave" or device == "CPU" or
                  why.startswith("PyTorch is faster"), (where, why))
        file = io.BytesIO()
        torch.save(net, file)
        file.seek(0)
        same(torch.load(file, weights_only=False), n, x)


def test_other_process():
    """Pickled into a new process, which knows only the file."""
    n = MLP().eval()
    net = torch_neuronx.trace(
        n, inputs, partitioner_config=torch_neuronx.PartitionerConfig(),
        backend=_default_backend())
    for load, dump in ((lambda f: pickle.load(f), pickle.dump),
                       (lambda f: torch.load(f, weights_only=False),
                        torch.save)):
        file = io.BytesIO()
        dump(net, file)
        file.seek(0)
        again = load(file)
        equal(again.runtimes(), net.runtimes(), "runs in")
        same(again, n, inputs)
    same(copy.deepcopy(net), n, inputs)
    torch.save((net, inputs, n(inputs).detach()), "net.pt")
    code = """
import torch, multiprocessing, cleave.neuron
def work(net, x, queue):
    queue.put((float(net(x).sum()), net.runtimes()))
if __name__ == "__main__":
    torch.set_num_threads(1)
    net, x, want = torch.load("net.pt", weights_only=False)
    print(torch.allclose(net(x), want, 1e-4, 1e-4), net.runtimes()[0][1])
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=work, args=(net, x, queue))
    child.start()
    total, runs = queue.get(timeout=100)
    child.join()
    print(abs(total - float(want.sum())) < 1e-2, runs[0][1])
"""
    with open("other.py", "w") as f:
        f.write(code)
    out = subprocess.run([sys.executable, "other.py"], capture_output=True,
                         text=True)
    equal(out.stdout, "True cleave\nTrue cleave\n", out.stderr[-500:])


logging.getLogger("Neuron").handlers[:] = [logging.NullHandler()]
logging.getLogger("Neuron").propagate = False
main(globals())
