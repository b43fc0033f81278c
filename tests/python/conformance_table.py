"""The table docs/conformance.md, made from the outcomes of ONNX's node tests."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import onnx
import onnxruntime as ort

PATH = Path(__file__).parents[2] / "docs" / "conformance.md"

# Operators that the provider must have. Cases of theirs may be declined for their types, attributes or shapes.
OPERATOR_NAMES = """
Abs Add And ArgMax ArgMin AveragePool BatchNormalization BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast
CausalConvWithState Clip Concat Constant ConstantOfShape Conv ConvInteger ConvTranspose DepthToSpace DequantizeLinear
Div DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand Flatten Gather Gelu Gemm GlobalAveragePool GlobalMaxPool
Greater GreaterOrEqual GroupNormalization HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsNaN
LayerNormalization LeakyRelu Less LessOrEqual LinearAttention Log LogSoftmax LpNormalization MatMul MatMulInteger Max
MaxPool Min Mul Neg Not Or PRelu Pow QLinearConv QuantizeLinear RMSNormalization Range Reciprocal ReduceL2 ReduceMax
ReduceMean ReduceMin ReduceProd ReduceSum Relu Reshape Resize ScatterElements ScatterND Shape Sigmoid Slice Softmax
SpaceToDepth Split Sqrt Squeeze Sub Tanh TensorScatter TopK Transpose Unsqueeze Where
"""
OPERATORS = frozenset(OPERATOR_NAMES.split())

REASONS_SHOWN = 4

HEADER = """# Conformance

ONNX's own node tests, `onnx` {onnx}, on onnxruntime {ort} with every node claimed that can be (`claim=all`). Every case
that the CPU provider passes passes. *Executed*: all nodes of the case ran on the provider; *partly*: some; *declined*:
none. Written by `tests/python/conformance.py --write`.

{total} cases: {executed} executed, {partly} partly, {declined} declined, {cpu_fails} not passed by the CPU provider
or of types that onnxruntime's Python interface does not take.

| operator | cases | executed | partly | declined | CPU provider fails | declined because |
|---|--:|--:|--:|--:|--:|---|
"""


def unwritten_reasons(outcomes) -> list[str]:
    """Declines of required operators whose reason is that the operator, or its version, is not there."""
    problems = set()
    for one in outcomes:
        for op, code, reason in one.declined:
            if op in OPERATORS and code in ("op", "version"):
                problems.add(f"{op} is declined: {reason}")
    return sorted(problems)


def render(outcomes) -> str:
    """The whole document."""
    by_op = defaultdict(list)
    for one in outcomes:
        by_op[one.op].append(one)
    kinds = Counter(one.kind for one in outcomes)
    text = HEADER.format(
        onnx=onnx.__version__,
        ort=ort.__version__,
        total=len(outcomes),
        **{kind: kinds[kind] for kind in ("executed", "partly", "declined", "cpu_fails")},
    )
    absent = []
    for op in sorted(by_op):
        cases = by_op[op]
        counts = Counter(one.kind for one in cases)
        if op not in OPERATORS and not counts["executed"] and not counts["partly"]:
            absent.append(f"{op} ({len(cases)})")
            continue
        columns = [op, len(cases), *(counts[kind] for kind in ("executed", "partly", "declined", "cpu_fails"))]
        text += f"| {' | '.join(map(str, columns))} | {reasons(op, cases)} |\n"
    text += f"\nOperators of which no case runs on the provider, with their cases: {', '.join(absent)}.\n"
    return text


def reasons(op: str, cases) -> str:
    """Why nodes of these cases were declined, the most frequent reasons first."""
    found = Counter()
    for one in cases:
        # a reason counts once a case
        found.update({(other, reason) for other, _, reason in one.declined})
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    shown = [
        f"{reason if other == op else f'{other}: {reason}'} ({count})"
        for (other, reason), count in ranked[:REASONS_SHOWN]
    ]
    if len(ranked) > REASONS_SHOWN:
        shown.append(f"{len(ranked) - REASONS_SHOWN} more")
    return "; ".join(shown).replace("|", "\\|")


def update(outcomes, write: bool) -> list[str]:
    """Compare the table with the file, or write it; the problems found."""
    text = render(outcomes)
    if write:
        PATH.parent.mkdir(exist_ok=True)
        PATH.write_text(text)
        return []
    if not PATH.exists():
        return [f"{PATH.name} is missing"]
    if f"on onnxruntime {ort.__version__} " not in PATH.read_text():
        print(f"{PATH.name} was written with another onnxruntime, so it is not compared")
        return []
    old, new = PATH.read_text().splitlines(), text.splitlines()
    changed = [f"{PATH.name} says: {line}" for line in old if line not in new]
    changed += [f"but it is now: {line}" for line in new if line not in old]
    return changed
