"""Writes into tests/data/tflite_more signatures.tflite: two signatures, whose products
are of 4 by 6 and of 6 by 3; sound.tflite, a convolution of 12 over as many samples as
are given; picture.tflite, one of 3 by 3 over a picture of any size.

    python tests/gen/tflite_signatures.py          (needs tensorflow)
"""
import os
import pathlib
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

OUT = pathlib.Path(__file__).resolve().parents[1] / "data" / "tflite_more"


class Pair(tf.Module):
    def __init__(self):
        rng = np.random.default_rng(1)
        self.up = tf.Variable(rng.uniform(size=(4, 6)).astype(np.float32))
        self.down = tf.Variable(rng.uniform(size=(6, 3)).astype(np.float32))

    @tf.function(input_signature=[tf.TensorSpec((1, 4), tf.float32)])
    def encode(self, x):
        return {"code": tf.nn.relu(x @ self.up)}

    @tf.function(input_signature=[tf.TensorSpec((1, 6), tf.float32)])
    def decode(self, c):
        return {"y": c @ self.down}


def of_any_size(fn, shape):
    concrete = tf.function(fn).get_concrete_function(tf.TensorSpec(shape, tf.float32))
    return tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert()


def write_open():
    kernel = np.linspace(-1, 1, 12 * 4).reshape(1, 12, 1, 4).astype("f")
    (OUT / "sound.tflite").write_bytes(
        of_any_size(lambda x: tf.nn.conv2d(tf.reshape(x, (1, 1, -1, 1)), kernel, 4, "VALID"), (1, None)))
    kernel = np.linspace(-1, 1, 3 * 3 * 3 * 8).reshape(3, 3, 3, 8).astype("f")
    (OUT / "picture.tflite").write_bytes(
        of_any_size(lambda x: tf.nn.conv2d(x, kernel, 2, "SAME"), (None, None, None, 3)))


def main():
    pair = Pair()
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(pair, folder, signatures={"encode": pair.encode, "decode": pair.decode})
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=["encode", "decode"])
        (OUT / "signatures.tflite").write_bytes(converter.convert())
    write_open()


if __name__ == "__main__":
    main()
