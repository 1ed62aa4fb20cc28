"""Makes the seeds of the fuzz target tree_model: python make_trees.py (needs tests/python/requirements-trees*.txt)."""

import json
import pathlib

import lightgbm as lgb
import numpy as np
import xgboost as xgb

folder = pathlib.Path(__file__).parent / "tree_model"
folder.mkdir(exist_ok=True)
rng = np.random.default_rng(1)
x = rng.normal(size=(300, 3))
x[:, 2] = rng.integers(0, 5, 300)
x[rng.random(x.shape) < 0.1] = np.nan
y = np.nan_to_num(x).sum(axis=1)

data = {"feature_types": ["float", "float", "c"]}
for name, parameters, labels in [
    ("plain", {"objective": "reg:squarederror"}, y),
    ("classes", {"objective": "multi:softprob", "num_class": 3}, np.digitize(y, [-1, 1])),
    ("dart", {"booster": "dart", "rate_drop": 0.5, "objective": "count:poisson"}, np.abs(y).round()),
]:
    booster = xgb.train({"max_depth": 2, "max_cat_to_onehot": 1, **parameters}, xgb.DMatrix(x, labels, **data), 2)
    for ending in ["json", "ubj"]:
        booster.save_model(folder / f"xgboost_{name}.{ending}")
    booster.dump_model(folder / f"xgboost_{name}_dump.json", dump_format="json")

for name, parameters, labels in [
    ("plain", {"objective": "regression", "zero_as_missing": True}, y),
    ("classes", {"objective": "multiclass", "num_class": 3}, np.digitize(y, [-1, 1])),
    ("forest", {"objective": "binary", "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}, y > 0),
]:
    few = {"num_leaves": 4, "min_data_per_group": 1, "max_cat_to_onehot": 1, "verbose": -1}
    dataset = lgb.Dataset(x, labels, categorical_feature=[2], params={"verbose": -1})
    booster = lgb.train({**few, **parameters}, dataset, 2)
    # The parameters at the end of the text say nothing about the trees.
    text = booster.model_to_string()
    (folder / f"lightgbm_{name}.txt").write_text(text[: text.index("feature_importances")] + "pandas_categorical:null\n")
    (folder / f"lightgbm_{name}.json").write_text(json.dumps(booster.dump_model()))
