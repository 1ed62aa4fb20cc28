"""`exact` gives LightGBM's own predictions: every objective, both formats, its rules for what is missing."""

import json
import os
import tempfile
import unittest

import tree_rows  # first: it says how many threads the libraries take

import lightgbm as lgb
import numpy as np
import pandas as pd

CATEGORICAL = list(range(tree_rows.NUMBERS, tree_rows.NUMBERS + tree_rows.CATEGORIES))


def labels(objective, y):
    """Labels that the objective allows, made from any number."""
    positive = np.exp(y / 4)
    if objective == "binary":
        return (y > np.median(y)).astype(float)
    if objective.startswith("cross_entropy"):
        return 1 / (1 + np.exp(-y))
    if objective.startswith("multiclass"):
        return np.digitize(y, np.quantile(y, [0.3, 0.7]))
    if objective in ("poisson", "gamma", "tweedie"):
        return positive
    if objective in ("lambdarank", "rank_xendcg"):
        return np.digitize(y, np.quantile(y, [0.5, 0.8]))
    return y


class LightGBM(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.x = tree_rows.data(2, np.float64)
        cls.y = tree_rows.target(cls.x, 2)
        cls.rows = tree_rows.strange(cls.x)

    def fit(self, objective, rounds=15, y=None, **parameters):
        y = labels(objective, self.y) if y is None else y
        group = [20] * (tree_rows.ROWS // 20) if objective in ("lambdarank", "rank_xendcg") else None
        parameters = {"objective": objective, "verbose": -1, "num_threads": 1, "seed": 3, **parameters}
        kept = {name: parameters[name] for name in ("zero_as_missing", "use_missing", "linear_tree") if name in parameters}
        dataset = lgb.Dataset(self.x, y, group=group, categorical_feature=CATEGORICAL, params={"verbose": -1, **kept})
        return lgb.train(parameters, dataset, rounds)

    def check(self, booster, label, rows=None):
        rows = self.rows if rows is None else rows
        expected = booster.predict(rows)
        with tempfile.TemporaryDirectory() as folder:
            text, dump = os.path.join(folder, "model.txt"), os.path.join(folder, "model.json")
            booster.save_model(text)
            with open(dump, "w") as file:
                json.dump(booster.dump_model(), file)
            for path in [text, dump]:
                found = tree_rows.stead("exact", path, rows)
                tree_rows.same(self, found, expected, f"{label} {os.path.basename(path)}")

    def test_every_objective(self):
        for objective in [
            "regression", "regression_l1", "huber", "fair", "poisson", "quantile", "mape", "gamma", "tweedie", "binary",
            "cross_entropy", "cross_entropy_lambda", "lambdarank", "rank_xendcg",
        ]:
            with self.subTest(objective):
                self.check(self.fit(objective), objective)

    def test_parameters_of_objectives(self):
        self.check(self.fit("binary", sigmoid=2.5), "slope")
        self.check(self.fit("regression", reg_sqrt=True), "sqrt")
        self.check(self.fit("multiclass", num_class=3), "multiclass")
        self.check(self.fit("multiclassova", num_class=3, sigmoid=0.7), "one against all")

    def test_boosting(self):
        self.check(self.fit("regression", boosting="dart"), "dart")
        forest = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
        self.check(self.fit("regression", **forest), "random forest")
        self.check(self.fit("binary", **forest), "random forest, binary")
        self.check(self.fit("multiclass", num_class=3, **forest), "random forest, classes")

    def test_what_is_missing(self):
        for label, parameters in {
            "zero": {"zero_as_missing": True},
            "none": {"use_missing": False},
        }.items():
            with self.subTest(label):
                self.check(self.fit("regression", **parameters), label)
        x = np.nan_to_num(self.x)
        booster = lgb.train({"objective": "regression", "verbose": -1}, lgb.Dataset(x, self.y), 15)
        # Nothing was missing in training: NaN is 0.
        self.check(booster, "no NaN in training")

    def test_shapes_of_trees(self):
        for label, parameters in {
            "stumps": {"num_leaves": 2},
            "64 leaves": {"num_leaves": 64},
            "600 leaves": {"num_leaves": 600, "min_data_in_leaf": 2},
            "constant": {"min_data_in_leaf": 100_000},
            "many categories": {"cat_smooth": 1, "min_data_per_group": 1, "max_cat_to_onehot": 1},
            "bins": {"max_bin": 2000, "min_data_in_bin": 1},
        }.items():
            with self.subTest(label):
                self.check(self.fit("regression", **parameters), label)

    def test_f32_rows(self):
        self.check(self.fit("regression"), "f32", self.rows.astype(np.float32))

    def test_linear_trees_are_refused(self):
        booster = self.fit("regression", linear_tree=True)
        with tempfile.TemporaryDirectory() as folder:
            text, dump = os.path.join(folder, "model.txt"), os.path.join(folder, "model.json")
            booster.save_model(text)
            with open(dump, "w") as file:
                json.dump(booster.dump_model(), file)
            for path in [text, dump]:
                with self.assertRaisesRegex(AssertionError, "a linear tree is not supported"):
                    tree_rows.stead("exact", path, self.rows)

    def test_scikit_learn_with_strings_as_categories(self):
        frame = pd.DataFrame(self.x, columns=[f"n{i}" for i in range(tree_rows.NUMBERS)] + ["c", "d"])
        names = np.array([f"value {i}" for i in range(70)], dtype=object)
        for name in ["c", "d"]:
            codes = frame[name].fillna(-1).astype(int)
            frame[name] = pd.Series(np.where(codes < 0, None, names[codes])).astype("category")
        fitted = lgb.LGBMClassifier(n_estimators=10, verbose=-1).fit(frame, self.y > 0)
        rows = frame.copy()
        for name in ["c", "d"]:
            codes = frame[name].cat.codes.astype(float)
            rows[name] = np.where(codes < 0, np.nan, codes)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.txt")
            fitted.booster_.save_model(path)
            found = tree_rows.stead("exact", path, rows.to_numpy(np.float64))
        tree_rows.same(self, found, fitted.predict_proba(frame)[:, 1], "classifier")
