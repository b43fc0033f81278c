"""A decoder with Qwen3's norms of heads and its sizes, at several lengths of the past."""

import numpy as np
import onnxruntime as ort
import pytest
from greedy import in_float, rounding
from placement import assert_all_on_spacemit

from models.qwen3_shape import SHAPE

PASTS = [0, 1, 255, 2000]
# of the longest sums, in down_proj
TERMS = SHAPE.ffn


def feeds(session, past, tokens):
    """Seeded inputs with ``past`` tokens in the caches, whose values have the spread of normed keys."""
    random = np.random.default_rng(past)
    inputs = {
        "input_ids": random.integers(0, 4096, (1, tokens)),
        "attention_mask": np.ones((1, past + tokens), np.int64),
    }
    for value in session.get_inputs():
        if value.name.startswith("past"):
            inputs[value.name] = random.standard_normal((1, SHAPE.kv_heads, past, SHAPE.head), np.float32)
    return inputs


def run_in_place(session, inputs, capacity):
    """Outputs with past and present in one buffer; what lies behind the past is NaN."""
    binding, names = session.io_binding(), [value.name for value in session.get_outputs()]
    binding.bind_output(names[0])
    for name, array in inputs.items():
        if not name.startswith("past"):
            binding.bind_cpu_input(name, array)
            continue
        cache = np.full((1, SHAPE.kv_heads, capacity, SHAPE.head), np.nan, np.float32)
        cache[:, :, : array.shape[2]] = array
        buffer = ort.OrtValue.ortvalue_from_numpy(cache)
        binding.bind_ortvalue_input(name, buffer)
        binding.bind_ortvalue_output(name.replace("past_key_values", "present"), buffer)
    session.run_with_iobinding(binding)
    outputs = dict(zip([names[0], *(n for n in names if n.startswith("present"))], binding.copy_outputs_to_cpu()))
    return [outputs[name] for name in names]


def check(name, zoo, sessions, past, tokens, in_place, mode="auto"):
    ours, cpu, _ = sessions(name, mode)
    inputs = feeds(cpu, past, tokens)
    expected, exact = cpu.run(None, inputs), in_float(zoo.need(name)).run(None, inputs)
    actual = run_in_place(ours, inputs, past + tokens + 30) if in_place else ours.run(None, inputs)
    for index, (one, other, truth) in enumerate(zip(actual, expected, exact)):
        if index and in_place:
            assert np.isnan(one[:, :, past + tokens :]).all(), "rows behind the text are written"
            one = one[:, :, : past + tokens]
        assert one.shape == truth.shape
        noise = np.abs(other - truth).max() + rounding(truth, TERMS)
        assert np.abs(one - truth).max() <= 2 * noise


def test_every_node_is_claimed(sessions):
    session, _, report = sessions("qwen3-shape-cut-q4")
    assert_all_on_spacemit(session, report)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("tokens", [1, 3])
@pytest.mark.parametrize("past", PASTS)
def test_logits_are_those_of_the_cpu_provider(zoo, sessions, past, tokens, in_place):
    check("qwen3-shape-cut-q4", zoo, sessions, past, tokens, in_place)


@pytest.mark.long
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("past", PASTS)
def test_logits_of_kernels_only_are_those_of_the_cpu_provider(zoo, sessions, past, in_place):
    check("qwen3-shape-cut-q4", zoo, sessions, past, 3, in_place, mode="kernels")


@pytest.mark.long
@pytest.mark.parametrize("past", PASTS)
def test_logits_of_all_layers_are_those_of_the_cpu_provider(zoo, sessions, past):
    session, _, report = sessions("qwen3-shape-q4")
    assert_all_on_spacemit(session, report)
    check("qwen3-shape-q4", zoo, sessions, past, 1, in_place=True)
