"""What the tests of fusions are made of: a rule with its pattern, and the numbers that the patterns read."""

from dataclasses import dataclass, field

import numpy as np
from providers import assert_near, model, run_on_cpu, run_on_spacemit

BATCH, SEQ, WIDTH, HEADS = 2, 5, 8, 2
F32 = np.float32


def random(*shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(F32)


# Inputs and constants by name; numbers are scalars of float32.
FEEDS = {
    "x": random(BATCH, SEQ, WIDTH, seed=1),
    "other": random(BATCH, SEQ, WIDTH, seed=2),
    "matrix": random(SEQ, WIDTH, seed=3),
    "weight": random(WIDTH, WIDTH, seed=4),
    "vector": random(WIDTH, seed=5),
    "q": random(BATCH, SEQ, HEADS, 4, seed=6),
    "k": random(BATCH, 7, HEADS, 4, seed=7),
    "v": random(BATCH, 7, HEADS, 4, seed=8),
    "heads_q": random(BATCH, 4, SEQ, 4, seed=15),
    "heads_k": random(BATCH, 2, 7, 4, seed=16),
    "heads_v": random(BATCH, 2, 7, 4, seed=17),
    "past_k": random(BATCH, HEADS, 3, 4, seed=25),
    "past_v": random(BATCH, HEADS, 3, 4, seed=26),
    "ids": np.array([[3, 0, 7], [1, 1, 2]]),
    "cos": random(BATCH, SEQ, 1, 4, seed=18),
    "sin": random(BATCH, SEQ, 1, 4, seed=19),
    "mask": np.where(np.arange(7) < [[5], [7]], 0, np.finfo(F32).min).astype(F32)[:, None, None],
}
CONSTANTS = {
    "w": random(WIDTH, WIDTH, seed=9),
    "b": random(WIDTH, seed=10),
    "gamma": random(WIDTH, seed=12),
    "beta": random(WIDTH, seed=13),
    "last": np.array([-1]),
    "middle": np.array([1]),
    "start": np.array([0]),
    "half": np.array([2]),
    "end": np.array([2**63 - 1]),
    "expanded": np.array([BATCH, 2, 2, 7, 4]),
    "merged": np.array([BATCH, 4, 7, 4]),
    "flat": np.array([-1, WIDTH]),
    "outer": np.array([BATCH, SEQ, WIDTH]),
    "swapped": np.array([SEQ, BATCH, WIDTH]),
    "bytes": np.random.default_rng(14).integers(-100, 100, (WIDTH, WIDTH), np.int8),
    "zero": np.array(0, np.int8),
    "codes": np.random.default_rng(20).integers(0, 256, (WIDTH, 1, 8), np.uint8),
    "codes_up": np.random.default_rng(21).integers(0, 256, (WIDTH, 1, 8), np.uint8),
    "scales": random(WIDTH, 1, seed=22) / 16,
    "column_scales": random(WIDTH, seed=23) / 128,
    "filters": random(SEQ, SEQ, 3, seed=24),
}


@dataclass
class Rule:
    """A pattern, the operators that it becomes, and changes by place that keep it from that.

    ``left`` are the operators after the changes, where other rules apply.
    """

    name: str
    nodes: list
    fused: set
    change: dict
    left: set = field(default_factory=set)
    outputs: tuple = ("y",)


def run(nodes, outputs):
    """Operators that ran, after comparing the result with the CPU provider's, which runs the nodes as they are."""
    names = {name for one in nodes for name in one.input}
    constants = {name: array for name, array in CONSTANTS.items() if name in names}
    constants |= {name: np.array(name, F32) for name in names if name[0].isdigit()}
    feeds = {name: array for name, array in FEEDS.items() if name in names}
    serialized = model(nodes, feeds, dict.fromkeys(outputs, F32), constants)
    results, operators = run_on_spacemit(serialized, feeds)
    # The longest sums have WIDTH terms, of which a chain has two, and a few functions after.
    assert_near(results, run_on_cpu(serialized, feeds), terms=4 * WIDTH)
    return set(operators)
