"""SmolLM2 in every form: placement, and the same text as the CPU provider. The short tests use two of its layers."""

import warnings

import numpy as np
import pytest
from greedy import count_ties, in_float, read, rounding, write
from placement import assert_all_on_spacemit

from demo import smollm2
from demo.language_model import LanguageModel
from models.smollm2 import CUT, FORMS
from onnxruntime_ep_spacemit.comparison import Settings, compare

COUNT = 64
PROMPTS = [
    "What is the capital of France?",
    "Write a haiku about rain.",
    "Explain why the sky is blue.",
    "List three fruits and their colours.",
    "Translate 'good morning' into Spanish.",
]
# of the longest sums, in down_proj
TERMS = 1536


def token_rows():
    """Five seeded prompts of tokens that the small vocabulary has."""
    random = np.random.default_rng(5)
    return [random.integers(17, CUT["vocabulary"], length).tolist() for length in (1, 2, 17, 33, 100)]


def check_texts(name, zoo, sessions, prompts):
    """The CPU provider would write the same greedy tokens, but for ties, which are counted in a warning.

    It reads in one run what ours has written: where it would choose each of the tokens, it would write them all.
    """
    ours, cpu, _ = sessions(name)
    in_floats = in_float(zoo.need(name))
    # with float zero points the CPU provider leaves activations in float: it is no measure of what quantising them does
    measure = name.replace("float-zp", "asymmetric")
    quantised, unquantised = (
        (cpu, in_floats) if measure == name else (sessions(measure)[1], in_float(zoo.need(measure)))
    )
    ties = 0
    for prompt in prompts:
        text = write(ours, prompt, COUNT)
        logits = {one: read(one, prompt, text.tokens) for one in {cpu, in_floats, quantised, unquantised}}
        exact = logits[in_floats]
        noise = np.abs(logits[quantised] - logits[unquantised]).max() + rounding(exact, TERMS)
        assert np.abs(text.logits - exact).max() <= 2 * noise
        ties += count_ties(text, logits[cpu], exact, noise)
    if ties:
        warnings.warn(f"{name}: {ties} of {COUNT * len(prompts)} tokens are ties", stacklevel=1)


@pytest.mark.parametrize("form", FORMS)
def test_every_node_is_claimed(sessions, form):
    session, _, report = sessions(f"smollm2-cut-{form}")
    assert_all_on_spacemit(session, report)


@pytest.mark.parametrize("form", FORMS)
def test_greedy_tokens_are_those_of_the_cpu_provider(zoo, sessions, form):
    check_texts(f"smollm2-cut-{form}", zoo, sessions, token_rows())


@pytest.mark.parametrize("form", ["fp32", "q8"])
def test_separate_buffers_give_what_a_shared_one_gives(sessions, form):
    session, _, _ = sessions(f"smollm2-cut-{form}")
    names = [value.name for value in session.get_inputs() if value.name.startswith("past")]
    past = dict.fromkeys(names, np.zeros((1, 3, 0, 64), np.float32))
    shared, length = LanguageModel(session), 0
    for tokens in ([5, 900, 77], [1500], [1501], [30, 31]):
        length += len(tokens)
        feeds = {"input_ids": np.array([tokens]), "attention_mask": np.ones((1, length), np.int64)}
        logits, *present = session.run(None, {**feeds, **past})
        expected = shared.feed(tokens)
        np.testing.assert_allclose(logits[0], expected, rtol=0, atol=rounding(expected, TERMS))
        assert all(cache.shape == (1, 3, length, 64) for cache in present)
        past = dict(zip(names, present))


def test_a_comparison_can_hold_caches_in_place(zoo):
    rows = 32
    settings = Settings(
        str(zoo.need("smollm2-cut-fp32")),
        dims={"sequence_length": 1, "total_sequence_length": 9, "past_sequence_length": rows},
        in_place={"past_key_values.": "present."},
        rounds=2,
        seconds=0.01,
    )
    logits, *caches = compare(settings)["outputs"]
    assert all(cache["shape"] == [1, 3, rows, 64] for cache in caches)
    assert all(output["max_rel"] <= rounding(np.ones(1), TERMS) for output in (logits, *caches))


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_every_node_of_the_whole_model_is_claimed(sessions, form):
    session, _, report = sessions(f"smollm2-{form}")
    assert_all_on_spacemit(session, report)


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_the_whole_model_writes_what_it_writes_on_the_cpu_provider(zoo, sessions, form):
    tokenizer = smollm2.tokenizer()
    prompts = [tokenizer.encode(smollm2.opening() + smollm2.turn(text)).ids for text in PROMPTS]
    check_texts(f"smollm2-{form}", zoo, sessions, prompts)
