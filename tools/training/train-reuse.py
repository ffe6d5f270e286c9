"""Boosted trees that tell whether the answer to one question may be given to another (algorithms/routing/reuse-quality.ts).

train-reuse.py ROWS OUT [--folds N] [--repeats N]: ROWS is JSON {"rows": [[feature, ...]], "labels": [0 | 1]}, OUT gets {"model": {base, trees},
"check": [score of the first rows], "held_out": [[score of every row, by trees that were not fitted on it] for each repeat]}.
"""

import argparse
import json

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold

CHECKED = 200


def classifier():
    return HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.09, max_leaf_nodes=8, min_samples_leaf=30, early_stopping=False, random_state=0
    )


def tree(nodes):
    splits, leaves, place = [], [], {}
    for index, node in enumerate(nodes):
        if node["is_leaf"]:
            place[index] = -1 - len(leaves)
            leaves.append(round(float(node["value"]), 5))
        else:
            place[index] = len(splits)
            splits.append(node)
    flat = [
        value
        for node in splits
        for value in (
            int(node["feature_idx"]),
            # Not rounded: a threshold is often a value of the data, which must stay on its side.
            float(node["num_threshold"]),
            place[int(node["left"])],
            place[int(node["right"])],
        )
    ]
    return {"splits": flat, "leaves": leaves}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rows")
    parser.add_argument("out")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    with open(options.rows, encoding="utf-8") as file:
        given = json.load(file)
    rows = np.asarray(given["rows"], dtype=float)
    labels = np.asarray(given["labels"], dtype=int)
    fitted = classifier().fit(rows, labels)
    held_out = []
    for repeat in range(options.repeats):
        scores = np.zeros(len(labels))
        for train, test in StratifiedKFold(options.folds, shuffle=True, random_state=repeat).split(rows, labels):
            scores[test] = classifier().fit(rows[train], labels[train]).predict_proba(rows[test])[:, 1]
        held_out.append([round(float(score), 6) for score in scores])
    model = {
        "base": round(float(fitted._baseline_prediction.item()), 6),
        "trees": [tree(predictor.nodes) for (predictor,) in fitted._predictors],
    }
    check = [float(score) for score in fitted.predict_proba(rows[:CHECKED])[:, 1]]
    with open(options.out, "w", encoding="utf-8") as file:
        json.dump({"model": model, "check": check, "held_out": held_out}, file)


if __name__ == "__main__":
    main()
