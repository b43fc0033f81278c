"""Weights quantised in blocks of 32 along K, in the layout of com.microsoft MatMulNBits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SIZE = 32
# accuracy_level of MatMulNBits: activations stay float32, or become int8 in blocks
FLOAT32, INT8 = 1, 4


@dataclass(frozen=True)
class Blocks:
    """A weight [N, K]: element = (code - zero point) * scale of its block.

    ``codes``: uint8 [N, K / 32, 4 * bits], of two 4-bit codes in a byte the first is the low one.
    ``scales``: float32 [N, K / 32]. ``zero_points``: uint8 [N, ceil(K / 32 * bits / 8)] packed like the codes,
    float32 [N, K / 32], or None, which means 8 (4 bits) or 128 (8 bits).
    """

    bits: int
    codes: np.ndarray
    scales: np.ndarray
    zero_points: np.ndarray | None = None


def symmetric(weight, bits):
    """``weight``, float32 [N, K], around the middle code; its largest magnitude gets the longer half of 4-bit codes."""
    blocks = _split(weight)
    middle = 1 << (bits - 1)
    if bits == 4:
        peak = np.take_along_axis(blocks, np.abs(blocks).argmax(-1, keepdims=True), -1)
        scale = peak / -middle
    else:
        scale = np.abs(blocks).max(-1, keepdims=True) / (middle - 1)
    return Blocks(bits, _pack(_codes(blocks, scale, middle, bits), bits), _rows(scale))


def asymmetric(weight, bits):
    """``weight``, float32 [N, K], with integer zero points; the range of a block includes 0."""
    blocks = _split(weight)
    low = np.minimum(blocks.min(-1, keepdims=True), 0)
    high = np.maximum(blocks.max(-1, keepdims=True), 0)
    scale = (high - low) / ((1 << bits) - 1)
    zero = _codes(-low, scale, 0, bits)
    zero_points = np.pad(zero[..., 0], ((0, 0), (0, zero.shape[1] % 2)))
    return Blocks(bits, _pack(_codes(blocks, scale, zero, bits), bits), _rows(scale), _pack(zero_points, bits))


def from_q4_1(data):
    """GGUF's Q4_1 exactly: a block is float16 d, float16 m and 16 bytes of codes, element = d * code + m.

    ``data``: uint8 [N, 20 * K / 32]; the low halves of a block's bytes are its first 16 codes.
    """
    blocks = data.reshape(data.shape[0], -1, 20)
    d, m = (np.ascontiguousarray(blocks[..., i : i + 2]).view(np.float16)[..., 0].astype(np.float32) for i in (0, 2))
    if not d.all():
        raise ValueError("a block has scale 0: its constant cannot be written as a zero point")
    codes = np.concatenate([blocks[..., 4:] & 15, blocks[..., 4:] >> 4], -1)
    return Blocks(4, _pack(codes, 4), d, -m / d)


def matmul(graph, x, blocks, name, out=None, accuracy_level=INT8):
    """x [.., K] times the weight as MatMulNBits, named as the builder of onnxruntime-genai does."""
    rows, count, _ = blocks.codes.shape
    return graph.contrib(
        "MatMulNBits",
        x,
        *constants(graph, blocks, name),
        out=out or f"{name}/output_0",
        name=f"{name}_Q{blocks.bits}",
        K=count * SIZE,
        N=rows,
        bits=blocks.bits,
        block_size=SIZE,
        accuracy_level=accuracy_level,
    )


def constants(graph, blocks, name):
    """The names of codes, scales and, where there are, zero points of the weight of the node ``name``."""
    weight = f"{name[1:].replace('/', '.')}.weight"
    parts = {f"Q{blocks.bits}": blocks.codes, "scales": blocks.scales, "zero_points": blocks.zero_points}
    return [graph.const(f"{weight}_{part}", array) for part, array in parts.items() if array is not None]


def _split(weight):
    return weight.reshape(weight.shape[0], -1, SIZE)


def _rows(scale):
    return scale[..., 0].astype(np.float32)


def _codes(blocks, scale, zero, bits):
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale != 0)
    return np.clip(np.rint(blocks * inverse) + zero, 0, (1 << bits) - 1).astype(np.uint8)


def _pack(codes, bits):
    return codes[..., 0::2] | (codes[..., 1::2] << 4) if bits == 4 else codes
