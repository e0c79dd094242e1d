#!/usr/bin/env python3
"""Small functions of TensorFlow, converted to TFLite, opened and run.

    python -m venv V; V/bin/pip install tensorflow-cpu
    V/bin/python tests/gen/tflite_population.py [-o FOLDER] [NAME ...]

Each tf.function is converted by tf.lite.TFLiteConverter, its file is run by the
interpreter of TensorFlow and by `cleave run` on the same drawn inputs, and the
results are compared: number, shapes and values. One line per function that is
not the same, then the builtin operators that the files hold, then the count.
The exit is 1 when one differs.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("CLEAVE", str(ROOT / "build" / "cli" / "cleave"))
rng = np.random.default_rng(3)
CASES = {}
HELD = set()


def draw(*shape, lo=-2.0, hi=2.0):
    return rng.uniform(lo, hi, shape).astype(np.float32)


def ints(*shape, lo=0, hi=10, dtype=np.int32):
    return rng.integers(lo, hi, shape).astype(dtype)


def case(name, f, *args):
    assert name not in CASES, name
    CASES[name] = (f, args)


X, Y, P = draw(2, 4, 6), draw(2, 4, 6), draw(2, 4, 6, lo=0.1, hi=3)
I, J = ints(2, 6, lo=-20, hi=20), ints(2, 6, lo=1, hi=7)
B = ints(2, 6, hi=2).astype(bool)
IMG = draw(1, 8, 8, 4)

for n in "abs negative exp sin cos tanh square sign floor ceil round sigmoid".split():
    case(n, getattr(tf.math, n) if hasattr(tf.math, n) else getattr(tf, n), X)
for n in "log sqrt rsqrt".split():
    case(n, getattr(tf.math, n), P)
for n in "relu relu6 elu selu leaky_relu gelu softplus softsign silu softmax log_softmax".split():
    case("nn." + n, getattr(tf.nn, n), X)
case("hard_swish", lambda x: x * tf.nn.relu6(x + 3) / 6, X)
case("prelu", lambda x: tf.nn.relu(x) - tf.constant(draw(6)) * tf.nn.relu(-x), X)
case("gelu_tanh", lambda x: tf.nn.gelu(x, approximate=True), X)
for n in """add subtract multiply divide maximum minimum squared_difference floordiv floormod pow equal not_equal
        less less_equal greater greater_equal atan2""".split():
    case(n, getattr(tf.math, n), P if n == "pow" else X, Y)
case("int_add", tf.add, I, J)
case("int_floordiv", tf.math.floordiv, I, J)
case("int_floormod", tf.math.floormod, I, J)
case("int_mul", tf.multiply, I, J)
case("right_shift", tf.bitwise.right_shift, I, J)
case("bitwise_xor", tf.bitwise.bitwise_xor, I, J)
case("logical_and", tf.logical_and, B, ~B)
case("logical_or", tf.logical_or, B, ~B)
case("logical_not", tf.logical_not, B)
case("cast", lambda x: (tf.cast(x, tf.int32), tf.cast(x > 0, tf.float32)), X)
case("bitcast", lambda x: tf.bitcast(x, tf.int32), X)
case("where3", lambda b, i, j: tf.where(b, i, j), B, I, J)
case("where1", lambda b: tf.where(b), B)
case("add_n", lambda x, y: tf.add_n([x, y, x]), X, Y)
case("broadcast_to", lambda x: tf.broadcast_to(x[:, :1], (2, 4, 6)), X)
case("reshape", lambda x: tf.reshape(x, (4, 12)), X)
case("transpose", lambda x: tf.transpose(x, (2, 0, 1)), X)
case("concat", lambda x, y: tf.concat([x, y], 1), X, Y)
case("stack", lambda x, y: tf.stack([x, y], 1), X, Y)
case("unstack", lambda x: tf.unstack(x, axis=1), X)
case("split", lambda x: tf.split(x, 3, 2), X)
case("split_v", lambda x: tf.split(x, [1, 3, 2], 2), X)
case("pad", lambda x: tf.pad(x, [[0, 0], [1, 2], [0, 3]]), X)
case("padv2", lambda x: tf.pad(x, [[0, 0], [1, 2], [0, 3]], constant_values=5.0), X)
case("mirror_pad", lambda x: tf.pad(x, [[0, 0], [1, 2], [2, 2]], "REFLECT"), X)
case("mirror_pad_symmetric", lambda x: tf.pad(x, [[0, 0], [1, 2], [2, 2]], "SYMMETRIC"), X)
case("tile", lambda x: tf.tile(x, (1, 2, 3)), X)
case("slice", lambda x: tf.slice(x, (0, 1, 2), (2, 2, -1)), X)
case("strided_slice", lambda x: x[:, 1:4:2, ::-1], X)
case("strided_slice_new", lambda x: x[..., tf.newaxis, 1], X)
case("expand_squeeze", lambda x: tf.squeeze(tf.expand_dims(x, 1) * 2, 1), X)
case("reverse", lambda x: tf.reverse(x, [1, 2]), X)
case("reverse_sequence", lambda x: tf.reverse_sequence(x, [2, 4], seq_axis=1), X)
case("gather", lambda x, i: tf.gather(x, i, axis=1), X, ints(3, hi=4))
case("gather_batch", lambda x, i: tf.gather(x, i, axis=1, batch_dims=1), X, ints(2, 3, hi=4))
case("gather_nd", lambda x, i: tf.gather_nd(x, i), X, np.array([[0, 1], [1, 3]], np.int32))
case("scatter_nd", lambda i, u: tf.scatter_nd(i, u, (5, 6)), np.array([[0], [3], [0]], np.int32), draw(3, 6))
case("scatter_update", lambda x, i, u: tf.tensor_scatter_nd_update(x, i, u), draw(5, 6), np.array([[0], [3]], np.int32), draw(2, 6))
case("one_hot", lambda i: tf.one_hot(i, 7, 2.0, -1.0), J)
case("embedding", lambda i: tf.nn.embedding_lookup(tf.constant(draw(9, 5)), i), J)
case("top_k", lambda x: tf.math.top_k(x, 3), X)
case("argmax", lambda x: tf.argmax(x, 1), X)
case("argmin", lambda x: tf.argmin(x, 2, output_type=tf.int32), X)
case("unique", lambda j: tf.unique(j[0]), J)
case("cumsum", lambda x: tf.cumsum(x, 1, exclusive=True, reverse=True), X)
case("range", lambda n: tf.range(0, n, 2), np.int32(9))
case("shape", lambda x: tf.shape(x), X)
case("rank", lambda x: tf.rank(x), X)
case("fill", lambda x: tf.fill((2, 3), x), np.float32(4))
case("zeros_like", lambda x: tf.zeros_like(x) + x, X)
case("eye_band", lambda x: tf.linalg.band_part(x, 1, 2), X)
case("matrix_diag", lambda x: tf.linalg.diag(x), draw(2, 4))
case("matrix_set_diag", lambda x, d: tf.linalg.set_diag(x, d), draw(2, 4, 4), draw(2, 4))
for n in "reduce_sum reduce_mean reduce_max reduce_min reduce_prod".split():
    case(n, lambda x, n=n: getattr(tf, n)(x, [1]), X)
    case(n + "_keep", lambda x, n=n: getattr(tf, n)(x, [1, 2], keepdims=True), X)
case("reduce_any", lambda b: tf.reduce_any(b, 1), B)
case("reduce_all", lambda b: tf.reduce_all(b, 1), B)
case("reduce_variance", lambda x: tf.math.reduce_variance(x, 1), X)
case("l2_normalize", lambda x: tf.nn.l2_normalize(x, 2), X)
case("matmul", lambda a, b: tf.matmul(a, b), draw(2, 3, 4), draw(2, 4, 5))
case("matmul_t", lambda a, b: tf.matmul(a, b, transpose_b=True), draw(2, 3, 4), draw(2, 5, 4))
case("dense", lambda x: tf.matmul(x, tf.constant(draw(6, 5))) + tf.constant(draw(5)), draw(3, 6))
case("einsum", lambda a, b: tf.einsum("bij,bkj->bki", a, b), draw(2, 3, 4), draw(2, 5, 4))
case("conv2d", lambda x: tf.nn.conv2d(x, tf.constant(draw(3, 3, 4, 5)), 1, "SAME"), IMG)
case("conv2d_stride", lambda x: tf.nn.relu(tf.nn.conv2d(x, tf.constant(draw(3, 2, 4, 5)), 2, "VALID") + tf.constant(draw(5))), IMG)
case("conv2d_dilated", lambda x: tf.nn.conv2d(x, tf.constant(draw(3, 3, 4, 5)), 1, "SAME", dilations=2), IMG)
case("conv2d_grouped", lambda x: tf.nn.conv2d(x, tf.constant(draw(3, 3, 2, 6)), 1, "SAME"), IMG)
case("depthwise", lambda x: tf.nn.depthwise_conv2d(x, tf.constant(draw(3, 3, 4, 2)), (1, 1, 1, 1), "SAME"), IMG)
case("conv1d", lambda x: tf.nn.conv1d(x, tf.constant(draw(3, 6, 5)), 1, "SAME"), X)
case("conv3d", lambda x: tf.nn.conv3d(x, tf.constant(draw(2, 3, 3, 2, 3)), (1, 1, 1, 1, 1), "SAME"), draw(1, 4, 5, 6, 2))
case("conv2d_transpose", lambda x: tf.nn.conv2d_transpose(x, tf.constant(draw(3, 3, 5, 4)), (1, 16, 16, 5), 2, "SAME"), IMG)
case("max_pool", lambda x: tf.nn.max_pool2d(x, 2, 2, "SAME"), IMG)
case("avg_pool", lambda x: tf.nn.avg_pool2d(x, 3, 1, "SAME"), IMG)
case("lrn", lambda x: tf.nn.local_response_normalization(x, 2, 1.0, 0.5, 0.6), IMG)
case("resize_bilinear", lambda x: tf.image.resize(x, (13, 11)), IMG)
case("resize_nearest", lambda x: tf.image.resize(x, (16, 16), "nearest"), IMG)
case("resize_v1", lambda x: tf.compat.v1.image.resize_bilinear(x, (13, 11), align_corners=True), IMG)
case("space_to_depth", lambda x: tf.nn.space_to_depth(x, 2), IMG)
case("depth_to_space", lambda x: tf.nn.depth_to_space(x, 2), IMG)
case("space_to_batch", lambda x: tf.space_to_batch(x, (2, 2), [[0, 0], [0, 0]]), IMG)
case("batch_to_space", lambda x: tf.batch_to_space(x, (2, 2), [[0, 0], [1, 0]]), draw(4, 3, 3, 2))
case("batch_norm", lambda x: tf.nn.batch_normalization(x, draw(4), P[0, 0, :4], draw(4), draw(4), 1e-3), IMG)
case("quantise_fake", lambda x: tf.quantization.fake_quant_with_min_max_args(x, -2, 2), X)
case("segment_sum", lambda x: tf.math.segment_sum(x, [0, 0, 1, 1]), draw(4, 6))
case("unsorted_segment_sum", lambda x: tf.math.unsorted_segment_sum(x, [1, 0, 1, 2], 3), draw(4, 6))
case("dynamic_update", lambda x, u, k: tf.raw_ops.XlaDynamicUpdateSlice(input=x, update=u, indices=tf.stack([k, k])) if hasattr(tf.raw_ops, "XlaDynamicUpdateSlice") else x, draw(5, 6), draw(2, 2), np.int32(1))
case("cond", lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x + 1, lambda: x * 2), X)
case("while", lambda x: tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 1.1 + tf.cast(i, tf.float32)), (0, x))[1], X)
case("rfft", lambda x: tf.abs(tf.signal.rfft(x)), draw(2, 16))
case("nms", lambda b, s: tf.image.non_max_suppression(b, s, 4, 0.5), draw(8, 4, lo=0, hi=1), draw(8, lo=0, hi=1))
case("complex", lambda x, y: tf.abs(tf.complex(x, y)), X, Y)


def keras(name, make, *shape):
    def build():
        tf.keras.utils.set_random_seed(5)
        return make()
    case("keras." + name, build, draw(*shape))


L = tf.keras.layers
keras("mlp", lambda: tf.keras.Sequential([L.Input((8,)), L.Dense(16, "relu"), L.LayerNormalization(), L.Dense(3, "softmax")]), 1, 8)
keras("cnn", lambda: tf.keras.Sequential([L.Input((16, 16, 3)), L.Conv2D(8, 3, activation="relu"), L.BatchNormalization(),
      L.MaxPool2D(), L.SeparableConv2D(8, 3), L.GlobalAveragePooling2D(), L.Dense(3)]), 1, 16, 16, 3)
keras("lstm", lambda: tf.keras.Sequential([L.Input((5, 4)), L.LSTM(8, return_sequences=True), L.Dense(3)]), 1, 5, 4)
keras("lstm_unrolled", lambda: tf.keras.Sequential([L.Input((5, 4)), L.LSTM(8, unroll=True), L.Dense(3)]), 1, 5, 4)
keras("gru", lambda: tf.keras.Sequential([L.Input((5, 4)), L.GRU(8)]), 1, 5, 4)
keras("bidirectional", lambda: tf.keras.Sequential([L.Input((5, 4)), L.Bidirectional(L.LSTM(6))]), 1, 5, 4)
keras("conv_transpose", lambda: tf.keras.Sequential([L.Input((8, 8, 3)), L.Conv2DTranspose(4, 3, 2, "same")]), 1, 8, 8, 3)


def attention():
    x = L.Input((6, 16))
    y = L.MultiHeadAttention(2, 8)(x, x)
    return tf.keras.Model(x, L.LayerNormalization()(x + y))


keras("attention", attention, 1, 6, 16)


def command(*words):
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}")
    return done.stdout


def convert(name):
    f, args = CASES[name]
    if name.startswith("keras."):
        converter = tf.lite.TFLiteConverter.from_keras_model(f())
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    else:
        fn = tf.function(f).get_concrete_function(*[tf.TensorSpec(np.shape(a), np.asarray(a).dtype) for a in args])
        converter = tf.lite.TFLiteConverter.from_concrete_functions([fn])
    return converter.convert()


def interpreted(data, args):
    """The results by the names in the file, in the order of its outputs."""
    it = tf.lite.Interpreter(model_content=data, experimental_op_resolver_type=tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    it.allocate_tensors()
    for op in it._get_ops_details():
        HELD.add(op["op_name"])
    # inputs are the function's arguments in order of their names
    for d in it.get_input_details():
        same = [a for a in args if np.shape(a) == tuple(d["shape"]) and np.asarray(a).dtype == d["dtype"]]
        at = [x["index"] for x in it.get_input_details() if tuple(x["shape"]) == tuple(d["shape"]) and x["dtype"] == d["dtype"]]
        it.set_tensor(d["index"], same[at.index(d["index"])])
    it.invoke()
    fed = [(d["name"], it.get_tensor(d["index"])) for d in it.get_input_details()]
    return fed, [(d["name"], it.get_tensor(d["index"])) for d in it.get_output_details()]


def check(name, folder, keep):
    args = CASES[name][1]
    data = convert(name)
    path = os.path.join(keep or folder, name + ".tflite")
    pathlib.Path(path).write_bytes(data)
    fed, want = interpreted(data, args)
    got = json.loads(command("profile", path, "--json", "--quiet"))
    if got["coverage"]["unknown_ops"]:
        return "unknown " + " ".join(sorted(set(got["coverage"]["unknown_ops"])))
    words = []
    for i, (n, a) in enumerate(fed):
        np.save(f"{folder}/{i}.npy", a)
        words += ["--input", f"{got['inputs'][i]['name']}={folder}/{i}.npy"]
    command("run", path, "--output", f"{folder}/out.npz", "--quiet", *words)
    with np.load(f"{folder}/out.npz") as z:
        out = [z[k] for k in z.files]
    if len(out) != len(want):
        return f"{len(out)} outputs, the interpreter has {len(want)}"
    worst = 0.0
    for g, (n, w) in zip(out, want):
        if g.shape != w.shape:
            return f"shape {g.shape}, the interpreter has {w.shape}"
        g, w = g.astype(np.float64), w.astype(np.float64)
        both = np.isfinite(w)
        if not np.array_equal(np.isfinite(g), both):
            return "numbers that are not finite elsewhere"
        if both.any():
            worst = max(worst, float(np.abs(g - w)[both].max() / max(1.0, np.abs(w[both]).max())))
    return f"differs by {worst:.1e}" if worst > 1e-4 else None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("-o", help="keep the files in this folder")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    if a.o:
        os.makedirs(a.o, exist_ok=True)
    names = [n for n in CASES if not a.names or n in a.names]
    same = refused = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                said = check(name, folder, a.o)
            except Exception as e:
                said = (str(e).strip().splitlines() or [repr(e)])[-1][:200]
                if "flex" in str(e).lower() or "Select TF ops" in str(e) or "custom op" in str(e).lower():
                    said, refused = None, refused + 1
                    print(f"{name}: the converter or the interpreter has no builtin for it")
                    continue
        same += said is None
        if said:
            print(f"{name}: {said}", flush=True)
    print(f"{len(HELD)} builtin operators: {' '.join(sorted(HELD))}")
    print(f"{same} of {len(names) - refused} functions as the interpreter")
    return same != len(names) - refused


if __name__ == "__main__":
    sys.exit(main())
