"""Weights of few bits behind one normalised input, beside the CPU provider's parts of the node and float64."""

import numpy as np
import pytest
from providers import assert_near, contrib, model, node, run_on_cpu, run_on_spacemit
from test_nbits import Weight

F32 = np.float32
K, EPSILON = 72, 1e-4
ROWS = [(1, 1), (2, 3), (1, 17)]


class Case:
    """Inputs of one node: ``a``, perhaps ``skip``, and a weight and a bias for each of ``sizes``."""

    def __init__(self, rows, sizes, bits, block, skip):
        numbers = np.random.default_rng([*rows, bits, block])
        self.feeds = {"a": numbers.standard_normal((*rows, K)).astype(F32)}
        if skip:
            self.feeds["skip"] = numbers.standard_normal((*rows, K)).astype(F32)
        self.weights = {name: Weight(n, K, bits, block, "absent") for name, n in sizes.items()}
        self.attributes = {"K": K, "bits": bits, "block_size": block}
        self.constants = {"scale": numbers.uniform(0.5, 1.5, K).astype(F32)}
        for name, weight in self.weights.items():
            self.constants |= {f"{name}_{part}": array for part, array in weight.constants.items()}
            self.constants[f"{name}_bias"] = numbers.standard_normal(sizes[name]).astype(F32)

    def sum(self):
        return sum(array.astype(np.float64) for array in self.feeds.values())

    def products(self, normalised=True):
        """The products in float64, by name."""
        x = self.sum()
        if normalised:
            x = x / np.sqrt((x**2).mean(-1, keepdims=True) + EPSILON) * self.constants["scale"]
        return {name: x @ weight.values.T + self.constants[f"{name}_bias"] for name, weight in self.weights.items()}

    def parts(self, normalised=True):
        """The nodes that the one is made of, up to the products."""
        if "skip" in self.feeds:
            norm = contrib("SkipSimplifiedLayerNormalization", "a skip scale", "normal - - sum", epsilon=EPSILON)
        else:
            norm = node("SimplifiedLayerNormalization", "a scale", "normal", epsilon=EPSILON)
        nodes = [norm] if normalised else []
        name = "normal" if normalised else "a"
        for weight in self.weights:
            inputs = f"{name} {weight}_b {weight}_scales - - {weight}_bias"
            columns = self.weights[weight].attributes["N"]
            nodes.append(contrib("MatMulNBits", inputs, weight, N=columns, **self.attributes))
        return nodes

    def check(self, fused, outputs, expected, parts, factor=1.0):
        """All outputs as in float64 and as the parts give them: sums of ``K`` products, times at most ``factor``."""
        kinds = dict.fromkeys(outputs, F32)
        results, operators = run_on_spacemit(model([fused], self.feeds, kinds, self.constants), self.feeds)
        assert operators == [f"com.microsoft.{fused.op_type}"]
        scale = (
            max(np.abs(weight.values).max() for weight in self.weights.values()) * np.abs(self.sum()).max() * 2 * factor
        )
        assert_near(results, [array.astype(F32) for array in expected], 2 * K, scale)
        cpu = run_on_cpu(model(parts, self.feeds, kinds, self.constants), self.feeds)
        assert_near(results, cpu, 4 * K, scale)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(("bits", "block"), [(4, 32), (8, 16)])
@pytest.mark.parametrize("skip", [False, True])
def test_queries_keys_and_values(rows, bits, block, skip):
    case = Case(rows, {"q": 48, "k": 16, "v": 16}, bits, block, skip)
    weights = " ".join(f"{name}_b {name}_scales {name}_bias" for name in case.weights)
    outputs = ["q", "k", "v"] + ["sum"] * skip
    fused = contrib(
        "MatMulNBitsQkv",
        f"a {'skip' if skip else '-'} scale {weights}",
        " ".join(outputs),
        Nq=48,
        Nkv=16,
        epsilon=EPSILON,
        **case.attributes,
    )
    expected = [*case.products().values(), case.sum()]
    case.check(fused, outputs, expected[: len(outputs)], case.parts())


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("norm", ["none", "plain", "skip"])
def test_gate_and_up(rows, norm):
    case = Case(rows, {"gate": 40, "up": 40}, 4, 32, norm == "skip")
    before = {"none": "- -", "plain": "- scale", "skip": "skip scale"}[norm]
    outputs = ["y"] + ["sum"] * (norm == "skip")
    fused = contrib(
        "MatMulNBitsMlp",
        f"a {before} gate_b gate_scales gate_bias up_b up_scales up_bias",
        " ".join(outputs),
        N=40,
        epsilon=EPSILON,
        activation="silu",
        **case.attributes,
    )
    gate, up = case.products(norm != "none").values()
    parts = [
        *case.parts(norm != "none"),
        node("Sigmoid", "gate", "sigmoid"),
        node("Mul", "gate sigmoid", "silu"),
        node("Mul", "silu up", "y"),
    ]
    # The gate multiplies the error of the other product by at most its own size.
    bound = max(1.0, np.abs(gate).max(), np.abs(up).max())
    case.check(fused, outputs, [gate / (1 + np.exp(-gate)) * up, case.sum()][: len(outputs)], parts, bound)
