"""What this machine offers to the provider."""

from __future__ import annotations

import os
import platform
from pathlib import Path

# instruction sets that the provider's kernels use, as /proc/cpuinfo names them on x86-64
X86_FLAGS = ("avx2", "fma", "avx_vnni", "avx512f", "avx512_vnni")


def describe() -> dict[str, str]:
    """Ordered facts about the machine: label to text."""
    cpuinfo = _cpuinfo()
    model = cpuinfo.get("model name") or cpuinfo.get("uarch") or platform.processor() or "unknown"
    facts = {"system": f"{platform.system()} {platform.machine()}", "CPU": model, "cores": str(os.cpu_count())}
    board = _text("/proc/device-tree/model")
    if board:
        facts["board"] = board
    if "isa" in cpuinfo:
        facts["instructions"] = cpuinfo["isa"]
    elif "flags" in cpuinfo:
        flags = cpuinfo["flags"].split()
        facts["instructions"] = " ".join(flag for flag in X86_FLAGS if flag in flags) or "baseline"
    return facts


def _cpuinfo() -> dict[str, str]:
    """First value of every key in /proc/cpuinfo."""
    fields: dict[str, str] = {}
    for line in _text("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    return fields


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip("\0\n")
    except OSError:
        return ""
