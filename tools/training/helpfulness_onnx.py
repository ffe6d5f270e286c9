"""Writes the models of train-helpfulness.py as ONNX graphs: `features` float32 [rows, features] in, `h` float32 [rows, 1] out.

By hand and not through skl2onnx, whose last release (1.20.0) can't write boosted trees with the onnx of today. Trees are exact: features
are float32, so a threshold rounded down to float32 parts them as the double did.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
IR_VERSION = 8


def graph(nodes, constants, width):
    """The last node's output must be `h`."""
    made = helper.make_graph(
        nodes,
        "helpfulness",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["rows", width])],
        [helper.make_tensor_value_info("h", TensorProto.FLOAT, ["rows", 1])],
        [numpy_helper.from_array(np.asarray(value, dtype=np.float32), name) for name, value in constants.items()],
    )
    model = helper.make_model(made, opset_imports=OPSETS, ir_version=IR_VERSION)
    onnx.checker.check_model(model)
    return model


def rounded_down(threshold):
    """The largest float32 that is not above it."""
    value = np.float32(threshold)
    return float(value if float(value) <= threshold else np.nextafter(value, np.float32(-np.inf)))


def trees(model, width):
    """Of a HistGradientBoostingRegressor without categories."""
    node_fields = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")
    nodes = {name: [] for name in node_fields}
    leaves = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree, (predictor,) in enumerate(model._predictors):
        for at, node in enumerate(predictor.nodes):
            leaf = bool(node["is_leaf"])
            row = (
                tree,
                at,
                0 if leaf else int(node["feature_idx"]),
                0.0 if leaf else rounded_down(float(node["num_threshold"])),
                "LEAF" if leaf else "BRANCH_LEQ",
                0 if leaf else int(node["left"]),
                0 if leaf else int(node["right"]),
                int(bool(node["missing_go_to_left"])),
            )
            for name, value in zip(node_fields, row):
                nodes[name].append(value)
            if leaf:
                for name, value in zip(leaves, (tree, at, 0, float(node["value"]))):
                    leaves[name].append(value)
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["features"],
        ["h"],
        domain="ai.onnx.ml",
        n_targets=1,
        base_values=[float(np.ravel(model._baseline_prediction)[0])],
        **{f"nodes_{name}": values for name, values in nodes.items()},
        **{f"target_{name}": values for name, values in leaves.items()},
    )
    return graph([node], {}, width)


def layers(scaler, weights, biases):
    """Dense layers with ReLU between them; the scaling of the features goes into the first."""
    first = weights[0] / scaler.scale_[:, None]
    shift = biases[0] - scaler.mean_ @ first
    nodes, constants, value = [], {}, "features"
    for i, (weight, bias) in enumerate([(first, shift), *zip(weights[1:], biases[1:])]):
        last = i == len(weights) - 1
        constants |= {f"weight_{i}": weight, f"bias_{i}": bias}
        nodes.append(helper.make_node("MatMul", [value, f"weight_{i}"], [f"product_{i}"]))
        nodes.append(helper.make_node("Add", [f"product_{i}", f"bias_{i}"], ["h" if last else f"sum_{i}"]))
        value = f"active_{i}"
        if not last:
            nodes.append(helper.make_node("Relu", [f"sum_{i}"], [value]))
    return graph(nodes, constants, len(scaler.mean_))


def network(pipeline):
    scaler, model = (step for _, step in pipeline.steps)
    return layers(scaler, model.coefs_, model.intercepts_)


def linear(pipeline):
    scaler, model = (step for _, step in pipeline.steps)
    return layers(scaler, [model.coef_.reshape(-1, 1)], [np.ravel(model.intercept_)])
