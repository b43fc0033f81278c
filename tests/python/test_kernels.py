"""Nodes that run as registered kernels: lone ones, those in bodies of control flow, whole models of kernels only."""

import json
import subprocess
import sys
from functools import partial

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from providers import assert_near, contrib, model, node, run_on_cpu
from test_models import cosine, feeds
from test_smollm2 import check_texts, token_rows

from models.manifest import MODELS

F32 = np.float32
K, N = 32, 16
MODES = ["auto", "compile", "kernels"]


def normal(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(F32)


def session_and_report(serialized, folder, **options):
    """A session on our provider, and the provider's report."""
    report = folder / "report.json"
    session_options = ort.SessionOptions()
    session_options.log_severity_level = 4
    session_options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session_options.append_execution_provider("Spacemit", {"report": str(report), **options})
    session = ort.InferenceSession(serialized, session_options)
    session.disable_fallback()
    return session, json.loads(report.read_text())


def runs_as(report):
    """For each claimed node's name whether it runs as a kernel or in a group."""
    return {one["node"]: "kernel" if one["group"] is None else "group" for one in report["claims"]}


def test_a_product_between_foreign_nodes_is_a_kernel(tmp_path):
    nodes = [
        node("MatMul", "x w", "a", name="first"),
        node("Softplus", "a", "b"),
        node("MatMul", "b v", "c", name="second"),
        node("Relu", "c", "y", name="relu"),
    ]
    constants = {"w": normal(K, N), "v": normal(N, N, seed=2)}
    inputs = {"x": normal(5, K, seed=3)}
    serialized = model(nodes, inputs, {"y": F32}, constants, symbolic=True)
    expected = run_on_cpu(serialized, inputs)
    wanted = {"auto": ["kernel", "group", "group"], "compile": ["group"] * 3, "kernels": ["kernel"] * 3}
    for mode, places in wanted.items():
        session, report = session_and_report(serialized, tmp_path, mode=mode, disable_ops="Softplus")
        assert runs_as(report) == dict(zip(["first", "second", "relu"], places))
        for _ in range(2):
            assert_near(session.run(None, inputs), expected, K * N, 100)


def test_inputs_may_repeat_and_be_left_out(tmp_path):
    nodes = [
        node("Mul", "x x", "square", name="square"),
        node("Clip", "square - high", "clipped", name="clip"),
        node("Concat", "clipped x clipped", "y", axis=0, name="concat"),
    ]
    inputs, constants = {"x": normal(3, 4)}, {"high": np.array(0.5, F32)}
    serialized = model(nodes, inputs, {"y": F32}, constants)
    session, report = session_and_report(serialized, tmp_path, mode="kernels", claim="all")
    assert set(runs_as(report).values()) == {"kernel"} and len(report["claims"]) == 3
    clipped = np.minimum(inputs["x"] ** 2, F32(0.5))
    np.testing.assert_array_equal(session.run(None, inputs)[0], np.concatenate([clipped, inputs["x"], clipped]))


def test_a_run_that_fails_names_the_node(tmp_path):
    nodes = [node("Gather", "table ids", "y", name="lookup")]
    inputs = {"ids": np.array([7], np.int64)}
    serialized = model(nodes, inputs, {"y": F32}, {"table": normal(3, 4)})
    session, _ = session_and_report(serialized, tmp_path, mode="kernels", claim="all")
    with pytest.raises(Exception, match="lookup"):
        session.run(None, inputs)


def info(name, *dims, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def tensors(**arrays):
    return [numpy_helper.from_array(array, name) for name, array in arrays.items()]


def conditional():
    """y = c ? x @ inner : relu(x) @ outer; the weight ``outer`` belongs to the main graph."""
    then = helper.make_graph(
        [node("MatMul", "x inner", "t", name="inner")], "then", [], [info("t", "n", K)], tensors(inner=normal(K, K))
    )
    other = helper.make_graph(
        [node("Relu", "x", "r", name="relu"), node("MatMul", "r outer", "e", name="outer")],
        "else",
        [],
        [info("e", "n", K)],
    )
    return helper.make_graph(
        [node("If", "c", "y", then_branch=then, else_branch=other)],
        "conditional",
        [info("x", "n", K), info("c", kind=TensorProto.BOOL)],
        [info("y", "n", K)],
        tensors(outer=normal(K, K, seed=2)),
    )


def looped():
    """y = x @ w, four times over; every state is kept. The weight belongs to the body."""
    body = helper.make_graph(
        [
            node("MatMul", "state w", "product", name="product"),
            node("Tanh", "product", "next", name="tanh"),
            node("Identity", "next", "kept"),
            node("Identity", "go", "goes"),
        ],
        "body",
        [info("i", kind=TensorProto.INT64), info("go", kind=TensorProto.BOOL), info("state", "n", K)],
        [info("goes", kind=TensorProto.BOOL), info("next", "n", K), info("kept", "n", K)],
        tensors(w=normal(K, K) / 8),
    )
    return helper.make_graph(
        [node("Loop", "count - x", "y all", body=body)],
        "looped",
        [info("x", "n", K), info("c", kind=TensorProto.BOOL)],
        [info("y", "n", K), info("all", 4, "n", K)],
        tensors(count=np.array(4, np.int64)),
    )


def scanned():
    """Running product of the rows of x with a weight in 4 bits, which belongs to the main graph."""
    codes = np.random.default_rng(3).integers(0, 256, (K, K // 16, 8), np.uint8)
    constants = tensors(codes=codes, scales=np.abs(normal(K, K // 16)) / 16, start=normal(1, K))
    body = helper.make_graph(
        [
            node("Add", "state row", "sum", name="add"),
            contrib("MatMulNBits", "sum codes scales", "next", name="nbits", K=K, N=K, bits=4, block_size=16),
            node("Identity", "next", "kept"),
        ],
        "body",
        [info("state", 1, K), info("row", K)],
        [info("next", 1, K), info("kept", 1, K)],
    )
    return helper.make_graph(
        [node("Scan", "start x", "y all", body=body, num_scan_inputs=1)],
        "scanned",
        [info("x", "n", K), info("c", kind=TensorProto.BOOL)],
        [info("y", 1, K), info("all", "n", 1, K)],
        constants,
    )


BODIES = {
    # What only compiled nodes see are constants of an outer graph: a kernel takes them as inputs, or declines.
    "conditional": (conditional, {"inner": "kernel", "outer": "group"}, {"inner", "outer", "relu"}),
    "looped": (looped, {"product": "group"}, {"product", "tanh"}),
    "scanned": (scanned, {"nbits": "group"}, {"add"}),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", BODIES)
def test_bodies_of_control_flow(tmp_path, name, mode):
    build, places, kernels = BODIES[name]
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    serialized = helper.make_model(build(), opset_imports=opsets, ir_version=9).SerializeToString()
    session, report = session_and_report(serialized, tmp_path, mode=mode)
    found = runs_as(report)
    if mode == "kernels":
        assert set(found) == kernels and set(found.values()) == {"kernel"}
    else:
        wanted = places if mode == "auto" else dict.fromkeys(places, "group")
        assert {node: found[node] for node in places} == wanted
    for choice in (True, False):
        inputs = {"x": normal(3, K, seed=4), "c": np.array(choice)}
        inputs = {one.name: inputs[one.name] for one in session.get_inputs()}
        assert_near(session.run(None, inputs), run_on_cpu(serialized, inputs), 4 * K, 32)


def assert_all_kernels(report):
    """Assert that every node but those that only move data runs as a kernel."""
    assert report["claims"] and not report["groups"]
    left = {f"{one['op']}: {one['reason']}" for one in report["declines"] if one["code"] != "worth"}
    assert not left


@pytest.mark.parametrize("name", ["minilm-fp32", "minilm-fused", "minilm-dynamo-int8"])
def test_encoders_of_kernels_only(sessions, name):
    ours, cpu, report = sessions(name, "kernels")
    assert_all_kernels(report)
    wanted = {value.name for value in cpu.get_inputs()}
    inputs = {key: value for key, value in feeds(2, 7).items() if key in wanted}
    for actual, expected in zip(ours.run(None, inputs), cpu.run(None, inputs)):
        assert cosine(actual, expected) >= MODELS[name].cosine


@pytest.mark.parametrize("form", ["fp32", "q4"])
def test_decoders_of_kernels_only(zoo, sessions, form):
    assert_all_kernels(sessions(f"smollm2-cut-{form}", "kernels")[2])
    check_texts(f"smollm2-cut-{form}", zoo, partial(sessions, mode="kernels"), token_rows()[:2])


# Sessions of one 64 MiB weight, made one after the other; prints the growth of resident memory in MiB after each.
SHARING = """
import sys
import numpy as np
import onnxruntime as ort
import onnxruntime_ep_spacemit

def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) / 1024

x, before, sessions = np.ones((1, 4096), np.float32), resident(), []
for _ in range(3):
    options = ort.SessionOptions()
    options.append_execution_provider("Spacemit", {"mode": sys.argv[2], "threads": "1"})
    sessions.append(ort.InferenceSession(sys.argv[1], options))
    sessions[-1].run(None, {"x": x})
    print(resident() - before)
"""


@pytest.mark.parametrize("mode", ["compile", "kernels"])
def test_sessions_share_packed_weights(tmp_path, mode):
    weight = numpy_helper.from_array(normal(4096, 4096), "w")
    graph = helper.make_graph(
        [node("MatMul", "x w", "y")], "shared", [info("x", "n", 4096)], [info("y", "n", 4096)], [weight]
    )
    path = tmp_path / "shared.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=9).SerializeToString()
    )
    command = [sys.executable, "-c", SHARING, str(path), mode]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    first, *others = (float(line) for line in output.split())
    size = 64
    assert first < 2 * size, "the original is freed"
    assert all(other - first < size / 2 for other in others), output
