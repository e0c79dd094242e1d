"""Captures a population of models and compares each with torch.

    population.py timm|transformers|torchvision [--methods fx,record] [--only TEXT]

One model of every timm module, one small config of every transformers model
class that builds from its config alone, or all of torchvision, with random
weights. A line per model: method, parameters and MACs beside torch's
(sum(p.numel()), half of FlopCounterMode), operators that nobody knows. The end
is the table of what differs. Needs timm or transformers beside torch."""
import argparse
import collections
import sys
import time
import warnings

import torch
from torch.utils.flop_counter import FlopCounterMode
from tv import torchvision

from cleave.torch import METHODS, capture

SMALL = ("atto", "nano", "tiny", "xxs", "xs", "small", "_s", "b0", "18", "26")


def counted(model, inputs):
    """MACs by torch, with attention as its two products."""
    torch.backends.mha.set_fastpath_enabled(False)
    model.requires_grad_(False)    # FlopCounterMode follows gradients otherwise
    args, kwargs = ((), inputs) if isinstance(inputs, dict) else (inputs, {})
    with torch.no_grad(), FlopCounterMode(display=False) as counter, \
            torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        model(*args, **kwargs)
    return counter.get_total_flops() // 2


def timm_models():
    import timm
    for module in timm.list_modules():
        names = timm.list_models(module=module)
        if not names:
            continue
        small = [n for s in SMALL for n in names if s in n]
        name = (small or names)[0]

        def make(name=name):
            model = timm.create_model(name, pretrained=False).eval()
            return model, (torch.rand(1, *model.pretrained_cfg["input_size"]),)
        yield f"timm:{module}/{name}", make


# Sizes that make a config small; those that a config lacks are left out.
LITTLE = dict(
    hidden_size=32, d_model=32, n_embd=32, embed_dim=32, dim=32, emb_dim=32,
    num_hidden_layers=2, num_layers=2, n_layer=2, n_layers=2,
    encoder_layers=2, decoder_layers=2, num_attention_heads=4, n_head=4,
    n_heads=4, num_heads=4, num_key_value_heads=4, encoder_attention_heads=4,
    decoder_attention_heads=4, intermediate_size=64, ffn_dim=64, d_ff=64,
    encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=99, head_dim=8,
    d_kv=8, num_experts=4, num_local_experts=4, n_routed_experts=4,
    moe_intermediate_size=16)


def transformers_models():
    import transformers
    from transformers.models.auto import modeling_auto as auto
    for kind, cls in auto.MODEL_MAPPING_NAMES.items():
        cls = cls[0] if isinstance(cls, (tuple, list)) else cls

        def make(kind=kind, cls=cls):
            config = transformers.AutoConfig.for_model(kind)
            for part in (config, *(v for v in vars(config).values() if
                                   isinstance(v, transformers.PretrainedConfig))):
                for key, value in LITTLE.items():
                    if isinstance(getattr(part, key, None), int):
                        setattr(part, key, value)
            model = getattr(transformers, cls)(config).eval()
            name = model.main_input_name
            if name == "input_ids":
                return model, {"input_ids": torch.randint(0, 90, (1, 12))}
            return model, {name: model.dummy_inputs[name]}
        yield f"transformers:{kind}", make


def torchvision_models():
    for name in torchvision.models.list_models():
        if name.startswith("quantized"):
            continue

        def make(name=name):
            model = torchvision.models.get_model(name, weights=None,
                                                 **({"weights_backbone": None}
                                                    if "net50_" in name or
                                                    "rcnn" in name else {}))
            size = (1, 3, 16, 224, 224) if name in ("s3d",) or "3d" in name or \
                "mvit" in name or "mc3" in name or "plus1d" in name \
                else (1, 3, 224, 224)
            return model.eval(), (torch.rand(size),)
        yield f"torchvision:{name}", make


POPULATIONS = {"timm": timm_models, "transformers": transformers_models,
               "torchvision": torchvision_models}


def one(name, make, methods, found):
    try:
        model, inputs = make()
        macs = counted(model, inputs)
    except Exception as e:    # not ours to judge: it does not run as it stands
        found["does not run"].append(f"{name}: {str(e).splitlines()[:1]}")
        return
    start = time.time()
    try:
        got = capture(model, inputs, methods=methods)
    except Exception as e:
        found["not captured"].append(f"{name}: {e}")
        print(name, "NOT CAPTURED", e, flush=True)
        return
    p = got.graph.profile()
    params = sum(q.numel() for q in model.parameters())
    unknown = collections.Counter(got.unknown)
    found["captured"].append(name)
    for what, ours, theirs in (("params", p["total_params"], params),
                               ("MACs", p["total_macs"], macs)):
        if ours != theirs:
            found[what].append(f"{name}: {ours} {theirs} {got.method}")
    if unknown:
        found["unknown"].append(f"{name}: {dict(unknown)}")
    print(name, got.method, p["total_params"] == params, p["total_macs"], macs,
          dict(unknown), f"{time.time() - start:.1f}s", flush=True)


def run():
    options = argparse.ArgumentParser()
    options.add_argument("population", choices=POPULATIONS)
    options.add_argument("--methods", default=",".join(METHODS))
    options.add_argument("--only", default="")
    options = options.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    found = collections.defaultdict(list)
    for name, make in POPULATIONS[options.population]():
        if options.only in name:
            one(name, make, tuple(options.methods.split(",")), found)
    print()
    for what, names in found.items():
        print(what, len(names))
        if what != "captured":
            print("   ", "\n    ".join(names))


if __name__ == "__main__":
    sys.exit(run())
