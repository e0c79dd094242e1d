#!/usr/bin/env python3
"""Beam and greedy searches over a small decoder: what ONNX Runtime gives.

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


def drawn(rng, greedy):
    """(model, inputs)"""
    layers, batch, length = int(rng.integers(1, 3)), int(rng.integers(1, 4)), int(rng.integers(1, 6))
    beams = int(rng.integers(1, 5))
    pad, eos = 0, int(rng.integers(0, VOCAB))
    tokens = rng.integers(1, VOCAB, (batch, length)).astype(np.int32)
    if length > 1 and rng.random() < 0.4:
        tokens[0, 0] = pad
    most = length + int(rng.integers(1, 10))
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
    node = h.make_node("GreedySearch" if greedy else "BeamSearch", [n if n in feed else "" for n in names], outs,
                       domain="com.microsoft", decoder=decoder(rng, layers), eos_token_id=eos, pad_token_id=pad,
                       no_repeat_ngram_size=int(rng.choice([0, 0, 1, 2, 3])), model_type=0, **attrs)
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
    p.add_argument("--check")
    args = p.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    failed = left_out = 0
    values = {}
    for i in range(args.count):
        rng = np.random.default_rng([args.seed, i])
        greedy = i % 3 == 2
        model, feed = drawn(rng, greedy)
        want = expected(model, feed)
        if ended(want, greedy):
            left_out += 1
            continue
        name = f"{'greedy' if greedy else 'beam'}{i}"
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
