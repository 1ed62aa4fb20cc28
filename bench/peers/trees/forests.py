"""XGBoost and LightGBM as peers of `crates/trees/examples/forest_speed.rs`.

    forests.py make FOLDER    fits the models, unless they are there
    forests.py serve FOLDER   for each line `xgboost 300` on standard input: the milliseconds of one `predict` of all
                              rows on one thread, on arrays that are already parsed
"""

import os
import sys
import time

import lightgbm as lgb
import numpy as np
import xgboost as xgb

ROWS, FEATURES, LEAVES, TREES = 10_000, 100, 64, [300, 3000]


def rows(seed, count):
    return np.random.default_rng(seed).random((count, FEATURES), dtype=np.float32)


def make(folder):
    if os.path.exists(os.path.join(folder, "done")):
        return
    os.makedirs(folder, exist_ok=True)
    x = rows(1, 20_000)
    rng = np.random.default_rng(2)
    # Every feature counts, with products that need depth; noise, so that late trees still find something.
    y = x @ rng.normal(size=FEATURES) + 3 * np.sin(6 * x[:, 0]) * x[:, 1] + rng.normal(size=len(x))
    parameters = {"max_leaves": LEAVES, "grow_policy": "lossguide", "max_depth": 0, "eta": 0.05, "colsample_bytree": 0.5}
    booster = xgb.train(parameters, xgb.DMatrix(x, y), max(TREES))
    parameters = {"num_leaves": LEAVES, "learning_rate": 0.05, "feature_fraction": 0.5, "min_data_in_leaf": 5, "verbose": -1}
    gbm = lgb.train({"objective": "regression", **parameters}, lgb.Dataset(x, y), max(TREES))
    np.save(os.path.join(folder, "rows.npy"), rows(3, ROWS))
    for trees in TREES:
        booster[:trees].save_model(os.path.join(folder, f"xgboost-{trees}.ubj"))
        gbm.save_model(os.path.join(folder, f"lightgbm-{trees}.txt"), num_iteration=trees)
    for name, (prepare, predict) in models(folder).items():
        np.save(os.path.join(folder, name.replace(" ", "-") + ".npy"), np.asarray(predict(prepare()), dtype=np.float64))
    open(os.path.join(folder, "done"), "w").close()


def models(folder):
    """For each model the fastest way of its library: what to do before, which is not measured, and the prediction."""
    x = np.load(os.path.join(folder, "rows.npy"))
    double = x.astype(np.float64)
    found = {}
    for trees in TREES:
        booster = xgb.Booster({"nthread": 1}, model_file=os.path.join(folder, f"xgboost-{trees}.ubj"))
        booster.set_param({"nthread": 1})
        # A DMatrix is new each time: a booster remembers what it has predicted for one.
        found[f"xgboost {trees}"] = fastest(
            (lambda: xgb.DMatrix(x, nthread=1), lambda matrix, b=booster: b.predict(matrix)),
            (lambda: x, lambda rows, b=booster: b.inplace_predict(rows)))
        gbm = lgb.Booster(model_file=os.path.join(folder, f"lightgbm-{trees}.txt"))
        found[f"lightgbm {trees}"] = fastest(
            (lambda: x, lambda rows, g=gbm: g.predict(rows, num_threads=1)),
            (lambda: double, lambda rows, g=gbm: g.predict(rows, num_threads=1)))
    return found


def milliseconds(way):
    prepare, predict = way
    rows = prepare()
    start = time.perf_counter()
    predict(rows)
    return (time.perf_counter() - start) * 1e3


def fastest(*ways):
    # The first call of a way prepares.
    return min(ways, key=lambda way: (milliseconds(way), min(milliseconds(way) for _ in range(2)))[1])


def serve(folder):
    found = models(folder)
    print("ready", flush=True)
    for line in sys.stdin:
        print(milliseconds(found[line.strip()]), flush=True)


if __name__ == "__main__":
    {"make": make, "serve": serve}[sys.argv[1]](sys.argv[2])
