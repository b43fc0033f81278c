"""Runs of GroupQueryAttention on both providers, and what float64 makes of them."""

import numpy as np
from providers import assert_near, contrib, model, run_on_cpu, run_on_spacemit

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
