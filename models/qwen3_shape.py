"""A decoder with the sizes of Qwen3-0.6B and random 4-bit weights: for timing and for comparing providers."""

from dataclasses import replace

import numpy as np

from models import blocks
from models.decoder import Decoder, Shape

SHAPE = Shape(
    layers=28,
    hidden=1024,
    ffn=3072,
    heads=16,
    kv_heads=8,
    head=128,
    vocabulary=151936,
    context=4096,
    theta=1e6,
    epsilon=1e-6,
    qk_norm=True,
)
CUT = replace(SHAPE, layers=2, vocabulary=4096)


class RandomWeights:
    """Seeded weights, scaled so that activations stay of order one; the embedding is float."""

    def __init__(self, shape):
        self.shape, self.random = shape, np.random.default_rng(0)
        qkv = (shape.heads + 2 * shape.kv_heads) * shape.head
        self.sizes = {  # K, N
            "qkv_proj": (shape.hidden, qkv),
            "o_proj": (shape.heads * shape.head, shape.hidden),
            "gate_proj": (shape.hidden, shape.ffn),
            "up_proj": (shape.hidden, shape.ffn),
            "down_proj": (shape.ffn, shape.hidden),
            "lm_head": (shape.hidden, shape.vocabulary),
        }

    def norm(self, name):
        return np.ones(self.shape.head if ".attn." in name else self.shape.hidden, np.float32)

    def embed(self, graph):
        table = self.random.standard_normal((self.shape.vocabulary, self.shape.hidden), dtype=np.float32) * 0.02
        table = graph.const("model.embed_tokens.weight", table)
        return graph.op("Gather", table, "input_ids", name="/model/embed_tokens/Gather")

    def linear(self, graph, x, name, out=None):
        columns, rows = self.sizes[name.split("/")[-2]]
        count = columns // blocks.SIZE
        codes = self.random.integers(0, 256, (rows, count, blocks.SIZE // 2), dtype=np.uint8)
        # a code less 8 has a root mean square of 4.6
        scales = np.full((rows, count), 1 / (4.6 * np.sqrt(columns)), np.float32)
        return blocks.matmul(graph, x, blocks.Blocks(4, codes, scales), name, out)


BUILDERS = {
    "qwen3-shape-q4": lambda zoo, path: Decoder(SHAPE, RandomWeights(SHAPE)).save(path),
    "qwen3-shape-cut-q4": lambda zoo, path: Decoder(CUT, RandomWeights(CUT)).save(path),
}
