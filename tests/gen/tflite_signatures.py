"""Writes tests/data/tflite_more/signatures.tflite: two signatures, whose products
are of 4 by 6 and of 6 by 3.

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


def main():
    pair = Pair()
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(pair, folder, signatures={"encode": pair.encode, "decode": pair.decode})
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=["encode", "decode"])
        (OUT / "signatures.tflite").write_bytes(converter.convert())


if __name__ == "__main__":
    main()
