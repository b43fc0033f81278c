"""Shared fixtures: small models, and the zoo of real ones."""

import json

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxruntime_ep_spacemit  # noqa: F401  gives SessionOptions.append_execution_provider
from models.zoo import Zoo


def build_mlp():
    """y = relu(x @ w + b) with a symbolic batch: float32 [batch, 8] to [batch, 4]; serialized."""
    random = np.random.default_rng(7)
    weight = random.standard_normal((8, 4)).astype(np.float32)
    bias = random.standard_normal(4).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["product"], name="product"),
            helper.make_node("Add", ["product", "b"], ["sum"], name="sum"),
            helper.make_node("Relu", ["sum"], ["y"], name="relu"),
        ],
        "mlp",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(bias, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString(), weight, bias


class Mlp:
    """A serialized model with its input and the output that numpy computes for it."""

    def __init__(self):
        self.model, weight, bias = build_mlp()
        self.feeds = {"x": np.random.default_rng(8).standard_normal((3, 8)).astype(np.float32)}
        self.expected = np.maximum(self.feeds["x"] @ weight + bias, 0)

    def check(self, session):
        """Assert that the session computes the model."""
        np.testing.assert_allclose(session.run(None, self.feeds)[0], self.expected, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="session")
def mlp():
    return Mlp()


@pytest.fixture(scope="session")
def mlp_path(mlp, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "mlp.onnx"
    path.write_bytes(mlp.model)
    return str(path)


@pytest.fixture(scope="session")
def zoo():
    return Zoo()


@pytest.fixture(scope="module")
def sessions(zoo, tmp_path_factory):
    """For a model's name and a mode: (session on the provider, session on the CPU provider, the provider's report)."""
    made = {}

    def get(name, mode="auto"):
        if (name, mode) not in made:
            path, report = str(zoo.need(name)), tmp_path_factory.mktemp("report") / f"{name}.json"
            options = ort.SessionOptions()
            options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
            options.append_execution_provider("Spacemit", {"mode": mode, "report": str(report)})
            ours = ort.InferenceSession(path, options)
            ours.disable_fallback()
            options = ort.SessionOptions()
            # without this, 16-bit sums of int8 products saturate on x86-64 machines that have no VNNI
            options.add_session_config_entry("session.x64quantprecision", "1")
            cpu = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            made[name, mode] = ours, cpu, json.loads(report.read_text())
        return made[name, mode]

    return get
