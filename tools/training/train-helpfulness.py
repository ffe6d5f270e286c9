"""Trains the helpfulness model (docs/design/selection.md, Training) and writes it as an ONNX graph.

usage: train-helpfulness.py ROWS.jsonl MODEL.onnx METRICS.json

The first line of ROWS names the features: {"features": [name, ...]}. Every other line is a row: {"group": the request, "features":
[number, ...], "effect": in about [-1, 1], what the example added to the answer's quality, "weight": how much the row is to be trusted}.
The graph takes float32 `features` [rows, features] and gives float32 [rows, 1]: 0.5 + effect / 2, so that 0.5 neither helps nor hurts.

Gradient-boosted trees, a small network and a linear model are compared on requests they were not trained on (cross-validation whose folds
never part a request); the one that tells helpful from useless best, less its calibration error, is trained on all rows. Repeatable: no
clock, fixed seeds. connections/training/helpfulness.ts brings the packages and calls it.
"""

import json
import os
import sys
import warnings

# A background job: one core, and only when it is idle.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.nice(max(0, 10 - os.nice(0)))

import numpy as np
import helpfulness_onnx
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

# A network stops at its number of rounds; more would be learning by heart.
warnings.simplefilter("ignore", ConvergenceWarning)

FOLDS = 5
CALIBRATION_BINS = 10
SEED = 20_261_121

# How much less the linear model's regularisation holds back a feature. What it is to find out in a hundred requests is mostly noise; that the answer
# most candidates' answers come closest to is the best to show was seen on thousands of training pairs (bench/results/NOTES.md).
TRUST = {"consensus": 4, "consensusToBest": 4}


class TrustingScaler(StandardScaler):
    """To mean 0 and variance 1, those of TRUST to a larger one: a given coefficient then costs less."""

    def __init__(self, names):
        super().__init__()
        self.names = names

    def fit(self, features, targets=None):
        super().fit(features)
        self.scale_ = self.scale_ / np.array([TRUST.get(name, 1) for name in self.names])
        return self


# Strongly regularised: effects are noisy, and there are hundreds of requests before there are thousands.
MODELS = {
    "trees": lambda names: HistGradientBoostingRegressor(
        max_iter=100, learning_rate=0.04, max_leaf_nodes=6, min_samples_leaf=40, l2_regularization=30, random_state=SEED
    ),
    "network": lambda names: make_pipeline(
        StandardScaler(),
        MLPRegressor(
            hidden_layer_sizes=(16,), alpha=3, learning_rate_init=0.003, max_iter=40, batch_size=32, random_state=SEED
        ),
    ),
    "linear": lambda names: make_pipeline(TrustingScaler(names), Ridge(alpha=3000)),
}


def read(path):
    """Names of the features, the groups as numbers, rows, effects and weights."""
    with open(path, encoding="utf-8") as file:
        names = json.loads(next(file))["features"]
        rows = [json.loads(line) for line in file]
    features = np.array([row["features"] for row in rows], dtype=np.float32)
    if features.shape != (len(rows), len(names)):
        raise ValueError(f"rows of {features.shape[1:]} features, expected {len(names)}")
    _, groups = np.unique([row["group"] for row in rows], return_inverse=True)
    effects = np.array([row["effect"] for row in rows], dtype=np.float64)
    weights = np.array([row["weight"] for row in rows], dtype=np.float64)
    for what, values in {"feature": features, "effect": effects, "weight": weights}.items():
        if not np.isfinite(values).all():
            raise ValueError(f"a {what} is not finite")
    return names, groups, features, effects, weights


def fit(kind, names, features, targets, weights):
    model = MODELS[kind](names)
    last = [name for name, _ in getattr(model, "steps", [])][-1:]
    model.fit(features, targets, **{f"{last[0]}__sample_weight" if last else "sample_weight": weights})
    return model


def auc(scores, effects, weights):
    """How well the scores tell rows that helped from those that did not; None when there is only one sort."""
    helped = effects > 0
    return None if helped.all() or not helped.any() else float(roc_auc_score(helped, scores, sample_weight=weights))


def calibration_error(scores, targets, weights):
    """Weighted mean distance of prediction and outcome, over bins with the same number of rows."""
    bins = np.array_split(np.argsort(scores, kind="stable"), CALIBRATION_BINS)
    gaps = [
        weights[rows].sum() * abs(np.average(scores[rows] - targets[rows], weights=weights[rows]))
        for rows in bins
        if weights[rows].sum() > 0
    ]
    return float(sum(gaps) / weights.sum())


def effect_of_best(scores, groups, effects):
    """Mean effect of each request's row with the highest score."""
    order = np.lexsort((-scores, groups))
    _, first = np.unique(groups[order], return_index=True)
    return float(effects[order[first]].mean())


def measured(scores, groups, effects, weights):
    return {
        "auc": auc(scores, effects, weights),
        "calibration_error": calibration_error(scores, 0.5 + effects / 2, weights),
        "effect_of_best": effect_of_best(scores, groups, effects),
    }


def main(rows_path, model_path, metrics_path):
    names, groups, features, effects, weights = read(rows_path)
    requests = len(np.unique(groups))
    if requests < 2 * FOLDS:
        raise ValueError(f"{requests} requests are too few to train on and to measure with, at least {2 * FOLDS} are needed")
    targets = 0.5 + effects / 2
    held_out = {kind: np.zeros(len(effects)) for kind in MODELS}
    for train, test in GroupKFold(FOLDS).split(features, groups=groups):
        for kind, scores in held_out.items():
            model = fit(kind, names, features[train], targets[train], weights[train])
            scores[test] = np.clip(model.predict(features[test]), 0, 1)
    compared = {kind: measured(scores, groups, effects, weights) for kind, scores in held_out.items()}
    kind = max(compared, key=lambda each: (compared[each]["auc"] or 0.5) - compared[each]["calibration_error"])

    model = fit(kind, names, features, targets, weights)
    graph = helpfulness_onnx.trees(model, len(names)) if kind == "trees" else getattr(helpfulness_onnx, kind)(model)
    with open(model_path, "wb") as file:
        file.write(graph.SerializeToString())
    similarity = features[:, names.index("similarity")].astype(np.float64)
    metrics = {
        "rows": len(effects),
        "requests": requests,
        **compared[kind],
        "auc_similarity": auc(similarity, effects, weights),
        "effect_of_best_similarity": effect_of_best(similarity, groups, effects),
        **{f"{name}_{each}": value for each, figures in compared.items() for name, value in figures.items()},
    }
    # The caller holds the graph to `check`.
    report = {"kind": kind, "metrics": metrics, "check": [float(value) for value in model.predict(features[:16])]}
    with open(metrics_path, "w", encoding="utf-8") as file:
        json.dump(report, file)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
