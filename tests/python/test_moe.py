"""Mixtures of experts beside the CPU provider and float64."""

import numpy as np
import pytest
from providers import contrib, model, run_on_cpu, run_on_spacemit
from test_nbits import pack

F32 = np.float32
EXPERTS, HIDDEN, INNER = 5, 64, 96


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def swiglu(x, activation_alpha=1.0, activation_beta=0.0, swiglu_limit=np.inf):
    gate, linear = x[..., 0::2], x[..., 1::2]
    gate, linear = np.minimum(gate, swiglu_limit), np.clip(linear, -swiglu_limit, swiglu_limit)
    return gate * sigmoid(activation_alpha * gate) * (linear + activation_beta)


ACTIVATIONS = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x * sigmoid(x),
}
# Attributes of activations.
CASES = [
    {"activation_type": "identity"},
    {"activation_type": "relu"},
    {"activation_type": "gelu"},
    {"activation_type": "silu"},
    {"activation_type": "swiglu", "swiglu_fusion": 1},
    {
        "activation_type": "swiglu",
        "swiglu_fusion": 1,
        "activation_alpha": 1.702,
        "activation_beta": 1.0,
        "swiglu_limit": 7.0,
    },
    {"activation_type": "swiglu", "swiglu_fusion": 1, "swiglu_limit": 0.5},
]


def mixture(x, logits, weights, biases, top, normalize, case):
    """The sum over the experts of each token, in float64."""
    parameters = {name: case[name] for name in ("activation_alpha", "activation_beta", "swiglu_limit") if name in case}
    swiglu_case = case["activation_type"] == "swiglu"
    activation = (lambda x: swiglu(x, **parameters)) if swiglu_case else ACTIVATIONS[case["activation_type"]]
    y = np.zeros_like(x, np.float64)
    for token, logit in enumerate(logits.astype(np.float64)):
        shares = np.exp(logit - logit.max())
        chosen = np.argsort(-logit)[:top]
        total = shares[chosen].sum() if normalize else shares.sum()
        for expert in chosen:
            inner = activation(x[token].astype(np.float64) @ weights[0][expert].T + biases[0][expert])
            y[token] += shares[expert] / total * (inner @ weights[1][expert].T + biases[1][expert])
    return y


def parts(tokens, case, seed=0):
    """Input, logits, and the biases of both weights."""
    numbers = np.random.default_rng([tokens, seed])
    wide = INNER * 2 if case["activation_type"] == "swiglu" else INNER
    x = numbers.standard_normal((tokens, HIDDEN)).astype(F32)
    logits = numbers.standard_normal((tokens, EXPERTS)).astype(F32)
    biases = [numbers.standard_normal((EXPERTS, n)).astype(F32) for n in (wide, HIDDEN)]
    return numbers, wide, x, logits, biases


def compare(op, feeds, constants, expected, tolerance):
    serialized = model([op], feeds, {"y": F32}, constants, symbolic=True)
    (ours,), _ = run_on_spacemit(serialized, feeds)
    (theirs,) = run_on_cpu(serialized, feeds)
    limit = tolerance * max(1.0, np.abs(expected).max())
    assert np.abs(ours - expected).max() <= limit
    assert np.abs(ours - theirs).max() <= 2 * limit


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize(("tokens", "top"), [(1, 1), (3, 2), (17, 3), (40, 5)])
@pytest.mark.parametrize("normalize", [0, 1])
def test_moe(case, tokens, top, normalize):
    numbers, wide, x, logits, biases = parts(tokens, case)
    weights = [
        (numbers.standard_normal(shape) / 8).astype(F32)
        for shape in ((EXPERTS, wide, HIDDEN), (EXPERTS, HIDDEN, INNER))
    ]
    constants = {"up": weights[0], "up_bias": biases[0], "down": weights[1], "down_bias": biases[1]}
    op = contrib("MoE", "x logits up up_bias down down_bias", "y", k=top, normalize_routing_weights=normalize, **case)
    expected = mixture(x, logits, weights, biases, top, normalize, case)
    # Sums of 64 and of 96 terms of magnitude 1.
    compare(op, {"x": x, "logits": logits}, constants, expected, 170 * np.finfo(F32).eps)


@pytest.mark.parametrize("case", [CASES[3], CASES[5]], ids=str)
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("block", [0, 16, 32])
@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize(("tokens", "top"), [(1, 2), (17, 3)])
def test_qmoe(case, bits, block, zero, tokens, top):
    numbers, wide, x, logits, biases = parts(tokens, case)
    constants = {"up_bias": biases[0], "down_bias": biases[1]}
    weights = []
    for name, n, k in (("up", wide, HIDDEN), ("down", HIDDEN, INNER)):
        blocks = k // block if block else 1
        codes = numbers.integers(0, 2**bits, (EXPERTS, n, blocks, k // blocks))
        scales = (numbers.uniform(0.5, 1, (EXPERTS, n, blocks)) / 2**bits).astype(F32)
        zeros = numbers.integers(0, 2**bits, scales.shape) if zero else np.full(scales.shape, 2 ** (bits - 1))
        constants[name] = pack(codes.reshape(EXPERTS, n, k), bits)
        constants[f"{name}_scales"] = scales if block else scales[..., 0]
        if zero:
            constants[f"{name}_zeros"] = pack(zeros if block else zeros[..., 0], bits)
        values = (codes - zeros[..., None]) * scales[..., None].astype(np.float64)
        weights.append(values.reshape(EXPERTS, n, k))
    names = "x logits up up_scales up_bias down down_scales down_bias"
    if zero:
        names += " - - - up_zeros down_zeros"
    attributes = {"expert_weight_bits": bits, "k": top, "normalize_routing_weights": 1, **case}
    if block:
        attributes["block_size"] = block
    op = contrib("QMoE", names, "y", **attributes)
    expected = mixture(x, logits, weights, biases, top, True, case)
    feeds = {"x": x, "logits": logits}
    serialized = model([op], feeds, {"y": F32}, constants, symbolic=True)
    (ours,), _ = run_on_spacemit(serialized, feeds)
    (theirs,) = run_on_cpu(serialized, feeds)
    # Sums of 64 and of 96 terms; a gate multiplies two sums of the first kind.
    limit = 400 * np.finfo(F32).eps * np.abs(expected).max()
    assert np.abs(ours - expected).max() <= limit
    # The CPU provider takes rows through int8 where it has blocks: 1/254 of each term on both ways, and gates grow it.
    assert np.abs(theirs - expected).max() <= 0.1 * np.abs(expected).max()
