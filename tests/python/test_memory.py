"""What sessions hold, in processes of their own."""

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from providers import node

ROWS, WIDTH = 64 * 1024, 256
SIZE = ROWS * WIDTH * 4 / 2**20

# Runs a model on the last and the first rows of its table; prints how resident memory has grown at most, in MiB.
CHILD = """
import sys
import numpy as np
import onnxruntime as ort
import onnxruntime_ep_spacemit

def most():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024

path, provider, mode, rows = sys.argv[1:]
before, options = most(), ort.SessionOptions()
if provider == "Spacemit":
    options.append_execution_provider("Spacemit", {"mode": mode, "threads": "1"})
    session = ort.InferenceSession(path, options)
    session.disable_fallback()
else:
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
ids = np.array([int(rows) - 1, 0, -2])
np.testing.assert_allclose(session.run(None, {"ids": ids})[0].ravel(), 256 * (ids % int(rows)) + 1.0)
print(most() - before)
"""


@pytest.mark.parametrize("mode", ["auto", "compile"])
def test_a_large_table_is_not_copied(tmp_path, mode):
    table = np.repeat(np.arange(ROWS, dtype=np.float32)[:, None], WIDTH, 1)
    graph = helper.make_graph(
        [node("Gather", "table ids", "rows"), node("MatMul", "rows ones", "sums"), node("Add", "sums one", "y")],
        "embedding",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])],
        [
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(np.ones((WIDTH, 1), np.float32), "ones"),
            numpy_helper.from_array(np.ones(1, np.float32), "one"),
        ],
    )
    path, opsets = tmp_path / "embedding.onnx", [helper.make_opsetid("", 21)]
    # in a file of its own, which onnxruntime maps, as otherwise loading takes the most memory
    onnx.save_model(helper.make_model(graph, opset_imports=opsets, ir_version=9), path, save_as_external_data=True)

    def growth(provider):
        command = [sys.executable, "-c", CHILD, str(path), provider, mode, str(ROWS)]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert growth("Spacemit") < growth("CPU") + SIZE / 2


# Runs a model of products; prints how resident memory has grown, in MiB.
PRODUCTS = """
import sys
import numpy as np
import onnxruntime as ort
import onnxruntime_ep_spacemit

def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) / 1024

before, options = resident(), ort.SessionOptions()
options.append_execution_provider("Spacemit", {"threads": "1"})
session = ort.InferenceSession(sys.argv[1], options)
session.disable_fallback()
session.run(None, {"x": np.zeros((1, 256), np.float32)})
print(resident() - before)
"""


def test_the_originals_of_weights_go(tmp_path):
    """Those of a model in one file are pieces of the heap, which would stay with the process."""
    count, random = 256, np.random.default_rng(0)
    names = ["x", *(f"y{index}" for index in range(count))]
    weights = [numpy_helper.from_array(random.random((256, 256), np.float32), f"w{index}") for index in range(count)]
    graph = helper.make_graph(
        [node("MatMul", f"{names[index]} w{index}", names[index + 1]) for index in range(count)],
        "products",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 256])],
        [helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, [1, 256])],
        weights,
    )
    path = tmp_path / "products.onnx"
    onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=9), path)
    command = [sys.executable, "-c", PRODUCTS, str(path)]
    growth = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert growth < 1.5 * count * 256 * 256 * 4 / 2**20, f"{growth:.0f} MiB"
