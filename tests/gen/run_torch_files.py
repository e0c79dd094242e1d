"""run_torch_files.py - files of PyTorch, run by the command and by torch.

    $(tools/pyenv --gen) tests/gen/run_torch_files.py [--kind KIND] [NAME ...]

Each network is made with random weights (nothing is downloaded) and written as
KIND: `pt2` (torch.export.save), `traced` and `scripted` (torch.jit.save), or
`saved` (torch.save of a model of ultralytics, as its checkpoints hold it). The
command reads the file, counts it and runs it on an input that is drawn; torch
counts (parameters; multiply-accumulates by its own counter) and runs the live
module. One line of Markdown per file: whether both counts are torch's, and the
largest difference of any output over the largest magnitude of that output. The
exit is 1 when one is above 1e-4, refused or counted differently.
"""
import argparse
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("CLEAVE", str(ROOT / "build" / "cli" / "cleave"))
LIMIT = 1e-4
SECONDS = 300
# name, size of the image
VISION = [("resnet18", 224), ("mobilenet_v2", 224), ("mobilenet_v3_small", 224), ("squeezenet1_1", 224),
          ("shufflenet_v2_x0_5", 224), ("mnasnet0_5", 224), ("efficientnet_b0", 224), ("densenet121", 224),
          ("regnet_y_400mf", 224), ("googlenet", 224), ("inception_v3", 299), ("convnext_tiny", 224),
          ("vit_b_32", 224), ("swin_t", 224), ("swin_v2_t", 256), ("maxvit_t", 224), ("alexnet", 224),
          ("lraspp_mobilenet_v3_large", 224), ("deeplabv3_mobilenet_v3_large", 224), ("r3d_18", 0)]
TIMM = [("mobilevit_xxs", 256), ("ghostnet_100", 224), ("levit_128s", 224), ("pit_ti_224", 224), ("coat_lite_tiny", 224),
        ("edgenext_xx_small", 256), ("repvgg_a0", 224), ("xcit_nano_12_p16_224", 224)]
WORDS = ["bert", "gpt2", "distilbert", "t5", "llama", "albert"]
YOLO = """yolov8n yolov8n-seg yolov8n-pose yolov8n-obb yolov8n-cls yolo11n yolo11n-seg yolo12n yolov5n yolov9t
    yolov10n yolov3-tiny yolov6n yolov8-ghost yolo11n-obb yolo11n-cls yolo11n-pose rtdetr-l""".split()
DENSE = ("lraspp", "deeplabv3", "fcn")


def vision(name, size):
    import torch
    from tv import torchvision
    options = {"weights_backbone": None} if name.startswith(DENSE) else {}
    if name in ("googlenet", "inception_v3"):
        options.update(init_weights=False, aux_logits=name == "inception_v3")
    shape = (1, 3, size, size) if size else (1, 3, 8, 64, 64)
    module = torchvision.models
    find = getattr(module, name, None) or getattr(module.segmentation, name, None) or getattr(module.video, name)
    return find(weights=None, **options), (torch.randn(shape),)


def timm_net(name, size):
    import timm
    import torch
    return timm.create_model(name, pretrained=False), (torch.randn(1, 3, size, size),)


def words(name):
    import torch
    from transformers import AutoConfig, AutoModel
    config = AutoConfig.for_model(name)
    for key in ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers"):
        if hasattr(config, key):
            setattr(config, key, 2)
    if name == "llama":
        config.hidden_size, config.intermediate_size, config.num_attention_heads = 256, 512, 8
        config.num_key_value_heads, config.head_dim = 4, 32
    config.vocab_size, config.use_cache = 500, False
    config.pad_token_id = config.bos_token_id = config.eos_token_id = 1

    class First(torch.nn.Module):
        """By position, and the last hidden state alone."""

        def __init__(self):
            super().__init__()
            self.model = AutoModel.from_config(config)

        def forward(self, x):
            if name == "t5":
                return self.model(input_ids=x, decoder_input_ids=x)[0]
            return self.model(x)[0]
    return First(), (torch.randint(2, 500, (1, 24)),)


def yolo(name, export=False):
    """With `export`, the head gives one tensor, as for files of other formats."""
    import torch
    from ultralytics.nn import tasks
    kinds = {"-seg": tasks.SegmentationModel, "-pose": tasks.PoseModel, "-obb": tasks.OBBModel,
             "-cls": tasks.ClassificationModel, "rtdetr": tasks.RTDETRDetectionModel}
    kind = next((c for k, c in kinds.items() if k in name), tasks.DetectionModel)
    size = 224 if "-cls" in name else 640 if "rtdetr" in name else 320
    model = kind(name + ".yaml", verbose=False)
    for m in model.modules():
        if export and hasattr(m, "export"):
            m.export = True
    return model, (torch.rand(1, 3, size, size),)


def networks(kind):
    if kind == "saved":
        return [(n, lambda n=n: yolo(n)) for n in YOLO]
    nets = [(n, lambda n=n, s=s: vision(n, s)) for n, s in VISION]
    nets += [(f"timm:{n}", lambda n=n, s=s: timm_net(n, s)) for n, s in TIMM]
    if kind != "scripted":
        nets += [(f"transformers:{n}", lambda n=n: words(n)) for n in WORDS]
        nets += [(f"{n}.yaml", lambda n=n: yolo(n, True)) for n in ("yolov8n", "yolo11n")]
    return nets


def vary(model):
    """Statistics and scales as training leaves them: no zeros, and what a network
    multiplies by after each block (ConvNeXt: 1e-6) is made to matter."""
    import torch
    with torch.no_grad():
        for name, t in list(model.named_parameters()) + list(model.named_buffers()):
            if not t.is_floating_point():
                continue
            if name.endswith("running_var"):
                t.uniform_(0.5, 1.5)
            elif name.endswith("running_mean"):
                t.normal_(0, 0.1)
            elif name.endswith(("layer_scale", ".gamma")):
                t.uniform_(0.1, 0.3)
            elif not t.any():
                t.normal_(0, 0.05)
    return model.eval().requires_grad_(False)


def leaves(value):
    """Every tensor of a result, in the order that torch flattens it."""
    import torch
    return [t for t in torch.utils._pytree.tree_leaves(value) if isinstance(t, torch.Tensor)]


def write(kind, model, inputs, path):
    import torch
    if kind == "pt2":
        torch.export.save(torch.export.export(model, inputs), path)
    elif kind == "saved":
        torch.save({"model": model, "train_args": {"imgsz": inputs[0].shape[-1]}, "epoch": -1}, path)
    else:
        script = (torch.jit.trace(model, inputs, check_trace=False, strict=False) if kind == "traced"
                  else torch.jit.script(model))
        torch.jit.save(script, path)


def command(*args):
    run = subprocess.run([COMMAND, *args], capture_output=True, text=True, timeout=SECONDS)
    if run.returncode:
        raise RuntimeError(run.stderr.strip().splitlines()[-1])
    return run.stdout


def compare(kind, want, folder):
    """The largest relative difference of the outputs that the file gives."""
    got = [np.load(p) for p in sorted(pathlib.Path(folder).glob("*.npy"), key=os.path.getmtime)]
    if kind == "saved":
        want = want[:1]
        got = [g for g in got if g.shape == tuple(want[0].shape)]
    if len(got) > len(want) or not got:
        raise RuntimeError(f"{len(got)} outputs, torch has {len(want)}")
    worst = 0.0
    for w in want:
        w = w.numpy()
        same = [g for g in got if g.shape == w.shape]
        if not same:
            if len(got) == len(want):
                raise RuntimeError(f"no output of shape {w.shape}: {[g.shape for g in got]}")
            continue
        worst = max(worst, min(distance(g, w) for g in same))
    return worst


def distance(g, w):
    """Over the largest magnitude. Chosen predictions (300 rows of RT-DETR) whose
    scores differ in the last digit stand in any order."""
    if w.shape[-2:] == (300, 6):
        apart = np.abs(g[0][:, None] - w[0][None]).max(-1)
        return float(max(apart.min(0).max(), apart.min(1).max()) / np.abs(w).max())
    return float(np.abs(g - w).max() / (np.abs(w).max() or 1))


def measure(kind, name, make):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode
    torch.manual_seed(7)
    model, inputs = make()
    vary(model)
    torch.backends.mha.set_fastpath_enabled(False)  # the counter does not see it
    with tempfile.TemporaryDirectory() as folder:
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
            want = leaves(model(*inputs))
        path = os.path.join(folder, "net." + ("pt2" if kind == "pt2" else "pt"))
        write(kind, model, inputs, path)
        shape = [] if kind == "pt2" else ["--input-shape", ",".join(map(str, inputs[0].shape))]
        got = json.loads(command("profile", path, "--json", *shape))
        np.save(f"{folder}/x.npy", inputs[0].numpy())
        command("run", path, "--input", f"{folder}/x.npy", "--output", f"{folder}/out", "--quiet", *shape)
        params = sum(p.numel() for p in model.parameters())
        counts = []
        if got["total_params"] != params:
            counts.append(f"params {got['total_params']} of {params}")
        if got["total_macs"] != counter.get_total_flops() // 2:
            counts.append(f"MACs {got['total_macs']} of {counter.get_total_flops() // 2}")
        if got["coverage"]["unknown_ops"]:
            counts.append("unknown " + " ".join(sorted(set(got["coverage"]["unknown_ops"]))))
        return ", ".join(counts) or "as torch", compare(kind, want, f"{folder}/out")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--kind", default="pt2", choices=["pt2", "traced", "scripted", "saved"])
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    import tv  # noqa: F401: torchvision, before others look for it
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    print("| network | counts | difference |\n|---|---|---:|")
    bad = 0
    for name, make in networks(a.kind):
        if a.names and name not in a.names:
            continue
        try:
            counts, worst = measure(a.kind, name, make)
            bad += counts != "as torch" or worst > LIMIT
            print(f"| {name} | {counts} | {worst:.1e} |", flush=True)
        except Exception as e:
            bad += 1
            print(f"| {name} | {(str(e).strip().splitlines() or [repr(e)])[-1][:200]} | |", flush=True)
    return bad > 0


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    sys.exit(main())
