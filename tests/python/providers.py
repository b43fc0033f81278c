"""Small models and their results: all of it on our provider, or all on the CPU provider, node by node."""

import json
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnx import helper, numpy_helper

import onnxruntime_ep_spacemit as spacemit


def node(op, inputs, outputs, domain="", **attributes):
    """A node whose inputs and outputs are given as names between spaces; ``-`` is an absent one."""
    names = [[("" if name == "-" else name) for name in side.split()] for side in (inputs, outputs)]
    return helper.make_node(op, *names, domain=domain, **attributes)


def contrib(op, inputs, outputs, **attributes):
    """A node of the domain com.microsoft."""
    return node(op, inputs, outputs, domain="com.microsoft", **attributes)


def model(nodes, feeds, outputs, constants=None, opset=21, symbolic=False):
    """The serialized model of ``nodes``; ``outputs`` has the types by name, ``feeds`` and ``constants`` the arrays.

    The dimensions of the inputs are those of ``feeds``, or a symbol each.
    """

    def dims(name, shape):
        return [f"{name}_{axis}" for axis in range(len(shape))] if symbolic else shape

    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims(name, array.shape))
        for name, array in feeds.items()
    ]
    results = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), None)
        for name, kind in outputs.items()
    ]
    tensors = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "graph", infos, results, tensors)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def _options():
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 2
    return options


def run_on_cpu(serialized, feeds):
    """Outputs on the CPU provider, without graph optimizations."""
    return ort.InferenceSession(serialized, _options(), providers=["CPUExecutionProvider"]).run(None, feeds)


def run_on_spacemit(serialized, feeds):
    """Outputs on our provider, and the operators that it runs; raises when it does not take every node."""
    spacemit.register()
    options = _options()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options.add_provider_for_devices(spacemit.devices(), {"claim": "all", "report": str(report)})
        session = ort.InferenceSession(serialized, options)
        operators = operators_of(report.read_text())
    return session.run(None, feeds), operators


def operators_of(report):
    """The operators that a report of the provider says it runs."""
    return [claim["runs_as"] for claim in json.loads(report)["claims"]]


def assert_near(results, expected, terms, scale=1.0):
    """Assert that outputs differ by no more than the rounding of sums of ``terms`` products of magnitude ``scale``.

    Each of the two may be off by half a unit in the last place for each term.
    """
    assert len(results) == len(expected)
    for result, want in zip(results, expected):
        assert (result.shape, result.dtype) == (want.shape, want.dtype)
        if result.dtype.kind != "f":
            np.testing.assert_array_equal(result, want)
        elif result.size:
            atol = np.finfo(result.dtype).eps * terms * max(scale, np.abs(want).max())
            np.testing.assert_allclose(result.astype(np.float64), want.astype(np.float64), rtol=0, atol=atol)
