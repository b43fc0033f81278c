"""Attention and MultiHeadAttention of com.microsoft beside the CPU provider and float64."""

import numpy as np
import pytest
from providers import assert_near, contrib, model, run_on_cpu, run_on_spacemit

F32 = np.float32
# What is added to the score of a hidden key; without a mask of the form here, the operators' default.
FILTERS = {"rows": -64.0, "starts": -64.0}
DEFAULT_FILTER = -10000.0

# batch, queries, keys, heads, head size, head size of the values
SHAPES = [
    (1, 1, 1, 1, 1, 1),
    (2, 5, 6, 2, 3, 7),
    (3, 7, 5, 3, 8, 6),
    (1, 64, 63, 2, 16, 16),
    (2, 6, 65, 1, 17, 5),
    (0, 5, 7, 2, 4, 4),
]
MASKS = [None, "lengths", "keys", "rows"]


def random(*shape, seed):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(F32)


def attention(q, k, v, bias, scale):
    """Results [batch, queries, heads * values] of [batch, heads, rows, columns] in float64."""
    q, k, v = (array.astype(np.float64) for array in (q, k, v))
    scores = q @ k.swapaxes(2, 3) * (scale or q.shape[3] ** -0.5) + bias
    weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
    y = (weights / weights.sum(-1, keepdims=True)) @ v
    return joined(y.swapaxes(1, 2))


def make_mask(form, batch, queries, keys):
    """A mask of int32 and its bias [batch, 1, rows, keys]; only those with an own filter hide all keys of a row."""
    if form is None:
        return None, np.zeros((1, 1, 1, 1))
    numbers = np.random.default_rng([batch, queries, keys])
    ends = numbers.integers(1, keys + 1, batch, np.int32)
    starts = np.zeros(batch, np.int32)
    if form == "starts":
        starts = numbers.integers(0, ends, dtype=np.int32)
    key = np.arange(keys)
    shown = ((key < ends[:, None]) & (key >= starts[:, None])).astype(np.int32)[:, None]
    if form == "rows":
        shown = numbers.integers(0, 2, (batch, queries, keys), np.int32)
    mask = {"lengths": ends, "starts": np.concatenate([ends, starts]), "keys": shown[:, 0], "rows": shown}[form]
    return mask, np.where(shown, 0, FILTERS.get(form, DEFAULT_FILTER))[:, None]


def causal(queries, keys):
    return np.where(np.arange(keys) > np.arange(queries)[:, None], -np.inf, 0)


def split(x, heads):
    """[batch, rows, heads * columns] to [batch, heads, rows, columns]."""
    return x.reshape(*x.shape[:2], heads, x.shape[2] // heads).swapaxes(1, 2)


def joined(x):
    """[batch, rows, heads, columns] to [batch, rows, heads * columns]."""
    return x.reshape(*x.shape[:2], x.shape[2] * x.shape[3])


def attributes_of(form, unidirectional, scale, heads):
    attributes = {"num_heads": heads, "unidirectional": unidirectional, "scale": scale}
    return attributes | ({"mask_filter_value": FILTERS[form]} if form in FILTERS else {})


def check(op, feeds, constants, expected, terms, on_cpu=True):
    """Compare with float64 and, when it has the form, with the CPU provider."""
    serialized = model([op], feeds, {"y": F32}, constants, symbolic=True)
    results, _ = run_on_spacemit(serialized, feeds)
    assert_near(results, [expected.astype(F32)], terms)
    if on_cpu:
        assert_near(results, run_on_cpu(serialized, feeds), terms)


# bias, unidirectional, scale, heads of the attention bias: 0 for none
VARIANTS = [(False, 0, 0.0, 0), (True, 0, 0.0, 0), (True, 1, 0.3, 0), (False, 0, 0.3, 1), (True, 1, 0.0, 2)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", [*MASKS, "starts"])
@pytest.mark.parametrize(("bias", "unidirectional", "scale", "bias_heads"), VARIANTS)
def test_attention(shape, form, bias, unidirectional, scale, bias_heads):
    batch, seq, _, heads, head, value_head = shape
    inputs = 9
    widths = [heads * head, heads * head, heads * value_head]
    feeds = {"x": random(batch, seq, inputs, seed=1)}
    constants = {"w": random(inputs, sum(widths), seed=2) / 3}
    projected = feeds["x"].astype(np.float64) @ constants["w"]
    if bias:
        constants["b"] = random(sum(widths), seed=3)
        projected = projected + constants["b"]
    mask, scores = make_mask(form, batch, seq, seq)
    if mask is not None:
        feeds["mask"] = mask
    if unidirectional:
        scores = scores + causal(seq, seq)
    if bias_heads:
        feeds["scores"] = random(1, heads if bias_heads > 1 else 1, seq, seq, seed=4)
        scores = scores + feeds["scores"]
    attributes = attributes_of(form, unidirectional, scale, heads)
    if head != value_head:
        attributes["qkv_hidden_sizes"] = widths
    order = ["x", "w", "b", "mask", "-", "scores"]
    names = " ".join(name if name in feeds or name in constants else "-" for name in order)
    op = contrib("Attention", names, "y", **attributes)
    q, k, v = np.split(projected, np.cumsum(widths[:2]), axis=2)
    expected = attention(split(q, heads), split(k, heads), split(v, heads), scores, scale)
    check(op, feeds, constants, expected, terms=4 * (inputs + head + seq))


# How query, key and value come: each for itself, key and value with heads in front, key and value in one, all in one.
LAYOUTS = ["separate", "heads first", "packed key and value", "packed"]


def laid_out(layout, q, k, v):
    """The inputs of a layout, from [batch, rows, heads, columns] each."""
    if layout == "separate":
        return {"q": joined(q), "k": joined(k), "v": joined(v)}
    if layout == "heads first":
        return {"q": joined(q), "k": k.swapaxes(1, 2).copy(), "v": v.swapaxes(1, 2).copy()}
    if layout == "packed":
        return {"q": np.stack([q, k, v], axis=3)}
    return {"q": joined(q), "k": np.stack([k, v], axis=3)}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("form", MASKS)
@pytest.mark.parametrize(("bias", "unidirectional", "scale", "bias_heads"), VARIANTS)
def test_multi_head_attention(shape, layout, form, bias, unidirectional, scale, bias_heads):
    batch, queries, keys, heads, head, value_head = shape
    if layout.startswith("packed"):
        value_head = head
    if layout == "packed":
        keys = queries
    bias = bias and layout in ("separate", "packed")
    q, k = random(batch, queries, heads, head, seed=1), random(batch, keys, heads, head, seed=2)
    v = random(batch, keys, heads, value_head, seed=3)
    feeds = laid_out(layout, q, k, v)
    if bias:
        parts = [random(heads, head, seed=4), random(heads, head, seed=5), random(heads, value_head, seed=6)]
        feeds["b"] = np.concatenate([part.ravel() for part in parts])
        q, k, v = (x.astype(np.float64) + part for x, part in zip((q, k, v), parts))
    mask, scores = make_mask(form, batch, queries, keys)
    if mask is not None:
        feeds["mask"] = mask
    if unidirectional:
        scores = scores + causal(queries, keys)
    if bias_heads:
        feeds["scores"] = random(1, heads if bias_heads > 1 else 1, queries, keys, seed=7)
        scores = scores + feeds["scores"]
    names = " ".join(name if name in feeds else "-" for name in ["q", "k", "v", "b", "mask", "scores"]).rstrip("- ")
    op = contrib("MultiHeadAttention", names, "y", **attributes_of(form, unidirectional, scale, heads))
    expected = attention(*(x.swapaxes(1, 2) for x in (q, k, v)), scores, scale)
    # The CPU provider has no packed inputs, and with heads first only one head size.
    on_cpu = layout == "separate" or (layout == "heads first" and head == value_head)
    # Its last query sees all keys, whatever their number.
    on_cpu = on_cpu and not (unidirectional and keys > queries)
    check(op, feeds, {}, expected, terms=4 * (head + keys), on_cpu=on_cpu)
