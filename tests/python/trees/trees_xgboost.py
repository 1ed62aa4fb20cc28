"""`exact` gives XGBoost's own predictions: every objective, booster and format."""

import json
import os
import tempfile
import unittest

import tree_rows  # first: it says how many threads the libraries take

import numpy as np
import pandas as pd
import xgboost as xgb

TYPES = ["float"] * tree_rows.NUMBERS + ["c"] * tree_rows.CATEGORIES


def labels(objective, y):
    """Labels that the objective allows, made from any number."""
    positive = np.exp(y / 4)
    if objective.startswith(("binary:", "reg:logistic")):
        return (y > np.median(y)).astype(float)
    if objective.startswith("multi:"):
        return np.digitize(y, np.quantile(y, [0.3, 0.7]))
    if objective == "count:poisson":
        return np.floor(positive)
    if objective in ("reg:gamma", "reg:tweedie", "reg:squaredlogerror") or objective.startswith("survival:"):
        return positive
    if objective.startswith("rank:"):
        return np.digitize(y, np.quantile(y, [0.5, 0.8]))
    return y


def matrix(x, y=None, objective=""):
    """Rows as XGBoost takes them."""
    if y is None:
        return xgb.DMatrix(x, feature_types=TYPES)
    kept = {} if not objective.startswith("rank:") else {"qid": np.arange(len(y)) // 20}
    if objective == "survival:aft":
        return xgb.DMatrix(x, feature_types=TYPES, label_lower_bound=y, label_upper_bound=y)
    return xgb.DMatrix(x, label=y, feature_types=TYPES, **kept)


class XGBoost(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.x = tree_rows.data(1, np.float32)
        cls.y = tree_rows.target(cls.x, 1)
        cls.rows = tree_rows.strange(cls.x)

    def fit(self, objective, rounds=12, **parameters):
        y = labels(objective, self.y)
        parameters = {"objective": objective, "max_depth": 5, "eta": 0.4, "nthread": 1, **parameters}
        return xgb.train(parameters, matrix(self.x, y, objective), rounds)

    def check(self, booster, label, *, dump=True, rows=None):
        rows = self.rows if rows is None else rows
        expected = booster.predict(matrix(rows))
        config = json.loads(booster.save_config())["learner"]
        base = json.loads(config["learner_model_param"]["base_score"].strip())
        base = base if isinstance(base, list) else [base]
        outputs = max(int(config["learner_model_param"]["num_class"]), int(config["learner_model_param"]["num_target"]))
        with tempfile.TemporaryDirectory() as folder:
            for ending in ["json", "ubj"]:
                path = os.path.join(folder, f"model.{ending}")
                booster.save_model(path)
                tree_rows.same(self, tree_rows.stead("exact", path, rows), expected, f"{label} {ending}")
            if dump and len(set(base)) == 1:
                path = os.path.join(folder, "dump.json")
                booster.dump_model(path, dump_format="json", with_stats=True)
                names = ",".join(f"f{i}" for i in range(rows.shape[1]))
                facts = [config["objective"]["name"], base[0], outputs, "--names", names]
                # A dump has nine digits, which are enough for an f32.
                tree_rows.same(self, tree_rows.stead("exact", path, rows, *facts), expected, f"{label} dump")

    def test_every_objective(self):
        for objective in [
            "reg:squarederror", "reg:squaredlogerror", "reg:logistic", "reg:pseudohubererror", "reg:absoluteerror",
            "reg:gamma", "reg:tweedie", "binary:logistic", "binary:logitraw", "binary:hinge", "count:poisson",
            "survival:cox", "survival:aft", "rank:pairwise", "rank:ndcg", "rank:map",
        ]:
            with self.subTest(objective):
                if objective == "rank:map":
                    booster = xgb.train(
                        {"objective": objective, "max_depth": 4},
                        matrix(self.x, labels("binary:", self.y), objective), 10)
                elif objective == "survival:cox":
                    booster = self.fit(objective, eta=0.02)
                else:
                    booster = self.fit(objective)
                self.check(booster, objective)

    def test_several_outputs(self):
        for objective in ["multi:softmax", "multi:softprob"]:
            with self.subTest(objective):
                self.check(self.fit(objective, num_class=3), objective)
                self.check(self.fit(objective, num_class=3, base_score=0.5), objective + " base")
        self.check(self.fit("reg:quantileerror", quantile_alpha=[0.1, 0.5, 0.9]), "quantiles")
        self.check(self.fit("reg:quantileerror", quantile_alpha=0.3), "quantile")
        targets = np.stack([self.y, -self.y, self.y**2], axis=1)
        booster = xgb.train({"max_depth": 4}, xgb.DMatrix(self.x, targets, feature_types=TYPES), 10)
        self.check(booster, "targets", dump=False)

    def test_shapes_of_trees(self):
        cases = {
            "stumps": {"max_depth": 1},
            "deep": {"max_depth": 14, "min_child_weight": 0},
            "by leaf": {"grow_policy": "lossguide", "max_leaves": 64, "max_depth": 0},
            "300 leaves": {"grow_policy": "lossguide", "max_leaves": 300, "max_depth": 0},
            "exact thresholds": {"tree_method": "approx", "max_bin": 1000},
            "forest": {"num_parallel_tree": 4, "subsample": 0.5, "eta": 1.0},
            "one category against all": {"max_cat_to_onehot": 100},
            "partitions": {"max_cat_to_onehot": 1},
            "base": {"base_score": 3.25},
        }
        for label, parameters in cases.items():
            with self.subTest(label):
                self.check(self.fit("reg:squarederror", **parameters), label)

    def test_boosters(self):
        dart = self.fit("reg:squarederror", booster="dart", rate_drop=0.3, one_drop=1)
        self.check(dart, "dart", dump=False)
        with tempfile.TemporaryDirectory() as folder:
            x = np.nan_to_num(self.x)[:, : tree_rows.NUMBERS]
            linear = xgb.train({"booster": "gblinear", "objective": "reg:squarederror"}, xgb.DMatrix(x, self.y), 3)
            for name in ["model.json", "model.ubj"]:
                path = os.path.join(folder, name)
                linear.save_model(path)
                with self.assertRaisesRegex(AssertionError, "booster `gblinear` is not supported"):
                    tree_rows.stead("exact", path, x)
            path = os.path.join(folder, "vector.json")
            xgb.train({"multi_strategy": "multi_output_tree", "tree_method": "hist"},
                      xgb.DMatrix(x, np.stack([self.y, -self.y], axis=1)), 2).save_model(path)
            with self.assertRaisesRegex(AssertionError, "multi_output_tree.* is not supported"):
                tree_rows.stead("exact", path, x)

    def test_f64_rows_are_compared_as_f32(self):
        booster = self.fit("reg:squarederror")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.ubj")
            booster.save_model(path)
            rows = self.rows.astype(np.float64) * (1 + 1e-9)
            expected = booster.predict(matrix(rows.astype(np.float32)))
            tree_rows.same(self, tree_rows.stead("exact", path, rows), expected, "f64")

    def test_scikit_learn_with_strings_as_categories(self):
        frame = pd.DataFrame(self.x, columns=[f"n{i}" for i in range(tree_rows.NUMBERS)] + ["c", "d"])
        names = np.array([f"value {i}" for i in range(70)], dtype=object)
        for name in ["c", "d"]:
            codes = frame[name].fillna(-1).astype(int)
            values = pd.Series(np.where(codes < 0, None, names[codes]))
            frame[name] = values.astype("category")
        fitted = xgb.XGBClassifier(n_estimators=10, max_depth=4, enable_categorical=True)
        fitted.fit(frame, self.y > 0)
        rows = frame.copy()
        for name in ["c", "d"]:
            codes = frame[name].cat.codes.astype(float)
            rows[name] = np.where(codes < 0, np.nan, codes)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.json")
            fitted.save_model(path)
            found = tree_rows.stead("exact", path, rows.to_numpy(np.float32))
        tree_rows.same(self, found, fitted.predict_proba(frame)[:, 1], "classifier")
