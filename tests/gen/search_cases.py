#!/usr/bin/env python3
"""Beam and greedy searches over a small decoder, one step of it perhaps by another
graph, or behind an encoder: what ONNX Runtime gives.

    search_cases.py FOLDER [--count N] [--seed S] [--check CLEAVE]

Writes N models of com.microsoft's BeamSearch and GreedySearch with drawn options
as NAME.onnx and all inputs and outputs in cases.npz, as tests/test_ort.c reads them;
with --check, runs each by that command too and compares. tests/data/search holds a few.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

VOCAB, HEADS, SIZE, LONGEST = 13, 2, 3, 32
WIDTH = HEADS * SIZE


def decoder(rng, layers, prefix=""):
    """One step: embedding, `layers` of masked attention over the past, logits."""
    nodes, const = [], []

    def weight(name, *shape, scale=1.0):
        const.append(numpy_helper.from_array((rng.standard_normal(shape) * scale).astype(np.float32), prefix + name))
        return prefix + name

    def ints(name, values):
        const.append(numpy_helper.from_array(np.array(values, np.int64), prefix + name))
        return prefix + name

    def node(op, ins, out, **attrs):
        nodes.append(h.make_node(op, ins, [out], **attrs))
        return out

    e = node("Add", [node("Gather", [weight("words", VOCAB, WIDTH), "input_ids"], "e0"),
                     node("Gather", [weight("places", LONGEST, WIDTH), "position_ids"], "e1")], "x0")
    shown = node("Cast", ["attention_mask"], "mf", to=T.FLOAT)
    one = numpy_helper.from_array(np.array(1, np.float32), prefix + "one")
    low = numpy_helper.from_array(np.array(-1e4, np.float32), prefix + "low")
    const.extend([one, low])
    hidden = node("Mul", [node("Sub", [prefix + "one", shown], "hid"), prefix + "low"], "hl")
    bias = node("Unsqueeze", [hidden, ints("ax", [1, 2])], "bias")
    outs = []
    for i in range(layers):
        qkv = node("MatMul", [e, weight(f"qkv{i}", WIDTH, 3 * WIDTH, scale=0.7)], f"qkv_{i}")
        heads = node("Reshape", [qkv, ints(f"sh{i}", [0, 0, 3, HEADS, SIZE])], f"h_{i}")
        turned = node("Transpose", [heads], f"t_{i}", perm=[2, 0, 3, 1, 4])    # 3, N, H, S, D
        q = node("Gather", [turned, ints(f"zero{i}", 0)], f"q_{i}", axis=0)
        kv = node("Slice", [turned, ints(f"one{i}", [1]), ints(f"three{i}", [3]), ints(f"axis{i}", [0])], f"kv_{i}")
        present = node("Concat", [f"past_{i}", kv], f"present_{i}", axis=3)
        outs.append(present)
        k = node("Gather", [present, prefix + f"zero{i}"], f"k_{i}", axis=0)
        v = node("Gather", [present, ints(f"first{i}", 1)], f"v_{i}", axis=0)
        scores = node("MatMul", [q, node("Transpose", [k], f"kt_{i}", perm=[0, 1, 3, 2])], f"s_{i}")
        seen = node("Softmax", [node("Add", [scores, bias], f"sb_{i}")], f"p_{i}", axis=-1)
        y = node("Transpose", [node("MatMul", [seen, v], f"o_{i}")], f"ot_{i}", perm=[0, 2, 1, 3])
        y = node("Reshape", [y, ints(f"flat{i}", [0, 0, WIDTH])], f"of_{i}")
        e = node("Tanh", [node("Add", [e, y], f"a_{i}")], f"x_{i + 1}")
    node("MatMul", [e, weight("head", WIDTH, VOCAB, scale=1.5)], "logits")
    ins = [h.make_tensor_value_info(n, T.INT32, s) for n, s in (
        ("input_ids", ["N", "S"]), ("position_ids", ["N", "S"]), ("attention_mask", ["N", "A"]))]
    past = [2, "N", HEADS, "P", SIZE]
    ins += [h.make_tensor_value_info(f"past_{i}", T.FLOAT, past) for i in range(layers)]
    results = [h.make_tensor_value_info("logits", T.FLOAT, ["N", "S", VOCAB])]
    results += [h.make_tensor_value_info(n, T.FLOAT, [2, "N", HEADS, "A", SIZE]) for n in outs]
    return h.make_graph(nodes, "decoder", ins, results, const)


def encoded(rng, layers):
    """Encoder and decoder as of T5: the encoder also makes the decoder's first step."""
    def part(prefix, encoder):
        nodes, const, made = [], [], set()

        def weight(name, value):
            if name not in made:
                const.append(numpy_helper.from_array(value, prefix + name))
                made.add(name)
            return prefix + name

        def ints(*values):
            return weight("i" + "_".join(map(str, values)), np.array(values, np.int64))

        def node(op, ins, **attrs):
            out = f"{prefix}v{len(nodes)}"
            nodes.append(h.make_node(op, ins, [out], **attrs))
            return out

        def heads(x, w):
            y = node("Reshape", [node("MatMul", [x, weight(w, W[w])]), ints(0, 0, HEADS, SIZE)])
            return node("Transpose", [y], perm=[0, 2, 1, 3])

        def attend(q, k, v, bias=None):
            s = node("MatMul", [q, node("Transpose", [k], perm=[0, 1, 3, 2])])
            p = node("Softmax", [node("Add", [s, bias]) if bias else s], axis=-1)
            y = node("Transpose", [node("MatMul", [p, v])], perm=[0, 2, 1, 3])
            return node("Reshape", [y, ints(0, 0, WIDTH)])

        shown = node("Cast", ["encoder_attention_mask"], to=T.FLOAT)
        hidden = node("Sub", [shown, weight("one", np.array(1, np.float32))])
        bias = node("Unsqueeze", [node("Mul", [hidden, weight("high", np.array(1e4, np.float32))]), ints(1, 2)])
        crossed = []
        if encoder:
            x = node("Gather", [weight("words", W["words"]), "encoder_input_ids"])
            states = node("Tanh", [node("Add", [x, attend(heads(x, "eq"), heads(x, "ek"), heads(x, "ev"), bias)])])
            nodes.append(h.make_node("Identity", [states], ["encoder_hidden_states"]))
            crossed = [heads(states, f"c{i}{kv}") for i in range(layers) for kv in "kv"]
        x = node("Gather", [weight("words", W["words"]), "decoder_input_ids" if encoder else "input_ids"])
        for i in range(layers):
            own = [heads(x, f"s{i}{kv}") for kv in "kv"]
            for kv, name in enumerate(("key", "value")):
                out = f"present_{name}_self_{i}"
                past = [] if encoder else [f"past_{name}_self_{i}"]
                nodes.append(h.make_node("Concat", past + [own[kv]], [out], axis=2))
            x = node("Add", [x, attend(heads(x, f"s{i}q"), f"present_key_self_{i}", f"present_value_self_{i}")])
            cross = crossed[2 * i:2 * i + 2] or [f"past_key_cross_{i}", f"past_value_cross_{i}"]
            x = node("Tanh", [node("Add", [x, attend(heads(x, f"c{i}q"), *cross, bias)])])
        nodes.append(h.make_node("MatMul", [x, weight("head", W["head"])], ["logits"]))
        for i, name in enumerate(crossed):
            nodes.append(h.make_node("Identity", [name], [f"present_{'value' if i % 2 else 'key'}_cross_{i // 2}"]))
        return nodes, const

    def draw(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    W = {"words": draw(VOCAB, WIDTH), "head": draw(WIDTH, VOCAB) * np.float32(1.5)}
    W.update({"e" + c: draw(WIDTH, WIDTH) for c in "qkv"})
    W.update({f"{side}{i}{c}": draw(WIDTH, WIDTH) for side in "sc" for i in range(layers) for c in "qkv"})

    def info(name, kind, *dims):
        return h.make_tensor_value_info(name, kind, list(dims))

    def pasts(word, side, length):
        return [info(f"{word}_{kv}_{side}_{i}", T.FLOAT, "B", HEADS, length, SIZE)
                for i in range(layers) for kv in ("key", "value")]

    states = info("encoder_hidden_states", T.FLOAT, "B", "L", WIDTH)
    mask = info("encoder_attention_mask", T.INT32, "B", "L")
    logits = info("logits", T.FLOAT, "B", 1, VOCAB)
    nodes, const = part("e.", True)
    encoder = h.make_graph(nodes, "encoder", [info("encoder_input_ids", T.INT32, "B", "L"), mask,
                                              info("decoder_input_ids", T.INT32, "B", 1)],
                           [logits, states] + pasts("present", "self", 1) + pasts("present", "cross", "L"), const)
    nodes, const = part("d.", False)
    some = [states] if rng.random() < 0.5 else []    # ONNX Runtime gives it without contents
    decoder = h.make_graph(nodes, "decoder", [info("input_ids", T.INT32, "B", 1), mask] + some
                           + pasts("past", "self", "P") + pasts("past", "cross", "L"),
                           [logits] + pasts("present", "self", "P1"), const)
    return encoder, decoder


def drawn(rng, greedy, kind=""):
    """(model, inputs); kind is "", "first" or "encoder"."""
    layers, batch, length = int(rng.integers(1, 3)), int(rng.integers(1, 4)), int(rng.integers(1, 6))
    beams = int(rng.integers(1, 5))
    pad, eos = 0, int(rng.integers(0, VOCAB))
    tokens = rng.integers(1, VOCAB, (batch, length)).astype(np.int32)
    if length > 1 and rng.random() < 0.4:
        tokens[0, 0] = pad
    most = (2 if kind == "encoder" else length) + int(rng.integers(1, 10))
    feed = {"input_ids": tokens, "max_length": np.array([most], np.int32)}
    if not greedy or rng.random() < 0.5:    # ONNX Runtime needs it and length_penalty for beams
        feed["min_length"] = np.array([int(rng.integers(0, most))], np.int32)
    if not greedy:
        feed["num_beams"] = np.array([beams], np.int32)
        feed["num_return_sequences"] = np.array([int(rng.integers(1, beams + 1))], np.int32)
        feed["length_penalty"] = np.array([rng.choice([0.5, 1.0, 2.0])], np.float32)
    if rng.random() < 0.4:
        feed["repetition_penalty"] = np.array([rng.choice([1.0, 1.3, 2.0])], np.float32)
    if rng.random() < 0.4:
        keep = (rng.random(VOCAB) < 0.8).astype(np.int32)
        feed["vocab_mask"] = keep
    if rng.random() < 0.3:
        feed["prefix_vocab_mask"] = (rng.random((batch, VOCAB)) < 0.7).astype(np.int32)
    if rng.random() < 0.3:
        mask = np.ones((batch, length), np.int32)
        mask[0, 0] = int(length == 1)
        feed["attention_mask"] = mask
    names = ["input_ids", "max_length", "min_length"]
    names += [] if greedy else ["num_beams", "num_return_sequences", "length_penalty"]
    names += ["repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask"]
    outs = ["sequences"] + ([] if greedy else ["sequences_scores", "scores"][:int(rng.integers(0, 3))])
    attrs = {} if greedy else {"early_stopping": int(rng.random() < 0.5)}
    if kind == "encoder":
        attrs["encoder"], attrs["decoder"] = encoded(rng, layers)
        attrs.update(model_type=1, decoder_start_token_id=int(rng.integers(0, VOCAB)))
    else:
        attrs.update(model_type=0, decoder=decoder(rng, layers))
    if kind == "first":
        attrs["init_decoder"] = decoder(rng, layers, "first.")
    node = h.make_node("GreedySearch" if greedy else "BeamSearch", [n if n in feed else "" for n in names], outs,
                       domain="com.microsoft", eos_token_id=eos, pad_token_id=pad,
                       no_repeat_ngram_size=int(rng.choice([0, 0, 1, 2, 3])), **attrs)
    kinds = {np.dtype(np.int32): T.INT32, np.dtype(np.float32): T.FLOAT}
    ins = [h.make_tensor_value_info(n, kinds[feed[n].dtype], feed[n].shape) for n in names if n in feed]
    results = [h.make_tensor_value_info(n, T.INT32 if n == "sequences" else T.FLOAT, None) for n in outs]
    graph = h.make_graph([node], "search", ins, results)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("com.microsoft", 1)], ir_version=8)
    return model, feed


def expected(model, feed):
    ort.set_default_logger_severity(4)
    o = ort.SessionOptions()
    o.intra_op_num_threads = 1
    s = ort.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"])
    return dict(zip([x.name for x in s.get_outputs()], s.run(None, feed)))


def ended(want, greedy):
    """ONNX Runtime leaves unwritten what lies behind the end of all entries: such
    cases are not kept."""
    scores = want.get("scores")
    return greedy and bool((want["sequences"][:, -1] == 0).any()) or scores is not None and not scores[-1].any()


def compare(cleave, path, feed, want):
    with tempfile.TemporaryDirectory() as out:
        np.savez(os.path.join(out, "in.npz"), **feed)
        p = subprocess.run([cleave, "run", path, "--input", os.path.join(out, "in.npz"), "-o", out, "-q"],
                           capture_output=True, text=True)
        if p.returncode:
            return p.stderr.strip()
        for name in want:
            got = np.load(os.path.join(out, name + ".npy"))
            if got.shape != want[name].shape or got.dtype != want[name].dtype:
                return f"{name} is {got.dtype}{got.shape}, not {want[name].dtype}{want[name].shape}"
            if not np.allclose(got, want[name], rtol=1e-4, atol=1e-4):
                return f"{name} differs:\n{got}\n{want[name]}"
    return ""


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("--count", type=int, default=16)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--kind", default="", choices=["", "first", "encoder"])
    p.add_argument("--check")
    args = p.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    failed = left_out = 0
    values = {}
    for i in range(args.count):
        rng = np.random.default_rng([args.seed, i])
        greedy = i % 3 == 2 and args.kind != "encoder"
        model, feed = drawn(rng, greedy, args.kind)
        want = expected(model, feed)
        if ended(want, greedy):
            left_out += 1
            continue
        name = f"{'greedy' if greedy else 'beam'}{args.kind}{i}"
        path = os.path.join(args.folder, name + ".onnx")
        onnx.save(model, path)
        values.update({f"{name}.{k}": v for k, v in {**feed, **want}.items()})
        why = compare(args.check, path, feed, want) if args.check else ""
        failed += bool(why)
        if why:
            print(f"{name}: {why}")
    np.savez_compressed(os.path.join(args.folder, "cases.npz"), **values)
    print(f"{args.count} drawn, {left_out} left out, {failed} failed")
    sys.exit(failed > 0)


main()
