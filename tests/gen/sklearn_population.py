#!/usr/bin/env python3
"""Estimators and pipelines of scikit-learn, LightGBM and XGBoost, fitted to small
data, converted by skl2onnx and onnxmltools and run by `cleave run` and by ONNX
Runtime. Labels must be equal, numbers within 1e-5 of their size (of the largest
in their row, or 1). Classifiers are converted twice: with a ZipMap, whose maps
are compared by their keys, and without.

    tests/gen/sklearn_population.py --build build [--only TEXT] [--keep DIR]

Needs numpy, scikit-learn, skl2onnx, onnx, onnxruntime; onnxmltools, lightgbm and
xgboost where they are there. Prints a table and, of what does not agree, why."""
import argparse
import os
import subprocess
import sys
import tempfile
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")    # threads that spin are slow on a busy machine

import numpy as np
import onnx
import onnxruntime
onnxruntime.set_default_logger_severity(4)
from onnx import numpy_helper
from skl2onnx import to_onnx, update_registered_converter
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn import (calibration, cluster, compose, covariance, cross_decomposition, decomposition,
                     discriminant_analysis, ensemble, feature_extraction, feature_selection, gaussian_process,
                     impute, kernel_approximation, linear_model, mixture, multiclass, multioutput,
                     naive_bayes, neighbors, neural_network, pipeline, preprocessing, random_projection,
                     svm, tree)

warnings.filterwarnings("ignore")
rng = np.random.default_rng(7)
F32, I64 = np.float32, np.int64

# -- data -----------------------------------------------------------------------

x = rng.standard_normal((150, 4)).astype(F32)
x[:, 1] *= 3
total = x @ np.array([1.0, -0.5, 2.0, 0.3], F32)
two = (total > 0).astype(I64)
three = np.digitize(total, [-1, 1]).astype(I64)
words3 = np.array(["low", "middle", "high"])[three]
words2 = np.array(["no", "yes"])[two]
real = (total + 0.2 * rng.standard_normal(150)).astype(F32)
reals = np.stack([real, x[:, 0] * 2 - x[:, 2]], 1).astype(F32)
positive = np.abs(x)
counts = rng.integers(0, 6, (150, 5)).astype(F32)
holes = x.copy()
holes[rng.random(holes.shape) < 0.2] = np.nan
whole = rng.integers(-1, 4, (150, 3)).astype(I64)
whole_class = (whole.sum(1) > 4).astype(I64)
colours = rng.choice(["red", "green", "blue"], (150, 2)).astype(object)
colour_class = (colours[:, 0] == "red").astype(I64)
several = np.stack([two, three, (x[:, 0] > 0).astype(I64)], 1)
bits = np.stack([two, (x[:, 0] > 0), (x[:, 1] > 0)], 1).astype(I64)
sentences = np.array([" ".join(rng.choice(["the", "cat", "sat", "on", "a", "mat", "dog", "ran", "far"], 6))
                      for _ in range(150)]).reshape(-1, 1).astype(object)
about = np.array([int("cat" in s[0]) for s in sentences])

CASES = []


def add(name, model, data, target=None, kind="number", **options):
    CASES.append((name, model, data, target, kind, options))


def classifier(name, make, data=x, binary=True, words=True):
    if binary:
        add(name + ", 2 classes", make(), data, two, "class")
    add(name + ", 3 classes", make(), data, three, "class")
    if words:
        add(name + ", 3 words", make(), data, words3, "class")


LM, SVM, EN = linear_model, svm, ensemble
classifier("LogisticRegression", lambda: LM.LogisticRegression())
add("LogisticRegression, 2 words", LM.LogisticRegression(), x, words2, "class")
add("LogisticRegression, raw scores", LM.LogisticRegression(), x, three, "class", raw_scores=True)
add("LogisticRegression, raw, 2 classes", LM.LogisticRegression(), x, two, "class", raw_scores=True)
add("LogisticRegressionCV", LM.LogisticRegressionCV(cv=3), x, three, "class")
classifier("SGDClassifier log_loss", lambda: LM.SGDClassifier(loss="log_loss", random_state=0), words=False)
add("SGDClassifier hinge", LM.SGDClassifier(random_state=0), x, three, "class")
add("SGDClassifier modified_huber", LM.SGDClassifier(loss="modified_huber", random_state=0), x, three, "class")
add("Perceptron", LM.Perceptron(), x, three, "class")
add("PassiveAggressiveClassifier", LM.PassiveAggressiveClassifier(random_state=0), x, two, "class")
classifier("RidgeClassifier", lambda: LM.RidgeClassifier(), words=False)
add("RidgeClassifierCV", LM.RidgeClassifierCV(), x, three, "class")
classifier("LinearSVC", lambda: SVM.LinearSVC(), words=False)
for kernel in ("linear", "poly", "rbf", "sigmoid"):
    classifier("SVC " + kernel, lambda: SVM.SVC(kernel=kernel, coef0=0.5), words=kernel == "rbf")
    classifier("SVC %s, probabilities" % kernel, lambda: SVM.SVC(kernel=kernel, probability=True, random_state=0),
               words=kernel == "rbf")
add("SVC one against one", SVM.SVC(decision_function_shape="ovo"), x, three, "class")
add("SVC 5 classes", SVM.SVC(probability=True, random_state=0), x, np.digitize(total, [-2, -1, 1, 2]), "class")
add("NuSVC", SVM.NuSVC(nu=0.3), x, three, "class")
add("NuSVC, probabilities", SVM.NuSVC(nu=0.3, probability=True, random_state=0), x, two, "class")
for kernel in ("linear", "poly", "rbf", "sigmoid"):
    add("SVR " + kernel, SVM.SVR(kernel=kernel, degree=2, coef0=0.5), x, real)
add("NuSVR", SVM.NuSVR(), x, real)
add("LinearSVR", SVM.LinearSVR(), x, real)
add("OneClassSVM", SVM.OneClassSVM(nu=0.2), x)

classifier("DecisionTreeClassifier", lambda: tree.DecisionTreeClassifier(max_depth=5))
add("ExtraTreeClassifier", tree.ExtraTreeClassifier(max_depth=5, random_state=0), x, three, "class")
classifier("RandomForestClassifier", lambda: EN.RandomForestClassifier(10, max_depth=5, random_state=0))
add("ExtraTreesClassifier", EN.ExtraTreesClassifier(10, max_depth=5, random_state=0), x, three, "class")
classifier("GradientBoostingClassifier", lambda: EN.GradientBoostingClassifier(n_estimators=10, random_state=0), words=False)
classifier("HistGradientBoostingClassifier", lambda: EN.HistGradientBoostingClassifier(max_iter=10), words=False)
add("HistGradientBoostingClassifier, NaN", EN.HistGradientBoostingClassifier(max_iter=10), holes, two, "class")
classifier("AdaBoostClassifier", lambda: EN.AdaBoostClassifier(n_estimators=5, random_state=0), words=False)
add("BaggingClassifier", EN.BaggingClassifier(n_estimators=4, random_state=0), x, three, "class")
add("BaggingClassifier of SVC", EN.BaggingClassifier(SVM.SVC(probability=True), n_estimators=3, random_state=0), x, three,
    "class")
add("IsolationForest", EN.IsolationForest(n_estimators=10, random_state=0), x)
add("RandomTreesEmbedding", EN.RandomTreesEmbedding(n_estimators=5, random_state=0), x)
for name, model in (("DecisionTreeRegressor", tree.DecisionTreeRegressor(max_depth=5)),
                    ("RandomForestRegressor", EN.RandomForestRegressor(10, max_depth=5, random_state=0)),
                    ("ExtraTreesRegressor", EN.ExtraTreesRegressor(10, max_depth=5, random_state=0)),
                    ("GradientBoostingRegressor", EN.GradientBoostingRegressor(n_estimators=10)),
                    ("HistGradientBoostingRegressor", EN.HistGradientBoostingRegressor(max_iter=10)),
                    ("AdaBoostRegressor", EN.AdaBoostRegressor(n_estimators=5, random_state=0)),
                    ("BaggingRegressor", EN.BaggingRegressor(n_estimators=4, random_state=0)),
                    ("LinearRegression", LM.LinearRegression()), ("Ridge", LM.Ridge()), ("RidgeCV", LM.RidgeCV()),
                    ("Lasso", LM.Lasso(0.1)), ("ElasticNet", LM.ElasticNet(0.1)), ("Lars", LM.Lars()),
                    ("BayesianRidge", LM.BayesianRidge()), ("ARDRegression", LM.ARDRegression()),
                    ("HuberRegressor", LM.HuberRegressor()), ("TheilSenRegressor", LM.TheilSenRegressor()),
                    ("RANSACRegressor", LM.RANSACRegressor(random_state=0)),
                    ("SGDRegressor", LM.SGDRegressor(random_state=0)),
                    ("OrthogonalMatchingPursuit", LM.OrthogonalMatchingPursuit()),
                    ("QuantileRegressor", LM.QuantileRegressor(alpha=0.1)),
                    ("KNeighborsRegressor", neighbors.KNeighborsRegressor(3)),
                    ("KNeighborsRegressor, distances", neighbors.KNeighborsRegressor(3, weights="distance")),
                    ("RadiusNeighborsRegressor", neighbors.RadiusNeighborsRegressor(5.0)),
                    ("MLPRegressor", neural_network.MLPRegressor(hidden_layer_sizes=(6,), max_iter=50, random_state=0)),
                    ("GaussianProcessRegressor", gaussian_process.GaussianProcessRegressor(alpha=0.1)),
                    ("GaussianProcessRegressor, sum", gaussian_process.GaussianProcessRegressor(
                        gaussian_process.kernels.ConstantKernel(2) * gaussian_process.kernels.RBF(1.5)
                        + gaussian_process.kernels.DotProduct(), alpha=0.5, optimizer=None)),
                    ("VotingRegressor", EN.VotingRegressor([("a", LM.Ridge()), ("b", tree.DecisionTreeRegressor(max_depth=3))])),
                    ("StackingRegressor", EN.StackingRegressor([("a", LM.Ridge()), ("b", SVM.SVR())])),
                    ("TransformedTargetRegressor", compose.TransformedTargetRegressor(LM.Ridge()))):
    add(name, model, x, real)
add("PoissonRegressor", LM.PoissonRegressor(), x, np.exp(real / 4))
add("GammaRegressor", LM.GammaRegressor(), x, np.exp(real / 4))
add("TweedieRegressor", LM.TweedieRegressor(power=1.5, link="log"), x, np.exp(real / 4))
for name, model in (("LinearRegression", LM.LinearRegression()), ("MultiTaskLasso", LM.MultiTaskLasso(0.1)),
                    ("RandomForestRegressor", EN.RandomForestRegressor(5, max_depth=4, random_state=0)),
                    ("MultiOutputRegressor", multioutput.MultiOutputRegressor(SVM.SVR())),
                    ("RegressorChain", multioutput.RegressorChain(LM.Ridge())),
                    ("PLSRegression", cross_decomposition.PLSRegression(2)),
                    ("KNeighborsRegressor", neighbors.KNeighborsRegressor(3)),
                    ("MLPRegressor", neural_network.MLPRegressor(hidden_layer_sizes=(5,), max_iter=50, random_state=0))):
    add(name + ", 2 outputs", model, x, reals)
add("MultiOutputClassifier", multioutput.MultiOutputClassifier(LM.LogisticRegression()), x, several, "class")
add("ClassifierChain", multioutput.ClassifierChain(LM.LogisticRegression()), x, bits, "class")
add("RandomForestClassifier, 3 outputs", EN.RandomForestClassifier(5, max_depth=4, random_state=0), x, several, "class")
add("DecisionTreeClassifier, bits", tree.DecisionTreeClassifier(max_depth=4), x, bits, "class")
add("OneVsRestClassifier", multiclass.OneVsRestClassifier(LM.LogisticRegression()), x, three, "class")
add("OneVsRestClassifier, bits", multiclass.OneVsRestClassifier(LM.LogisticRegression()), x, bits, "class")
add("OneVsOneClassifier", multiclass.OneVsOneClassifier(LM.LogisticRegression()), x, three, "class")
add("OutputCodeClassifier", multiclass.OutputCodeClassifier(LM.LogisticRegression(), random_state=0), x, three, "class")
for method in ("sigmoid", "isotonic"):
    add("CalibratedClassifierCV " + method, calibration.CalibratedClassifierCV(SVM.LinearSVC(), method=method, cv=3), x,
        three, "class")
add("CalibratedClassifierCV of SVC", calibration.CalibratedClassifierCV(SVM.SVC(), cv=3), x, two, "class")
parts = [("a", LM.LogisticRegression()), ("b", SVM.SVC(probability=True, random_state=0)), ("c", naive_bayes.GaussianNB())]
add("VotingClassifier soft", EN.VotingClassifier(parts, voting="soft", flatten_transform=False), x, three, "class")
add("VotingClassifier hard", EN.VotingClassifier(parts, flatten_transform=False), x, three, "class")
add("VotingClassifier weighted", EN.VotingClassifier(parts, voting="soft", flatten_transform=False,
                                                    weights=np.array([1, 2, 0.5])), x, two, "class")
add("StackingClassifier", EN.StackingClassifier(parts), x, three, "class")
for name, model, data in (("GaussianNB", naive_bayes.GaussianNB(), x), ("BernoulliNB", naive_bayes.BernoulliNB(), x),
                          ("MultinomialNB", naive_bayes.MultinomialNB(), positive),
                          ("ComplementNB", naive_bayes.ComplementNB(), positive),
                          ("KNeighborsClassifier", neighbors.KNeighborsClassifier(5), x),
                          ("KNeighborsClassifier, distances", neighbors.KNeighborsClassifier(5, weights="distance"), x),
                          ("KNeighborsClassifier manhattan", neighbors.KNeighborsClassifier(5, metric="manhattan"), x),
                          ("RadiusNeighborsClassifier", neighbors.RadiusNeighborsClassifier(5.0), x),
                          ("NearestCentroid", neighbors.NearestCentroid(), x),
                          ("MLPClassifier", neural_network.MLPClassifier(hidden_layer_sizes=(6,), max_iter=50, random_state=0), x),
                          ("LinearDiscriminantAnalysis", discriminant_analysis.LinearDiscriminantAnalysis(), x),
                          ("QuadraticDiscriminantAnalysis", discriminant_analysis.QuadraticDiscriminantAnalysis(), x)):
    add(name, model, data, three, "class")
add("CategoricalNB", naive_bayes.CategoricalNB(), np.abs(whole), whole_class, "class")
add("GaussianProcessClassifier", gaussian_process.GaussianProcessClassifier(), x[:60], two[:60], "class")
add("MLPClassifier, 2 classes", neural_network.MLPClassifier(hidden_layer_sizes=(6,), max_iter=50, random_state=0), x, two, "class")

P, FS, DC = preprocessing, feature_selection, decomposition
for name, model, data in (
        ("StandardScaler", P.StandardScaler(), x), ("StandardScaler, ints", P.StandardScaler(), whole),
        ("MinMaxScaler", P.MinMaxScaler(), x), ("MinMaxScaler clip", P.MinMaxScaler(clip=True), x),
        ("MaxAbsScaler", P.MaxAbsScaler(), x), ("RobustScaler", P.RobustScaler(), x),
        ("Normalizer l1", P.Normalizer("l1"), x), ("Normalizer l2", P.Normalizer("l2"), x),
        ("Normalizer max", P.Normalizer("max"), positive), ("Binarizer", P.Binarizer(threshold=0.3), x),
        ("PolynomialFeatures", P.PolynomialFeatures(2), x), ("KBinsDiscretizer", P.KBinsDiscretizer(4, encode="onehot-dense"), x),
        ("KBinsDiscretizer ordinal", P.KBinsDiscretizer(4, encode="ordinal"), x),
        ("PowerTransformer", P.PowerTransformer(), x), ("QuantileTransformer", P.QuantileTransformer(n_quantiles=20), x),
        ("FunctionTransformer", P.FunctionTransformer(), x),
        ("SplineTransformer", P.SplineTransformer(), x),
        ("OneHotEncoder, ints", P.OneHotEncoder(handle_unknown="ignore"), whole),
        ("OneHotEncoder, texts", P.OneHotEncoder(), colours),
        ("OneHotEncoder, first dropped", P.OneHotEncoder(drop="first"), whole),
        ("OrdinalEncoder, ints", P.OrdinalEncoder(), whole), ("OrdinalEncoder, texts", P.OrdinalEncoder(), colours),
        ("SimpleImputer mean", impute.SimpleImputer(), holes), ("SimpleImputer median", impute.SimpleImputer(strategy="median"), holes),
        ("SimpleImputer constant", impute.SimpleImputer(strategy="constant", fill_value=7.5), holes),
        ("SimpleImputer, ints", impute.SimpleImputer(missing_values=-1, strategy="most_frequent"), whole),
        ("SimpleImputer, 0 is missing", impute.SimpleImputer(missing_values=0.0), counts),
        ("KNNImputer", impute.KNNImputer(n_neighbors=3), holes),
        ("MissingIndicator", impute.MissingIndicator(features="all"), holes),
        ("VarianceThreshold", FS.VarianceThreshold(0.5), x), ("KernelCenterer", P.KernelCenterer(), x[:4]),
        ("PCA", DC.PCA(2), x), ("PCA whiten", DC.PCA(2, whiten=True), x), ("IncrementalPCA", DC.IncrementalPCA(2), x),
        ("TruncatedSVD", DC.TruncatedSVD(2), x), ("KernelPCA", DC.KernelPCA(2, kernel="rbf"), x),
        ("GaussianRandomProjection", random_projection.GaussianRandomProjection(2, random_state=0), x),
        ("Nystroem", kernel_approximation.Nystroem(n_components=5, random_state=0), x),
        ("NeighborhoodTransformer", neighbors.KNeighborsTransformer(n_neighbors=3), x),
        ("KMeans", cluster.KMeans(3, n_init=3, random_state=0), x),
        ("MiniBatchKMeans", cluster.MiniBatchKMeans(3, random_state=0), x),
        ("GaussianMixture", mixture.GaussianMixture(2, random_state=0), x),
        ("BayesianGaussianMixture", mixture.BayesianGaussianMixture(n_components=2, random_state=0), x),
        ("LocalOutlierFactor", neighbors.LocalOutlierFactor(novelty=True), x),
        ("EllipticEnvelope", covariance.EllipticEnvelope(random_state=0), x),
        ("NearestNeighbors", neighbors.NearestNeighbors(n_neighbors=3), x),
        ("FeatureHasher", feature_extraction.FeatureHasher(8, input_type="string"), colours)):
    add(name, model, data)
for name, model in (("SelectKBest", FS.SelectKBest(k=2)), ("SelectPercentile", FS.SelectPercentile(percentile=50)),
                    ("SelectFromModel", FS.SelectFromModel(LM.LogisticRegression())), ("RFE", FS.RFE(LM.LogisticRegression(), n_features_to_select=2)),
                    ("SelectFpr", FS.SelectFpr()), ("NeighborhoodComponentsAnalysis", neighbors.NeighborhoodComponentsAnalysis(2, random_state=0)),
                    ("TargetEncoder", P.TargetEncoder(random_state=0))):
    add(name, model, whole.astype(I64) if name == "TargetEncoder" else x, two)
text = feature_extraction.text
for name, model in (("CountVectorizer", text.CountVectorizer()), ("CountVectorizer, pairs", text.CountVectorizer(ngram_range=(1, 2))),
                    ("TfidfVectorizer", text.TfidfVectorizer()), ("TfidfVectorizer, letters", text.TfidfVectorizer(analyzer="char"))):
    add(name, model, sentences)
add("TfidfTransformer", text.TfidfTransformer(), counts)
add("TfidfVectorizer + LogisticRegression", pipeline.make_pipeline(text.TfidfVectorizer(), LM.LogisticRegression()), sentences,
    about, "class")
add("CountVectorizer + MultinomialNB", pipeline.make_pipeline(text.CountVectorizer(), naive_bayes.MultinomialNB()), sentences,
    about, "class")
add("Scaler + SVC", pipeline.make_pipeline(P.StandardScaler(), SVM.SVC(probability=True, random_state=0)), x, words3, "class")
add("Imputer + LogisticRegression", pipeline.make_pipeline(impute.SimpleImputer(), P.StandardScaler(), LM.LogisticRegression()),
    holes, three, "class")
add("Imputer + forest", pipeline.make_pipeline(impute.SimpleImputer(), EN.RandomForestClassifier(5, random_state=0)), holes,
    words2, "class")
add("PCA + KNN", pipeline.make_pipeline(DC.PCA(2), neighbors.KNeighborsClassifier(3)), x, three, "class")
add("one-hot + LogisticRegression", pipeline.make_pipeline(P.OneHotEncoder(handle_unknown="ignore"), LM.LogisticRegression()),
    colours, colour_class, "class")
add("one-hot of ints + Ridge", pipeline.make_pipeline(P.OneHotEncoder(handle_unknown="ignore"), LM.Ridge()), whole, real)
add("ColumnTransformer + logistic", pipeline.make_pipeline(
    compose.ColumnTransformer([("scale", P.StandardScaler(), [0, 1]), ("bins", P.KBinsDiscretizer(3, encode="onehot-dense"), [2]),
                               ("as is", "passthrough", [3])]), LM.LogisticRegression()), x, three, "class")
add("FeatureUnion + SVR", pipeline.make_pipeline(
    pipeline.FeatureUnion([("pca", DC.PCA(2)), ("scale", P.MinMaxScaler())]), SVM.SVR()), x, real)
add("Polynomial + Ridge", pipeline.make_pipeline(P.PolynomialFeatures(2), LM.Ridge()), x, real)

try:
    import lightgbm
    from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm
    from skl2onnx.common.shape_calculator import (calculate_linear_classifier_output_shapes as class_shapes,
                                                  calculate_linear_regressor_output_shapes as real_shapes)
    known = {"nocl": [True, False], "zipmap": [True, False, "columns"], "raw_scores": [True, False]}
    update_registered_converter(lightgbm.LGBMClassifier, "LgbmClassifier", class_shapes, convert_lightgbm, options=known)
    update_registered_converter(lightgbm.LGBMRegressor, "LgbmRegressor", real_shapes, convert_lightgbm, options={"split": None})
    classifier("LGBMClassifier", lambda: lightgbm.LGBMClassifier(n_estimators=8, verbose=-1), words=False)
    add("LGBMRegressor", lightgbm.LGBMRegressor(n_estimators=8, verbose=-1), x, real)
    add("LGBMClassifier, NaN", lightgbm.LGBMClassifier(n_estimators=8, verbose=-1), holes, two, "class")
    add("Scaler + LGBMClassifier", pipeline.make_pipeline(P.StandardScaler(), lightgbm.LGBMClassifier(n_estimators=8, verbose=-1)),
        x, three, "class")
except ImportError as missing:
    print("no lightgbm:", missing)
try:
    import xgboost
    from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost
    update_registered_converter(xgboost.XGBClassifier, "XgbClassifier", class_shapes, convert_xgboost, options=known)
    update_registered_converter(xgboost.XGBRegressor, "XgbRegressor", real_shapes, convert_xgboost)
    classifier("XGBClassifier", lambda: xgboost.XGBClassifier(n_estimators=8), words=False)
    add("XGBRegressor", xgboost.XGBRegressor(n_estimators=8), x, real)
    add("XGBClassifier, NaN", xgboost.XGBClassifier(n_estimators=8), holes, two, "class")
    add("XGBRFClassifier", xgboost.XGBClassifier(n_estimators=1, num_parallel_tree=5, subsample=0.7), x, three, "class")
except ImportError as missing:
    print("no xgboost:", missing)

# -- running ------------------------------------------------------------------------


def convert(model, data, options, zipmap):
    width = data.shape[1]
    kind = (StringTensorType if data.dtype == object else Int64TensorType if data.dtype == I64 else FloatTensorType)
    chosen = dict(options)
    if zipmap is not None:
        chosen["zipmap"] = zipmap
    if data.dtype == object and data.shape[1] == 1:    # the default locale may not be installed
        chosen = {id(part): {"locale": "C"} for part in (model.steps[0][1] if isinstance(model, pipeline.Pipeline) else model,)}
        if zipmap is not None:
            chosen[id(model)] = {"zipmap": zipmap}
    elif chosen:
        chosen = {id(model): chosen}
    opset = {"": 18, "ai.onnx.ml": 3}
    return to_onnx(model, initial_types=[("X", kind([None, width]))], target_opset=opset,
                   options=chosen or None)


def has_maps(model, data, options):
    """Whether its converter knows of ZipMap; what else is wrong, one() says."""
    try:
        convert(model, data, options, True)
    except NameError as e:
        return "zipmap" not in str(e)
    except Exception:
        pass
    return True


def stored(folder, name, sequence):
    """What cleave wrote of an output."""
    for file in (name + ".npy", name + ".pb"):
        path = os.path.join(folder, file)
        if file.endswith(".npy") and os.path.exists(path):
            return np.load(path)
        if os.path.exists(path):
            with open(path, "rb") as f:
                data = f.read()
            if sequence:
                return [numpy_helper.to_array(t) for t in onnx.SequenceProto.FromString(data).tensor_values]
            return numpy_helper.to_array(onnx.TensorProto.FromString(data))
    raise FileNotFoundError("no output '%s' among %s" % (name, os.listdir(folder)))


def zipped(graph, value):
    """The labels of the ZipMap that makes a value, or None."""
    for n in graph.node:
        if n.op_type == "ZipMap" and n.output[0] == value:
            lists = {a.name: onnx.helper.get_attribute_value(a) for a in n.attribute}
            words = [w.decode() for w in lists.get("classlabels_strings", [])]
            return words or list(lists["classlabels_int64s"])
    return None


def differ(got, want, labels):
    """Why they differ, or None."""
    if isinstance(want, list) and want and isinstance(want[0], dict):
        want = np.array([[row[key] for key in labels] for row in want], F32)
    if isinstance(want, list) and isinstance(want[0], np.ndarray):
        each = [differ(g, w, None) for g, w in zip(got, want)] + [None if len(got) == len(want) else "another number"]
        return next((why for why in each if why), None)
    want = np.asarray(want)
    if want.dtype.kind in "OU":
        want, got = want.astype(str), got.astype(str)
        got = np.array([g.decode() if isinstance(g, bytes) else g for g in got.flat]).reshape(got.shape)
        return None if got.shape == want.shape and (got == want).all() else "texts differ"
    if got.shape != want.shape or got.dtype != want.dtype:
        return "%s %s, expected %s %s" % (got.dtype, got.shape, want.dtype, want.shape)
    if want.dtype.kind in "ib":
        return None if (got == want).all() else "%d of %d labels differ" % ((got != want).sum(), want.size)
    if not (np.isnan(got) == np.isnan(want)).all():
        return "NaN in other places"
    a, b = np.nan_to_num(got.astype(float)), np.nan_to_num(want.astype(float))
    size = np.maximum(np.abs(b).max(axis=-1, keepdims=True, initial=0) if b.ndim else abs(b), 1)
    worst = (np.abs(a - b) / size).max(initial=0)
    return None if worst <= 1e-5 else "off by %.2g of its size" % worst


def cleave(build, path, data, folder):
    at = os.path.join(folder, "x.npy" if data.dtype != object else "x.pb")
    if data.dtype == object:
        with open(at, "wb") as f:
            f.write(numpy_helper.from_array(data, "X").SerializeToString())
    else:
        np.save(at, data)
    done = subprocess.run([os.path.join(build, "cli", "cleave"), "run", path, "--input", "X=" + at, "--output",
                           os.path.join(folder, "out"), "--quiet"], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr.strip().splitlines()


def one(build, name, case, zipmap, folder):
    """(what became of it, why)"""
    _, model, data, target, kind, options = case
    try:
        onx = convert(model, data, options, zipmap)
    except Exception as e:
        return "not converted", "%s: %s" % (type(e).__name__, str(e).strip().splitlines()[0][:110])
    rows = data[:40]
    path = os.path.join(folder, name + ".onnx")
    with open(path, "wb") as f:
        f.write(onx.SerializeToString())
    try:
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        want = session.run(names, {"X": rows})
    except Exception as e:
        return "refused by ONNX Runtime", str(e).strip().splitlines()[0][:110]
    with tempfile.TemporaryDirectory() as tmp:
        code, said = cleave(build, path, rows, tmp)
        if code:
            return "not run", "exit %d: %s" % (code, said[-1][:150] if said else "")
        for o, value in zip(names, want):
            listed = isinstance(value, list) and isinstance(value[0], np.ndarray)
            try:
                why = differ(stored(os.path.join(tmp, "out"), o, listed), value, zipped(onx.graph, o))
            except Exception as e:
                why = "%s: %s" % (type(e).__name__, e)
            if why:
                return "differs", "%s: %s" % (o, why)
    return "equal", ""


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", default="build")
    args.add_argument("--only", default="")
    args.add_argument("--keep", help="a folder for the models")
    args = args.parse_args()
    folder = args.keep or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    tally, operators = {}, {}
    for at, case in enumerate(CASES):
        name, model, data, target, kind, _ = case
        if args.only not in name:
            continue
        try:
            model.fit(data.ravel() if data is sentences else data, *([] if target is None else [target]))
        except Exception as e:
            print("%-45s not fitted: %s" % (name, str(e).splitlines()[0][:100]))
            continue
        for zipmap in ((True, False) if kind == "class" and has_maps(model, data, case[5]) else (None,)):
            file = "%03d%s" % (at, "" if zipmap is None else "_zipmap" if zipmap else "_plain")
            result, why = one(args.build, file, case, zipmap, folder)
            form = {None: "-", True: "maps", False: "plain"}[zipmap]
            tally.setdefault(form, {}).setdefault(result, []).append(name)
            path = os.path.join(folder, file + ".onnx")
            if os.path.exists(path):
                for n in {n.op_type for n in onnx.load(path).graph.node if n.domain == "ai.onnx.ml"}:
                    operators[n] = operators.get(n, 0) + 1
            print("%-45s %-6s %s%s" % (name, form, result, ": " + why if why else ""), flush=True)
    kinds = ["equal", "differs", "not run", "refused by ONNX Runtime", "not converted"]
    print("\n| form | models | " + " | ".join(kinds) + " |")
    print("|---|--:|" + "--:|" * len(kinds))
    for form in ("-", "maps", "plain"):
        got = tally.get(form, {})
        print("| %s | %d | %s |" % (form, sum(map(len, got.values())), " | ".join(str(len(got.get(k, []))) for k in kinds)))
    print("\nai.onnx.ml:", ", ".join("%s %d" % i for i in sorted(operators.items())))
    return any(tally.get(f, {}).get(k) for f in tally for k in ("differs", "not run"))


if __name__ == "__main__":
    sys.exit(main())
