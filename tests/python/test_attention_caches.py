"""Attention operators that append to caches, and rotary embeddings, beside the CPU provider and float64."""

import numpy as np
import pytest
from providers import assert_near, contrib, model, node, run_on_cpu, run_on_spacemit

F32 = np.float32
# batch, queries, past, heads, head size, head size of the values
SHAPES = [(1, 1, 0, 2, 8, 8), (2, 1, 300, 3, 64, 64), (2, 3, 5, 4, 32, 32), (1, 17, 40, 2, 80, 80), (3, 2, 7, 1, 5, 5)]


def random(*shape, seed):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(F32)


def attention(q, k, v, bias=0.0, scale=None):
    """[batch, heads, rows, columns] in float64; fewer heads of k and v serve equally many of q."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    k, v = (x.repeat(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = q @ k.swapaxes(2, 3) * (scale or q.shape[3] ** -0.5) + bias
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


def heads_first(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def joined(x):
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


def causal(queries, keys, offset):
    return np.where(np.arange(keys) > np.arange(queries)[:, None] + offset, -np.inf, 0)


def check(op, feeds, outputs, expected, terms, constants=None, opset=21, on_cpu=True):
    serialized = model([op], feeds, dict.fromkeys(outputs, F32), constants, opset=opset, symbolic=True)
    results, _ = run_on_spacemit(serialized, feeds)
    assert_near(results, [want.astype(F32) for want in expected], terms)
    if on_cpu:
        assert_near(results, run_on_cpu(serialized, feeds), terms)


MASKS = [None, "lengths", "starts", "keys", "rows"]


def make_mask(form, batch, queries, keys):
    """A mask of int32 and what it hides as a bias; the padding is on the right, but for "rows"."""
    if form is None:
        return {}, 0.0
    ends = np.random.default_rng([batch, keys]).integers(1, keys + 1, batch, np.int32)
    shown = (np.arange(keys) < ends[:, None]).astype(np.int32)
    starts = np.concatenate([ends, np.arange(batch + 1) * queries, np.arange(batch + 1) * keys])
    rows = shown[:, None].repeat(queries, 1)
    mask = {"lengths": ends, "starts": starts, "keys": shown, "rows": rows}[form]
    return {"mask": mask.astype(np.int32)}, np.where(shown, 0, -10000.0)[:, None, None]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", MASKS)
@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("bias", [False, True])
def test_multi_head_attention(shape, form, unidirectional, bias):
    batch, queries, past, heads, head, value = shape
    keys = past + queries
    q, k, v = (random(batch, queries, heads * width, seed=i) for i, width in enumerate([head, head, value]))
    feeds = {"q": q, "k": k, "v": v}
    past_k, past_v = random(batch, heads, past, head, seed=3), random(batch, heads, past, value, seed=4)
    feeds |= {"past_k": past_k, "past_v": past_v}
    if bias:
        parts = [random(heads * width, seed=5 + i) for i, width in enumerate([head, head, value])]
        feeds["b"] = np.concatenate(parts)
        q, k, v = (x + part for x, part in zip((q, k, v), parts))
    mask, hidden = make_mask(form, batch, queries, keys)
    feeds |= mask | {"scores": random(1, heads, queries, keys, seed=8)}
    present_k = np.concatenate([past_k, heads_first(k, heads)], 2)
    present_v = np.concatenate([past_v, heads_first(v, heads)], 2)
    bias_of_scores = feeds["scores"] + hidden + (causal(queries, keys, past) if unidirectional else 0)
    y = joined(attention(heads_first(q, heads), present_k, present_v, bias_of_scores))
    order = "q k v b mask scores past_k past_v".split()
    names = " ".join(name if name in feeds else "-" for name in order)
    op = contrib("MultiHeadAttention", names, "y pk pv", num_heads=heads, unidirectional=unidirectional)
    check(op, feeds, ["y", "pk", "pv"], [y, present_k, present_v], 8 * (head + keys))


@pytest.mark.parametrize(
    "batch, queries, keys, heads, head", [(1, 1, 1500, 8, 64), (2, 4, 30, 3, 16), (1, 20, 9, 2, 33)]
)
@pytest.mark.parametrize("presents", [False, True])
def test_cross_attention_to_keys_by_head(batch, queries, keys, heads, head, presents):
    q = random(batch, queries, heads * head, seed=1)
    k, v = random(batch, heads, keys, head, seed=2), random(batch, heads, keys, head, seed=3)
    outputs = ["y", "pk", "pv"] if presents else ["y"]
    op = contrib("MultiHeadAttention", "q k v", " ".join(outputs), num_heads=heads)
    expected = [joined(attention(heads_first(q, heads), k, v)), k, v]
    check(op, {"q": q, "k": k, "v": v}, outputs, expected[: len(outputs)], 8 * (head + keys))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("with_past", [False, True])
def test_attention(shape, unidirectional, with_past):
    batch, queries, past, heads, head, _ = shape
    past = past if with_past else 0
    keys, inputs = past + queries, 6
    x = random(batch, queries, inputs, seed=1)
    constants = {"w": random(inputs, 3 * heads * head, seed=2) / 3, "b": random(3 * heads * head, seed=3)}
    projected = np.split(x.astype(np.float64) @ constants["w"] + constants["b"], 3, 2)
    q, k, v = (heads_first(part, heads) for part in projected)
    feeds = {"x": x}
    if with_past:
        feeds["past"] = random(2, batch, heads, past, head, seed=4)
        k, v = (np.concatenate([old, new], 2) for old, new in zip(feeds["past"], (k, v)))
    bias = causal(queries, keys, past) if unidirectional else 0
    names = f"x w b - {'past' if with_past else ''}"
    op = contrib("Attention", names, "y present", num_heads=heads, unidirectional=unidirectional)
    expected = [joined(attention(q, k, v, bias)), np.stack([k, v])]
    check(op, feeds, ["y", "present"], expected, 8 * (head + keys + inputs), constants)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("by_head", [False, True])
@pytest.mark.parametrize("is_causal", [0, 1])
@pytest.mark.parametrize("mask", [None, bool, F32])
def test_onnx_attention(shape, by_head, is_causal, mask):
    batch, queries, past, heads, head, value = shape
    keys, kv_heads = past + queries, 1 if heads == 4 else heads
    q, k = random(batch, heads, queries, head, seed=1), random(batch, kv_heads, queries, head, seed=2)
    v = random(batch, kv_heads, queries, value, seed=3)
    feeds = {name: x if by_head else joined(x) for name, x in zip("qkv", (q, k, v))}
    feeds["past_k"], feeds["past_v"] = (random(batch, kv_heads, past, w, seed=4 + w) for w in (head, value))
    present_k, present_v = np.concatenate([feeds["past_k"], k], 2), np.concatenate([feeds["past_v"], v], 2)
    bias = causal(queries, keys, past) if is_causal else np.zeros((queries, keys))
    if mask is not None:
        feeds["mask"] = random(queries, keys, seed=6)
        if mask is bool:
            feeds["mask"] = feeds["mask"] > -1
            feeds["mask"][0] = False
        bias = bias + (np.where(feeds["mask"], 0, -np.inf) if mask is bool else feeds["mask"])
    names = f"q k v {'mask' if mask else '-'} past_k past_v"
    attributes = {} if by_head else {"q_num_heads": heads, "kv_num_heads": kv_heads}
    op = node("Attention", names, "y pk pv", is_causal=is_causal, **attributes)
    y = attention(q, present_k, present_v, bias)
    expected = [y if by_head else joined(y), present_k, present_v]
    check(op, feeds, ["y", "pk", "pv"], expected, 8 * (head + keys), opset=23)


@pytest.mark.parametrize("queries", [1, 3])
@pytest.mark.parametrize("is_causal", [0, 1])
def test_onnx_attention_to_a_padded_cache(queries, is_causal):
    batch, heads, keys, head = 3, 2, 9, 16
    lengths = np.array([9, 4, 3], np.int64)
    q = random(batch, heads, queries, head, seed=1)
    k, v = random(batch, heads, keys, head, seed=2), random(batch, heads, keys, head, seed=3)
    bias = np.where(np.arange(keys) < lengths[:, None], 0, -np.inf)[:, None, None]
    if is_causal:
        bias = bias + np.stack([causal(queries, keys, length - queries) for length in lengths])[:, None]
    expected = [attention(q, k, v, bias)]
    for index, length in enumerate(lengths):
        k[index, :, length:] = v[index, :, length:] = np.nan
    op = node("Attention", "q k v - - - lengths", "y", is_causal=is_causal)
    feeds = {"q": q, "k": k, "v": v, "lengths": lengths}
    check(op, feeds, ["y"], expected, 8 * (head + keys), opset=24, on_cpu=False)


def rotated(x, cos, sin, interleaved):
    """x [batch, rows, heads, width] with angles [batch, rows, width / 2]."""
    width = 2 * cos.shape[-1]
    x, c, s = x.astype(np.float64), cos[:, :, None].astype(np.float64), sin[:, :, None].astype(np.float64)
    a, b = (x[..., 0:width:2], x[..., 1:width:2]) if interleaved else np.split(x[..., :width], 2, -1)
    turned = np.stack([a * c - b * s, a * s + b * c], -1 if interleaved else -2)
    return np.concatenate([turned.reshape(*x.shape[:-1], width), x[..., width:]], -1)


@pytest.mark.parametrize("batch, rows, heads, width, part", [(1, 1, 1, 8, 8), (2, 5, 3, 32, 32), (2, 3, 5, 16, 6)])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("by_head", [False, True])
@pytest.mark.parametrize(
    "domain, form", [("", "each"), ("", "gathered"), ("com.microsoft", "each"), ("com.microsoft", "first")]
)
def test_rotary_embedding(batch, rows, heads, width, part, interleaved, by_head, domain, form):
    x, cos, sin = (
        random(batch, rows, heads, width, seed=1),
        random(12, part // 2, seed=2),
        random(12, part // 2, seed=3),
    )
    ids = np.random.default_rng(4).integers(0, 12, (batch, rows))
    if form == "first":
        ids = (5 + np.arange(rows))[None].repeat(batch, 0)
    expected = rotated(x, cos[ids], sin[ids], interleaved)
    feeds = {"x": x.swapaxes(1, 2).copy() if by_head else x.reshape(batch, rows, -1), "cos": cos, "sin": sin}
    expected = expected.swapaxes(1, 2) if by_head else expected.reshape(batch, rows, -1)
    if form == "gathered":
        feeds["cos"], feeds["sin"] = cos[ids], sin[ids]
    else:
        feeds["ids"] = np.array([5], np.int64) if form == "first" else ids
    names = "x ids cos sin" if domain else f"x cos sin {'-' if form == 'gathered' else 'ids'}"
    partial = part if part < width else 0
    attributes = {"num_heads": heads, "rotary_embedding_dim": partial, "interleaved": interleaved}
    op = node("RotaryEmbedding", names, "y", domain=domain, **attributes)
    check(op, feeds, ["y"], [expected], 8, opset=23)


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("interleaved", [0, 1])
def test_m_rotary_embedding(layout, interleaved):
    batch, rows, heads, width, sections = 2, 3, 2, 16, [3, 3, 2]
    x, cos, sin = (
        random(batch, rows, heads * width, seed=1),
        random(20, width // 2, seed=2),
        random(20, width // 2, seed=3),
    )
    ids = np.random.default_rng(4).integers(0, 20, (3, batch, rows))
    section = np.repeat([0, 1, 2], sections)
    if layout:
        section[:] = 0
        for which in (1, 2):
            section[which : 3 * sections[which] : 3] = which
    at = ids[section].transpose(1, 2, 0)
    pair = np.arange(width // 2)
    expected = rotated(x.reshape(batch, rows, heads, width), cos[at, pair], sin[at, pair], interleaved)
    attributes = {"num_heads": heads, "mrope_section": sections, "mrope_layout": layout, "interleaved": interleaved}
    op = contrib("MRotaryEmbedding", "x ids cos sin", "y", **attributes)
    check(op, {"x": x, "ids": ids, "cos": cos, "sin": sin}, ["y"], [expected.reshape(x.shape)], 8)


@pytest.mark.parametrize("bad", [-1, 12, 2**40])
def test_positions_outside_of_the_caches_are_an_error(bad):
    feeds = {"x": random(1, 1, 8, seed=1), "ids": np.array([[bad]], np.int64)}
    feeds |= {"cos": random(12, 4, seed=2), "sin": random(12, 4, seed=3)}
    op = contrib("RotaryEmbedding", "x ids cos sin", "y")
    with pytest.raises(Exception, match=f"position {bad} "):
        run_on_spacemit(model([op], feeds, {"y": F32}), feeds)
