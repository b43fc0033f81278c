"""GroupQueryAttention beside the CPU provider and float64: ragged batches, rotary embedding, every option."""

import numpy as np
import pytest
from grouped import F32, INPUTS, POSITIONS, Case, random, rotation
from providers import contrib, model, run_on_cpu, run_on_spacemit

CASES = [
    Case([0], 1, capacity=0),
    Case([8], 9, capacity=0),
    Case([8, 3], 9, capacity=0),
    Case([8, 3], 9, capacity=20, packed=True),
    Case([40], 1),
    Case([40], 1, packed=True, capacity=64),
    Case([40, 7, 0], 1, capacity=64, heads=9, kv_heads=3, width=64),
    Case([41], 2, heads=6, kv_heads=1, width=32),
    Case([42], 3, capacity=50, heads=7, kv_heads=7, width=80),
    Case([56], 17, heads=8, kv_heads=2, width=128),
    Case([300], 1, heads=3, kv_heads=3, width=256, capacity=310),
    Case([2000], 1, heads=9, kv_heads=3, width=64, packed=True),
    Case([299, 280], 300, capacity=0, heads=2, kv_heads=1, width=48),
]


@pytest.mark.parametrize("case", CASES)
def test_plain(case):
    case.check(case.run(case.feeds()), case.expected())


@pytest.mark.parametrize("case", [case for case in CASES if case.total <= POSITIONS])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("part", [1, 2])
def test_rotary(case, interleaved, part):
    width = case.width // part
    caches, turn = rotation(width, interleaved)
    # The CPU provider wants multiples of 16 elements.
    on_cpu = width % 16 == 0
    results = case.run(case.feeds(**caches), do_rotary=1, rotary_interleaved=interleaved, on_cpu=on_cpu)
    case.check(results, case.expected(turn))


def test_position_ids_of_a_first_prompt_follow_the_first():
    case = Case([4, 2], 5, capacity=0)
    ids = np.array([[7, 1, 1, 1, 1], [3, 3, 3, 3, 3]], np.int64)
    caches, turn = rotation(16, 0, lambda positions: 7 + positions)
    case.check(case.run(case.feeds(**caches, position_ids=ids), do_rotary=1), case.expected(turn))


def test_position_ids_of_later_tokens_are_their_own():
    case = Case([9], 3)
    ids = np.array([[5, 60, 2]], np.int64)
    caches, turn = rotation(16, 0, lambda positions: ids[0][positions - 7])
    case.check(case.run(case.feeds(**caches, position_ids=ids), do_rotary=1), case.expected(turn))


@pytest.mark.parametrize("bad", [-1, POSITIONS, 2**40])
def test_position_ids_outside_of_the_caches_are_an_error(bad):
    case = Case([9], 1)
    caches, _ = rotation(16, 0)
    feeds = case.feeds(**caches, position_ids=np.array([[bad]], np.int64))
    with pytest.raises(Exception, match=f"position {bad} "):
        case.run(feeds, do_rotary=1, on_cpu=False)


@pytest.mark.parametrize("bad", [-1, 64, -(2**31)])
def test_lengths_outside_of_the_cache_are_an_error(bad):
    case = Case([9], 1, capacity=64)
    feeds = case.feeds() | {"seqlens_k": np.array([bad], np.int32)}
    with pytest.raises(Exception, match=f"a last position of {bad} "):
        case.run(feeds, on_cpu=False)


OPTIONS = {
    "window of one": ({"local_window_size": 1}, {"visible": lambda key, at: key == at}),
    "window": ({"local_window_size": 5}, {"visible": lambda key, at: (key <= at) & (key > at - 5)}),
    "softcap": ({"softcap": 0.7}, {"softcap": 0.7}),
    "smooth": ({"smooth_softmax": 1}, {"sink": np.zeros(4)}),
    "scale": ({"scale": 0.3}, {"scale": 0.3}),
    "both directions": ({"causal": 0}, {"visible": lambda key, at: key >= 0}),
}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("case", [Case([40], 1), Case([8, 3], 9, capacity=12), Case([30], 3), Case([290], 280)])
def test_options(option, case):
    attributes, meaning = OPTIONS[option]
    case.check(case.run(case.feeds(), **attributes), case.expected(**meaning))


@pytest.mark.parametrize("case", [Case([40], 1), Case([8, 3], 9, capacity=12), Case([300], 3)])
def test_sinks_and_biases(case):
    sink = random(case.heads, seed=8)
    case.check(case.run(case.feeds(head_sink=sink)), case.expected(sink=sink))
    for batch, heads in [(1, 1), (1, case.heads), (case.batch, 1), (case.batch, case.heads)]:
        bias = random(batch, heads, case.seq, case.total, seed=9)
        results = case.run(case.feeds(attention_bias=bias), softcap=2.0)
        case.check(results, case.expected(bias=bias, softcap=2.0))


def test_query_lengths_leave_the_padding_out():
    case = Case([9, 4], 3, capacity=16)
    case.new = lambda index: [2, 1][index]
    case.check(case.run(case.feeds(query_seqlens=np.array([2, 1], np.int32))), case.expected())


@pytest.mark.parametrize("case", [Case([40], 1, packed=True), Case([8, 3], 9, capacity=12)])
def test_norms_of_queries_and_keys(case):
    """The CPU provider does not have them."""
    weights = [1 + random(case.width, seed=seed) / 4 for seed in (10, 11)]
    caches, turn = rotation(case.width, 0)
    feeds = case.feeds(**caches, q_norm_weight=weights[0], k_norm_weight=weights[1])
    results = case.run(feeds, on_cpu=False, do_rotary=1, qk_norm_epsilon=1e-3)

    def norm(x, weight):
        x = x.astype(np.float64)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-3) * weight

    case.q, case.k = norm(case.q, weights[0]), norm(case.k, weights[1])
    case.check(results, case.expected(turn))


def test_f16():
    case = Case([40, 7], 1, capacity=64)
    caches, turn = rotation(case.width, 0)
    feeds = {
        name: array.astype(np.float16) if array.dtype == F32 else array for name, array in case.feeds(**caches).items()
    }
    names = " ".join(name if name in feeds else "-" for name in INPUTS)
    op = contrib("GroupQueryAttention", names, "y k v", num_heads=4, kv_num_heads=2, do_rotary=1)
    outputs = dict.fromkeys("ykv", np.float16)
    serialized = model([op], feeds, outputs)
    results, _ = run_on_spacemit(serialized, feeds)
    theirs = run_on_cpu(serialized, feeds)
    case.past = [feeds[name] for name in ("past_key", "past_value")]
    case.q, case.k, case.v = (x.astype(np.float16) for x in (case.q, case.k, case.v))
    for index, wanted in enumerate(case.expected(turn)):
        last = case.last[index]
        for provider in (results, theirs):
            found = [provider[0][index, :1], *(provider[side][index, :, : last + 1] for side in (1, 2))]
            for value, want in zip(found, wanted):
                # The caches of angles are rounded to f16 too.
                np.testing.assert_allclose(value.astype(np.float64), want, rtol=2e-3, atol=4e-3)
