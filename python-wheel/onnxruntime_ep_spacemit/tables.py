"""Comparisons as text for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._registration import EP_NAME
from .comparison import CPU


def columns(rows: Sequence[Sequence[str]], indent: str = "  ") -> str:
    """Rows of cells, with every column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in rows)
    return "\n".join(indent + line.rstrip() for line in lines)


def summary(result: dict[str, Any]) -> str:
    """The comparison on one screen; declined nodes are counted by operator and reason."""
    inputs = ", ".join(f"{name} {kind}" for name, kind in result["inputs"].items())
    threads = f"{result['threads']} thread(s)" if result["threads"] else "default threads"
    return "\n".join(
        [
            f"{Path(result['model']).name} on onnxruntime {result['onnxruntime']}, {threads}",
            f"  inputs: {inputs}",
            "",
            *_placement(result["placement"]),
            "",
            *_outputs(result["outputs"]),
            "",
            *_cost(result),
        ]
    )


def per_node(result: dict[str, Any]) -> str:
    """One line for every node of the model: where it runs, and why not on the provider."""
    rows = [["node", "operator", "runs on", "reason"]]
    for node in result["placement"]["nodes"]:
        where = "Spacemit" if node["provider"] == EP_NAME else "CPU"
        rows.append([node["node"], operator(node), where, node.get("reason", "")])
    return columns(rows)


def operator(node: dict[str, str]) -> str:
    """The operator's name, with its domain unless that is ONNX's own."""
    return f"{node['domain']}.{node['op']}" if node["domain"] not in ("", "ai.onnx") else node["op"]


def _placement(placement: dict[str, Any]) -> list[str]:
    total = placement["spacemit"] + placement["cpu"]
    groups = placement["groups"]
    lines = [f"nodes: {placement['spacemit']} of {total} on Spacemit in {groups} group(s), {placement['cpu']} on CPU"]
    declined = Counter((operator(node), node["reason"]) for node in placement["nodes"] if "reason" in node)
    if declined:
        rows = [["on CPU", "nodes", "reason"]]
        rows += [[name, str(count), reason] for (name, reason), count in declined.most_common()]
        lines.append(columns(rows))
    return lines


def _outputs(outputs: list[dict[str, Any]]) -> list[str]:
    rows = [["output", "max difference", "relative", "cosine"]]
    for one in outputs:
        rows.append([one["name"], f"{one['max_abs']:.2e}", f"{one['max_rel']:.2e}", f"{one['cosine']:.7f}"])
        if "mismatch" in one:
            rows[-1][0] += f" ({one['dtype']}{one['shape']} on CPU, {one['mismatch']} on Spacemit)"
    return ["difference to the CPU provider", columns(rows)]


def _cost(result: dict[str, Any]) -> list[str]:
    latency, creation, memory = result["latency"], result["creation_s"], result["memory_mib"]
    low, high = latency["speedup_range"]
    ours, cpu = latency["median_ms"][EP_NAME], latency["median_ms"][CPU]
    rows = [
        ["", "Spacemit", "CPU", ""],
        ["median latency", f"{ours:.2f} ms", f"{cpu:.2f} ms", f"{latency['speedup']:.2f}x [{low:.2f}-{high:.2f}]"],
        ["session creation", f"{creation[EP_NAME]:.2f} s", f"{creation[CPU]:.2f} s", ""],
    ]
    for kind in ("steady", "peak"):
        rows.append([f"{kind} memory", *(f"{memory[name][kind]:.0f} MiB" for name in (EP_NAME, CPU)), ""])
    lines = ["cost", columns(rows)]
    if latency["disturbed"]:
        cores = latency["foreign_cores"]
        lines.append(f"  other programs used {cores:.1f} core(s) meanwhile: the latencies are not reliable")
    return lines
