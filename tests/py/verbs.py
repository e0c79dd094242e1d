"""Methods of a Graph are the command's verbs: same JSON, same flags, same
errors; names in the stubs are those at run time. Where mypy is there, the package
is checked with --strict, and the stubs against what is there at run time.
timeout: 900"""
import ast
import concurrent.futures
import inspect
import json
import os
import subprocess
import sys
import threading
import time

from py_check import check, equal, main, raises, skip

import cleave
from cleave import _cleave

ROOT = os.environ["CLEAVE_ROOT"]
COMMAND = os.path.join(os.environ["CLEAVE_BUILD"], "cli", "cleave")
g = cleave.load("resnet18")


def command(*words):
    out = subprocess.run([COMMAND, *words], capture_output=True, text=True)
    return out.stdout


VERBS = [
    (("partition", "resnet18", "-s", "placement", "--hardware", "h100",
      "--backend", "null", "--curve", "3"),
     lambda: g.partition("placement", hardware="h100", backend="null",
                         curve=3)),
    (("partition", "resnet18", "-s", "pipeline", "--stages", "3",
      "--hardware", "h100"),
     lambda: g.partition("pipeline", stages=3, hardware="h100")),
    (("partition", "resnet18", "-s", "fusion", "--max-fusion-ops", "2"),
     lambda: g.partition("fusion", max_fusion_ops=2)),
    (("partition", "resnet18", "-s", "capability", "--backend",
      "all-but:max_pool2d", "--cpu-nodes", "layer1.*,layer4.1",
      "--connected", "--objective", "accelerator"),
     lambda: g.partition("capability", backend="all-but:max_pool2d",
                         cpu_nodes={"layer4.1", "layer1.*"}, connected=True,
                         objective="accelerator")),
    (("concurrency", "resnet18", "--streams", "2", "--hardware", "h100"),
     lambda: g.concurrency(streams=2, hardware="h100")),
    (("memory", "resnet18", "--reorder", "-s", "fusion"),
     lambda: g.memory("fusion", True)),
    (("map", "resnet18", "--hardware", "h100,a100"),
     lambda: g.map(["h100", "a100"])),
    (("validate", "resnet18"), g.validate),
    (("diagnose", "resnet18", "--expected-gflops", "4"),
     lambda: g.diagnose(4 * 10**9)),
    (("check", "resnet18", "--budget", "macs=1G,params=30M"),
     lambda: g.check(budget={"macs": "1G", "params": "30M"})),
    (("check", "resnet18", "--hardware", "h100"), lambda: g.check("h100")),
    (("compare", "resnet18", "resnet34"), lambda: g.compare("resnet34")),
    (("compare", "resnet18", "alexnet"),
     lambda: g.compare(cleave.load("alexnet"))),
    (("sweep", "resnet18", "--batch", "1,2,4", "--formula"),
     lambda: g.sweep([1, 2, 4], formula=True)),
]


def test_same_as_command():
    for words, ours in VERBS:
        want = command(*words, "--json")
        check(want, words)
        if want:
            equal(ours(), json.loads(want), " ".join(words))
    equal(g.partition("fusion", text=True),
          command("partition", "resnet18", "-s", "fusion"), "text")


def test_files():
    equal(g.export("net.onnx", weights="zeros"), None, "export")
    again = cleave.load("net.onnx")
    equal(again.profile()["total_macs"], g.profile()["total_macs"], "MACs")
    g.export(path="net.dot", strategy="fusion")
    check(os.path.getsize("net.dot") > 1000, "dot")
    g.partition("capability", backend="all-but:max_pool2d", output="parts")
    check(os.path.exists("parts/manifest.json"), os.listdir("."))
    cleave.verify("parts")
    with open("parts/manifest.json", "w") as f:
        f.write("{}")
    with raises(cleave.Error, "manifest"):
        cleave.verify("parts")
    check(again.sweep([1, 2]) is not None, "sweep of a file")


def test_runs():
    small = cleave.load("squeezenet1_1", input_shape=(1, 3, 64, 64))
    found = small.run(random=True, repeat=2)
    check("parts" in found or "runs" in found or found, found)


def test_errors():
    with raises(ValueError, "--stagse"):
        g.partition("pipeline", stagse=3)
    with raises(ValueError, "when a graph is opened"):
        g.memory(batch=4)
    with raises(LookupError, "h1000"):
        g.map("h1000")
    with raises(TypeError, "argument 3 needs its name"):
        g.partition("op", False, "null")
    with raises(ValueError, "sweep needs something to vary"):
        g.sweep([3])
    with raises(TypeError, "cannot create"):
        cleave.Graph()


def test_lock_is_released():
    """Other threads run while a graph is analysed."""
    big = cleave.load("swin_b")
    ticks, done = [], threading.Event()

    def count():
        while not done.is_set():
            ticks.append(1)
            done.wait(0.001)
    other = threading.Thread(target=count)
    other.start()
    results = []
    threads = [threading.Thread(target=lambda: results.append(
        big.partition("fusion")["total_subgraphs"])) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    done.set()
    other.join()
    equal(len(set(results)), 1, "one answer")
    equal(len(results), 4, "all of them")


def test_threads_do_not_wait():
    """A verb whose backend is slow to answer keeps nobody waiting."""
    with open("slow.sh", "w") as f:
        f.write("#!/bin/sh\ntouch asked\nwhile [ ! -e go ]; do sleep 0.05; "
                "done\n")
    os.chmod("slow.sh", 0o755)
    done = []
    slow = threading.Thread(target=lambda: done.append(
        g.partition("capability", backend="cmd:./slow.sh", timeout=60)))
    slow.start()
    while slow.is_alive() and not os.path.exists("asked"):
        time.sleep(0.01)
    check(g.memory()["peak_bytes"] > 0, "another verb")
    check(slow.is_alive() and not done, "was done before the first")
    open("go", "w").close()
    slow.join()
    equal(len(done), 1, "the first is done too")


def test_threads_at_once():
    """Every verb from eight threads: the same as from one."""
    calls = [c for words, c in VERBS for _ in range(2)]
    want = [c() for c in calls]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        got = [f.result() for f in [pool.submit(c) for c in calls]]
    for one, other, (words, _) in zip(got, want, (v for v in VERBS
                                                  for _ in range(2))):
        equal(one, other, " ".join(words))


def test_own_devices():
    """Devices of the user's folder; `host` is what --measure keeps there."""
    os.environ["XDG_DATA_HOME"] = os.path.abspath("data")
    with raises(LookupError, "'cleave hardware --measure' does"):
        g.map("host")
    if os.environ.get("CLEAVE_SLOW"):
        found = cleave.hardware(measure=True)
        equal(found["devices"][0]["name"], "host", "measured")
    else:
        found = cleave.hardware("h100")
        found["devices"][0].update(name="host", alias=None)
        os.makedirs("data/cleave/hardware")
        with open("data/cleave/hardware/host.json", "w") as f:
            json.dump(found, f)
    time_on = lambda name: g.map(name)["devices"][0]
    equal(time_on("host")["device"], "host", "map")
    check("host" in [d["name"] for d in cleave.hardware()["devices"]], "list")
    check(g.check("host")["checks"], "check")
    check("host" in cleave.hardware("host", text=True), "text")
    with raises(LookupError, "h1000"):
        cleave.hardware("h1000")


def names_in(stub):
    with open(os.path.join(ROOT, "python", "cleave", stub)) as f:
        tree = ast.parse(f.read())
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = {n.name for n in node.body
                                if isinstance(n, ast.FunctionDef)}
            found[node.name] |= {n.target.id for n in node.body
                                 if isinstance(n, ast.AnnAssign)}
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = set()
    return found


def test_stubs():
    stub = names_in("_cleave.pyi")
    have = {n for n in dir(_cleave) if not n.startswith("_")}
    equal({n for n in stub if not n.startswith("_")}, have, "names")
    for cls in ("Graph", "Model", "Result", "Tensor"):
        want = {n for n in vars(getattr(_cleave, cls)) if not n.startswith("_")
                or n in ("__call__", "__dlpack__", "__dlpack_device__",
                         "_repr_html_")}
        equal(stub[cls], want, f"members of {cls}")
        for name in want:
            check(getattr(getattr(_cleave, cls), name).__doc__, f"{cls}.{name}")
    public = {n for n in cleave.__all__ if not n.startswith("_")}
    stub = names_in("__init__.pyi")
    check(public <= set(stub) | {"Error", "Graph", "Model", "Result", "Tensor",
                                 "hardware", "open", "models", "verify"},
          public - set(stub))


STUBBED = ("_cleave", "torch", "neuron", "dynamo", "live", "fvcore")
SAMPLE = """
import cleave

graph = cleave.load("resnet18", batch=2)
total: int = graph.profile()["total_flops"]
parts = graph.partition("capability", backend="null", cpu_ops={"relu"})
text: str = graph.concurrency(text=True)
model: cleave.Model = graph.compile("onednn", threads=1)
out: list[cleave.Tensor] = model.run([memoryview(b"")])
shape: tuple[int, ...] = out[0].shape
graph.export("x.onnx", opset=17)
names: list[str] = cleave.models()
cleave.verify("parts")
"""


def test_types():
    try:
        import mypy.api
    except ImportError:
        return skip("no mypy")
    with open("sample.py", "w") as f:
        f.write(SAMPLE)
    os.environ["MYPYPATH"] = os.path.join(ROOT, "python")
    out, err, code = mypy.api.run(["--strict", "--follow-imports=silent",
                                   "--no-incremental", "sample.py"])
    equal(code, 0, out + err)
    if not os.environ.get("CLEAVE_SLOW"):
        return    # torch's own types take minutes
    out, err, code = mypy.api.run([
        "--strict", "--follow-imports=silent", "--cache-dir=mypy",
        os.path.join(ROOT, "python", "cleave"),
        os.path.join(ROOT, "python", "compat", "torch_neuronx.py")])
    equal(code, 0, out + err)
    ran = subprocess.run([sys.executable, "-m", "mypy.stubtest"] +
                         [f"cleave.{m}" for m in STUBBED],
                         capture_output=True, text=True)
    equal(ran.returncode, 0, ran.stdout[-2000:])


main(globals())
