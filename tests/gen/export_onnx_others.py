"""export_onnx_others.py - adds to tests/data/onnx what other converters write:
Keras models by tf2onnx, scikit-learn, LightGBM and XGBoost by skl2onnx and
onnxmltools.

Columns as in export_onnx.py. params is what the live model counts: Keras's
count_params, the sizes of what a fitted estimator holds. macs are computed
from the layers' kernels and output shapes.

Needs an environment of its own: tensorflow-cpu, tf2onnx, scikit-learn,
skl2onnx, onnxmltools, lightgbm, xgboost (versions as in the README there).

    export_onnx_others.py [-o FOLDER] [keras] [classical]     (both by default)
"""
import argparse
import math
import os
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy
from onnx_folder import Folder, default_folder

size = math.prod


# 1. Keras -----------------------------------------------------------------

def work(layer):
    """MACs of one layer: its kernel for every position it is applied at."""
    kind, inner = type(layer).__name__, getattr(layer, "layers", None)
    if inner:
        return sum(map(work, inner))
    if kind == "Dense":
        return size(layer.output.shape[1:-1]) * size(layer.kernel.shape)
    if kind == "SeparableConv2D":
        kernels = size(layer.depthwise_kernel.shape) + size(
            layer.pointwise_kernel.shape)
        return size(layer.output.shape[1:-1]) * kernels
    if kind == "Conv2DTranspose":
        return size(layer.input.shape[1:-1]) * size(layer.kernel.shape)
    if kind in ("Conv1D", "Conv2D", "DepthwiseConv2D"):
        return size(layer.output.shape[1:-1]) * size(layer.kernel.shape)
    if kind in ("LSTM", "GRU"):
        kernels = size(layer.cell.kernel.shape) + size(
            layer.cell.recurrent_kernel.shape)
        return layer.input.shape[1] * kernels
    if kind == "Bidirectional":
        return work_both(layer)
    return 0


def work_both(layer):
    cells = [layer.forward_layer.cell, layer.backward_layer.cell]
    return layer.input.shape[1] * sum(
        size(c.kernel.shape) + size(c.recurrent_kernel.shape) for c in cells)


def shaken(model):
    """No two weights equal: a fresh model is full of zeros and ones."""
    random = numpy.random.default_rng(0)
    model.set_weights([w + 1e-2 * random.random(w.shape).astype(w.dtype)
                       for w in model.get_weights()])
    return model


def small_layers(keras):
    """Layers that need care: transposed, resized, cropped, padded, causal."""
    L = keras.layers
    x = image = keras.Input((32, 32, 8))
    x = L.Conv2DTranspose(8, 3, strides=2, padding="same")(x)
    x = L.UpSampling2D(2, interpolation="bilinear")(x)
    x = L.ZeroPadding2D(2)(L.Cropping2D(((1, 2), (3, 4)))(x))
    x = L.SeparableConv2D(12, 3, strides=2, padding="same")(x)
    x = L.DepthwiseConv2D(3, depth_multiplier=2, dilation_rate=2)(x)
    x = L.GroupNormalization(4)(L.PReLU(shared_axes=[1, 2])(x))
    x = L.MaxPooling2D(3, 2, "same")(L.AveragePooling2D(3, 2, "same")(x))
    x = L.Conv2D(16, 3, dilation_rate=2, padding="same", activation="swish")(x)
    x = L.UnitNormalization()(L.ELU()(L.LeakyReLU()(x)))
    x = L.Conv1D(8, 5, padding="causal")(L.Reshape((-1, 16))(x))
    x = L.Dense(3)(L.Flatten()(L.Permute((2, 1))(x)))
    return keras.Model(image, [x, L.GlobalMaxPooling2D()(image)])


def recurrent(keras, layer):
    x = keras.Input((20, 8))
    return keras.Model(x, keras.layers.Dense(4)(layer(x)))


def counting(tf):
    """while (i < 7), collecting what each trip has."""
    def run(x):
        def body(i, x, all):
            return i + 1, tf.tanh(x @ x), all.write(i, x)
        all = tf.TensorArray(tf.float32, size=7)
        _, x, all = tf.while_loop(lambda i, *_: i < 7, body,
                                  (tf.constant(0), x, all))
        return x, all.stack()
    return run


def export_keras(folder):
    import keras
    import tensorflow as tf
    import tf2onnx
    A, L = keras.applications, keras.layers
    lstm = lambda **more: L.LSTM(16, return_sequences=True, **more)
    folded = "batch norm folded"
    image, steps = (1, 224, 224, 3), (1, 20, 8)
    # file: (model, input, opset, which sizes are free, note or how many zeros
    # the converter stores besides: a state of 16, or a second bias of 64)
    rows = {
        "keras_mobilenet_v2": (A.MobileNetV2(weights=None), image, 13, (),
                               folded),
        "keras_efficientnet_b0": (A.EfficientNetB0(weights=None), image, 17,
                                  (0,), folded),
        "keras_resnet50": (A.ResNet50(weights=None), image, 11, (), folded),
        "keras_layers": (small_layers(keras), (1, 32, 32, 8), 13, (), ""),
        "keras_lstm": (recurrent(keras, lstm()), steps, 9, (), 16),
        "keras_lstm_free": (recurrent(keras, lstm()), steps, 13, (0, 1), 64),
        "keras_bilstm": (recurrent(keras, L.Bidirectional(lstm())), steps, 13,
                         (), 16),
        "keras_gru": (recurrent(keras, L.GRU(16)), steps, 15, (), 16),
    }

    def convert(call, shape, opset, free=()):
        dims = [None if i in free else d for i, d in enumerate(shape)]
        signature = [tf.TensorSpec(dims, tf.float32)]
        made = tf.function(call, input_signature=signature)
        return tf2onnx.convert.from_function(made, input_signature=signature,
                                             opset=opset)[0]

    def add(name, proto, shape, params, macs, note):
        if isinstance(note, int):
            params, note = params + note, f"{note} zeros stored besides"
        rest = [[d.dim_value for d in v.type.tensor_type.shape.dim]
                for v in proto.graph.input[1:]]    # constants it captured
        folder.add(proto, {"file": name + ".onnx", "model": name,
                           "exporter": "tf2onnx", "params": params,
                           "macs": macs, "note": note, "input": "+".join(
                               "x".join(map(str, s)) for s in [shape, *rest])})

    for name, (model, shape, opset, free, note) in rows.items():
        shaken(model)
        proto = convert(lambda x: model(x, training=False), shape, opset, free)
        add(name, proto, shape, model.count_params(), work(model), note)
    add("tf_while", convert(counting(tf), (4, 4), 13), (4, 4), 0, 7 * 4 ** 3,
        "seven trips")


# 2. Estimators ------------------------------------------------------------

def held(tree, outputs):
    """A threshold per branch of a tree, a weight per leaf and output."""
    leaves = int((tree.children_left < 0).sum())
    return tree.node_count - leaves + leaves * outputs


def export_classical(folder):
    import lightgbm
    import onnxmltools
    from onnxmltools.convert.common.data_types import FloatTensorType
    import skl2onnx
    from sklearn import (datasets, decomposition, ensemble, linear_model,
                         pipeline, preprocessing, svm)
    x, y = datasets.load_iris(return_X_y=True)
    x = x.astype(numpy.float32)
    value = x[:, 0] * 2 + x[:, 1] ** 2

    def add(name, proto, params, macs, exporter="skl2onnx"):
        folder.add(proto, {"file": name + ".onnx", "model": name,
                           "exporter": exporter, "params": params,
                           "macs": macs, "note": "", "input": "5x4"})

    def convert(model, **more):
        plain = {id(model): {"zipmap": False}} if hasattr(
            model, "predict_proba") else {}
        return skl2onnx.to_onnx(model, x[:1], options=plain, **more)

    m = linear_model.LogisticRegression().fit(x, y)
    both = m.coef_.size + m.intercept_.size
    add("sk_logistic", convert(m), both, 5 * m.coef_.size)
    add("sk_logistic_maps", skl2onnx.to_onnx(
        m, x[:1], target_opset={"": 9, "ai.onnx.ml": 1}), both,
        5 * m.coef_.size)
    m = linear_model.LinearRegression().fit(x, numpy.c_[value, -value])
    add("sk_linear", convert(m), m.coef_.size + m.intercept_.size,
        5 * m.coef_.size)
    m = svm.SVC(probability=True, random_state=0).fit(x, y)
    vectors, duals = m.support_vectors_.size, m.dual_coef_.size
    add("sk_svc", convert(m), vectors + duals + m.intercept_.size,
        5 * (vectors + duals))
    m = ensemble.RandomForestClassifier(10, random_state=0).fit(x, y)
    trees = sum(held(t.tree_, 3) for t in m.estimators_)
    add("sk_forest", convert(m), trees, 0)
    m = ensemble.GradientBoostingRegressor(n_estimators=10).fit(x, value)
    trees = sum(held(t.tree_, 1) for t in m.estimators_[:, 0])
    add("sk_boosting", convert(m), trees + 1, 0)    # one base value
    m = pipeline.make_pipeline(
        preprocessing.StandardScaler(), decomposition.PCA(3),
        linear_model.LogisticRegression()).fit(x, y)
    axes, last = m[1].components_, m[2].coef_
    add("sk_pipeline", convert(m), axes.size + m[1].mean_.size + last.size +
        m[2].intercept_.size, 5 * (axes.size + last.size))
    m = lightgbm.LGBMRegressor(n_estimators=10, verbose=-1).fit(x, value)
    table = m.booster_.trees_to_dataframe()
    add("lightgbm", onnxmltools.convert_lightgbm(
        m, initial_types=[("x", FloatTensorType([None, 4]))]), len(table), 0,
        "onnxmltools")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("-o", default=default_folder())
    p.add_argument("kinds", nargs="*", default=[])
    a = p.parse_args()
    warnings.filterwarnings("ignore")
    folder = Folder(a.o)
    kinds = {"keras": export_keras, "classical": export_classical}
    for kind in a.kinds or kinds:
        kinds[kind](folder)


if __name__ == "__main__":
    main()
