"""Times the provider beside onnxruntime's CPU provider; the table goes to the terminal, everything to target/bench.

A case is called MODEL-WORK-tTHREADS; --list shows all names. Arguments pick cases by the start of the name, in which *
stands for anything: smollm2-q4-decode*-t1.
"""

import argparse
import json
import time
from fnmatch import fnmatch
from pathlib import Path

from bench.cases import CASES
from models.zoo import Zoo
from onnxruntime_ep_spacemit import machine
from onnxruntime_ep_spacemit.comparison import CPU, ComparisonError, Settings, compare
from onnxruntime_ep_spacemit.tables import columns

SPACEMIT = "Spacemit"
OUTPUT = Path(__file__).resolve().parent.parent / "target" / "bench"


def measure(case, quick):
    """The comparison of one case."""
    return compare(
        Settings(
            model=str(Zoo().need(case.model)),
            dims=case.dims,
            in_place=case.in_place,
            threads=case.threads,
            rounds=3 if quick else 9,
            seconds=0.3 if quick else 1.0,
            creations=1 if quick else 3,
        )
    )


def row(name, result):
    latency, creation, memory = result["latency"], result["creation_s"], result["memory_mib"]
    low, high = latency["speedup_range"]
    placement = result["placement"]
    return [
        name + (" (disturbed)" if latency["disturbed"] else ""),
        f"{placement['spacemit']}/{placement['spacemit'] + placement['cpu']}",
        *(f"{latency['median_ms'][provider]:.2f}" for provider in (SPACEMIT, CPU)),
        f"{latency['speedup']:.2f}x [{low:.2f}-{high:.2f}]",
        " / ".join(f"{creation[provider]:.2f}" for provider in (SPACEMIT, CPU)),
        *(" / ".join(f"{memory[provider][kind]:.0f}" for provider in (SPACEMIT, CPU)) for kind in ("steady", "peak")),
    ]


HEADER = [
    "case",
    "nodes",
    "Spacemit ms",
    "CPU ms",
    "speed-up [range]",
    "creation s, both",
    "steady MiB, both",
    "peak MiB, both",
]
SPEED_UP = HEADER.index("speed-up [range]")


def main():
    parser = argparse.ArgumentParser(prog="cargo xtask bench", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="starts of case names; all cases when absent")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--list", action="store_true", help="print the names of the chosen cases and end")
    arguments = parser.parse_args()
    patterns = [f"{start}*" for start in arguments.cases or [""]]
    chosen = [case for case in CASES if any(fnmatch(case.name, pattern) for pattern in patterns)]
    if not chosen:
        parser.error("no case starts like that; --list shows all")
    if arguments.list:
        print("\n".join(case.name for case in chosen))
        return 0
    rows, results, failed = [HEADER], {}, False
    for number, case in enumerate(chosen, 1):
        print(f"[{number}/{len(chosen)}] {case.name}", flush=True)
        try:
            results[case.name] = measure(case, arguments.quick)
        except ComparisonError as error:
            results[case.name], failed = {"error": str(error)}, True
            print(f"  failed: {error}")
            continue
        rows.append(row(case.name, results[case.name]))
        print("  " + rows[-1][SPEED_UP], flush=True)
    print("\n" + columns(rows, indent=""))
    OUTPUT.mkdir(parents=True, exist_ok=True)
    path = OUTPUT / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps({"machine": machine.describe(), "cases": results}, indent=2))
    print(f"\nwritten to {path}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
