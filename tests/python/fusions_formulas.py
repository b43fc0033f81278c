"""Activations and normalisations that exporters write out."""

from fusions import Rule
from providers import node

FORMULAS = [
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
        "DuplicateDequantize",
        [
            node("QuantizeLinear", "x 0.02 zero", "codes_x"),
            node("DequantizeLinear", "codes_x 0.02 zero", "once"),
            node("DequantizeLinear", "codes_x 0.02 zero", "again"),
            node("Pow", "once 2", "square"),
            node("ReduceMean", "square last", "mean"),
            node("Add", "mean 1e-5", "positive"),
            node("Sqrt", "positive", "root"),
            node("Div", "again root", "normal"),
            node("Mul", "gamma normal", "y"),
        ],
        {"QuantizeLinear", "DequantizeLinear", "SimplifiedLayerNormalization"},
        {2: node("DequantizeLinear", "codes_x 0.03 zero", "again")},
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
