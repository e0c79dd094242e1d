"""Captures a population of models and compares each with torch.

    population.py timm|transformers|torchvision|ultralytics -o FILE.jsonl
                  [--half tune|held] [--only TEXT] [--again TEXT] [--part I/N]
    population.py --report FILE.jsonl ...

One model of every timm module, one small config of every transformers model
class that builds from its config alone, all of torchvision, or every yaml of
ultralytics, with random weights and by the default path of capture(). Each runs
in a process of its own, with limits on time and memory, forked from one that has
everything imported; a line of JSON says how it ended: the method, parameters and
MACs beside torch's (sum(p.numel()), half of FlopCounterMode), operators that
nobody knows, and under "record" the same by methods=("record",). Models that
FILE has already are left out, unless --again names them. A hash of its
family's name puts a model in one of two halves, one to look at while cleave is changed and one to report on, and says in which order
they come: a sweep that is broken off is a random part."""
import argparse
import collections
import copy
import glob
import hashlib
import inspect
import json
import os
import re
import resource
import signal
import statistics
import sys
import time
import warnings

CLOCK = 5     # seconds of the clock for one of the processor: others run too
SIDE = 320    # of images for YOLO, which takes any multiple of 32
SMALL = ("atto", "nano", "tiny", "xxs", "xs", "small", "_s", "b0", "18", "26")


def half_of(family):
    return ("tune", "held")[hashlib.sha256(family.encode()).digest()[0] & 1]


def by_hash(one):
    """The order of models: that of a hash of the family."""
    return hashlib.sha256(one[1].encode()).digest()[::-1]


DATA = False    # whether models must have memory: they are run, not only counted


def without_memory(make):
    """make() on the meta device, where costs are the same and nothing is
    computed; with memory where the model is not made or does not run so."""
    def made():
        import torch
        if DATA:
            return make()
        try:
            with torch.device("meta"):
                model, inputs = make()
            with torch.no_grad():
                copy.deepcopy(model)(*inputs)
            return model, inputs
        except Exception:
            return make()
    return made


# -- timm, torchvision, ultralytics: name, family, function that makes it ----

def timm_models():
    import timm
    import torch
    for module in timm.list_modules():
        names = timm.list_models(module=module)
        if not names:
            continue
        small = [n for s in SMALL for n in names if s in n]
        name = (small or names)[0]

        def make(name=name):
            model = timm.create_model(name, pretrained=False).eval()
            return model, (torch.rand(1, *model.pretrained_cfg["input_size"]),)
        yield f"timm:{module}/{name}", module, without_memory(make)


def torchvision_models():
    from tv import torchvision
    from cleave import live
    for name in torchvision.models.list_models():
        def make(name=name):
            model, inputs = live.make(f"torchvision:{name}", weights=True)
            return model.eval(), inputs if isinstance(inputs, tuple) \
                else (inputs,)
        yield f"torchvision:{name}", name, without_memory(make)


def ultralytics_models():
    import torch
    import ultralytics
    from ultralytics.nn import tasks
    root = os.path.dirname(ultralytics.__file__) + "/cfg/models/"
    for path in sorted(glob.glob(root + "**/*.yaml", recursive=True)):
        def make(path=path):
            task = tasks.guess_model_task(tasks.yaml_model_load(path))
            kind = {"detect": "DetectionModel", "segment": "SegmentationModel",
                    "classify": "ClassificationModel", "pose": "PoseModel",
                    "obb": "OBBModel"}.get(task, "DetectionModel")
            if "rtdetr" in path:
                kind = "RTDETRDetectionModel"
            if "world" in path:
                kind = "WorldModel"
            if "yoloe" in path:
                kind = "YOLOESegModel" if "seg" in path else "YOLOEModel"
            side = 224 if task == "classify" else SIDE
            model = getattr(tasks, kind)(path, verbose=False).eval()
            return model, (torch.rand(1, 3, side, side),)
        name = os.path.basename(path)
        yield f"ultralytics:{name}", name, without_memory(make)


# -- transformers ------------------------------------------------------------

LARGEST = 4e8    # parameters of what is made with memory
DEEP = re.compile(r"(^|_)(layers?|depth)$")    # numbers of layers
KEPT = 2         # of which so many are kept
COUNTS = dict(vocab_size=199, num_experts=4, num_local_experts=4,
              n_routed_experts=4, num_experts_per_tok=2, moe_num_experts=4)
# Sizes that make a config small; those that a config lacks are left out.
WIDTHS = dict(
    hidden_size=32, d_model=32, n_embd=32, embed_dim=32, dim=32, emb_dim=32,
    num_attention_heads=4, n_head=4, n_heads=4, num_heads=4,
    num_key_value_heads=4, encoder_attention_heads=4, decoder_attention_heads=4,
    intermediate_size=64, ffn_dim=64, d_ff=64, encoder_ffn_dim=64,
    decoder_ffn_dim=64, head_dim=8, d_kv=8, moe_intermediate_size=16,
    shared_expert_intermediate_size=16, projection_dim=32)


def parts_of(config, seen=None):
    """A config and those inside it."""
    from transformers import PretrainedConfig
    seen = seen if seen is not None else set()
    if isinstance(config, PretrainedConfig) and id(config) not in seen:
        seen.add(id(config))
        yield config
        for value in list(vars(config).values()):
            yield from parts_of(value, seen)


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool)


def shallow(config):
    """Fewer layers, one at least of every kind that the config lists."""
    for part in parts_of(config):
        kinds = getattr(part, "layer_types", None)
        kept = max(KEPT, len(set(kinds))) if isinstance(kinds, list) else KEPT
        deep = {k: v for k, v in vars(part).items()
                if DEEP.search(k) and is_count(v) and v > kept}
        for key, value in list(vars(part).items()):
            if key == "layer_types" and deep and isinstance(value, list):
                first = sorted({kind: i for i, kind in reversed(
                    list(enumerate(value)))}.values())
                rest = [i for i in range(len(value)) if i not in first]
                setattr(part, key, [value[i] for i in sorted(
                    (first + rest)[:kept])])
            elif isinstance(value, list) and len(value) in deep.values():
                setattr(part, key, value[:kept])
        for key in deep:
            setattr(part, key, kept)
    return with_sections(config)


def with_sections(config):
    """Positions of time, height and width share the numbers of a head: three
    sections that fit its width, where the config's own do not."""
    for part in parts_of(config):
        rope = getattr(part, "rope_parameters", None)
        heads = getattr(part, "num_attention_heads", None)
        if not isinstance(rope, dict) or "mrope_section" not in rope or not heads:
            continue
        wide = getattr(part, "head_dim", None) or part.hidden_size // heads
        half = int(wide * (rope.get("partial_rotary_factor") or 1)) // 2
        if sum(rope["mrope_section"]) != half:
            rope["mrope_section"] = [half - 2 * (half // 3), half // 3, half // 3]
    return config


def shrink(config, sizes):
    for part in parts_of(shallow(config)):
        for key, value in sizes.items():
            had = getattr(part, key, None)
            if is_count(had) and had > value:
                setattr(part, key, value)
        for key in ("pad_token_id", "bos_token_id", "eos_token_id"):
            token = getattr(part, key, None)
            if isinstance(token, int) and token >= sizes.get("vocab_size", 1e9):
                setattr(part, key, 1)
    return with_sections(config)


def tries_of(kind):
    """Configs and devices, until one fits: without memory, where widths cost
    nothing, then with it."""
    import transformers
    make = lambda: transformers.AutoConfig.for_model(kind)
    yield "meta", lambda: shallow(make())
    yield "cpu", lambda: shrink(make(), {**COUNTS, **WIDTHS})
    yield "cpu", lambda: shrink(make(), COUNTS)
    yield "cpu", lambda: shallow(make())
    yield "meta", make
    yield "cpu", make


def first_of(config, names, default):
    """The first of these numbers that the config or a part of it has."""
    for part in parts_of(config):
        for name in names:
            value = getattr(part, name, None)
            if isinstance(value, (list, tuple)) and value and \
                    is_count(value[0]):
                value = value[-1]
            if is_count(value) and value > 0:
                return value
    return default


def patched(config):
    """A picture of 4 by 4 patches as rows, as towers with grid_thw take it."""
    import torch
    channels = first_of(config, ("in_channels", "in_chans", "num_channels"), 3)
    side = first_of(config, ("patch_size",), 14)
    frames = first_of(config, ("temporal_patch_size",), 1)
    wide = channels * frames * side * side
    return [torch.rand(16, wide), torch.rand(1, 16, wide),
            torch.rand(16, channels, side, side)]


def asked_by_name():
    """{arguments that no default has: a function of the config that makes calls
    with them}: a grid, prompts, masks, a state."""
    import torch
    ones = lambda *shape: torch.ones(*shape, dtype=torch.long)
    grid = torch.tensor([[1, 4, 4]])
    tokens = torch.randint(2, 90, (1, 12))
    place = torch.cartesian_prod(torch.arange(4), torch.arange(4))[None]

    def towers(config):
        for rows in patched(config):
            for name in ("hidden_states", "pixel_values"):
                yield {name: rows, "grid_thw": grid}
                yield {name: rows, "grid_thw": grid,
                       "merge_sizes": torch.tensor([2])}

    def sized(config):
        for rows in patched(config):
            yield {"pixel_values": rows, "pixel_position_ids": place}
            yield {"pixel_values": rows, "pixel_attention_mask": ones(1, 16),
                   "spatial_shapes": torch.tensor([[4, 4]])}

    def sounds(config):
        mels = first_of(config, ("num_mel_bins", "input_feat_size",
                                 "feature_size"), 128)
        for length in (100, 200, 3000):
            mask = ones(1, length)
            yield {"input_features": torch.rand(1, mels, length),
                   "input_features_mask": mask}
            yield {"input_features": torch.rand(1, length, mels),
                   "input_features_mask": mask}
            yield {"audio_mel": torch.rand(1, length, mels),
                   "audio_mel_mask": mask == 0}

    def queries(config):
        wide = first_of(config, ("hidden_size",), 64)
        seen = first_of(config, ("encoder_hidden_size",), wide)
        yield {"query_embeds": torch.rand(1, 8, wide)}
        yield {"query_embeds": torch.rand(1, 8, wide),
               "encoder_hidden_states": torch.rand(1, 20, seen)}
        yield {"inputs_embeds": torch.rand(1, 12, wide)}

    def latents(config):
        for name in ("hidden_size", "latent_dim", "codebook_dim"):
            wide = first_of(config, (name,), 64)
            yield {"latents": torch.rand(1, wide, 12)}
            yield {"latents": torch.rand(1, 12, wide)}
            yield {"hidden_states": torch.rand(1, wide, 24)}
        yield {"hidden_states": torch.rand(1, 1, 4800)}

    def pictures(config):
        side = first_of(config, ("image_size",), 224)
        image = torch.rand(1, 3, side, side)
        wide = first_of(config, ("hidden_size",), 64)
        mark = first_of(config, ("image_token_index", "image_token_id"), 3)
        count = first_of(config, ("num_query_tokens",), 32)
        text = torch.cat([torch.full((1, count), mark), tokens], 1)
        yield {"pixel_values": image, "qformer_input_ids": tokens,
               "input_ids": text}
        yield {"pixel_values": image[:, None].repeat(1, 4, 1, 1, 1),
               "qformer_input_ids": tokens, "input_ids": torch.cat(
                   [torch.full((1, 4 * count), first_of(
                       config, ("video_token_index",), mark)), tokens], 1)}
        yield {"pixel_values": image, "task_inputs": torch.randint(
            2, 90, (1, first_of(config, ("task_seq_len",), 77)))}
        tall = torch.rand(1, 3, side, side // 2) if side > 448 else image
        for one in (image, tall):
            yield {"pixel_values": one, "prompt_pixel_values": one,
                   "prompt_masks": one}
        yield {"pixel_values": image, "classes_input_ids": tokens.repeat(2, 1),
               "classes_attention_mask": ones(2, 12),
               "tasks_input_ids": tokens, "tasks_attention_mask": ones(1, 12),
               "classes_structure": torch.tensor([2])}
        yield {"pixel_values": image[:, None], "input_ids": tokens,
               "action_embeds": torch.rand(1, first_of(
                   config, ("chunk_size",), 50), wide)}
        yield {"pixel_values": image, "input_points": torch.rand(1, 1, 2, 2) * 9}

    def series(config):
        length = first_of(config, ("context_length",), 512)
        yield {"past_values": torch.rand(1, length),
               "past_values_padding": ones(1, length) * 0,
               "freq": torch.zeros(1, 1, dtype=torch.long)}

    return {"grid_thw": towers, "pixel_position_ids": sized,
            "spatial_shapes": sized, "input_features_mask": sounds,
            "audio_mel": sounds, "query_embeds": queries,
            "inputs_embeds": queries, "latents": latents,
            "hidden_states": latents, "qformer_input_ids": pictures,
            "task_inputs": pictures, "prompt_masks": pictures,
            "classes_structure": pictures, "action_embeds": pictures,
            "input_points": pictures, "past_values_padding": series}


def asked(model):
    """Calls with every argument that forward wants and others may not."""
    takes = inspect.signature(model.forward).parameters
    needed = {n for n, p in takes.items() if p.default is p.empty and
              p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    for name, calls in asked_by_name().items():
        if name in needed or name == "input_points" and name in takes:
            for call in calls(model.config):
                if needed <= set(call) <= set(takes):
                    yield call


def inputs_of(model):
    """Calls that may fit, the shortest first."""
    import torch
    config, takes = model.config, inspect.signature(model.forward).parameters
    own = next((getattr(config, k) for k in ("vision_config", "backbone_config",
                                             "audio_config") if
                getattr(config, k, None) is not None), config)
    side = getattr(own, "image_size", None) or \
        getattr(config, "image_size", None) or 224
    if isinstance(side, dict):
        side = side.get("height", 224)
    h, w = side if isinstance(side, (list, tuple)) else (side, side)
    channels = getattr(own, "num_channels", 3) or 3
    mels = next((n for n in (getattr(own, k, None) for k in (
        "feature_projection_input_dim", "num_mel_bins", "feature_size")) if n),
        80)
    tokens = torch.randint(2, 90, (1, 12))
    frames = min(3000, 2 * getattr(own, "max_source_positions", 50))
    images = [torch.rand(1, channels, h, w),
              torch.rand(1, getattr(own, "num_frames", 16), channels, h, w),
              torch.rand(1, 1, channels, h, w)]
    sounds = [torch.rand(1, mels, frames), torch.rand(1, frames, mels),
              torch.rand(1, mels, 100), torch.rand(1, 100, mels)]
    spectrum = torch.rand(1, getattr(config, "max_length", None) or 1024,
                          getattr(config, "num_mel_bins", None) or mels)
    length = getattr(config, "context_length", None) or 32
    choices = {
        "input_ids": [tokens], "decoder_input_ids": [tokens[:, :6]],
        "attention_mask": [torch.ones_like(tokens)], "pixel_values": images,
        "pixel_values_videos": images[1:2], "input_features": sounds,
        "input_values": [torch.rand(1, 16000), *sounds[1:2], spectrum],
        "audio_values": [torch.rand(1, 1, 16000)],
        "bbox": [torch.randint(0, 90, (1, 12, 4)).sort(-1)[0]],
        "image": images, "visual_feats": [torch.rand(1, 10, 2048)],
        "visual_pos": [torch.rand(1, 10, 4)],
        "past_values": [torch.rand(1, length, getattr(
            config, "num_input_channels", 1)), torch.rand(1, length)],
        "past_time_features": [torch.rand(1, length, 1)],
        "past_observed_mask": [torch.ones(1, length)],
        "inputs": [torch.randint(0, 90, (1, 12))], "mask": [None],
        "input_xpath_tags_seq": [None], "state": [None]}
    needed = [n for n, p in takes.items() if p.default is p.empty and
              p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    main = model.main_input_name
    ways = [needed + [main] * (main not in needed), ["input_ids"],
            ["pixel_values"], ["input_ids", "pixel_values"],
            ["input_ids", "decoder_input_ids"], [main, "decoder_input_ids"],
            ["input_features"], ["input_values"]]
    for names in ways:
        if all(n in takes and n in choices for n in names):
            for i in range(max(len(choices[n]) for n in names)):
                yield {n: choices[n][min(i, len(choices[n]) - 1)]
                       for n in names}
    yield model.dummy_inputs


def runs(model, inputs):
    import torch
    with torch.no_grad():
        copy.deepcopy(model)(**inputs)
    return model, inputs


def size_of(cls, config):
    """Parameters, or 0 where it is not made without memory."""
    import torch
    try:
        with torch.device("meta"):
            return sum(p.numel() for p in cls(config).parameters())
    except Exception:
        return 0


def make_transformers(kind, cls):
    import torch
    import transformers
    tries = []
    for device, config in tries_of(kind):
        if DATA and device == "meta":
            continue
        try:
            config = config()
            for part in parts_of(config):
                part.use_cache = False
            made = getattr(transformers, cls)
            if device == "cpu" and size_of(made, config) > LARGEST:
                raise MemoryError("too large")
            with torch.device(device):
                model = made(config).eval()
        except Exception as e:
            tries.append(e)
            continue
        for inputs in (*asked(model), *inputs_of(model)):
            try:
                return runs(model, {k: v if v is None else v.to(device)
                                    for k, v in inputs.items()})
            except Exception as e:
                tries.append(e)
    tries[0].tries = list(dict.fromkeys(map(first_line, tries)))
    raise tries[0]


def transformers_models():
    from transformers.models.auto import modeling_auto as auto
    for kind, cls in auto.MODEL_MAPPING_NAMES.items():
        cls = cls[0] if isinstance(cls, (tuple, list)) else cls
        yield (f"transformers:{kind}", kind,
               lambda kind=kind, cls=cls: make_transformers(kind, cls))


POPULATIONS = {"timm": timm_models, "transformers": transformers_models,
               "torchvision": torchvision_models,
               "ultralytics": ultralytics_models}


# -- one model ---------------------------------------------------------------

def grouped_mm_flops(a, b, *rest, out_shape=None, **_):
    """Of a product by groups, which FlopCounterMode has no formula for: rows of
    a (M,K) each times one of b's matrices (G,K,N)."""
    return 2 * out_shape[-2] * out_shape[-1] * a[-1] * (
        out_shape[0] if len(a) == 3 and len(b) == 3 else 1)


def counted(model, inputs):
    """MACs by torch, with attention as its two products and recurrent layers
    taken apart."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode
    torch.backends.mha.set_fastpath_enabled(False)
    model.requires_grad_(False)    # FlopCounterMode follows gradients otherwise
    args, kwargs = ((), inputs) if isinstance(inputs, dict) else (inputs, {})
    more = {torch.ops.aten._grouped_mm: grouped_mm_flops}
    with torch.no_grad(), \
            FlopCounterMode(display=False, custom_mapping=more) as counter, \
            torch.backends.mkldnn.flags(enabled=not any(isinstance(
                m, torch.nn.RNNBase) for m in model.modules())), \
            torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        model(*args, **kwargs)
    return counter.get_total_flops() // 2


def first_line(e):
    return f"{type(e).__name__}: {(str(e).strip().splitlines() or [''])[0]}"[:300]


def judged(make, row, say):
    """Fills the row, and hands it over at every stage: the process may be
    stopped at any time."""
    import torch
    torch.manual_seed(0)
    torch.set_num_threads(1)
    try:
        model, inputs = make()
    except Exception as e:    # not ours to judge: it does not run as it stands
        return say(end="does not run", why=first_line(e),
                   tries=getattr(e, "tries", []))
    say(end="stopped in capture", device=next(
        (q.device.type for q in model.parameters()), "cpu"),
        params_torch=sum(p.numel() for p in model.parameters()))
    try:
        torch.manual_seed(1)
        say(macs_torch=counted(model, inputs))
    except Exception as e:    # FlopCounterMode's own failures are some of these
        say(macs_why=first_line(e))
    say(record={"end": "stopped in capture"})
    say(record=captured(model, inputs, ("record",)))
    say(**captured(model, inputs, None))


def captured(model, inputs, methods):
    """What became of a capture, for a row."""
    import torch
    from cleave.torch import capture
    torch.manual_seed(1)
    start = time.process_time()
    try:
        got = capture(model, inputs, methods=methods)
        p = got.graph.profile()
    except Exception as e:
        end = "does not run" if " fails on these inputs: " in str(e) \
            else "not captured"
        return dict(end=end, why=first_line(e),
                    seconds=round(time.process_time() - start, 1))
    return dict(end="captured", method=got.method, params=p["total_params"],
                macs=p["total_macs"], unknown=sorted(set(got.unknown)),
                seconds=round(time.process_time() - start, 1),
                failures=got.failures)


def warm():
    """Loads, once for all children, what captures load."""
    import tv
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from cleave.torch import METHODS, capture
    for method in METHODS:
        capture(torch.nn.Linear(2, 2), (torch.rand(1, 2),), methods=(method,))


def in_child(row, make, limit, memory):
    """The row of a model, made in a process of its own."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        resource.setrlimit(resource.RLIMIT_AS, (memory << 30,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (limit,) * 2)
        warnings.simplefilter("ignore")

        def say(**news):
            os.write(write, (json.dumps(news) + "\n").encode())
        try:
            judged(make, row, say)
        finally:
            os._exit(0)
    os.close(write)
    row["end"], text = "stopped in making", b""
    signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
    signal.alarm(CLOCK * limit)    # it may wait, too
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read()
    signal.alarm(0)
    _, status, usage = os.wait4(pid, 0)
    late = usage.ru_utime + usage.ru_stime >= limit
    for line in text.decode(errors="replace").splitlines():
        row.update(json.loads(line))
    if row["end"].startswith("stopped"):
        row["why"] = f"{limit} s" if late else \
            f"status {status} after {usage.ru_utime + usage.ru_stime:.0f} s"
    return row


# -- the report --------------------------------------------------------------

def report(paths):
    rows = list({(r := json.loads(l))["name"]: r for path in paths
                 for l in open(path)}.values())
    table(rows)
    for half in ("tune", "held"):
        some = [r for r in rows if r["half"] == half]
        if some:
            print(f"== {half}")
            tell(some)


def table(rows):
    """Markdown: one line for every half, package and way to capture."""
    print("| half | package | way | tried | run | captured | parameters | MACs "
          "| unknown | seconds: median, 90 %, worst |\n|---|---|---|--:|--:|--:"
          "|--:|--:|--:|---|")
    parts = sorted({(r["half"], r["name"].partition(":")[0]) for r in rows})
    for half, package in parts:
        some = [r for r in rows if r["half"] == half and
                r["name"].startswith(package + ":")]
        runs = [r for r in some if r["end"] not in
                ("does not run", "stopped in making")]
        for way in ("default", "record"):
            of = [(r, r if way == "default" else r["record"]) for r in runs]
            got = [(r, w) for r, w in of if w["end"] == "captured"]
            took = sorted((w["seconds"], r["name"]) for r, w in got)
            print(f"| {({'tune': 'looked at', 'held': 'held back'})[half]} | "
                  f"{package} | {way} | {len(some)} | {len(runs)} | {len(got)} "
                  f"| {sum(w['params'] == r['params_torch'] for r, w in got)} | "
                  f"{sum(w['macs'] == r.get('macs_torch') for r, w in got)} | "
                  f"{sum(bool(w['unknown']) for _, w in got)} | "
                  f"{took[len(took) // 2][0]}, {took[len(took) * 9 // 10][0]}, "
                  f"{took[-1][0]} ({took[-1][1].partition(':')[2]}) |")


def tell(rows):
    runs = [r for r in rows if r["end"] not in
            ("does not run", "stopped in making")]
    ends = collections.Counter(r["end"] for r in rows)
    got = [r for r in runs if r["end"] == "captured"]
    counts = [r for r in got if r.get("macs_torch") is not None]
    same = [r for r in counts if r["macs"] == r["macs_torch"]]
    unknown = [r for r in got if r["unknown"]]
    print(f"{len(rows)} models: {dict(ends)}")
    print(f"of {len(runs)} that run: captured {len(got)}; parameters equal "
          f"{sum(r['params'] == r['params_torch'] for r in got)}; MACs equal "
          f"{len(same)} of {len(counts)} that FlopCounterMode counts; unknown "
          f"operators in {len(unknown)}")
    print("methods", dict(collections.Counter(r["method"] for r in got)))
    if got:
        print("seconds: median", statistics.median(r["seconds"] for r in got),
              "worst", max((r["seconds"], r["name"]) for r in got))
    for r in rows:
        bad = []
        if r["end"] != "captured":
            bad.append(f"{r['end']}: {r.get('why', '')}")
        elif r["params"] != r["params_torch"]:
            bad.append(f"params {r['params']} torch {r['params_torch']}")
        if r in counts and r not in same:
            bad.append(f"MACs {r['macs']} torch {r['macs_torch']} {r['method']}")
        if r.get("macs_why"):
            bad.append(f"torch does not count: {r['macs_why']}")
        if r.get("unknown"):
            bad.append(f"unknown {r['unknown']} {r['method']}")
        for text in bad:
            print("   ", r["name"], text)


def run():
    options = argparse.ArgumentParser()
    options.add_argument("population", choices=POPULATIONS, nargs="?")
    options.add_argument("-o", "--output")
    options.add_argument("--half", choices=("tune", "held"))
    options.add_argument("--only", default="")
    options.add_argument("--part", default="0/1", help="I/N: every Nth")
    options.add_argument("--again", help="models to do anew")
    options.add_argument("--limit", type=int, default=120, help="seconds of the processor")
    options.add_argument("--memory", type=int, default=8, help="GB")
    options.add_argument("--report", nargs="+")
    options = options.parse_args()
    if options.report:
        return report(options.report)
    done = {}
    if os.path.exists(options.output):
        for line in open(options.output):
            row = json.loads(line)
            done[row["name"]] = row
    warm()
    part, parts = map(int, options.part.split("/"))
    models = sorted(POPULATIONS[options.population](), key=by_hash)
    for name, family, make in models[part::parts]:
        half = half_of(family)
        if options.only not in name or options.half not in (None, half):
            continue
        if name in done and not (options.again and any(
                part in name for part in options.again.split(","))):
            continue
        row = {"name": name, "half": half}
        row = in_child(row, make, options.limit, options.memory)
        with open(options.output, "a") as file:    # the last of a name counts
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)


if __name__ == "__main__":
    sys.exit(run())
