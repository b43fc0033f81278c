"""Operators of com.microsoft beside the CPU provider and formulas in float64."""

import math

import numpy as np
import pytest
from providers import assert_near, contrib, model, node, run_on_cpu, run_on_spacemit

F16, F32 = np.float16, np.float32
WIDTHS = [1, 5, 6, 7, 63, 64, 65]


def random(*shape, seed, dtype=F32):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def check(nodes, feeds, outputs, constants=None, terms=8, formula=None, on_cpu=True):
    """Compare with the CPU provider, when it has the operator, and the result of a formula for the first output."""
    assert on_cpu or formula is not None
    serialized = model(nodes, feeds, outputs, constants, symbolic=True)
    results, _ = run_on_spacemit(serialized, feeds)
    if on_cpu:
        assert_near(results, run_on_cpu(serialized, feeds), terms)
    if formula is not None:
        assert_near(results[:1], [formula.astype(results[0].dtype)], terms)


def normalized(x, gamma, beta=None, epsilon=1e-12, rms=False):
    """Layer normalization, or root-mean-square normalization, in float64."""
    x = x.astype(np.float64)
    x = x if rms else x - x.mean(-1, keepdims=True)
    y = x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gamma
    return y if beta is None else y + beta


# Rows before the width, the shape of the skip there, and the type.
SKIPS = [
    ((2, 3), (2, 3), F32),
    ((2, 3), (2, 3), F16),
    ((2, 3), (1, 3), F32),
    ((2, 3), (3,), F32),
    ((1, 1), (1, 1), F32),
    ((0, 3), (0, 3), F32),
]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("rows", "skip_rows", "dtype"), SKIPS)
@pytest.mark.parametrize("absent", ["", "beta", "bias", "beta bias"])
def test_skip_layer_normalization(width, rows, skip_rows, dtype, absent):
    feeds = {
        "x": random(*rows, width, seed=1, dtype=dtype),
        "skip": random(*skip_rows, width, seed=2, dtype=dtype),
        "gamma": random(width, seed=3, dtype=dtype),
        "beta": random(width, seed=4, dtype=dtype),
        "bias": random(width, seed=5, dtype=dtype),
    }
    for name in absent.split():
        del feeds[name]
    names = " ".join(name if name in feeds else "-" for name in ("x", "skip", "gamma", "beta", "bias"))
    op = contrib("SkipLayerNormalization", names, "y - - sum", epsilon=1e-5)
    total = feeds["x"].astype(np.float64) + feeds["skip"] + feeds.get("bias", 0)
    formula = normalized(total, feeds["gamma"], feeds.get("beta"), 1e-5)
    check([op], feeds, {"y": dtype, "sum": dtype}, terms=16, formula=formula if dtype == F32 and width > 1 else None)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("rows", "skip_rows", "dtype"), SKIPS)
@pytest.mark.parametrize("bias", [False, True])
def test_skip_simplified_layer_normalization(width, rows, skip_rows, dtype, bias):
    feeds = {
        "x": random(*rows, width, seed=1, dtype=dtype),
        "skip": random(*skip_rows, width, seed=2, dtype=dtype),
        "gamma": random(width, seed=3, dtype=dtype),
    }
    if bias:
        feeds["bias"] = random(width, seed=4, dtype=dtype)
    op = contrib("SkipSimplifiedLayerNormalization", " ".join(feeds), "y - - sum", epsilon=1e-5)
    total = feeds["x"].astype(np.float64) + feeds["skip"] + feeds.get("bias", 0)
    formula = normalized(total, feeds["gamma"], epsilon=1e-5, rms=True)
    check([op], feeds, {"y": dtype, "sum": dtype}, terms=16, formula=formula)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rows", [(2, 3), (1,), (0, 3)])
@pytest.mark.parametrize("dtype", [F32, F16])
def test_simplified_layer_normalization(width, rows, dtype):
    feeds = {"x": random(*rows, width, seed=1, dtype=dtype), "gamma": random(width, seed=2, dtype=dtype)}
    op = node("SimplifiedLayerNormalization", "x gamma", "y", axis=-1, epsilon=1e-5)
    check([op], feeds, {"y": dtype}, terms=16, formula=normalized(*feeds.values(), epsilon=1e-5, rms=True))


@pytest.mark.parametrize(("batch", "seq", "width"), [(1, 1, 1), (2, 5, 7), (3, 7, 64), (2, 6, 65), (0, 5, 8)])
@pytest.mark.parametrize(
    "absent", ["", "segment segment_ids", "mask", "position_ids", "segment segment_ids mask position_ids"]
)
def test_embed_layer_normalization(batch, seq, width, absent):
    numbers = np.random.default_rng([batch, seq, width])
    feeds = {
        "ids": numbers.integers(0, 11, (batch, seq), np.int32),
        "segment_ids": numbers.integers(0, 2, (batch, seq), np.int32),
        "mask": (np.arange(seq) < numbers.integers(1, seq + 1, (batch, 1))).astype(np.int32),
        "position_ids": numbers.integers(0, 9, (batch, seq), np.int32),
    }
    constants = {
        "word": random(11, width, seed=1),
        "position": random(9, width, seed=2),
        "segment": random(2, width, seed=3),
        "gamma": random(width, seed=4),
        "beta": random(width, seed=5),
    }
    for name in absent.split():
        feeds.pop(name, None)
        constants.pop(name, None)
    order = ["ids", "segment_ids", "word", "position", "segment", "gamma", "beta", "mask", "position_ids"]
    names = " ".join(name if name in feeds or name in constants else "-" for name in order)
    op = contrib("EmbedLayerNormalization", names, "y lengths sum", epsilon=1e-5)
    check([op], feeds, {"y": F32, "lengths": np.int32, "sum": F32}, constants, terms=16)


def gelu(x):
    return x / 2 * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


# Operator, whether it has a bias, attributes, formula.
GELUS = [
    ("Gelu", False, {}, gelu),
    ("BiasGelu", True, {}, gelu),
    ("FastGelu", False, {}, gelu_tanh),
    ("FastGelu", True, {}, gelu_tanh),
    ("QuickGelu", False, {}, lambda x: x / (1 + np.exp(-1.702 * x))),
    ("QuickGelu", False, {"alpha": 1.0}, lambda x: x / (1 + np.exp(-x))),
]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rows", [(2, 3), (1,), (0, 3)])
@pytest.mark.parametrize(("op", "bias", "attributes", "formula"), GELUS)
def test_gelus(width, rows, op, bias, attributes, formula):
    feeds = {"x": 3 * random(*rows, width, seed=1)}
    if bias:
        feeds["bias"] = random(width, seed=2)
    x = feeds["x"].astype(np.float64) + feeds.get("bias", 0)
    check([contrib(op, " ".join(feeds), "y", **attributes)], feeds, {"y": F32}, formula=formula(x))


@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (5, 6, 7), (7, 65, 5), (64, 63, 65), (6, 7, 17), (3, 0, 2)])
@pytest.mark.parametrize("transposed", range(4))
@pytest.mark.parametrize("batch_transposed", range(4))
@pytest.mark.parametrize("constant", [False, True])
def test_fused_matmul(m, k, n, transposed, batch_transposed, constant):
    names = ("transA", "transB", "transBatchA", "transBatchB")
    flags = [transposed & 1, transposed >> 1, batch_transposed & 1, batch_transposed >> 1]
    a, b = random(2, m, k, seed=1), random(2, k, n, seed=2)
    product = a.astype(np.float64) @ b * 0.5

    def stored(matrix, transpose, batch):
        matrix = matrix.swapaxes(1, 2) if transpose else matrix
        return np.ascontiguousarray(np.moveaxis(matrix, 0, 1) if batch else matrix)

    feeds = {"a": stored(a, flags[0], flags[2])}
    constants = {"b": stored(b, flags[1], flags[3])}
    if not constant:
        feeds |= constants
        constants = {}
    op = contrib("FusedMatMul", "a b", "y", alpha=0.5, **dict(zip(names, flags)))
    # The CPU provider refuses most of the empty products.
    check([op], feeds, {"y": F32}, constants, terms=k + 2, formula=product, on_cpu=k > 0)


# Rows of A, depth, columns.
PRODUCTS = [((1,), 1, 1), ((5,), 6, 7), ((2, 3), 64, 65), ((7,), 63, 64), ((64,), 65, 5), ((0,), 5, 3)]
# Zero points of A and B, bias, scales and zero points of each column of B.
QUANTIZED_VARIANTS = [
    (False, False, False, False),
    (False, True, False, True),
    (True, False, True, False),
    (True, False, False, True),
    (True, True, True, True),
    (True, True, False, False),
]


@pytest.mark.parametrize(("rows", "k", "n"), PRODUCTS)
@pytest.mark.parametrize("b_type", [np.int8, np.uint8])
@pytest.mark.parametrize(("a_zero", "b_zero", "bias", "columns"), QUANTIZED_VARIANTS)
@pytest.mark.parametrize("op", ["DynamicQuantizeMatMul", "uint8", "int8"])
def test_quantized_products(rows, k, n, b_type, a_zero, b_zero, bias, columns, op):
    """DynamicQuantizeMatMul, and MatMulIntegerToFloat with A of the type ``op``."""
    numbers = np.random.default_rng([*rows, k, n])

    def integers(dtype, *shape):
        limits = np.iinfo(dtype)
        return numbers.integers(limits.min, limits.max, shape, dtype, endpoint=True)

    per_column = (n,) if columns else ()
    b = integers(b_type, k, n)
    if b_type == np.int8:
        # On x86-64 without VNNI the CPU provider sums pairs of u8 x s8 in 16 bits, which more than seven bits overflow.
        b >>= 1
    constants = {"b": b, "b_scale": numbers.uniform(0.01, 0.02, per_column).astype(F32)}
    if b_zero:
        constants["b_zero"] = integers(b_type, *per_column)
    if bias:
        constants["bias"] = random(n, seed=1)
    on_cpu, formula = True, None
    if op == "DynamicQuantizeMatMul":
        feeds = {"a": random(*rows, k, seed=2)}
        order = ["a", "b", "b_scale", "b_zero", "bias"]
    else:
        feeds = {"a": integers(np.dtype(op), *rows, k), "a_scale": np.array(0.0125, F32)}
        if a_zero:
            feeds["a_zero"] = integers(np.dtype(op))
        order = ["a", "b", "a_scale", "b_scale", "a_zero", "b_zero", "bias"]
        # The CPU provider has all types of A and B but these.
        on_cpu = (op, b_type) != ("int8", np.uint8)
        op = "MatMulIntegerToFloat"
        a = feeds["a"].astype(np.int64) - feeds.get("a_zero", 0)
        b = constants["b"].astype(np.int64) - constants.get("b_zero", 0)
        scale = feeds["a_scale"].astype(np.float64) * constants["b_scale"]
        formula = (a @ b) * scale + constants.get("bias", 0)
    names = " ".join(name if name in feeds or name in constants else "-" for name in order)
    # The integers are exact; scaling and the bias round.
    check([contrib(op, names, "y")], feeds, {"y": F32}, constants, terms=4, formula=formula, on_cpu=on_cpu)
