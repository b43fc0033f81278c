"""Weights of 2, 4 and 8 bits beside the CPU provider and float64."""

import ml_dtypes
import numpy as np
import pytest
from providers import contrib, model, node, run_on_cpu, run_on_spacemit

F16, F32 = np.float16, np.float32


def pack(codes, bits):
    """Codes packed along the last axis, the first in the low bits."""
    bit = (codes[..., None] >> np.arange(bits)) & 1
    return np.packbits(bit.reshape(*codes.shape[:-1], -1).astype(np.uint8), axis=-1, bitorder="little")


class Weight:
    """A random weight ``[n, k]`` in blocks; ``zero`` is "absent", "packed" or "float"."""

    def __init__(self, n, k, bits, block, zero, dtype=F32):
        numbers = np.random.default_rng([n, k, bits, block])
        self.zero = zero
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
    assert operators == ["spacemit.NBitsLinear"]
    assert (ours.shape, ours.dtype) == (expected.shape, np.dtype(dtype))
    limit = bound(a, weight, level, dtype)
    assert (np.abs(ours - expected) <= limit).all()
    if weight.attributes["bits"] == 8 and weight.zero == "float":
        return  # The CPU provider refuses these.
    (theirs,) = run_on_cpu(serialized, {"a": a})
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


# Type and bits of the data, gather axis, axis of the blocks.
TABLES = [
    ("uint8", 4, 0, 1),
    ("uint8", 8, 0, 1),
    ("uint8", 4, 0, -1),
    ("int4", 4, 0, 1),
    ("uint4", 4, 0, 1),
    ("int4", 4, 1, 0),
    ("uint4", 4, 1, 1),
    ("uint4", 4, 0, 0),
]


@pytest.mark.parametrize(("kind", "bits", "gather_axis", "quantize_axis"), TABLES)
@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("block", [16, 32])
@pytest.mark.parametrize(("dtype", "index"), [(F32, np.int64), (F16, np.int32)])
def test_gather_block_quantized(kind, bits, gather_axis, quantize_axis, zero, block, dtype, index):
    numbers = np.random.default_rng([bits, block, gather_axis])
    shape = [48, 64]
    lowest = -8 if kind == "int4" else 0
    codes = numbers.integers(lowest, lowest + 2**bits, shape)
    blocks = list(shape)
    blocks[quantize_axis] = -(-shape[quantize_axis] // block)
    scales = numbers.uniform(0.5, 1, blocks).astype(dtype)
    zeros = numbers.integers(lowest, lowest + 2**bits, blocks)

    def stored(values):
        return pack(values, bits) if kind == "uint8" else values.astype(getattr(ml_dtypes, kind))

    constants = {"data": stored(codes), "scales": scales}
    if zero:
        constants["zeros"] = stored(zeros)
    else:
        zeros = np.full(blocks, 2 ** (bits - 1) if kind == "uint8" else 0)

    def spread(values):
        return np.repeat(values, block, quantize_axis).take(range(shape[quantize_axis]), quantize_axis)

    table = (codes - spread(zeros)) * spread(scales.astype(np.float64))
    indices = np.array([[0, -1, 5], [47, -48, 5]], index)
    attributes = {"bits": bits, "block_size": block, "gather_axis": gather_axis, "quantize_axis": quantize_axis}
    op = contrib("GatherBlockQuantized", "data indices scales" + (" zeros" if zero else ""), "y", **attributes)
    serialized = model([op], {"indices": indices}, {"y": dtype}, constants, symbolic=True)
    (ours,), _ = run_on_spacemit(serialized, {"indices": indices})
    (theirs,) = run_on_cpu(serialized, {"indices": indices})
    expected = table.take(indices, gather_axis)
    assert (ours.shape, ours.dtype) == (expected.shape, np.dtype(dtype))
    assert (np.abs(ours - expected) <= np.finfo(dtype).eps * np.abs(expected)).all()
    np.testing.assert_array_equal(ours, theirs)


def test_gather_of_an_index_out_of_bounds_gives_zeros():
    constants = {"data": np.full((3, 16), 0x55, np.uint8), "scales": np.ones((3, 2), F32)}
    feeds = {"indices": np.array([3, 0, -4], np.int64)}
    op = contrib("GatherBlockQuantized", "data indices scales", "y", block_size=16)
    serialized = model([op], feeds, {"y": F32}, constants)
    (ours,), _ = run_on_spacemit(serialized, feeds)
    assert (ours[[0, 2]] == 0).all() and (ours[1] == 5 - 8).all()
    np.testing.assert_array_equal(ours, run_on_cpu(serialized, feeds)[0])


# Type of the weight, whether it is transposed on the way, block length (0: scales of columns).
DEQUANTIZED = [
    (kind, turn, block) for kind in ("int4", "uint4", "int8", "uint8") for turn in (0, 1) for block in (0, 16, 32)
]


@pytest.mark.parametrize(("kind", "turn", "block"), DEQUANTIZED)
@pytest.mark.parametrize("zero", [False, True])
def test_product_with_a_dequantized_constant(kind, turn, block, zero):
    k, n = 96, 33
    info = ml_dtypes.iinfo(getattr(ml_dtypes, kind) if "4" in kind else np.dtype(kind))
    element = getattr(ml_dtypes, kind) if "4" in kind else np.dtype(kind)
    numbers = np.random.default_rng([turn, block])
    codes = numbers.integers(info.min, info.max, (k, n), endpoint=True)
    blocks = k // block if block else 1
    scales = (numbers.uniform(0.5, 1, (blocks, n)) / 2**info.bits).astype(F32)
    zeros = numbers.integers(info.min, info.max, (blocks, n), endpoint=True) if zero else np.zeros((blocks, n), int)
    weight = (codes - np.repeat(zeros, k // blocks, 0)) * np.repeat(scales.astype(np.float64), k // blocks, 0)

    def stored(values):
        values = values if block or len(values) == k else values[0]
        return np.ascontiguousarray(values.T if turn and values.ndim == 2 else values)

    constants = {"b": stored(codes).astype(element), "scales": stored(scales)}
    if zero:
        constants["zeros"] = stored(zeros).astype(element)
    axis = (1 if turn else 0) if block else (0 if turn else 1)
    attributes = {"axis": axis, "block_size": block} if block else {"axis": axis}
    nodes = [node("DequantizeLinear", "b scales" + (" zeros" if zero else ""), "w", **attributes)]
    if turn:
        nodes.append(node("Transpose", "w", "t", perm=[1, 0]))
    nodes.append(node("MatMul", "a t" if turn else "a w", "y"))
    for rows in ((1,), (2, 3), (17,)):
        a = numbers.standard_normal((*rows, k)).astype(F32)
        serialized = model(nodes, {"a": a}, {"y": F32}, constants, symbolic=True)
        (ours,), operators = run_on_spacemit(serialized, {"a": a})
        assert set(operators) == {"spacemit.DequantizedLinear"}
        limit = np.finfo(F32).eps * (k + 4) * (np.abs(a.astype(np.float64)) @ np.abs(weight) + 1)
        assert (np.abs(ours - a.astype(np.float64) @ weight) <= limit).all()
        (theirs,) = run_on_cpu(serialized, {"a": a})
        assert (np.abs(ours.astype(np.float64) - theirs) <= 2 * limit).all()
