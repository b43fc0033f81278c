"""Weights of 2, 4 and 8 bits beside the CPU provider and float64."""

import numpy as np
import pytest
from providers import contrib, model, run_on_cpu, run_on_spacemit

F16, F32 = np.float16, np.float32


def pack(codes, bits):
    """Codes packed along the last axis, the first in the low bits."""
    bit = (codes[..., None] >> np.arange(bits)) & 1
    return np.packbits(bit.reshape(*codes.shape[:-1], -1).astype(np.uint8), axis=-1, bitorder="little")


class Weight:
    """A random weight ``[n, k]`` in blocks; ``zero`` is "absent", "packed" or "float"."""

    def __init__(self, n, k, bits, block, zero, dtype=F32):
        numbers = np.random.default_rng([n, k, bits, block])
        blocks = -(-k // block)
        codes = numbers.integers(0, 2**bits, (n, blocks, block))
        scales = (numbers.uniform(-1, 1, (n, blocks)) / 2**bits).astype(dtype)
        self.constants = {"b": pack(codes, bits), "scales": scales}
        zeros = np.full((n, blocks), 2.0 ** (bits - 1))
        if zero == "packed":
            zeros = numbers.integers(0, 2**bits, (n, blocks))
            self.constants["zeros"] = pack(zeros, bits)
        elif zero == "float":
            zeros = numbers.uniform(0, 2**bits, (n, blocks)).astype(dtype)
            self.constants["zeros"] = zeros
        values = (codes - zeros[..., None].astype(np.float64)) * scales[..., None].astype(np.float64)
        self.values = values.reshape(n, -1)[:, :k]
        self.attributes = {"K": k, "N": n, "bits": bits, "block_size": block}

    def names(self):
        return "a b scales " + ("zeros" if "zeros" in self.constants else "-")


def bound(a, weight, level, dtype):
    """How far a product may be from float64.

    Level 4 moves each element of a row by at most 1/254 of the largest of its block. Sums in f32 are off by half a
    unit in the last place for each term; an f16 result is rounded once more.
    """
    size = np.abs(a.astype(np.float64)) @ np.abs(weight.values).T
    limit = np.finfo(F32).eps * (a.shape[-1] + 4) * (size + 1)
    if level == 4:
        limit += np.abs(a).max() * np.abs(weight.values).sum(1) / 254 * 1.01
    return limit + (np.finfo(F16).eps * (size + 1) if dtype == F16 else 0)


def check(m, weight, level, dtype=F32, bias=False):
    a = np.random.default_rng([m, 3]).standard_normal((*m, weight.attributes["K"])).astype(dtype)
    constants = dict(weight.constants)
    expected = a.astype(np.float64) @ weight.values.T
    names = weight.names()
    if bias:
        constants["bias"] = np.linspace(-1, 1, weight.attributes["N"]).astype(dtype)
        expected = expected + constants["bias"]
        names += " - bias"
    op = contrib("MatMulNBits", names, "y", accuracy_level=level, **weight.attributes)
    serialized = model([op], {"a": a}, {"y": dtype}, constants, symbolic=True)
    (ours,), operators = run_on_spacemit(serialized, {"a": a})
    (theirs,) = run_on_cpu(serialized, {"a": a})
    assert operators == ["spacemit.NBitsLinear"]
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    limit = bound(a, weight, level, dtype)
    assert (np.abs(ours - expected) <= limit).all()
    # The CPU provider computes f16 in steps of its own, and rounds rows to int8 in blocks that may be larger.
    slack = np.finfo(dtype).eps * (a.shape[-1] + 4) * (np.abs(expected) + 1).max()
    assert (np.abs(ours.astype(np.float64) - theirs.astype(np.float64)) <= 2 * limit + slack).all()


ROWS = [(1,), (2,), (3,), (17,), (2, 1, 9)]
# Columns and depth: odd ones, and a tile more or less.
SHAPES = [(1, 16), (15, 32), (17, 40), (33, 96), (64, 130), (65, 257)]


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("block", [16, 32, 64, 128, 256])
@pytest.mark.parametrize("zero", ["absent", "packed", "float"])
@pytest.mark.parametrize("level", [0, 4])
def test_matmul_nbits(bits, block, zero, level):
    for index, (n, k) in enumerate(SHAPES):
        check(ROWS[index % len(ROWS)], Weight(n, k, bits, block, zero), level)
        check(ROWS[(index + 2) % len(ROWS)], Weight(n, k, bits, block, zero), level, bias=True)


@pytest.mark.parametrize("level", range(5))
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("dtype", [F32, F16])
def test_levels_and_types(level, bits, dtype):
    for zero in ("absent", "packed", "float"):
        check((3,), Weight(33, 96, bits, 32, zero, dtype), level, dtype)


@pytest.mark.parametrize("block", [512, 1024])
@pytest.mark.parametrize("level", [0, 4])
def test_large_blocks(block, level):
    """All codes 2, zero point 3, scale 0.5: every product is minus half the sum of the row."""
    n, k = 4, 2048
    weight = Weight(n, k, 4, block, "packed")
    blocks = k // block
    weight.constants["b"][:] = 0x22
    weight.constants["scales"][:] = 0.5
    weight.constants["zeros"] = pack(np.full((n, blocks), 3), 4)
    a = np.random.default_rng(1).standard_normal((2, k)).astype(F32)
    op = contrib("MatMulNBits", weight.names(), "y", accuracy_level=level, **weight.attributes)
    (y,), _ = run_on_spacemit(model([op], {"a": a}, {"y": F32}, weight.constants), {"a": a})
    limit = np.abs(a).sum() * np.finfo(F32).eps + (np.abs(a).max() * k / 508 if level == 4 else 0)
    assert (np.abs(y + 0.5 * a.sum(1, dtype=np.float64)[:, None]) <= limit).all()


def test_no_rows():
    weight = Weight(17, 40, 4, 32, "absent")
    a = np.zeros((0, 40), F32)
    op = contrib("MatMulNBits", weight.names(), "y", **weight.attributes)
    (y,), _ = run_on_spacemit(model([op], {"a": a}, {"y": F32}, weight.constants, symbolic=True), {"a": a})
    assert y.shape == (0, 17)
