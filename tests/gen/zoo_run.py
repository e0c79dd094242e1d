#!/usr/bin/env python3
"""Runs models of the zoo on weights of their live counterparts.

    tests/gen/zoo_run.py [--cleave PATH] [NAME...]

Each model is exported as ONNX by `cleave export`, its weights are replaced by
those of the live model of the package that the name comes from (random, from a
seed; a weight without counterpart is an error), and `cleave run` computes all
outputs from drawn inputs. The largest difference from torch, relative to the
largest output, is printed; one above 1e-4 is a failure. Without names,
networks of all families.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper

import zoo_truth
from tv import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = """
alexnet vgg11 squeezenet1_0 squeezenet1_1 densenet121 googlenet inception_v3
mobilenet_v2 mobilenet_v3_small mobilenet_v3_large mnasnet0_5 mnasnet1_0
shufflenet_v2_x0_5 shufflenet_v2_x1_0 resnet18 resnet34 resnet50
resnext50_32x4d regnet_x_400mf regnet_y_400mf regnet_y_800mf efficientnet_b0
efficientnet_b1 efficientnet_v2_s convnext_tiny swin_t swin_v2_t vit_b_32
maxvit_t deeplabv3_mobilenet_v3_large lraspp_mobilenet_v3_large fcn_resnet50
r3d_18 mc3_18 r2plus1d_18 s3d swin3d_t raft_small
resnet18d resnet26d resnet50d resnetrs50 efficientnet_lite0 efficientnet_lite1
ghostnet_050 ghostnet_100 ese_vovnet19b_slim_dw ese_vovnet19b_dw levit_128s
levit_128 repvgg_a0 poolformer_s12 mixer_s32_224 convmixer_1024_20_ks9_p14
bert-tiny bert-mini all-MiniLM-L6-v2 distilroberta-base
distilbert-base-uncased albert-base-v2 electra-small-discriminator
vit-base-patch32-384 deit-tiny-patch16-224 deit-tiny-distilled-patch16-224
dinov2-small t5-small bart-base whisper-tiny wav2vec2-base hubert-base-ls960
clip-vit-base-patch32 siglip-base-patch16-224 beit-base-patch16-224
convnextv2-atto-1k-224 segformer-b0-finetuned-ade-512-512 deberta-v3-xsmall
cait_xxs24_224 mobileone_s0 mobilevit_xxs mobilevitv2_050 nf_regnet_b0
nf_ecaresnet26 dm_nfnet_f0 hrnet_w18_small eva02_tiny_patch14_336
eva02_base_patch16_clip_224 eva_large_patch14_196 fastvit_t8 fastvit_sa12
fastvit_mci3 efficientformer_l1 efficientformerv2_s0 tiny_vit_5m_224
xcit_nano_12_p16_224 xcit_tiny_12_p8_224 coatnet_0_224
coatnet_rmlp_nano_rw_224 coatnet_bn_0_rw_224 coatnext_nano_rw_224
DiT-S-8-256 hifigan_v1 hifigan_v3 speecht5_hifigan
stable-diffusion-v1-5-unet:width=32
dlrm-criteo-kaggle:max-ind-range=1000 mlperf-tiny-kws mlperf-tiny-vww
mlperf-tiny-ic mlperf-tiny-ad
detr-resnet-50 yolos-small swin-tiny-patch4-window7-224
sam-vit-base deformable-detr-single-scale deformable-detr-with-box-refine
""".split()

# Heads of training, and what a prompt of points alone leaves out in SAM.
UNUSED = ("aux", "prompt_encoder.mask_embed", "prompt_encoder.point_embed.2",
          "prompt_encoder.point_embed.3")


def draw(model):
    """Random weights near those of a trained network."""
    generator = torch.Generator().manual_seed(1)
    model = model.to_empty(device="cpu").eval()
    getattr(model, "tie_weights", lambda: None)()
    names = model.state_dict()
    for name, value in names.items():
        if not value.is_floating_point():
            continue
        if name.endswith("running_var"):
            value.uniform_(0.5, 1.5, generator=generator)
        elif value.dim() < 2:
            value.normal_(0, 0.1, generator=generator)
            value += float("norm" in name.lower() or "bn" in name)
        else:
            value.normal_(0, min(0.1, value[0].numel() ** -0.5),
                          generator=generator)
        if name.endswith("Attention.q.weight"):  # T5 keeps its scale of
            value /= 8                           # attention, 64 ** -0.5, here
        if name.endswith("attn.qkv.bias") and name[:-8] + "logit_scale" in names:
            value.chunk(3)[1].zero_()  # Swin V2 has no bias of keys
    return model


def buffers(live, fresh):
    """Buffers that no file keeps, such as position ids, and whole numbers, as a
    build on the CPU has them."""
    for (name, to), (_, of) in zip(live.named_buffers(), fresh.named_buffers()):
        if name not in live.state_dict() or not to.is_floating_point():
            to.copy_(of)


def build(cleave, row):
    shapes = zoo_truth.inputs(cleave, row["name"])
    meta, args = zoo_truth.HOMES[row["source"]](row["name"], shapes)
    live = draw(meta)
    device = torch.device
    torch.device = lambda kind: device("cpu" if kind == "meta" else kind)
    try:
        fresh, _ = zoo_truth.HOMES[row["source"]](row["name"], shapes)
    finally:
        torch.device = device
    buffers(live, fresh)
    named = args.items() if isinstance(args, dict) else enumerate(args)
    generator = torch.Generator().manual_seed(2)
    given = {}
    for name, value in named:
        few = name == "input_labels"  # of points: 0 or 1
        given[name] = (torch.randn(value.shape, generator=generator)
                       if value.is_floating_point() else
                       torch.randint(0 if few else 3, 2 if few else 1000,
                                     value.shape, generator=generator))
        if name in getattr(live, "most", {}):  # rows of its tables
            given[name] %= live.most[name]
    return live, given


def results(live, given):
    with torch.no_grad():
        out = live(*given.values()) if 0 in given else live(**given)
    out = [out] if isinstance(out, torch.Tensor) else [
        v for v in (out.values() if hasattr(out, "values") else out)
        if isinstance(v, torch.Tensor)]
    return [v.numpy() for v in out]


def compare(cleave, row, folder):
    live, given = build(cleave, row)
    want = results(live, given)
    path, ours = folder / "model.onnx", folder / "own.onnx"
    subprocess.check_call([cleave, "export", row["name"], "--weights", "zeros",
                           "-q", "-o", str(ours)])
    model = onnx.load(str(ours))
    state, seen = live.state_dict(), set()
    own = {id(v): n for n, v in reversed(live.state_dict(
        keep_vars=True).items())}  # tied weights have several names
    state = {n: state[n] for n in own.values()}
    for t in model.graph.initializer:
        if t.name in state:
            value = state[t.name].numpy()
            assert list(value.shape) == list(t.dims), t.name
            t.CopyFrom(numpy_helper.from_array(value, t.name))
            seen.add(t.name)
    left = {n for n in state if not n.endswith(("num_batches_tracked",
                                                "mask_token",
                                                "masked_spec_embed"))
            and not n.lower().startswith(UNUSED)} - seen
    assert not left, left
    large = sum(v.numel() for v in state.values()) > 1 << 28  # for one file
    onnx.save(model, str(path), save_as_external_data=large, location="weights")
    command = [cleave, "run", str(path), "-q", "-o", str(folder / "out.npz")]
    for x, value in zip(model.graph.input, given.values()):
        numpy.save(folder / f"{x.name}.npy", value.numpy())
        command += ["-i", f"{x.name}={folder / x.name}.npy"]
    subprocess.check_call(command, stdout=subprocess.DEVNULL)
    with numpy.load(folder / "out.npz") as got:
        names = [o.name for o in model.graph.output]
        assert len(names) == len(want), (names, len(want))
        return max(float(numpy.abs(got[n] - w).max() / numpy.abs(w).max())
                   for n, w in zip(names, want))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", default=ROOT / "build/cli/cleave")
    parser.add_argument("names", nargs="*", default=KINDS)
    options = parser.parse_args()
    rows = {m["name"]: m for m in json.loads(subprocess.check_output(
        [options.cleave, "models", "--json"]))["models"]}
    failed = 0
    for name in options.names:
        row = dict(rows[name.split(":")[0]], name=name)
        with tempfile.TemporaryDirectory() as folder:
            error = compare(options.cleave, row, pathlib.Path(folder))
        failed += not error < 1e-4
        print(f"{name} {error:.2g}{'' if error < 1e-4 else ' FAILED'}",
              flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
