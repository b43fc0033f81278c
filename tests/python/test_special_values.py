"""Functions at infinities, NaN, zeros, denormals and their limits, beside formulas in float64."""

import math

import numpy as np
import pytest
from providers import model, node, run_on_spacemit

VALUES = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 3e38, -3e38, 1e-6, 88.8, -88.8, 104, -104, 120, -200]
)
# Relative error of a result, with room for a few roundings.
TOLERANCES = {np.float32: 1e-6, np.float16: 1e-3}


def erf(x):
    return np.vectorize(math.erf)(x)


def expm1(x):
    """Of what is not positive."""
    return np.expm1(np.minimum(x, 0))


FORMULAS = {
    "Acosh": np.arccosh,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Cos": np.cos,
    "Cosh": np.cosh,
    "Elu": lambda x: np.where(x > 0, x, expm1(x)),
    "Erf": erf,
    "Exp": np.exp,
    "Gelu": lambda x: x / 2 * (1 + erf(x / math.sqrt(2))),
    "HardSigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "Log": np.log,
    "Mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    "Reciprocal": lambda x: 1 / x,
    "Selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * expm1(x)),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Sin": np.sin,
    "Sinh": np.sinh,
    "Softplus": lambda x: np.logaddexp(0, x),
    "Softsign": lambda x: x / (1 + abs(x)),
    "Sqrt": np.sqrt,
    "Tan": np.tan,
    "Tanh": np.tanh,
}


@pytest.mark.parametrize("op", FORMULAS)
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, of overflows and invalid values
def test_special_values(op, dtype):
    x = VALUES.astype(dtype)
    [result], _ = run_on_spacemit(model([node(op, "x", "y")], {"x": x}, {"y": dtype}, opset=22), {"x": x})
    expected = FORMULAS[op](x.astype(np.float64)).astype(dtype)
    # Results below the normal numbers may be 0.
    atol = np.finfo(dtype).tiny
    np.testing.assert_allclose(result, expected, rtol=TOLERANCES[dtype], atol=atol)
