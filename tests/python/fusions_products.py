"""Products with constants, tables among them, and what follows them."""

from fusions import WIDTH, Rule
from providers import contrib, node

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

PRODUCTS = [
    Rule(
        "ScaledEmbedding",
        [node("Gather", "w ids", "rows"), node("Mul", "rows 2", "y")],
        {"spacemit.Embedding"},
        {0: node("Gather", "w ids", "rows", axis=1)},
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
]
