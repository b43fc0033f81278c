"""GroupQueryAttention beside the CPU provider and float64: caches that grow, ragged batches, every option."""

import numpy as np
import onnxruntime as ort
import pytest
from providers import assert_near, contrib, model, run_on_cpu, run_on_spacemit

import onnxruntime_ep_spacemit as spacemit

F32 = np.float32
INPUTS = (
    "query key value past_key past_value seqlens_k total_sequence_length cos_cache sin_cache position_ids "
    "attention_bias head_sink k_scale v_scale q_norm_weight k_norm_weight query_seqlens"
).split()
POSITIONS = 64


def random(*shape, seed):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(F32)


class Case:
    """Sizes of a run. ``last`` has the last position of each sequence; ``capacity`` is the past's third dimension."""

    def __init__(self, last, seq, heads=4, kv_heads=2, width=16, capacity=None, packed=False, total=None):
        self.batch, self.last, self.seq, self.packed = len(last), last, seq, packed
        self.heads, self.kv_heads, self.width = heads, kv_heads, width
        self.total = total or max(last) + 1
        self.capacity = self.total - seq if capacity is None else capacity
        self.present = max(self.capacity, self.total)
        batch = self.batch
        self.q = random(batch, seq, heads, width, seed=1)
        self.k = random(batch, seq, kv_heads, width, seed=2)
        self.v = random(batch, seq, kv_heads, width, seed=3)
        self.past = [random(batch, kv_heads, self.capacity, width, seed=seed) for seed in (4, 5)]

    def new(self, index):
        """Number of new positions of a sequence."""
        return min(self.seq, self.last[index] + 1)

    def feeds(self, **others):
        q, k, v = (x.reshape(self.batch, self.seq, -1) for x in (self.q, self.k, self.v))
        queries = {"query": np.concatenate([q, k, v], 2)} if self.packed else {"query": q, "key": k, "value": v}
        past = [x.copy() for x in self.past]
        for array in past:
            for index in range(self.batch):
                # What is not past may be anything.
                held = array[index, :, self.last[index] + 1 - self.new(index) :]
                held[...] = np.nan if held.dtype == F32 else 77
        return queries | {
            "past_key": past[0],
            "past_value": past[1],
            "seqlens_k": np.array(self.last, np.int32),
            "total_sequence_length": np.array(self.total, np.int32),
            **others,
        }

    def expected(self, turn=lambda x, positions: x, visible=None, softcap=0.0, sink=None, bias=None, scale=None):
        """Valid rows of the output and of the presents in float64, by sequence."""
        results = []
        for index, last in enumerate(self.last):
            new = self.new(index)
            first = last + 1 - new
            positions = first + np.arange(new)
            q = turn(self.q[index, :new].astype(np.float64), positions)
            k = turn(self.k[index, :new].astype(np.float64), positions)
            keys = np.concatenate([self.past[0][index, :, :first], k.swapaxes(0, 1)], 1)
            values = np.concatenate([self.past[1][index, :, :first], self.v[index, :new].swapaxes(0, 1)], 1)
            group = self.heads // self.kv_heads
            scores = np.einsum("shd,htd->hst", q, keys.repeat(group, 0)) * (scale or self.width**-0.5)
            if softcap:
                scores = softcap * np.tanh(scores / softcap)
            if bias is not None:
                full = np.broadcast_to(bias, (self.batch, self.heads, self.seq, self.total))
                scores = scores + full[index, :, :new, : last + 1]
            key, at = np.arange(last + 1), positions[:, None]
            shown = key <= at if visible is None else visible(key, at)
            scores = np.where(shown, scores, -np.inf)
            extra = np.full((self.heads, 1, 1), -np.inf) if sink is None else sink.astype(np.float64).reshape(-1, 1, 1)
            top = np.maximum(scores.max(-1, keepdims=True), extra)
            weights = np.exp(scores - top)
            weights /= weights.sum(-1, keepdims=True) + np.exp(extra - top)
            y = np.einsum("hst,htd->shd", weights, values.repeat(group, 0))
            results.append((y.reshape(new, -1), keys, values))
        return results

    def check(self, results, expected):
        terms = 8 * (self.width + self.total)
        for index, wanted in enumerate(expected):
            new, last = self.new(index), self.last[index]
            parts = [results[0][index, :new], *(results[side][index, :, : last + 1] for side in (1, 2))]
            assert_near(parts, [want.astype(part.dtype) for part, want in zip(parts, wanted)], terms)

    def run(self, feeds, on_cpu=True, **attributes):
        """Results of our provider, after comparing them with the CPU provider's."""
        attributes = {"num_heads": self.heads, "kv_num_heads": self.kv_heads} | attributes
        names = " ".join(name if name in feeds else "-" for name in INPUTS)
        op = contrib("GroupQueryAttention", names, "y present_key present_value", **attributes)
        stored = feeds["past_key"].dtype
        outputs = {"y": F32, "present_key": stored, "present_value": stored}
        serialized = model([op], feeds, outputs, symbolic=True)
        results, _ = run_on_spacemit(serialized, feeds)
        if on_cpu:
            theirs = run_on_cpu(serialized, feeds)
            wanted = [
                (theirs[0][i, : self.new(i)], *(theirs[s][i, :, : self.last[i] + 1] for s in (1, 2)))
                for i in range(self.batch)
            ]
            self.check(results, wanted)
        return results


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


def rotation(width, interleaved, ids=None):
    """Caches for heads of which ``width`` elements turn, and the function that turns rows at positions."""
    cos, sin = random(POSITIONS, width // 2, seed=6), random(POSITIONS, width // 2, seed=7)

    def turn(x, positions):
        at = positions if ids is None else ids(positions)
        c, s = cos[at][:, None].astype(np.float64), sin[at][:, None].astype(np.float64)
        a, b = (x[..., 0:width:2], x[..., 1:width:2]) if interleaved else np.split(x[..., :width], 2, -1)
        turned = np.stack([a * c - b * s, a * s + b * c], -1 if interleaved else -2)
        return np.concatenate([turned.reshape(*x.shape[:-1], width), x[..., width:]], -1)

    return {"cos_cache": cos, "sin_cache": sin}, turn


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


def shared_session(case, capacity):
    """A session of a decode step whose caches have room for ``capacity`` positions."""
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
    session = shared_session(case, capacity)
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
