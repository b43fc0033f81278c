"""Workers on the cores that the options list."""

import os
import subprocess
import sys

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

COMMAND = [sys.executable, "-m", "onnxruntime_ep_spacemit", "threads"]


def command(*arguments):
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


def product():
    weight = numpy_helper.from_array(np.arange(64 * 32, dtype=np.float32).reshape(64, 32) / 97, "w")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 32])
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "product", [x], [y], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def session(options):
    session_options = ort.SessionOptions()
    session_options.append_execution_provider("Spacemit", options)
    return ort.InferenceSession(product(), session_options)


def test_the_command_shows_the_core_and_the_mask_of_a_worker():
    cpu = min(os.sched_getaffinity(0))
    result = command("--option", f"cores={cpu}")
    assert result.returncode == 0, result.stderr
    head, _, row = result.stdout.splitlines()
    assert head.endswith("1 worker(s)")
    assert row.split()[:2] == ["0", str(cpu)]
    assert row.split()[-1] == str(cpu)


def test_workers_without_cores_are_ordinary_threads():
    result = command("--option", "threads=2", "--option", "target=host")
    assert result.stdout == "target host, 2 worker(s) on ordinary threads, bound to no core\n"


def test_wrong_options_are_named():
    result = command("--option", "cores=9999")
    assert result.returncode == 1
    assert "'cores'" in result.stderr


def test_bound_workers_compute_the_same_and_the_caller_keeps_its_mask():
    x = np.linspace(-1, 1, 5 * 64, dtype=np.float32).reshape(5, 64)
    mask = os.sched_getaffinity(0)
    free = session({"threads": "1"}).run(None, {"x": x})[0]
    bound = session({"cores": str(max(mask))}).run(None, {"x": x})[0]
    np.testing.assert_array_equal(bound, free)
    assert os.sched_getaffinity(0) == mask


def test_options_come_from_the_environment_and_by_other_names():
    cpu = min(os.sched_getaffinity(0))
    for name in ["SPACEMIT_EP_CORES", "SPACEMIT_EP_INTRA_THREAD_AFFINITY"]:
        environment = {**os.environ, name: str(cpu)}
        result = subprocess.run(COMMAND, capture_output=True, text=True, check=False, env=environment)
        assert result.stdout.splitlines()[-1].split()[:2] == ["0", str(cpu)], result.stderr
    result = command("--option", "threads=1", "--option", "GGML_SPACEMIT_WORKERS=2")
    assert result.returncode == 1
    assert "'threads'" in result.stderr
    assert "GGML_SPACEMIT_WORKERS" in result.stderr
    assert "Traceback" not in result.stderr


def test_workers_change_between_runs_and_results_do_not():
    x = np.linspace(-1, 1, 5 * 64, dtype=np.float32).reshape(5, 64)
    live = session({"threads": "1"})
    expected = live.run(None, {"x": x})[0]
    cpu = str(max(os.sched_getaffinity(0)))
    for change in [{"threads": "2"}, {"threads": "1", "cores": cpu}, {"ep.spacemit.spin_us": "0"}]:
        live.set_ep_dynamic_options(change)
        np.testing.assert_array_equal(live.run(None, {"x": x})[0], expected)
    for wrong in [{"thredas": "2"}, {"threads": "many"}, {"target": "k3"}, {"cores": "9999"}]:
        with pytest.raises(Exception, match=f"'{next(iter(wrong))}'"):
            live.set_ep_dynamic_options(wrong)
        np.testing.assert_array_equal(live.run(None, {"x": x})[0], expected)
