"""Measures one provider on one model in a process of its own; ``comparison`` starts and reads it.

The job is a JSON object on the command line. Answers are JSON objects, one a line, on standard
output: first the set-up, then one for each line read from standard input, which holds the
seconds to run for.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import _inputs, _registration

MEBI = 1 << 20


def main() -> None:
    job = json.loads(sys.argv[1])
    # libraries may print: keep the protocol apart from what they write to standard output
    protocol = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(**fields: Any) -> None:
        print(json.dumps(fields), file=protocol, flush=True)

    try:
        run, setup = _set_up(job)
    except Exception as error:
        answer(error=f"{type(error).__name__}: {error}")
        return
    answer(**setup)
    for line in sys.stdin:
        answer(**_timed(run, float(line)))


def _set_up(job: dict[str, Any]) -> tuple[Callable[[], Any], dict[str, Any]]:
    """Create the session and run it once: (function that runs it again, figures)."""
    ort = _registration.onnxruntime()
    ort.set_default_logger_severity(3)
    inputs = _model_inputs(ort, job)
    spacemit = job["provider"] == _registration.EP_NAME
    options = _session_options(ort, job, spacemit)
    keywords = {} if spacemit else {"providers": ["CPUExecutionProvider"]}
    before = _memory(reset_peak=True)
    start = time.perf_counter()
    session = ort.InferenceSession(job["model"], options, **keywords)
    created = time.perf_counter() - start
    session.disable_fallback()
    run, outputs = _runner(ort, session, inputs, job["in_place"])
    start = time.perf_counter()
    run()
    first = time.perf_counter() - start
    after = _memory()
    _save(job["outputs"], outputs())
    figures = {
        "onnxruntime": ort.__version__,
        "created_s": created,
        "first_ms": first * 1e3,
        "steady_mib": (after["VmRSS"] - before["VmRSS"]) / MEBI,
        "peak_mib": (after["VmHWM"] - before["VmRSS"]) / MEBI,
        "nodes": _assignment(session),
        "inputs": {name: f"{array.dtype}{list(array.shape)}" for name, array in inputs.items()},
    }
    return run, figures


def _runner(
    ort: Any, session: Any, inputs: dict[str, Any], in_place: dict[str, str]
) -> tuple[Callable[[], Any], Callable[[], dict[str, Any]]]:
    """(function that runs the session, function that gives the outputs by name).

    Tensors are bound, which spares copies; a model with another kind of output runs unbound.
    """
    names = [value.name for value in session.get_outputs()]
    if not all(value.type.startswith("tensor(") for value in session.get_outputs()):
        return lambda: session.run(None, inputs), lambda: dict(zip(names, session.run(None, inputs)))
    binding, shared = session.io_binding(), {}
    for name, array in inputs.items():
        output = _output_in_place(name, in_place)
        if output in names:
            shared[output] = ort.OrtValue.ortvalue_from_numpy(array)
            binding.bind_ortvalue_input(name, shared[output])
        else:
            binding.bind_cpu_input(name, array)
    for name in names:
        if name in shared:
            binding.bind_ortvalue_output(name, shared[name])
        else:
            binding.bind_output(name)
    return lambda: session.run_with_iobinding(binding), lambda: dict(zip(names, binding.copy_outputs_to_cpu()))


def _output_in_place(name: str, in_place: dict[str, str]) -> str | None:
    """The output that shares memory with the input ``name``."""
    for start, replacement in in_place.items():
        if name.startswith(start):
            return replacement + name[len(start) :]
    return None


def _save(path: str, outputs: dict[str, Any]) -> None:
    """Write the outputs that are tensors into an ``.npz`` file."""
    import numpy as np

    tensors: dict[str, Any] = {name: value for name, value in outputs.items() if isinstance(value, np.ndarray)}
    np.savez(path, **tensors)


def _model_inputs(ort: Any, job: dict[str, Any]) -> dict[str, Any]:
    """The inputs; a plain session that only tells their shapes is gone when this returns."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(job["model"], options, providers=["CPUExecutionProvider"])
    if job["input"]:
        return _inputs.load_inputs(job["input"], session)
    return _inputs.make_inputs(session, job["dims"])


def _session_options(ort: Any, job: dict[str, Any], spacemit: bool) -> Any:
    options = ort.SessionOptions()
    options.intra_op_num_threads = job["threads"]
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    if spacemit:
        options.append_execution_provider(_registration.EP_NAME, job["options"])
    return options


def _assignment(session: Any) -> list[dict[str, str]] | None:
    """Where onnxruntime put each node; None before 1.24, which does not tell."""
    if not hasattr(session, "get_provider_graph_assignment_info"):
        return None
    return [
        {"node": node.name, "op": node.op_type, "domain": node.domain, "provider": group.ep_name, "group": str(index)}
        for index, group in enumerate(session.get_provider_graph_assignment_info())
        for node in group.get_nodes()
    ]


def _memory(reset_peak: bool = False) -> dict[str, int]:
    """Resident and peak resident bytes of this process."""
    if reset_peak:
        with contextlib.suppress(OSError):  # the peak then also covers the start of the process
            Path("/proc/self/clear_refs").write_text("5")
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {key: int(fields[key].split()[0]) * 1024 for key in ("VmRSS", "VmHWM")}


def _timed(run: Callable[[], Any], seconds: float) -> dict[str, Any]:
    """Latencies in ms of runs for about ``seconds`` (at least 3), after one that warms up."""
    cpu, begin = time.process_time(), time.perf_counter()
    run()
    samples: list[float] = []
    while len(samples) < 3 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        run()
        samples.append((time.perf_counter() - start) * 1e3)
    elapsed = time.perf_counter() - begin
    return {"samples": samples, "cpu_s": time.process_time() - cpu, "elapsed_s": elapsed}


if __name__ == "__main__":
    main()
