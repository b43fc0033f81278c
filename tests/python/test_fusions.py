"""Each rule of docs/fusions.md on a graph as exporters write it, and on one that is nearly so."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from providers import assert_near, contrib, model, node, run_on_cpu, run_on_spacemit

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


LINEAR = node("MatMul", "x w", "product")
BIASED = [LINEAR, node("Add", "product b", "linear")]
QUANTIZED = [
    node("DynamicQuantizeLinear", "x", "x_bytes x_scale x_zero"),
    node("MatMulInteger", "x_bytes bytes x_zero zero", "sums"),
    node("Cast", "sums", "floats", to=1),
    node("Mul", "x_scale 0.01", "scale"),
    node("Mul", "floats scale", "y"),
]

NBITS = {"K": WIDTH, "N": WIDTH, "bits": 4, "block_size": 16}
GATE = contrib("MatMulNBits", "x codes scales", "gate", **NBITS)
CONV = node("Conv", "x filters", "planes", pads=[1, 1])

RULES = [
    Rule(
        "GeluErf",
        [
            node("Div", "x 1.4142135", "scaled"),
            node("Erf", "scaled", "erf"),
            node("Add", "erf 1", "gate"),
            node("Mul", "x gate", "gated"),
            node("Mul", "gated 0.5", "y"),
        ],
        {"Gelu"},
        {0: node("Div", "x 1.42", "scaled")},
    ),
    Rule(
        "GeluTanh",
        [
            node("Pow", "x 3", "cube"),
            node("Mul", "cube 0.044715", "small"),
            node("Add", "x small", "sum"),
            node("Mul", "sum 0.7978846", "scaled"),
            node("Tanh", "scaled", "tanh"),
            node("Add", "tanh 1", "gate"),
            node("Mul", "x 0.5", "halved"),
            node("Mul", "halved gate", "y"),
        ],
        {"Gelu"},
        {0: node("Pow", "x 2", "cube")},
    ),
    Rule(
        "QuickGelu",
        [node("Mul", "x 1.702", "scaled"), node("Sigmoid", "scaled", "gate"), node("Mul", "x gate", "y")],
        {"com.microsoft.QuickGelu"},
        {2: node("Mul", "other gate", "y")},
    ),
    Rule(
        "ConvActivation", [CONV, node("Relu", "planes", "y")], {"spacemit.Conv"}, {1: node("Softplus", "planes", "y")}
    ),
    Rule(
        "ConvResidual",
        [CONV, node("Add", "planes other", "y")],
        {"spacemit.Conv"},
        {1: node("Mul", "planes other", "y")},
    ),
    Rule(
        "ConvResidualActivation",
        [CONV, node("Add", "planes other", "sum"), node("Relu", "sum", "y")],
        {"spacemit.Conv"},
        {2: node("Softplus", "sum", "y")},
        {"spacemit.Conv", "Softplus"},
    ),
    Rule(
        "LayerNorm",
        [
            node("ReduceMean", "x last", "mean"),
            node("Sub", "x mean", "deviation"),
            node("Pow", "deviation 2", "square"),
            node("ReduceMean", "square last", "variance"),
            node("Add", "variance 1e-5", "positive"),
            node("Sqrt", "positive", "root"),
            node("Div", "deviation root", "normal"),
            node("Mul", "normal gamma", "scaled"),
            node("Add", "scaled beta", "y"),
        ],
        {"LayerNormalization"},
        {3: node("ReduceMean", "square middle", "variance")},
    ),
    Rule(
        "RmsNorm",
        [
            node("Pow", "x 2", "square"),
            node("ReduceMean", "square last", "mean"),
            node("Add", "mean 1e-5", "positive"),
            node("Sqrt", "positive", "root"),
            node("Div", "x root", "normal"),
            node("Mul", "gamma normal", "y"),
        ],
        {"SimplifiedLayerNormalization"},
        {0: node("Pow", "x 4", "square")},
    ),
    Rule(
        "TransposeThroughReshape",
        [
            node("Shape", "q", "batch", start=0, end=1),
            node("Shape", "q", "sequence", start=1, end=2),
            node("Shape", "q", "heads", start=2, end=3),
            node("Shape", "q", "columns", start=3),
            node("Concat", "last sequence columns", "flat_shape", axis=0),
            node("Concat", "batch heads columns sequence", "back_shape", axis=0),
            node("Transpose", "q", "by_head", perm=[0, 2, 1, 3]),
            node("Reshape", "by_head flat_shape", "matrices"),
            node("Transpose", "matrices", "swapped_matrices", perm=[0, 2, 1]),
            node("Reshape", "swapped_matrices back_shape", "y"),
        ],
        {"Transpose"},
        {5: node("Concat", "heads batch columns sequence", "back_shape", axis=0)},
    ),
    Rule(
        "RotateHalf",
        [
            node("Slice", "q start half last", "first"),
            node("Slice", "q half end last", "second"),
            node("Neg", "second", "negated"),
            node("Concat", "negated first", "halves", axis=-1),
            node("Mul", "q cos", "straight"),
            node("Mul", "halves sin", "turned"),
            node("Add", "straight turned", "y"),
        ],
        {"spacemit.RotateHalf"},
        {3: node("Concat", "first negated", "halves", axis=-1)},
    ),
    Rule(
        "RepeatKv",
        [
            node("Unsqueeze", "heads_k half", "apart_k"),
            node("Expand", "apart_k expanded", "expanded_k"),
            node("Reshape", "expanded_k merged", "merged_k"),
            node("Unsqueeze", "heads_v half", "apart_v"),
            node("Expand", "apart_v expanded", "expanded_v"),
            node("Reshape", "expanded_v merged", "merged_v"),
            node("Transpose", "merged_k", "keys", perm=[0, 1, 3, 2]),
            node("MatMul", "heads_q keys", "scores"),
            node("Softmax", "scores", "weights", axis=-1),
            node("MatMul", "weights merged_v", "y"),
        ],
        {"spacemit.Sdpa"},
        {0: node("Unsqueeze", "heads_k middle", "apart_k")},
        {"Unsqueeze", "Expand", "Reshape", "spacemit.Sdpa"},
    ),
    Rule(
        "Sdpa",
        [
            node("Transpose", "q", "queries", perm=[0, 2, 1, 3]),
            node("Transpose", "k", "keys", perm=[0, 2, 3, 1]),
            node("Transpose", "v", "values", perm=[0, 2, 1, 3]),
            node("MatMul", "queries keys", "product"),
            node("Div", "product 2", "scaled"),
            node("Add", "scaled mask", "scores"),
            node("Softmax", "scores", "weights", axis=-1),
            node("MatMul", "weights values", "context"),
            node("Transpose", "context", "y", perm=[0, 2, 1, 3]),
        ],
        {"spacemit.Sdpa"},
        {6: node("Softmax", "scores", "weights", axis=2)},
    ),
    Rule(
        "QLinear",
        QUANTIZED,
        {"DynamicQuantizeLinear", "spacemit.QLinear"},
        {3: node("Mul", "x_scale x_scale", "scale")},
    ),
    Rule(
        "NBitsLinear",
        [GATE, node("Add", "gate b", "y")],
        {"spacemit.NBitsLinear"},
        {1: node("Sub", "gate b", "y")},
        {"spacemit.NBitsLinear", "Sub"},
    ),
    Rule(
        "NBitsGate",
        [
            GATE,
            contrib("MatMulNBits", "x codes_up scales", "up", **NBITS),
            node("Sigmoid", "gate", "sigmoid"),
            node("Mul", "gate sigmoid", "active"),
            node("Mul", "active up", "y"),
        ],
        {"spacemit.NBitsGate"},
        {1: contrib("MatMulNBits", "other codes_up scales", "up", **NBITS)},
        {"spacemit.NBitsLinear", "Mul"},
    ),
    Rule(
        "DequantizedLinear",
        [node("DequantizeLinear", "bytes column_scales", "dequantized", axis=1), node("MatMul", "x dequantized", "y")],
        {"spacemit.DequantizedLinear"},
        {0: node("DequantizeLinear", "bytes column_scales", "dequantized", axis=0)},
    ),
    Rule("LinearMatMul", [node("MatMul", "x w", "y")], {"spacemit.Linear"}, {0: node("MatMul", "x weight", "y")}),
    Rule(
        "LinearGemm",
        [node("Gemm", "matrix w b", "y", alpha=0.5)],
        {"spacemit.Linear"},
        {0: node("Gemm", "matrix w vector", "y", alpha=0.5)},
    ),
    Rule(
        "LinearBias",
        [LINEAR, node("Add", "b product", "y")],
        {"spacemit.Linear"},
        {1: node("Sub", "b product", "y")},
        {"spacemit.Linear", "Sub"},
    ),
    Rule(
        "LinearReshape",
        [node("Reshape", "x flat", "tall"), node("MatMul", "tall w", "product"), node("Reshape", "product outer", "y")],
        {"spacemit.Linear"},
        {2: node("Reshape", "product swapped", "y")},
        {"spacemit.Linear", "Reshape"},
    ),
    *(
        Rule(
            "LinearActivation",
            [*BIASED, activation],
            {"spacemit.Linear"},
            {2: node("Softplus", "linear", "y")},
            {"spacemit.Linear", "Softplus"},
        )
        for activation in (
            *(node(op, "linear", "y") for op in ("Relu", "Gelu", "Sigmoid", "Tanh")),
            *(contrib(op, "linear", "y") for op in ("Gelu", "FastGelu", "QuickGelu")),
        )
    ),
    Rule(
        "LinearResidual",
        [*BIASED, node("Add", "x linear", "y")],
        {"spacemit.Linear"},
        {2: node("Sub", "x linear", "y")},
        {"spacemit.Linear", "Sub"},
    ),
    Rule(
        "SkipNorm",
        [node("Add", "x other", "sum"), node("LayerNormalization", "sum gamma beta", "y")],
        {"com.microsoft.SkipLayerNormalization"},
        {0: node("Mul", "x other", "sum")},
    ),
    Rule(
        "SkipNorm",
        [node("Add", "x other", "sum"), node("SimplifiedLayerNormalization", "sum gamma", "y")],
        {"com.microsoft.SkipSimplifiedLayerNormalization"},
        {0: node("Sub", "x other", "sum")},
    ),
]
IDS = [f"{rule.name}-{rule.nodes[-1].op_type}" for rule in RULES]


def run(nodes):
    """Operators that ran, after comparing the result with the CPU provider's, which runs the nodes as they are."""
    names = {name for one in nodes for name in one.input}
    constants = {name: array for name, array in CONSTANTS.items() if name in names}
    constants |= {name: np.array(name, F32) for name in names if name[0].isdigit()}
    feeds = {name: array for name, array in FEEDS.items() if name in names}
    serialized = model(nodes, feeds, {"y": F32}, constants)
    results, operators = run_on_spacemit(serialized, feeds)
    # The longest sums have WIDTH terms, of which a chain has two, and a few functions after.
    assert_near(results, run_on_cpu(serialized, feeds), terms=4 * WIDTH)
    return set(operators)


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_pattern_is_fused(rule):
    assert run(rule.nodes) == rule.fused


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_near_miss_is_not_fused(rule):
    nodes = [rule.change.get(index, one) for index, one in enumerate(rule.nodes)]
    assert run(nodes) == (rule.left or {one.op_type for one in nodes})


def test_every_documented_rule_is_here():
    lines = (Path(__file__).parents[2] / "docs" / "fusions.md").read_text().splitlines()
    rows = [line.split("|")[1].strip() for line in lines if line.startswith("|")]
    assert set(rows[2:]) == {rule.name for rule in RULES}
