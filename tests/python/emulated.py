"""The tests of operators with the provider in another process, on an emulated chip.

    python tests/python/emulated.py --target k1 --program FILE --onnxruntime FILE [--all] COMMAND ...

COMMAND runs tests/examples/remote.rs on the chip; the files are the same program for this machine, and onnxruntime in
the version that COMMAND loads. Every model that the tests run on the provider, and every case of ONNX's own node tests
that it takes as a whole, runs there and here, where the provider plans for the chip too. The operators must be the
same, and so must be integers and what is made of exact sums, bit by bit; for all else the tests judge what came from
there. Without ``--all``, of the models with the same operators and types only the first runs.
"""

import argparse
import os
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import conformance
import numpy as np
import onnx
import providers
import pytest
from onnx.backend.test.case.node import collect_testcases
from remote import Remote, RemoteError

import onnxruntime_ep_spacemit as spacemit

# Bytes of a model with its inputs beyond which emulation takes seconds.
LARGEST = 2_000_000
# Operators with float results that round exact sums of integers in one prescribed order.
OF_INTEGERS = {
    "DynamicQuantizeLinear",
    "MatMulInteger",
    "QLinearConv",
    "com.microsoft.DynamicQuantizeMatMul",
    "com.microsoft.MatMulIntegerToFloat",
    "spacemit.QLinear",
}

# The newest version of models that the oldest onnxruntime reads.
IR_VERSION = 10

run_in_this_process = providers.run_on_spacemit


def signature(model):
    """What the models of a sample differ in: operators with the types of their inputs and those in attributes."""
    graph = model.graph
    types = {one.name: one.type.tensor_type.elem_type for one in graph.input}
    types |= {one.name: one.data_type for one in graph.initializer}
    return tuple(
        (
            node.domain,
            node.op_type,
            frozenset(types.get(name) for name in node.input if name),
            frozenset((one.name, one.i) for one in node.attribute if one.name in ("bits", "to")),
        )
        for node in graph.node
    )


class Emulated:
    """Stands for the run of a model on the provider."""

    def __init__(self, here, there, sample):
        self.here, self.there, self.sample = here, there, sample
        self.seen = set()
        self.counts = Counter()
        self.refused = set()

    def __call__(self, serialized, feeds):
        """Outputs and operators of there; those of this process for a model that is too large or too new."""
        model = onnx.load_from_string(serialized)
        if self.leaves_out(model):
            pytest.skip("like another")
        if len(serialized) + sum(array.nbytes for array in feeds.values()) > LARGEST:
            self.counts["too large"] += 1
            return run_in_this_process(serialized, feeds)
        try:
            here, operators = self.here.run(serialized, feeds)
        except RemoteError:
            return self.run_there(model, feeds)
        there, operators_there = self.there.run(serialized, feeds)
        assert operators_there == operators, f"{operators_there} run there, {operators} here"
        self.compare(there, here, operators)
        self.counts["run there"] += 1
        return there, operators

    def leaves_out(self, model):
        """Whether a model is like one before, of which the sample has enough."""
        key = signature(model)
        is_seen = key in self.seen
        self.seen.add(key)
        self.counts["like another"] += is_seen and self.sample
        return is_seen and self.sample

    def run_there(self, model, feeds):
        """Outputs and operators of a model that onnxruntime refuses here: Debian's build knows a newer operator set."""
        serialized = model.SerializeToString()
        try:
            result = self.there.run(serialized, feeds)
        except RemoteError:
            self.counts["refused"] += 1
            self.refused.update(node.op_type for node in model.graph.node)
            return run_in_this_process(serialized, feeds)
        self.counts["run there only"] += 1
        return result

    @staticmethod
    def compare(there, here, operators):
        assert len(there) == len(here)
        is_exact = OF_INTEGERS.issuperset(operators)
        for one, other in zip(there, here):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            if is_exact or one.dtype.kind != "f":
                np.testing.assert_array_equal(one, other, "there and here")


def run_tests(expression):
    """Run the tests of operators; whether all pass."""
    folder = Path(__file__).parent
    files = [str(file) for file in sorted(folder.glob("test_*.py")) if "providers import" in file.read_text()]
    return pytest.main(["-q", "--tb=short", "-p", "no:cacheprovider", "-k", expression, *files]) == 0


class Session:
    """What ONNX's node tests ask of a session."""

    def __init__(self, run, model):
        self.run_model, self.model = run, model

    def get_inputs(self):
        constants = {one.name for one in self.model.graph.initializer}
        return [one for one in self.model.graph.input if one.name not in constants]

    def run(self, _, feeds):
        return self.run_model(self.model.SerializeToString(), feeds)[0]


def run_node_tests(emulated, expression):
    """Run the cases of ONNX that the provider takes as a whole; whether all pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's, from the definitions of the cases
        cases = collect_testcases(None)
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for case, op in zip(cases, conformance.ops_of(cases)):
            if expression not in case.name or (emulated.sample and signature(case.model) in emulated.seen):
                continue
            outcome = conformance.run(case, op, Path(folder) / "report.json", "compile")
            if outcome.kind != "executed":
                continue
            case.model.ir_version = min(case.model.ir_version, IR_VERSION)
            try:
                conformance.check(Session(emulated, case.model), case, outcome.accepted)
            except Exception as error:
                failures += 1
                print(f"FAIL {case.name}: {conformance.first_line(error)}")
    return failures == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", required=True, help="the chip")
    parser.add_argument("--program", required=True, help="runs models on this machine")
    parser.add_argument("--onnxruntime", required=True, help="the library that it loads")
    parser.add_argument("--all", action="store_true", help="run every model there, not a sample")
    parser.add_argument(
        "-k", default="", dest="expression", metavar="WORDS", help="only tests and cases whose names match"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="runs models on the chip")
    arguments = parser.parse_args()
    spacemit.register()
    libraries = {"ORT_DYLIB_PATH": arguments.onnxruntime, "SPACEMIT_EP_LIBRARY": spacemit.get_library_path()}
    with tempfile.TemporaryFile() as log:
        here = Remote([arguments.program, arguments.target], log, os.environ | libraries)
        there = Remote(arguments.command, log, os.environ)
        providers.run_on_spacemit = emulated = Emulated(here, there, not arguments.all)
        passed = [run_tests(arguments.expression), run_node_tests(emulated, arguments.expression)]
        passed += [remote.close() == 0 for remote in (here, there)]
    print(f"{arguments.target}: {dict(emulated.counts)}; refused: {' '.join(sorted(emulated.refused)) or 'none'}")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
