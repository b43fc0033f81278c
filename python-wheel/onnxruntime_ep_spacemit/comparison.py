"""Compare the provider with onnxruntime's CPU provider on one model: placement, exactness, speed, memory.

Each provider is measured in a process of its own. Latency is taken in alternating rounds, so that
a slow phase of the machine hits both; the speed-up is the median over rounds of (CPU median /
Spacemit median).
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._accuracy import compare_outputs
from ._registration import EP_NAME

CPU = "CPUExecutionProvider"


class ComparisonError(RuntimeError):
    """A provider could not load or run the model; the message names it."""


@dataclass
class Settings:
    """What to measure. ``threads`` 0 means onnxruntime's default; ``seconds`` are per round and provider.

    ``in_place`` lets inputs share memory with outputs: starts of input names, each with what takes its place in the
    name of the output, such as ``past_key_values.`` and ``present.``.
    """

    model: str
    input: str | None = None
    dims: Mapping[str, int] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    in_place: Mapping[str, str] = field(default_factory=dict)
    threads: int = 0
    rounds: int = 5
    seconds: float = 0.3
    creations: int = 1


def compare(settings: Settings) -> dict[str, Any]:
    """The comparison as a JSON-ready dict; the keys are those that ``python -m onnxruntime_ep_spacemit report`` writes.

    Raises ComparisonError when a provider fails, FileNotFoundError when there is no such model.
    """
    model = Path(settings.model)
    if not model.is_file():
        raise FileNotFoundError(f"no such model: {model}")
    with model.open("rb") as file:  # neither provider shall pay for reading the disk
        while file.read(1 << 24):
            pass
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        extra = [_created_once(settings, folder) for _ in range(settings.creations - 1)]
        workers: dict[str, _Worker] = {}
        try:
            for provider in (CPU, EP_NAME):
                workers[provider] = _Worker(provider, settings, folder)
            setups = {provider: worker.setup for provider, worker in workers.items()}
            rounds = [_round(workers, settings.seconds) for _ in range(settings.rounds)]
        finally:
            for worker in workers.values():
                worker.close()
        outputs = compare_outputs(workers[CPU].outputs, workers[EP_NAME].outputs)
        placement = _placement(setups[EP_NAME]["nodes"], _provider_report(workers[EP_NAME].report))
    return {
        "model": settings.model,
        "onnxruntime": setups[CPU]["onnxruntime"],
        "threads": settings.threads,
        "inputs": setups[CPU]["inputs"],
        "placement": placement,
        "outputs": outputs,
        "latency": _latency(rounds, settings.threads),
        "creation_s": {
            provider: statistics.median([setup["created_s"], *(one[provider]["created_s"] for one in extra)])
            for provider, setup in setups.items()
        },
        "memory_mib": {
            provider: {"steady": setup["steady_mib"], "peak": setup["peak_mib"]} for provider, setup in setups.items()
        },
    }


class _Worker:
    """A measuring process that has created its session and run it once."""

    def __init__(self, provider: str, settings: Settings, folder: Path) -> None:
        self.provider = provider
        self.outputs = str(folder / f"{provider}.npz")
        self.report = settings.options.get("report", str(folder / "report.json"))
        job = {
            "provider": provider,
            "model": settings.model,
            "input": settings.input,
            "dims": dict(settings.dims),
            "threads": settings.threads,
            "in_place": dict(settings.in_place),
            "options": {**settings.options, "report": self.report},
            "outputs": self.outputs,
        }
        self._log = folder / f"{provider}.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}._worker", json.dumps(job)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.setup = self._answer()

    def run(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # when the process has died, its answer tells why
            print(seconds, file=self._process.stdin, flush=True)
        return self._answer()

    def close(self) -> None:
        self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            words = self._log.read_text(errors="replace").strip().splitlines()[-3:]
            raise ComparisonError(f"{self.provider}: the process ended with status {status}: {' '.join(words)}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            self.close()
            raise ComparisonError(f"{self.provider}: {answer['error']}")
        return answer


def _created_once(settings: Settings, folder: Path) -> dict[str, dict[str, Any]]:
    """Set-up figures of both providers from processes that do nothing else."""
    setups = {}
    for provider in (CPU, EP_NAME):
        worker = _Worker(provider, settings, folder)
        worker.close()
        setups[provider] = worker.setup
    return setups


def _round(workers: Mapping[str, _Worker], seconds: float) -> dict[str, Any]:
    """Samples of each provider, and the cores that other programs used meanwhile."""
    busy, begin = _busy_seconds(), time.perf_counter()
    answers = {provider: worker.run(seconds) for provider, worker in workers.items()}
    elapsed = time.perf_counter() - begin
    own = sum(answer["cpu_s"] for answer in answers.values())
    foreign = max(0.0, (_busy_seconds() - busy - own) / elapsed)
    return {"samples": {name: answer["samples"] for name, answer in answers.items()}, "foreign": foreign}


def _busy_seconds() -> float:
    """CPU seconds that the whole machine has used so far, with time stolen by a virtual machine's host."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    user, nice, system, _, _, irq, softirq, steal = map(int, fields)
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _latency(rounds: list[dict[str, Any]], threads: int) -> dict[str, Any]:
    """Medians in ms and the speed-up. Rounds that other programs disturbed count only when calm ones are few."""
    cores = os.cpu_count() or 1
    spare = cores - (threads or cores)
    calm = [one for one in rounds if one["foreign"] < spare + 0.15]
    chosen = calm if 2 * len(calm) > len(rounds) else rounds
    medians = [{name: statistics.median(values) for name, values in one["samples"].items()} for one in chosen]
    ratios = [one[CPU] / one[EP_NAME] for one in medians]
    return {
        "median_ms": {name: statistics.median(one[name] for one in medians) for name in (CPU, EP_NAME)},
        "speedup": statistics.median(ratios),
        "speedup_range": [min(ratios), max(ratios)],
        "runs": {name: sum(len(one["samples"][name]) for one in chosen) for name in (CPU, EP_NAME)},
        "foreign_cores": statistics.median(one["foreign"] for one in chosen),
        "disturbed": chosen is rounds and len(calm) < len(rounds),
    }


def _provider_report(path: str) -> dict[str, Any]:
    """The JSON that the provider wrote at session creation; empty lists when it claimed nothing."""
    if not Path(path).exists():
        return {"groups": [], "claims": [], "declines": []}
    report: dict[str, Any] = json.loads(Path(path).read_text())
    return report


def _placement(assigned: list[dict[str, str]] | None, report: dict[str, Any]) -> dict[str, Any]:
    """Every node with its provider and, on the CPU, why. onnxruntime's own record wins where it has one."""
    declines = {(one["node"], one["op"]): one for one in report["declines"]}
    if assigned is None:
        mine = [{**one, "provider": EP_NAME} for one in report["claims"]]
        assigned = mine + [{**one, "provider": CPU} for one in report["declines"]]
        groups = len(report["groups"])
    else:
        groups = len({one["group"] for one in assigned if one["provider"] == EP_NAME})
    nodes = []
    for one in assigned:
        node = {key: one[key] for key in ("node", "op", "domain", "provider")}
        if one["provider"] != EP_NAME:
            node["reason"] = declines.get((one["node"], one["op"]), {}).get("reason", "not recorded")
        nodes.append(node)
    count = Counter(node["provider"] for node in nodes)
    return {"spacemit": count[EP_NAME], "cpu": len(nodes) - count[EP_NAME], "groups": groups, "nodes": nodes}
