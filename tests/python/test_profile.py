"""Profiles of runs: a file of our own, and ONNX Runtime's."""

import json

import onnx
import onnxruntime as ort
from onnx import numpy_helper


def session(mlp, options, profiling=None):
    session_options = ort.SessionOptions()
    if profiling:
        session_options.enable_profiling = True
        session_options.profile_file_prefix = str(profiling)
    session_options.append_execution_provider("Spacemit", options)
    return ort.InferenceSession(mlp.model, session_options)


def steps(events, kind):
    return [event for event in events if event["args"].get("kind", event.get("cat")) == kind]


def test_the_file_has_lanes_steps_and_shapes(mlp, tmp_path):
    path = tmp_path / "profile.json"
    live = session(mlp, {"threads": "2", "profile": str(path)})
    mlp.check(live)
    del live
    events = json.loads(path.read_text())
    assert len(steps(events, "run")) == 1
    assert len({event["tid"] for event in steps(events, "rank")}) == 2
    kernels = [event["args"]["kernel"] for event in steps(events, "step")]
    assert any("m=3 n=4 k=8" in kernel for kernel in kernels), kernels


def test_onnxruntime_shows_our_groups_and_their_steps(mlp, tmp_path):
    live = session(mlp, {"threads": "1"}, profiling=tmp_path / "ort")
    mlp.check(live)
    with open(live.end_profiling()) as file:
        events = json.load(file)
    groups = [event for event in events if event.get("args", {}).get("provider") == "Spacemit"]
    ours = [event for event in groups if event["args"].get("kind") == "step"]
    theirs = [event for event in groups if "kind" not in event["args"] and event["name"].endswith("kernel_time")]
    assert theirs
    assert any("m=3 n=4 k=8" in event["args"]["kernel"] for event in ours), ours
    start, end = theirs[0]["ts"], theirs[0]["ts"] + theirs[0]["dur"]
    # both clocks count from the same moment, but each rounds to microseconds
    assert all(start - 50 <= event["ts"] and event["ts"] + event["dur"] <= end + 50 for event in ours), (theirs, ours)


def test_dumped_tensors_are_those_of_the_run(mlp, tmp_path):
    live = session(mlp, {"dump_tensors": str(tmp_path)})
    expected = live.run(None, mlp.feeds)[0]
    folder = tmp_path / "group-0" / "test_data_set_0"
    x, y = (numpy_helper.to_array(onnx.load_tensor(str(folder / name))) for name in ["input_0.pb", "output_0.pb"])
    assert (x == mlp.feeds["x"]).all()
    assert (y == expected).all()
