"""python -m onnxruntime_ep_spacemit: show the provider and its workers, or compare it with the CPU provider."""

from __future__ import annotations

import argparse
import json
import math
import sys
from typing import Any

from . import __version__, _registration, machine, threads
from .comparison import ComparisonError, Settings, compare
from .tables import columns, per_node, summary


def main() -> int:
    arguments = _parser().parse_args()
    if arguments.command is None:
        return show()
    if arguments.command == "threads":
        return show_threads(arguments)
    try:
        result = compare(_settings(arguments))
    except (ComparisonError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if arguments.command == "report":
        print(json.dumps(_finite(result), indent=2))
    else:
        print(summary(result))
        if not arguments.brief:
            print(f"\nplacement of every node\n{per_node(result)}")
    return 0


def show() -> int:
    """Print the library, the devices that it offers and the machine."""
    rows = [["package", f"onnxruntime-ep-spacemit {__version__}"], ["library", _registration.get_library_path()]]
    try:
        rows.append(["onnxruntime", _registration.onnxruntime().__version__])
        for device in _registration.devices():
            metadata = " ".join(f"{key}={value}" for key, value in device.ep_metadata.items() if key != "library_path")
            rows.append(
                ["device", f"{device.ep_name} on {device.device.type.name}, vendor {device.ep_vendor} {metadata}"]
            )
        status = 0
    except (ImportError, RuntimeError) as error:
        rows.append(["error", str(error)])
        status = 1
    rows += [[label, text] for label, text in machine.describe().items()]
    print(columns(rows, indent=""))
    return status


def show_threads(arguments: argparse.Namespace) -> int:
    """Print the workers of a session with the given options."""
    try:
        print(threads.describe(_pairs(arguments.option, "--option")))
    except Exception as error:  # onnxruntime's errors have no class of their own in common
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m onnxruntime_ep_spacemit", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    text = "print the workers of a session: core, kind, scratchpad and CPU mask"
    command = commands.add_parser("threads", help=text, description=text)
    command.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="provider option")
    texts = {"compare": "print the comparison as tables", "report": "print the comparison as JSON"}
    for name, text in texts.items():
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("model", metavar="MODEL.onnx")
        command.add_argument("--input", metavar="X.npz", help="inputs by name; made up when absent")
        command.add_argument(
            "--dim", action="append", default=[], metavar="NAME=SIZE", help="size of a symbolic dimension"
        )
        command.add_argument(
            "--in-place",
            action="append",
            default=[],
            metavar="INPUT=OUTPUT",
            help="starts of names of inputs and outputs that share memory, such as past_key_values.=present.",
        )
        command.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="provider option")
        command.add_argument("--threads", type=int, default=0, help="intra-op threads of both providers")
        command.add_argument("--rounds", type=int, default=5, help="alternating rounds of timing")
        command.add_argument("--seconds", type=float, default=0.3, help="length of a round, for each provider")
        if name == "compare":
            command.add_argument("--brief", action="store_true", help="leave out the line for every node")
    return parser


def _settings(arguments: argparse.Namespace) -> Settings:
    return Settings(
        model=arguments.model,
        input=arguments.input,
        dims={name: int(size) for name, size in _pairs(arguments.dim, "--dim").items()},
        options=_pairs(arguments.option, "--option"),
        in_place=_pairs(arguments.in_place, "--in-place"),
        threads=arguments.threads,
        rounds=arguments.rounds,
        seconds=arguments.seconds,
    )


def _pairs(texts: list[str], flag: str) -> dict[str, str]:
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise ValueError(f"{flag} {text}: expected KEY=VALUE")
        pairs[key] = value
    return pairs


def _finite(value: Any) -> Any:
    """The same with null for infinities and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


if __name__ == "__main__":
    sys.exit(main())
