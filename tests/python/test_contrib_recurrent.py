"""Operators with a recurrent state of com.microsoft, and what stands around them, beside the CPU provider."""

import numpy as np
import pytest
from providers import assert_near, contrib, model, run_on_cpu, run_on_spacemit

F16, F32 = np.float16, np.float32


def random(*shape, seed, dtype=F32):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def check(op, feeds, outputs, terms, constants=None):
    serialized = model([op], feeds, outputs, constants, symbolic=True)
    results, _ = run_on_spacemit(serialized, feeds)
    assert_near(results, run_on_cpu(serialized, feeds), terms)
    return results


# batch, tokens, heads of queries and of keys, widths of keys and of values
SIZES = [(1, 1, 1, 1, 4, 4), (2, 5, 4, 2, 8, 5), (2, 17, 2, 2, 16, 16), (1, 3, 2, 4, 6, 7)]


@pytest.mark.parametrize(("batch", "tokens", "q_heads", "kv_heads", "dk", "dv"), SIZES)
@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize(("past", "by_key"), [(False, False), (True, False), (True, True)])
def test_linear_attention(batch, tokens, q_heads, kv_heads, dk, dv, rule, past, by_key):
    keys = random(batch, tokens, kv_heads, dk, seed=2)
    keys /= np.linalg.norm(keys, axis=-1, keepdims=True)
    feeds = {
        "q": random(batch, tokens, q_heads * dk, seed=1),
        "k": keys.reshape(batch, tokens, kv_heads * dk),
        "v": random(batch, tokens, kv_heads * dv, seed=3),
    }
    names = ["q", "k", "v", "-", "-", "-"]
    if past:
        feeds["past"] = random(batch, kv_heads, dk, dv, seed=4)
        names[3] = "past"
    if "gated" in rule:
        feeds["decay"] = -np.abs(random(batch, tokens, kv_heads * (dk if by_key else 1), seed=5))
        names[4] = "decay"
    if "delta" in rule:
        feeds["beta"] = 1 / (1 + np.exp(-random(batch, tokens, kv_heads, seed=6)))
        names[5] = "beta"
    op = contrib(
        "LinearAttention",
        " ".join(names),
        "y state",
        update_rule=rule,
        q_num_heads=q_heads,
        kv_num_heads=kv_heads,
    )
    check(op, feeds, {"y": F32, "state": F32}, terms=8 * dk + 4 * tokens)


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("beta", [False, True])
def test_linear_attention_gate(dtype, beta):
    feeds = {
        "a": 3 * random(2, 5, 7, seed=1, dtype=dtype),
        "bias": random(7, seed=2),
        "scale": -np.abs(random(7, seed=3)),
        "b": 3 * random(2, 5, 7, seed=4, dtype=dtype),
    }
    if not beta:
        del feeds["b"]
    op = contrib("LinearAttentionGate", " ".join(feeds), "decay beta" if beta else "decay")
    check(op, feeds, {"decay": dtype} | ({"beta": dtype} if beta else {}), terms=8)


@pytest.mark.parametrize(("batch", "channels", "length"), [(1, 1, 1), (2, 5, 9), (1, 64, 3), (2, 7, 65)])
@pytest.mark.parametrize("taps", [1, 2, 4])
@pytest.mark.parametrize(("bias", "past"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("activation", ["none", "silu"])
def test_causal_conv(batch, channels, length, taps, bias, past, activation):
    feeds = {"x": random(batch, channels, length, seed=1)}
    constants = {"w": random(channels, 1, taps, seed=2)}
    if bias:
        constants["bias"] = random(channels, seed=3)
    if past:
        feeds["past"] = random(batch, channels, taps - 1, seed=4)
    names = f"x w {'bias' if bias else '-'} {'past' if past else '-'}"
    op = contrib("CausalConvWithState", names, "y state", activation=activation)
    results = check(op, feeds, {"y": F32, "state": F32}, 16, constants)
    line = np.concatenate([feeds.get("past", np.zeros((batch, channels, taps - 1), F32)), feeds["x"]], axis=2)
    np.testing.assert_array_equal(results[1], line[:, :, length:])


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("activation", ["silu", "sigmoid"])
@pytest.mark.parametrize(("heads", "width"), [(1, 1), (3, 7), (2, 64)])
def test_gated_rms_norm(dtype, activation, heads, width):
    x, gate = (random(2, 3, heads * width, seed=seed, dtype=dtype) for seed in (1, 2))
    scale = random(width, seed=3, dtype=dtype)
    op = contrib("GatedRMSNorm", "x scale gate", "y", activation=activation, epsilon=1e-5)
    serialized = model([op], {"x": x, "scale": scale, "gate": gate}, {"y": dtype})
    results, _ = run_on_spacemit(serialized, {"x": x, "scale": scale, "gate": gate})
    rows, gates = (array.astype(np.float64).reshape(2, 3, heads, width) for array in (x, gate))
    sigmoid = 1 / (1 + np.exp(-gates))
    normal = rows / np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-5) * scale
    expected = (normal * sigmoid * (gates if activation == "silu" else 1)).reshape(x.shape)
    assert_near(results, [expected.astype(dtype)], terms=16)


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize(("gate", "by_key"), [("none", False), ("softplus", False), ("softplus", True), ("kda", True)])
@pytest.mark.parametrize(("heads", "v_heads"), [(1, 1), (2, 4)])
@pytest.mark.parametrize("packed", [False, True])
def test_gated_delta_net(dtype, rule, gate, by_key, heads, v_heads, packed):
    batch, tokens, dk, dv = 2, 6, 8, 5
    rows = [
        random(batch, tokens, count, seed=seed) for seed, count in ((1, heads * dk), (2, heads * dk), (3, v_heads * dv))
    ]
    feeds = {"q": np.concatenate(rows, -1)}
    if not packed:
        widths = (dk, dk, dv)
        feeds = {name: array.reshape(batch, tokens, -1, width) for name, array, width in zip("qkv", rows, widths)}
    feeds |= {
        "decay": -np.abs(random(batch, tokens, v_heads, *([dk] if by_key else []), seed=4)),
        "beta": random(batch, tokens, v_heads, seed=5),
    }
    feeds = {name: array.astype(dtype) for name, array in feeds.items()}
    feeds["state"] = random(batch, v_heads, dv, dk, seed=6)
    names = "q - - - decay beta state" if packed else "q k v - decay beta state"
    if gate != "none":
        feeds |= {"a_log": random(v_heads, seed=7), "dt_bias": random(*(v_heads, dk) if by_key else (v_heads,), seed=8)}
        names += " a_log dt_bias"
    if "gated" not in rule:
        names = names.replace("decay", "-").replace(" a_log dt_bias", "")
        feeds = {name: array for name, array in feeds.items() if name in names.split()}
        gate = "none"
    if "delta" not in rule:
        names = names.replace("beta", "-")
        feeds.pop("beta")
    attributes = {"update_rule": rule, "gate_activation": gate, "beta_activation": "sigmoid", "qk_l2_norm": 1}
    op = contrib("GatedDeltaNet", names, "y last", **attributes)
    check(op, feeds, {"y": dtype, "last": F32}, terms=8 * dk + 4 * tokens)
