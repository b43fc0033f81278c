"""Element-wise operators, reductions and searches on random shapes and special values, beside the CPU provider.

A test is one seed for one operator; its shapes, types and values all come from the seed in its name.
"""

from dataclasses import dataclass, field

import numpy as np
import pytest
from onnx import helper
from providers import model, node, run_on_cpu, run_on_spacemit

F16, F32, F64, BOOL = map(np.dtype, (np.float16, np.float32, np.float64, bool))
I8, U8, I32, U32, I64 = map(np.dtype, (np.int8, np.uint8, np.int32, np.uint32, np.int64))
FLOATS, SIGNED = (F32, F16), (F32, F16, I32, I64, I8)
NUMBERS = (*SIGNED, U8)
SEEDS = range(3)
DIMS = [0, 1, 2, 3, 7, 64, 65]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 6e-8, 1.0, 65504.0]
# Units in the last place that a function may be off on either side.
UNITS = 8


@dataclass
class Operator:
    """What to run: the types and number of the inputs, what they may hold, and how near the results must be."""

    name: str
    types: tuple = FLOATS
    inputs: int = 1
    output: np.dtype | None = None
    attributes: dict = field(default_factory=dict)
    opset: int = 21
    # Largest magnitude of ordinary values.
    limit: float = 50
    # Of "nan", "inf", "extremes" (the limits of an integer type): what the inputs do not hold.
    without: tuple = ()
    # Units in the last place of the largest result that the results may be apart.
    units: float = 0


def exact(names, types, inputs, **options):
    return [Operator(name, types, inputs, **options) for name in names.split()]


def cast(types, to, without=()):
    attributes = {"to": helper.np_dtype_to_tensor_dtype(to)}
    return Operator("Cast", types, output=to, attributes=attributes, without=without)


# Why the inputs lack something: results that ONNX leaves open, where the two providers differ. The CPU provider sums
# and multiplies integers in other widths, and its Sign of a NaN is 0 for halves only.
OVERFLOW_IS_OPEN = ("extremes",)
SIGN_OF_NAN_IS_OPEN = ("nan",)
NO_SUCH_INTEGER = ("nan", "inf")
# The CPU provider's vectors keep or lose a NaN by its place.
NAN_ORDER_IS_OPEN = ("nan",)
# The CPU provider's approximations are not made for infinities.
FINITE = ("nan", "inf")

OPERATORS = [
    *exact("Add Sub Mul", NUMBERS, 2),
    *exact("Div", SIGNED, 2, without=OVERFLOW_IS_OPEN),
    *exact("Max Min", (F32, F16, I32, I64, I8, U8), 3),
    *exact("Equal Less LessOrEqual Greater GreaterOrEqual", NUMBERS, 2, output=BOOL),
    *exact("And Or Xor Equal", (BOOL,), 2, output=BOOL),
    *exact("Not", (BOOL,), 1, output=BOOL),
    *exact("Mod", (I32, I64, I8, U8), 2, without=OVERFLOW_IS_OPEN),
    *exact("Mod", NUMBERS, 2, attributes={"fmod": 1}, without=OVERFLOW_IS_OPEN),
    *exact("Neg Abs", SIGNED, 1),
    *exact("Sign", (F32, I32, I64, I8), 1),
    *exact("Sign", (F16,), 1, without=SIGN_OF_NAN_IS_OPEN),
    *(cast(NUMBERS, to) for to in (F32, F16, F64, I64, BOOL)),
    *(cast(NUMBERS, to, without=NO_SUCH_INTEGER) for to in (I32, I8, U8, U32)),
    *exact("Relu", FLOATS, 1),
    *exact("Floor Ceil Round", FLOATS, 1),
    *exact("IsNaN", FLOATS, 1, output=BOOL),
    *exact("IsInf", FLOATS, 1, output=BOOL),
    *exact("Sum Mean", FLOATS, 3, units=4, without=FINITE),
    *exact("PRelu", FLOATS, 2),
    *exact("Clip", NUMBERS, 3),
    *exact("Where", NUMBERS, 3),
    *exact("Sqrt Reciprocal", FLOATS, 1, units=1),
    *exact("Exp Log Erf Tanh Sigmoid Sin Cos Softplus Softsign Elu LeakyRelu HardSigmoid", FLOATS, 1, units=UNITS,
           without=FINITE, limit=10),
    *exact("Pow", (F32,), 2, units=UNITS, limit=3, without=FINITE),
    *exact("ReduceMax ReduceMin", NUMBERS, 1, opset=13, without=NAN_ORDER_IS_OPEN),
    *exact("ReduceSum ReduceMean ReduceL1 ReduceL2 ReduceSumSquare", FLOATS, 1, opset=11, units=65, without=FINITE),
    *exact("ReduceSum", (I32, I64), 1, opset=11, without=OVERFLOW_IS_OPEN),
    *exact("ReduceLogSumExp", FLOATS, 1, opset=11, units=65, without=FINITE, limit=10),
    *exact("ReduceProd", FLOATS, 1, opset=11, units=65, without=FINITE, limit=1),
    *exact("ReduceProd", (I32, I64), 1, opset=11, without=OVERFLOW_IS_OPEN, limit=1),
    *exact("ArgMax ArgMin", (F32, F16, I32, U8), 1, output=I64, without=NAN_ORDER_IS_OPEN),
]  # fmt: skip


class Numbers:
    """Random shapes and values from one seed."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def shape(self, least=0):
        rank = self.random.integers(least, 6)
        dims = [int(dim) for dim in self.random.choice(DIMS, rank, p=[0.05, 0.2, 0.2, 0.2, 0.15, 0.1, 0.1])]
        return dims if np.prod(dims) < 100_000 else [min(dim, 7) for dim in dims]

    def broadcasting(self, shape):
        """A shape that broadcasts to ``shape``: ones, and fewer dimensions."""
        start = self.random.integers(0, len(shape) + 1) if self.random.random() < 0.4 else 0
        return [1 if self.random.random() < 0.3 else dim for dim in shape[start:]]

    def values(self, shape, dtype, limit, without):
        if dtype == BOOL:
            return np.asarray(self.random.random(shape) < 0.5)
        if dtype.kind == "f":
            values = np.asarray(self.random.uniform(-limit, limit, shape)).astype(dtype)
            left_out = ("nan" in without, "inf" in without)
            special = [x for x in SPECIAL if not any(np.logical_and(left_out, (np.isnan(x), abs(x) > 1)))]
        else:
            limits = np.iinfo(dtype)
            values = np.asarray(self.random.integers(max(-limit, limits.min), limit, shape, endpoint=True)).astype(
                dtype
            )
            special = [] if "extremes" in without else [limits.min, limits.max]
        if special and values.size and self.random.random() < 0.7:
            places = self.random.integers(0, values.size, max(1, values.size // 9))
            values.reshape(-1)[places] = np.asarray(self.random.choice(special, places.size)).astype(dtype)
        return values


def inputs_of(operator, dtype, numbers):
    """Arrays by name, and the attributes that belong to the shape."""

    def fill(shape, dtype=dtype):
        return numbers.values(shape, dtype, operator.limit, operator.without)

    attributes = dict(operator.attributes)
    reduces = operator.name.startswith(("Reduce", "Arg"))
    shape = numbers.shape(least=1 if reduces else 0)
    arrays = [fill(numbers.broadcasting(shape) if operator.inputs > 1 else shape) for _ in range(operator.inputs)]
    if operator.name == "Where":
        arrays[0] = fill(arrays[0].shape, BOOL)
    elif operator.name == "Clip":
        arrays = [fill(shape), *np.sort(numbers.values([2], dtype, operator.limit, ("nan", "inf", "extremes")))]
    elif operator.name in ("Div", "Mod") and dtype.kind != "f":
        arrays[1] = np.where(arrays[1] == 0, 3, arrays[1]).astype(dtype)
    elif operator.name in ("Pow", "Log"):
        arrays[0] = np.abs(arrays[0])
    elif operator.name == "PRelu":
        arrays[0] = fill(shape)
    if reduces:
        axes = numbers.random.permutation(len(shape))[: numbers.random.integers(1, len(shape) + 1)]
        arrays = [fill([max(dim, 1) for dim in shape])]
        attributes |= {"keepdims": int(numbers.random.integers(0, 2))}
        attributes |= {"axis": int(axes[0])} if operator.name.startswith("Arg") else {"axes": axes.tolist()}
    return {f"x{index}": np.asarray(array) for index, array in enumerate(arrays)}, attributes


def cases():
    """One test for each operator, type and seed."""
    for operator in OPERATORS:
        for dtype in operator.types:
            for seed in SEEDS:
                attributes = "".join(f"-{key}={value}" for key, value in operator.attributes.items())
                yield pytest.param(operator, dtype, seed, id=f"{operator.name}{attributes}-{dtype}-seed{seed}")


@pytest.mark.parametrize(("operator", "dtype", "seed"), list(cases()))
def test_like_the_cpu_provider(operator, dtype, seed):
    feeds, attributes = inputs_of(operator, dtype, Numbers([seed, *operator.name.encode(), *dtype.name.encode()]))
    op = node(operator.name, " ".join(feeds), "y", **attributes)
    serialized = model([op], feeds, {"y": operator.output or dtype}, opset=operator.opset, symbolic=seed % 2 == 1)
    [result], _ = run_on_spacemit(serialized, feeds)
    [expected] = run_on_cpu(serialized, feeds)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    if operator.units == 0:
        np.testing.assert_array_equal(result, expected)
    else:
        finite = np.abs(expected[np.isfinite(expected)]).astype(np.float64)
        atol = operator.units * np.finfo(dtype).eps * max(1, finite.max(initial=0))
        np.testing.assert_allclose(result, expected, rtol=0, atol=atol)
