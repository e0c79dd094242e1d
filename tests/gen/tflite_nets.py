"""Networks of keras.applications as TFLite files, against Keras and the
interpreter.

    python tests/gen/tflite_nets.py CLEAVE FOLDER NAME[:MODE]...

Converts each network with drawn weights into FOLDER (unless it is there) and
prints, beside what `CLEAVE` says of the file: MACs of convolutions and dense
layers by the formula of each Keras layer, weights of those layers, and the
bytes that the interpreter plans. MODE is float, int8, dynamic or float16. With
--run, the outputs of `CLEAVE run` are compared with the interpreter's too."""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tflite as small

tf = small.tf
SIZES = {"NASNetLarge": 331, "InceptionV3": 299, "InceptionResNetV2": 299, "Xception": 299,
         "EfficientNetB1": 240, "EfficientNetB2": 260, "EfficientNetB3": 300, "EfficientNetB4": 380,
         "EfficientNetB5": 456, "EfficientNetB6": 528, "EfficientNetB7": 600, "EfficientNetV2B1": 240,
         "EfficientNetV2B2": 260, "EfficientNetV2B3": 300, "EfficientNetV2S": 384,
         "EfficientNetV2M": 480, "EfficientNetV2L": 480}


def build(name):
    side = SIZES.get(name, 224)
    net = getattr(tf.keras.applications, name)(weights=None, input_shape=(side, side, 3), classifier_activation=None)
    rng = np.random.RandomState(3)
    for w in net.weights:
        kind, shape = w.path.rsplit("/", 1)[-1], tuple(w.shape)
        if kind in ("gamma", "moving_variance"):
            w.assign(rng.uniform(0.7, 1.3, shape))
        elif kind in ("beta", "bias", "moving_mean"):
            w.assign(rng.normal(0, 0.1, shape))
        elif len(shape) >= 2:
            fan = np.prod(shape[:2] if "depthwise" in w.path else shape[:-1])
            w.assign(rng.normal(0, 1, shape) * np.sqrt(2 / fan))
    return net, (1, side, side, 3)


def layers(net):
    for layer in net.layers:
        yield from layers(layer) if hasattr(layer, "layers") else [layer]


def counts(net):
    """MACs and weights of all layers that multiply."""
    macs = weights = 0
    for layer in layers(net):
        for w in layer.weights:
            if "kernel" not in w.path.rsplit("/", 1)[-1]:
                continue
            out = layer.output.shape[1:-1]
            if "depthwise_kernel" in w.path and type(layer).__name__ == "SeparableConv2D":
                out = layer.compute_output_shape(layer.input.shape)[1:-1]
            weights += int(np.prod(w.shape))
            macs += int(np.prod(w.shape)) * int(np.prod(out))
    return macs, weights


def convert(net, shape, mode, path):
    if not os.path.exists(path):
        fn = lambda x: net(x, training=False)
        data = small.convert(fn, [(shape, tf.float32)], mode)
        with open(path, "wb") as f:
            f.write(data)


def compare_run(cleave, path):
    it = small.Interpreter(model_path=path, num_threads=1,
                           experimental_op_resolver_type=small.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    it.allocate_tensors()
    d, o = it.get_input_details()[0], it.get_output_details()[0]
    x = small.draw((tuple(d["shape"]), tf.float32), d, np.random.RandomState(1))
    it.set_tensor(d["index"], x)
    it.invoke()
    want = it.get_tensor(o["index"]).astype("f8")
    with tempfile.TemporaryDirectory() as t:
        np.save(t + "/x.npy", x)
        subprocess.run([cleave, "run", path, "--input", t + "/x.npy", "--output", t + "/y.npz", "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)
        got = np.load(t + "/y.npz")[o["name"]].astype("f8")
    worst = np.abs(got - want).max()
    if x.dtype == np.float32:
        return "%.1e of the largest" % (worst / np.abs(want).max())
    return "%d steps" % worst


def main():
    run = "--run" in sys.argv
    cleave, folder, *names = [a for a in sys.argv[1:] if a != "--run"]
    for item in names:
        name, mode = (item.split(":") + ["float"])[:2]
        path = os.path.join(folder, "%s.%s.tflite" % (name, mode))
        net, shape = build(name)
        convert(net, shape, mode, path)
        macs, weights = counts(net)
        p = json.loads(subprocess.check_output([cleave, "profile", path, "--json"]))
        m = json.loads(subprocess.check_output([cleave, "memory", path, "--json"]))
        it = small.Interpreter(model_path=path, num_threads=1,
                               experimental_op_resolver_type=small.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
        it.allocate_tensors()
        arena = small.arena_bytes(it)
        said = [name, mode, "MACs", p["total_macs"], "as Keras" if p["total_macs"] == macs else "Keras %d" % macs,
                "params", p["total_params"], "of %d in layers, %d in Keras" % (weights, net.count_params()),
                "arena", m["interpreter_arena_bytes"],
                "as the interpreter" if arena == m["interpreter_arena_bytes"] else "interpreter %d" % arena,
                "unknown", p["coverage"]["unknown"]]
        del it
        if run:
            said += ["values within", compare_run(cleave, path)]
        print(*said, flush=True)


if __name__ == "__main__":
    main()
