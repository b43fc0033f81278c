"""Caches of GroupQueryAttention: of few bits, and updated step by step in one buffer."""

import numpy as np
import onnxruntime as ort
import pytest
from grouped import F32, INPUTS, Case, random
from providers import assert_near, contrib, model

import onnxruntime_ep_spacemit as spacemit


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("kind", ["PER_TENSOR", "PER_CHANNEL"])
@pytest.mark.parametrize("last, seq, capacity", [([7], 2, 6), ([30, 4], 1, 40), ([8], 9, 0), ([200], 30, 171)])
def test_quantized_caches(bits, kind, last, seq, capacity):
    case = Case(last, seq, capacity=capacity)
    shape = (1,) if kind == "PER_TENSOR" else (1, case.kv_heads, 1, case.width)
    scales = [0.05 + np.abs(random(*shape, seed=seed)) / 10 for seed in (12, 13)]
    low, high = (-128, 127) if bits == 8 else (-8, 7)
    spread = [scale if kind == "PER_TENSOR" else scale[0] for scale in scales]

    def quantize(x, scale):
        return np.clip(np.rint(x / scale), low, high).astype(np.int32)

    def pack(levels):
        if bits == 8:
            return levels.astype(np.int8)
        return (levels[..., ::2] + 8 | levels[..., 1::2] + 8 << 4).astype(np.uint8)

    def unpack(stored):
        if bits == 8:
            return stored.astype(np.int32)
        return np.stack([stored & 15, stored >> 4], -1).reshape(*stored.shape[:-1], case.width).astype(np.int32) - 8

    levels = [quantize(x, scale) for x, scale in zip(case.past, spread)]
    case.past = [pack(x) for x in levels]
    feeds = case.feeds(k_scale=scales[0], v_scale=scales[1])
    results = case.run(feeds, k_quant_type=kind, v_quant_type=kind, kv_cache_bit_width=bits)
    case.past = [x * scale for x, scale in zip(levels, spread)]
    by_head = [scale if kind == "PER_TENSOR" else scale[:, 0] for scale in spread]
    case.k, case.v = (quantize(x, scale) * scale for x, scale in zip((case.k, case.v), by_head))
    plain = [results[0]] + [unpack(x) * scale for x, scale in zip(results[1:], spread)]
    case.check([x.astype(F32) for x in plain], case.expected())


def decode_session(case):
    """A session that runs steps like ``case``."""
    feeds = case.feeds()
    names = " ".join(name if name in feeds else "-" for name in INPUTS)
    op = contrib("GroupQueryAttention", names, "y present_key present_value", num_heads=4, kv_num_heads=2)
    serialized = model([op], feeds, dict.fromkeys(["y", "present_key", "present_value"], F32), symbolic=True)
    spacemit.register()
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    options.add_provider_for_devices(spacemit.devices(), {"claim": "all"})
    return ort.InferenceSession(serialized, options)


@pytest.mark.parametrize("shared", [True, False])
def test_a_loop_of_steps_with_one_buffer(shared):
    """Each step extends the caches in place, or from one buffer to another, as a first run over all tokens would."""
    capacity, steps = 24, 20
    whole = Case([steps - 1], steps, capacity=0)
    expected = whole.expected()[0]
    case = Case([0], 1, capacity=capacity)
    session = decode_session(case)
    caches = [[ort.OrtValue.ortvalue_from_numpy(np.full_like(x, np.nan)) for x in case.past] for _ in range(2)]
    rows = []
    for step in range(steps):
        binding = session.io_binding()
        for name, array in [("query", whole.q), ("key", whole.k), ("value", whole.v)]:
            binding.bind_cpu_input(name, np.ascontiguousarray(array[:, step].reshape(1, 1, -1)))
        binding.bind_cpu_input("seqlens_k", np.array([step], np.int32))
        binding.bind_cpu_input("total_sequence_length", np.array(step + 1, np.int32))
        binding.bind_output("y")
        past, present = caches[0], caches[0 if shared else 1]
        for name, old, new in zip(["key", "value"], past, present):
            binding.bind_ortvalue_input(f"past_{name}", old)
            binding.bind_ortvalue_output(f"present_{name}", new)
        session.run_with_iobinding(binding)
        rows.append(binding.copy_outputs_to_cpu()[0][0, 0])
        if not shared:
            caches.reverse()
    assert_near([np.stack(rows)], [expected[0].astype(F32)], 8 * (16 + steps))
    for cache, want in zip(caches[0], expected[1:]):
        np.testing.assert_array_equal(cache.numpy()[0, :, :steps], want.astype(F32))
