"""Pipelines of scikit-learn, XGBoost and LightGBM, fitted here and exported, give what ONNX Runtime gives."""

import os
import unittest
import warnings

# Before the libraries are loaded: threads that wait for each other in turns take a busy machine much longer.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import lightgbm
import numpy as np
import onnx
import onnxmltools
import operator_models as models
import skl2onnx
import xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as ToolsFloat
from skl2onnx.common.data_types import (
    DictionaryType,
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, MinMaxScaler, Normalizer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

warnings.filterwarnings("ignore")
FEATURES = 6
ROWS = 400
# Floats are sums of f32 in another order.
TOLERANCE = 1e-5
TEXTS = [
    "The cat sat on the mat.",
    "A dog barked at the cat, all night",
    "cats and dogs: never on one mat",
    "Birds fly high",
    "a bird in the hand is worth two in the bush",
    "the early bird gets the worm",
    "dogs chase cats; cats chase mice",
    "worms and mice, birds and bushes",
]
LABELS = [0, 1, 1, 2, 2, 2, 1, 0]


def rows(seed, count=ROWS):
    """Numbers of different sizes, some of which repeat."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, FEATURES)) * [1, 3, 0.5, 1, 2, 1]
    x[:, 3] = np.round(x[:, 3], 1)
    x[:, 4] = rng.integers(0, 4, count)
    return x.astype(np.float32)


def holes(x, seed=3):
    x = x.copy()
    x[np.random.default_rng(seed).random(x.shape) < 0.15] = np.nan
    return x


def numbers(x):
    x = np.nan_to_num(x, nan=0.7)
    return (x[:, 0] * 2 - np.abs(x[:, 1]) + (x[:, 4] == 2) * 1.5 + np.sin(3 * x[:, 2])).astype(np.float32)


def classes(x, count):
    """Labels that are not their own positions."""
    y = numbers(x)
    edges = np.quantile(y, np.linspace(0, 1, count + 1)[1:-1])
    return np.digitize(y, edges) * 3 + 2


class Pipelines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.x, cls.more = rows(1), rows(2, 97)

    def check(self, label, onnx_model, x, tolerance=TOLERANCE):
        feeds = {onnx_model.graph.input[0].name: x}
        expected = models.reference(onnx_model, feeds)
        models.same(self, label, expected, models.stead(onnx_model, feeds), tolerance)

    def sklearn(self, label, model, *, kind=FloatTensorType, x=None, tolerance=TOLERANCE, ml=3):
        x = self.more if x is None else x
        initial = [("x", kind([None, x.shape[1]]))]
        last = model.steps[-1][1] if hasattr(model, "steps") else model
        maps = hasattr(last, "predict_proba") or isinstance(last, (SVC, NuSVC))
        options = {id(model): {"zipmap": False}} if maps else None
        exported = skl2onnx.convert_sklearn(
            model, initial_types=initial, options=options, target_opset={"": 18, "ai.onnx.ml": ml}
        )
        with self.subTest(label):
            self.check(label, exported, x, tolerance)

    def test_classifiers_of_scikit_learn(self):
        cases = {
            "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
            "ridge": make_pipeline(MinMaxScaler(), RidgeClassifier()),
            "tree": DecisionTreeClassifier(max_depth=6, random_state=0),
            "forest": RandomForestClassifier(20, max_depth=7, random_state=0),
            "gradient boosting": GradientBoostingClassifier(n_estimators=15, random_state=0),
            "bayes": GaussianNB(),
            "network": make_pipeline(Normalizer(), MLPClassifier([12], max_iter=60, random_state=0)),
            "svc": make_pipeline(StandardScaler(), SVC()),
            "svc poly": make_pipeline(StandardScaler(), SVC(kernel="poly", degree=2, coef0=1.0)),
            "nu svc": make_pipeline(StandardScaler(), NuSVC(nu=0.2)),
            "svc sigmoid": make_pipeline(StandardScaler(), SVC(kernel="sigmoid")),
            "ada": AdaBoostClassifier(n_estimators=8, random_state=0),
        }
        for count in [2, 4]:
            y = classes(self.x, count)
            for label, model in cases.items():
                self.sklearn(f"{label}, {count} classes", model.fit(self.x, y))

    def test_probabilities_of_support_vectors(self):
        for count in [2, 4]:
            model = make_pipeline(StandardScaler(), SVC(probability=True, random_state=0))
            self.sklearn(f"svc {count}", model.fit(self.x, classes(self.x, count)), tolerance=2e-5)

    def test_regressors_of_scikit_learn(self):
        y = numbers(self.x)
        both = np.stack([y, -2 * y + self.x[:, 0]], axis=1)
        cases = {
            "linear": (make_pipeline(StandardScaler(), LinearRegression()), y),
            "linear, two targets": (Ridge(), both),
            "imputer": (make_pipeline(SimpleImputer(), Normalizer("l1"), Ridge()), y),
            "binarizer": (make_pipeline(Binarizer(threshold=0.3), Ridge()), y),
            "norm max": (make_pipeline(Normalizer("max"), Ridge()), y),
            "tree": (DecisionTreeRegressor(max_depth=7, random_state=0), y),
            "tree, two targets": (DecisionTreeRegressor(max_depth=5, random_state=0), both),
            "forest": (RandomForestRegressor(15, max_depth=6, random_state=0), y),
            "extra trees, two targets": (ExtraTreesRegressor(9, max_depth=6, random_state=0), both),
            "gradient boosting": (GradientBoostingRegressor(n_estimators=20, random_state=0), y),
            "svr": (make_pipeline(StandardScaler(), SVR()), y),
            "svr poly": (make_pipeline(StandardScaler(), SVR(kernel="poly", degree=2)), y),
            "svr linear": (make_pipeline(StandardScaler(), SVR(kernel="linear")), y),
        }
        for label, (model, y) in cases.items():
            # Large terms of both signs: ONNX Runtime rounds each sum of a kernel to f32 on the way.
            tolerance = 1e-4 if label == "svr linear" else TOLERANCE
            self.sklearn(label, model.fit(self.x, y), tolerance=tolerance)

    def test_trees_of_the_newest_version(self):
        y = numbers(self.x)
        self.sklearn("forest", RandomForestRegressor(15, max_depth=6, random_state=0).fit(self.x, y), ml=5)

    def test_values_that_are_missing(self):
        x, more = holes(self.x), holes(self.more, 4)
        y = numbers(x)
        for label, model in {
            "imputer": make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), Ridge()),
        }.items():
            self.sklearn(label, model.fit(x, y), x=more)

    def test_doubles(self):
        x, more = self.x.astype(np.float64), self.more.astype(np.float64)
        model = make_pipeline(StandardScaler(), LinearRegression()).fit(x, numbers(x))
        self.sklearn("linear", model, kind=DoubleTensorType, x=more)

    def test_categories(self):
        rng = np.random.default_rng(5)
        x, more = rng.integers(0, 5, (ROWS, 3)), rng.integers(0, 7, (50, 3))
        y = (x[:, 0] * 2 + (x[:, 1] == 3) - x[:, 2]).astype(np.float32)
        encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        chosen = ColumnTransformer([("codes", encoder, [0, 1]), ("rest", "passthrough", [2])])
        for label, model in {
            "all": make_pipeline(encoder, Ridge()),
            "some": make_pipeline(chosen, Ridge()),
        }.items():
            self.sklearn(label, model.fit(x, y), kind=Int64TensorType, x=more.astype(np.int64))

    def test_anomalies(self):
        self.sklearn("isolation forest", IsolationForest(n_estimators=10, random_state=0).fit(self.x))
        self.sklearn("one class", OneClassSVM(nu=0.2).fit(self.x))

    def test_xgboost(self):
        y = numbers(self.x)
        cases = {
            "regressor": xgboost.XGBRegressor(n_estimators=20, max_depth=4).fit(holes(self.x), y),
            "two classes": xgboost.XGBClassifier(n_estimators=20, max_depth=4).fit(holes(self.x), (y > 0).astype(int)),
            "classes": xgboost.XGBClassifier(n_estimators=8, max_depth=4).fit(self.x, classes(self.x, 3) // 3),
        }
        for label, model in cases.items():
            exported = onnxmltools.convert_xgboost(model, initial_types=[("x", ToolsFloat([None, FEATURES]))], target_opset=15)
            with self.subTest(label):
                self.check(label, exported, holes(self.more, 4))

    def test_lightgbm(self):
        y = numbers(self.x)
        small = {"n_estimators": 15, "num_leaves": 12, "verbose": -1, "n_jobs": 1}
        cases = {
            "regressor": lightgbm.LGBMRegressor(**small).fit(holes(self.x), y),
            "two classes": lightgbm.LGBMClassifier(**small).fit(holes(self.x), (y > 0).astype(int)),
            "classes": lightgbm.LGBMClassifier(**small).fit(self.x, classes(self.x, 3)),
        }
        for label, model in cases.items():
            exported = onnxmltools.convert_lightgbm(
                model, initial_types=[("x", ToolsFloat([None, FEATURES]))], target_opset=15, zipmap=False
            )
            with self.subTest(label):
                self.check(label, exported, holes(self.more, 4))

    def test_maps_of_classes(self):
        """As they are exported unless somebody says otherwise."""
        y = classes(self.x, 3)
        names = np.array(["low", "middle", "high"])[(y - 2) // 3]
        trees = RandomForestClassifier(10, max_depth=5, random_state=0)
        for label, model in {
            "numbers": LogisticRegression().fit(self.x, y),
            "names": make_pipeline(StandardScaler(), LogisticRegression()).fit(self.x, names),
            "forest": trees.fit(self.x, names),
        }.items():
            with self.subTest(label):
                exported = skl2onnx.convert_sklearn(
                    model, initial_types=[("x", FloatTensorType([None, FEATURES]))], target_opset={"": 18, "ai.onnx.ml": 3}
                )
                self.assertIn("ZipMap", [node.op_type for node in exported.graph.node])
                for x in (self.more, self.more[:1], self.more[:0]):
                    self.check(label, exported, x)
        small = {"n_estimators": 5, "num_leaves": 6, "verbose": -1, "n_jobs": 1}
        boosted = lightgbm.LGBMClassifier(**small).fit(self.x, y)
        exported = onnxmltools.convert_lightgbm(boosted, initial_types=[("x", ToolsFloat([None, FEATURES]))], target_opset=15)
        self.check("lightgbm", exported, self.more)

    def test_dicts_of_features(self):
        rng = np.random.default_rng(7)
        names = [f"f{at}" for at in range(9)]
        rows = [
            {name: float(value) for name, value in zip(names, rng.normal(size=9)) if rng.random() < 0.6} or {"f0": 1.0}
            for _ in range(200)
        ]
        y = [row.get("f1", 0) > row.get("f2", 0.1) for row in rows]
        kind = DictionaryType(StringTensorType([1]), FloatTensorType([1]))
        for label, last in {
            "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
            "logistic": LogisticRegression(),
        }.items():
            model = make_pipeline(DictVectorizer(sparse=False), last).fit(rows, np.array(y, np.int64))
            exported = skl2onnx.convert_sklearn(
                model, initial_types=[("x", kind)], target_opset={"": 18, "ai.onnx.ml": 3}
            )
            self.assertIn("DictVectorizer", [node.op_type for node in exported.graph.node])
            for row in [*rows[:30], {"f3": 0.5, "nobody knows": 2.0}]:
                with self.subTest(label):
                    self.check(label, exported, row)

    def texts(self, label, model, options):
        exported = skl2onnx.convert_sklearn(
            model.fit(TEXTS, LABELS),
            initial_types=[("x", StringTensorType([None, 1]))],
            options=options,
            target_opset={"": 18, "ai.onnx.ml": 3},
        )
        operators = [node.op_type for node in exported.graph.node]
        self.assertTrue({"Tokenizer", "TfIdfVectorizer"} <= set(operators), operators)
        for node in exported.graph.node:
            if node.op_type == "StringNormalizer":
                # That of every machine: ONNX Runtime asks the system for en_US, which few containers have.
                node.attribute.append(onnx.helper.make_attribute("locale", "C"))
        x = np.array([*TEXTS, "", "nothing that anybody knows", "THE CAT, the dog; a_b 12"], dtype=object).reshape(-1, 1)
        with self.subTest(label):
            self.check(label, exported, x)

    def test_texts(self):
        logistic, support = LogisticRegression, LinearSVC
        cases = {
            "counts": (CountVectorizer(), logistic()),
            "counts, words of a pattern": (CountVectorizer(token_pattern="[a-zA-Z]+", binary=True), logistic()),
            "counts without stop words": (CountVectorizer(token_pattern="[a-z]+", stop_words=["the", "a"]), logistic()),
            "counts of characters": (CountVectorizer(analyzer="char", ngram_range=(1, 3)), logistic()),
            "tf-idf": (TfidfVectorizer(), support()),
            "tf-idf of pairs": (TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=False), support()),
            "tf-idf of capitals": (TfidfVectorizer(lowercase=False, norm="l1"), support()),
            "tf-idf of characters": (TfidfVectorizer(analyzer="char", ngram_range=(2, 2), use_idf=False), support()),
        }
        for label, (vectorizer, last) in cases.items():
            model = make_pipeline(vectorizer, last)
            self.texts(label, model, {type(last): {"raw_scores": True}} if isinstance(last, LinearSVC) else None)
