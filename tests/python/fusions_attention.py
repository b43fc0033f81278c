"""Attention that exporters write out, with its rotations and caches."""

from fusions import Rule
from providers import node

ATTENTION = [
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
        "KvCache",
        [
            node("Transpose", "q", "queries", perm=[0, 2, 1, 3]),
            node("Transpose", "k", "new_k", perm=[0, 2, 1, 3]),
            node("Transpose", "v", "new_v", perm=[0, 2, 1, 3]),
            node("Concat", "past_k new_k", "present_k", axis=2),
            node("Concat", "past_v new_v", "present_v", axis=-2),
            node("Transpose", "present_k", "keys", perm=[0, 1, 3, 2]),
            node("MatMul", "queries keys", "scores"),
            node("Softmax", "scores", "weights", axis=-1),
            node("MatMul", "weights present_v", "y"),
        ],
        {"spacemit.Sdpa"},
        {
            3: node("Concat", "past_k new_k new_k", "present_k", axis=2),
            4: node("Concat", "past_v new_v new_v", "present_v", axis=2),
        },
        {"Transpose", "Concat", "spacemit.Sdpa"},
        outputs=("y", "present_k", "present_v"),
    ),
]
