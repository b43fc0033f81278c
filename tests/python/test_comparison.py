"""python -m onnxruntime_ep_spacemit, and what it computes with."""

import json
import subprocess
import sys

import numpy as np
import onnxruntime as ort
import pytest

from onnxruntime_ep_spacemit._accuracy import difference
from onnxruntime_ep_spacemit._inputs import make_inputs
from onnxruntime_ep_spacemit.comparison import ComparisonError, Settings, compare
from onnxruntime_ep_spacemit.tables import columns, summary

QUICK = {"rounds": 2, "seconds": 0.01}


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "onnxruntime_ep_spacemit", *arguments], capture_output=True, text=True, check=False
    )


def test_show():
    result = command()
    assert result.returncode == 0, result.stderr
    for word in ("libonnxruntime_ep_spacemit.so", f"onnxruntime   {ort.__version__}", "Spacemit on CPU", "cores"):
        assert word in result.stdout


def test_compare_prints_placement_exactness_and_cost(mlp_path):
    result = command("compare", mlp_path, "--rounds", "2", "--seconds", "0.01", "--dim", "batch=5", "--threads", "1")
    assert result.returncode == 0, result.stderr
    for word in ("x float32[5, 8]", "nodes: ", "max difference", "median latency", "session creation", "peak memory"):
        assert word in result.stdout
    assert "placement of every node" in result.stdout


def test_report_is_json_of_the_same(mlp_path):
    result = command("report", mlp_path, "--rounds", "2", "--seconds", "0.01", "--option", "claim=all")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    placement = report["placement"]
    assert placement["spacemit"] + placement["cpu"] == len(placement["nodes"]) >= 2
    assert placement["spacemit"] >= 1
    assert report["outputs"][0]["max_abs"] < 1e-5
    assert report["latency"]["median_ms"]["Spacemit"] > 0


def test_declined_nodes_have_a_reason(mlp_path):
    result = compare(Settings(mlp_path, options={"claim": "all", "disable_ops": "Relu"}, **QUICK))
    [relu] = [node for node in result["placement"]["nodes"] if node["op"] == "Relu"]
    assert relu["provider"] == "CPUExecutionProvider"
    assert "disable_ops" in relu["reason"]
    assert relu["reason"] in summary(result)


def test_given_inputs(mlp, mlp_path, tmp_path):
    path = tmp_path / "inputs.npz"
    np.savez(path, **mlp.feeds)
    assert compare(Settings(mlp_path, input=str(path), **QUICK))["inputs"] == {"x": "float32[3, 8]"}
    np.savez(path, z=mlp.feeds["x"])
    with pytest.raises(ComparisonError, match=r"inputs\.npz holds \['z'\], the model's inputs are \['x'\]"):
        compare(Settings(mlp_path, input=str(path), **QUICK))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["absent.onnx"], "no such model: absent.onnx"),
        (["MLP", "--option", "no_such_option=1"], "no_such_option"),
        (["MLP", "--option", "threads"], "--option threads: expected KEY=VALUE"),
        (["MLP", "--dim", "rows=2"], "no input has a dimension called 'rows'"),
    ],
)
def test_errors_are_one_line(mlp_path, arguments, words):
    result = command("compare", *(mlp_path if one == "MLP" else one for one in arguments))
    assert result.returncode == 1
    assert result.stderr.startswith("error: ")
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_difference():
    facts = difference(np.array([1.0, -4.0], np.float32), np.array([1.0, -4.5], np.float32))
    assert (facts["max_abs"], facts["max_rel"]) == (0.5, 0.125)
    assert facts["cosine"] == pytest.approx(19 / np.sqrt(17 * 21.25))


@pytest.mark.parametrize(
    ("left", "right", "max_abs"),
    [
        ([np.nan, 1.0], [np.nan, 1.0], 0.0),
        ([np.inf, 1.0], [np.inf, 2.0], 1.0),
        ([np.nan, 1.0], [0.0, 1.0], np.inf),
        ([np.inf, 1.0], [-np.inf, 1.0], np.inf),
        ([], [], 0.0),
        ([0.0], [0.0], 0.0),
        ([1.0], [1.0, 2.0], np.inf),
    ],
)
def test_difference_of_special_values(left, right, max_abs):
    facts = difference(np.array(left, np.float32), np.array(right, np.float32))
    assert facts["max_abs"] == max_abs
    if max_abs == 0:
        assert facts["cosine"] == pytest.approx(1)


class Input:
    def __init__(self, name, kind, shape):
        self.name, self.type, self.shape = name, kind, shape


class Session:
    def __init__(self, *inputs):
        self._inputs = inputs

    def get_inputs(self):
        return self._inputs


def test_made_up_inputs():
    session = Session(
        Input("input_ids", "tensor(int64)", ["batch", "sequence"]),
        Input("attention_mask", "tensor(int64)", ["batch", "sequence"]),
        Input("position_ids", "tensor(int64)", ["batch", "sequence"]),
        Input("image", "tensor(float16)", [None, 3, None, None]),
        Input("past", "tensor(float)", ["batch", 2, "past_length", 4]),
    )
    arrays = make_inputs(session, {"sequence": 6})
    assert arrays["input_ids"].shape == (1, 6)
    assert 1 <= arrays["input_ids"].min() <= arrays["input_ids"].max() < 10
    assert (arrays["attention_mask"] == 1).all()
    assert arrays["position_ids"].tolist() == [[0, 1, 2, 3, 4, 5]]
    assert arrays["image"].shape == (1, 3, 224, 224)
    assert arrays["image"].dtype == np.float16
    assert arrays["past"].shape == (1, 2, 0, 4)
    assert all(
        (array == again).all() for array, again in zip(arrays.values(), make_inputs(session, {"sequence": 6}).values())
    )


def test_inputs_that_cannot_be_made_up():
    with pytest.raises(ValueError, match="'text' is a tensor"):
        make_inputs(Session(Input("text", "tensor(string)", [1])), {})


def test_columns_align():
    assert columns([["a", "bb"], ["ccc", "d"]], indent="") == "a    bb\nccc  d"
