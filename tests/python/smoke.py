"""One session on the provider, with float and integer products, beside numpy: needs no test runner."""

import json
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import onnxruntime_ep_spacemit  # noqa: F401, adds append_execution_provider

ROWS, DEPTH, COLUMNS = 5, 40, 24


def model(w, b):
    """``y = x w`` and ``c = a b`` with constant right-hand sides."""
    return helper.make_model(
        helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("MatMulInteger", ["a", "b"], ["c"])],
            "products",
            [
                helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", DEPTH]),
                helper.make_tensor_value_info("a", TensorProto.UINT8, ["rows", DEPTH]),
            ],
            [
                helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", COLUMNS]),
                helper.make_tensor_value_info("c", TensorProto.INT32, ["rows", COLUMNS]),
            ],
            [numpy_helper.from_array(w, "w"), numpy_helper.from_array(b, "b")],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=9,
    ).SerializeToString()


def main():
    random = np.random.default_rng(1)
    w = random.standard_normal((DEPTH, COLUMNS), dtype=np.float32)
    b = random.integers(-128, 128, (DEPTH, COLUMNS), dtype=np.int8)
    x = random.standard_normal((ROWS, DEPTH), dtype=np.float32)
    a = random.integers(0, 256, (ROWS, DEPTH), dtype=np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ort.SessionOptions()
        options.append_execution_provider("Spacemit", {"report": str(report)})
        session = ort.InferenceSession(model(w, b), options)
        claims = [claim["op"] for claim in json.loads(report.read_text())["claims"]]
    assert session.get_providers()[0] == "Spacemit", session.get_providers()
    assert sorted(claims) == ["MatMul", "MatMulInteger"], claims
    y, c = session.run(None, {"x": x, "a": a})
    wide_x, wide_w = x.astype(np.float64), w.astype(np.float64)
    # the rounding of a sum of DEPTH products, in any order
    bound = (DEPTH + 1) * np.finfo(np.float32).eps * (abs(wide_x) @ abs(wide_w))
    error = abs(y - wide_x @ wide_w)
    assert (error <= bound).all(), error.max()
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))
    print(f"onnxruntime {ort.__version__}: both products run on the provider and are right")


if __name__ == "__main__":
    main()
