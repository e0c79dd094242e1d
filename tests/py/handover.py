"""What `partition --for` writes, in the engines themselves: the parts chained in
ONNX Runtime equal the whole model for 12 networks, torch's pipelining equals eager
in 2, 3 and 4 processes, Triton's files parse against the documented messages, ONNX
Runtime reads the memory file and calls nodes as it does.
timeout: 900"""
import csv
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import py_check as t
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

root = pathlib.Path(__file__).resolve().parents[2]


def cleave(*words):
    r = subprocess.run(["cleave", *words], capture_output=True, text=True)
    t.check(r.returncode == 0, f"{' '.join(words)}: {r.stderr}")
    return r.returncode == 0


NETWORKS = [
    ("alexnet", "1,3,224,224", 2), ("resnet18", "1,3,64,64", 3), ("densenet121", "1,3,64,64", 4),
    ("googlenet", "1,3,64,64", 5), ("mobilenet_v3_small", "1,3,64,64", 6),
    ("shufflenet_v2_x0_5", "1,3,64,64", 3), ("squeezenet1_1", "2,3,64,64", 4),
    ("efficientnet_b0", "1,3,64,64", 3), ("convnext_tiny", "1,3,64,64", 2),
    ("lraspp_mobilenet_v3_large", "1,3,64,64", 4), ("vit_b_32", "1,3,224,224", 3),
    ("r3d_18", "1,3,4,32,32", 2)]
CHAIN = """
import numpy as np, onnxruntime as ort, sys
sys.path.insert(0, sys.argv[1])
import run
rng = np.random.default_rng(1)
feeds = {run.name[i]: rng.random(run.value[i]["shape"], np.float32) for i in run.manifest["inputs"]}
whole = ort.InferenceSession(sys.argv[2], providers=["CPUExecutionProvider"])
want = dict(zip([o.name for o in whole.get_outputs()], whole.run(None, feeds)))
got = run.run(feeds)
assert set(got) == set(want), (set(got), set(want))
print(max(float(np.abs(got[k] - want[k]).max() / np.abs(want[k]).max()) for k in want))
"""


def test_ort():
    for model, shape, stages in NETWORKS:
        dir = f"ort_{model}"
        if not cleave("partition", model, "--input-shape", shape, "-s", "pipeline", "--stages",
                      str(stages), "--for", "ort", "-o", dir):
            continue
        cleave("export", model, "--input-shape", shape, "-o", f"{model}.onnx")
        cleave("verify", dir)
        r = subprocess.run([sys.executable, "-c", CHAIN, dir, f"{model}.onnx"],
                           capture_output=True, text=True)
        t.check(r.returncode == 0 and float(r.stdout) < 1e-4, f"{model}: {r.stdout} {r.stderr[-300:]}")
        os.remove(f"{model}.onnx")
    rows = list(csv.reader(open("ort_resnet18/node_memory_stats.csv")))
    t.equal(rows[0], ["#name", "input_sizes", "initializers_sizes", "total_dynamic_sizes",
                      "total_temp_allocations"], "the columns of the memory file")
    t.check(len(rows) > 60 and all(int(x) >= 0 for r in rows[1:] for x in r[1:]), "its rows")
    t.equal(sum(1 for _ in open("ort_resnet18/run.py")) < 45, True, "a short runner")


RECORD = """
import csv, json, sys
import numpy as np, onnxruntime as ort
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
options.add_session_config_entry("session.collect_node_memory_stats_to_file", "recorded.csv")
s = ort.InferenceSession("annotated/model.onnx", options, providers=["CPUExecutionProvider"])
s.run(None, {s.get_inputs()[0].name: np.zeros((1, 3, 64, 64), np.float32)})
del s
for file in ("node_memory_stats.csv", "broken.csv"):
    options = ort.SessionOptions()
    for key, text in json.load(open("ort_resnet18/settings.json")).items():
        options.add_session_config_entry(key, text.replace("node_memory_stats.csv", file))
    try:
        ort.InferenceSession("annotated/model.onnx", options, providers=["CPUExecutionProvider"])
        print(file)
    except Exception as e:
        assert "Invalid line" in str(e) or "resource_accountant" in str(e), e
"""


def test_ort_memory():
    """ONNX Runtime looks nodes up by a name of its own, which annotate.py computes."""
    os.mkdir("annotated")
    cleave("export", "resnet18", "--input-shape", "1,3,64,64", "-o", "plain.onnx")
    subprocess.run([sys.executable, "ort_resnet18/annotate.py", "plain.onnx", "annotated/model.onnx"], check=True)
    pathlib.Path("annotated/broken.csv").write_text("conv1,1\n")
    r = subprocess.run([sys.executable, "-c", RECORD], capture_output=True, text=True)
    t.equal((r.returncode, r.stdout), (0, "node_memory_stats.csv\n"), f"the file loads: {r.stderr[-300:]}")
    ours, theirs = ({x[0] for x in csv.reader(open(f"annotated/{f}.csv"))} for f in ("node_memory_stats", "recorded"))
    t.equal({x.split("_")[0] for x in ours - theirs}, {"fc"}, "all but the function that is unfolded")
    t.check(len(ours & theirs) > 65, f"{len(ours & theirs)} names are ONNX Runtime's")
    words = json.load(open("ort_resnet18/settings.json"))["session.layer_assignment_settings"]
    t.equal(words, "gpu:0(stage0); gpu:1(stage1); gpu:2(stage2)", "devices as ONNX Runtime calls them")


# Triton: the messages of its documentation that these files use ---
FIELDS = {
    "ModelConfig": [("name", 1, "s", 0), ("platform", 2, "s", 0), ("max_batch_size", 4, "i", 0),
                    ("input", 5, "Input", 1), ("output", 6, "Output", 1),
                    ("instance_group", 7, "Group", 1), ("ensemble_scheduling", 15, "Ensemble", 0)],
    "Input": [("name", 1, "s", 0), ("data_type", 2, "Type", 0), ("dims", 4, "i", 1)],
    "Output": [("name", 1, "s", 0), ("data_type", 2, "Type", 0), ("dims", 3, "i", 1)],
    "Group": [("kind", 4, "Kind", 0), ("count", 2, "i", 0), ("gpus", 3, "i", 1)],
    "Ensemble": [("step", 1, "Step", 1)],
    "Step": [("model_name", 1, "s", 0), ("model_version", 2, "i", 0), ("input_map", 3, "Pair", 1),
             ("output_map", 4, "Pair", 1)],
    "Pair": [("key", 1, "s", 0), ("value", 2, "s", 0)]}
# DataType, ModelInstanceGroup.Kind: in the order of model_config.proto
ENUMS = {"Type": ["TYPE_" + x for x in ("INVALID", "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32",
                                        "INT64", "FP16", "FP32", "FP64", "STRING", "BF16")],
         "Kind": ["KIND_AUTO", "KIND_GPU", "KIND_CPU", "KIND_MODEL"]}


def test_triton():
    f = descriptor_pb2.FileDescriptorProto(name="triton.proto", package="t", syntax="proto3")
    for name, words in ENUMS.items():
        e = f.enum_type.add(name=name)
        for i, w in enumerate(words):
            e.value.add(name=w, number=i)
    D = descriptor_pb2.FieldDescriptorProto
    for name, fields in FIELDS.items():
        m = f.message_type.add(name=name)
        for field, number, kind, repeated in fields:
            x = m.field.add(name=field, number=number, label=D.LABEL_REPEATED if repeated else D.LABEL_OPTIONAL)
            x.type = {"s": D.TYPE_STRING, "i": D.TYPE_INT64}.get(
                kind, D.TYPE_ENUM if kind in ENUMS else D.TYPE_MESSAGE)
            if kind not in "si":
                x.type_name = f".t.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(f)
    Config = message_factory.GetMessageClass(pool.FindMessageTypeByName("t.ModelConfig"))
    cleave("partition", "resnet18", "-s", "pipeline", "--stages", "3", "--for", "triton", "-o", "repo")
    made, taken = set(), set()
    for d in sorted(os.listdir("repo")):
        if os.path.isdir(f"repo/{d}"):
            c = text_format.Parse(open(f"repo/{d}/config.pbtxt").read(), Config())
            t.equal(c.name, d, "a model is called like its folder")
            t.check(c.platform == "ensemble" or os.path.exists(f"repo/{d}/1/model.onnx"), d)
            for s in c.ensemble_scheduling.step:
                taken |= {p.value for p in s.input_map} - made
                made |= {p.value for p in s.output_map}
            if c.platform == "ensemble":
                t.equal(taken, {i.name for i in c.input}, "steps read inputs, or what ran before")
                t.check({o.name for o in c.output} <= made, "outputs are made")


def test_words():
    cleave("partition", "vit_b_32", "-s", "pipeline", "--stages", "3", "--for", "vllm", "-o", "vllm")
    # As `env $(cat vllm.env)` gives it, and as vLLM reads it: numbers between commas.
    seen = subprocess.run(["sh", "-c", "env $(cat vllm/vllm.env) printenv VLLM_PP_LAYER_PARTITION"],
                          capture_output=True, text=True, check=True).stdout
    t.equal([int(n) for n in seen.split(",")], [4, 4, 4], "vLLM's variable")
    t.check("--pipeline-parallel-size 3`" in open("vllm/README.md").read(), "how to start vLLM with it")
    cleave("partition", "vit_b_32", "-s", "pipeline", "--stages", "3", "--for", "llama.cpp", "-o", "l.cpp")
    t.equal(open("l.cpp/llama.args").read(), "-ngl 13 --tensor-split 4,4,4\n", "llama.cpp's flags")
    cleave("partition", "vit_b_32", "-s", "pipeline", "--stages", "2", "--for", "hf", "-o", "hf")
    device = json.load(open("hf/device_map.json"))
    t.equal({device[f"encoder.layers.encoder_layer_{i}"] for i in range(12)}, {0, 1}, "whole layers")
    cleave("partition", "resnet18", "-s", "pipeline", "--stages", "2", "--for", "genai", "-o", "genai")
    stages = json.load(open("genai/genai_config.json"))["model"]["decoder"]["pipeline"][0]
    t.equal(sorted(next(iter(stages.values()))), ["filename", "inputs", "outputs", "session_options"],
            "a stage of genai")


def test_torch():
    try:
        sys.path.insert(0, str(root / "tests" / "gen"))
        from tv import torch, torchvision
        device = json.load(open("hf/device_map.json"))
        names = {n for n, _ in torchvision.models.vit_b_32().named_parameters()}
        t.check(all(any(n == k or n.startswith(k + ".") for k in device) for n in names),
                f"weights without a device: {[n for n in names if not any(n == k or n.startswith(k + '.') for k in device)]}")
        import torch.distributed.pipelining
    except ImportError as why:
        t.skip(f"torch's pipelining: {why}")
    else:
        pathlib.Path("made.py").write_text(
            f"import sys\nsys.path.insert(0, {str(root / 'tests' / 'gen')!r})\n"
            "from tv import torchvision\n"
            "resnet18, vit_b_32 = torchvision.models.resnet18, torchvision.models.vit_b_32\n")
        for model, n in [("resnet18", 3), ("vit_b_32", 2), ("resnet18", 4)]:
            cleave("partition", model, "-s", "pipeline", "--stages", str(n), "--for", "torch", "-o", f"torch_{model}_{n}")
            r = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(n),
                                f"--master-port={29500 + os.getpid() % 1000}",
                                f"torch_{model}_{n}/torch_pipeline.py", "--model", f"made:{model}"],
                               capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.getcwd()})
            t.check(f"{n} stages, largest difference" in r.stdout, f"{model}: {r.stderr[-500:]}")


t.main(globals())
