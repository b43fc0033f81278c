"""Where the workers of a session run, as the provider reports it and as the kernel has it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _registration
from .tables import columns

# The model y = Identity(x), the least that starts the workers of a session.
MODEL = (
    b"\x08\x08:7\n\x10\n\x01x\x12\x01y\x22\x08Identity\x12\x01gZ\x0f\n\x01x\x12\n\n\x08\x08\x01\x12\x04\n\x02\x08\x01"
    b"b\x0f\n\x01y\x12\n\n\x08\x08\x01\x12\x04\n\x02\x08\x01B\x04\n\x00\x10\x11"
)


def describe(options: Mapping[str, str]) -> str:
    """A table of the workers that a session with these provider options has: core, kind, scratchpad and CPU mask."""
    ort = _registration.onnxruntime()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.json")
        session_options = ort.SessionOptions()
        session_options.append_execution_provider(
            _registration.EP_NAME, {**options, "claim": "all", "report": str(path)}
        )
        session = ort.InferenceSession(MODEL, session_options)
        report = json.loads(path.read_text())
        table = _table(report)
        del session
    return table


def _table(report: dict[str, Any]) -> str:
    cores = report["cores"]
    head = f"target {report['target']}, {report['workers']} worker(s)"
    if not cores:
        return f"{head} on ordinary threads, bound to no core"
    rows = [["worker", "CPU", "kind", "VLEN", "matrix", "scratchpad", "CPU mask"]]
    for rank, core in enumerate(cores):
        matrix = "IME2" if core["ime2"] else "IME1" if core["ime1"] else "-"
        scratchpad = "-" if core["scratchpad"] is None else str(core["scratchpad"])
        place = [str(rank), str(core["cpu"]), core["kind"], str(core["vlen"] or "-")]
        rows.append([*place, matrix, scratchpad, _mask_of_worker(core["cpu"])])
    return f"{head}\n{columns(rows)}"


def _mask_of_worker(cpu: int) -> str:
    """The CPUs that the kernel lets the worker of a core run on."""
    for task in Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().strip() == f"spacemit-cpu{cpu}":
            lines = (task / "status").read_text().splitlines()
            return next(line.split(":")[1].strip() for line in lines if line.startswith("Cpus_allowed_list"))
    return "no such thread"
