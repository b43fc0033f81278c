"""ONNX's own node tests on the provider, beside the CPU provider.

    python tests/python/conformance.py [--write] [--only PREFIX] [--every N] [--mode MODE]

Every case that the CPU provider passes must pass with the provider registered, whatever it takes of the case. What it
takes and what it declines is the table docs/conformance.md, which must be up to date; ``--write`` brings it up to date.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import conformance_table
import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

import onnxruntime_ep_spacemit as spacemit

SECONDS_PER_CASE = 120
# Cases between two lines of progress.
CASES_PER_LINE = 100

# onnxruntime 1.23 does not tell a provider that a graph is the body of a function, whose inlining then loses the
# operator sets of the nodes that were fused in it.
LOST_IN_1_23 = {
    "test_sequence_map_identity_1_sequence",
    "test_sequence_map_identity_2_sequences",
    "test_sequence_map_identity_1_sequence_1_tensor",
    "test_sequence_map_extract_shapes",
    "test_sequence_map_add_2_sequences",
    "test_sequence_map_add_1_sequence_1_tensor",
}

# The text of Attention was corrected for all its versions: softcap comes before the mask, and `qk_matmul_output_mode`
# counts in that order (onnx#7867, onnx#7913). The provider follows it; the data of onnx 1.20 and onnxruntime 1.23 are
# older.
OLDER_ATTENTION = {
    "test_attention_3d_with_past_and_present_qk_matmul_bias",
    "test_attention_3d_with_past_and_present_qk_matmul_softcap",
    "test_attention_4d_with_past_and_present_qk_matmul_bias",
    "test_attention_4d_with_past_and_present_qk_matmul_bias_3d_mask",
    "test_attention_4d_with_past_and_present_qk_matmul_bias_3d_mask_causal",
    "test_attention_4d_with_past_and_present_qk_matmul_bias_4d_mask",
    "test_attention_4d_with_past_and_present_qk_matmul_bias_4d_mask_causal",
    "test_attention_4d_with_qk_matmul_bias",
    "test_attention_4d_with_qk_matmul_softcap",
}


@dataclass
class Outcome:
    """What became of one case."""

    name: str
    op: str
    cpu_error: str | None = None
    error: str | None = None
    claimed: int = 0
    # (operator, code, reason) of each node that was left to the CPU provider
    declined: list[tuple[str, str, str]] = field(default_factory=list)
    # the CPU provider's results
    accepted: list | None = None

    @property
    def kind(self) -> str:
        if self.cpu_error is not None:
            return "cpu_fails"
        if not self.declined and self.claimed:
            return "executed"
        return "partly" if self.claimed else "declined"


def session_options() -> ort.SessionOptions:
    """Options that show the provider the nodes as the case has them."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 2
    return options


def check(session: ort.InferenceSession, case, accepted=None) -> list:
    """Run all data sets of a case and return the results; raises when one is not as expected.

    ``accepted`` are results of another provider that were.
    """
    found = []
    for inputs, outputs in case.data_sets:
        names = [one.name for one in session.get_inputs()]
        feeds = {name: plain(value) for name, value in zip(names, inputs) if value is not None}
        found.append(session.run(None, feeds))
        check_value(found[-1], outputs, accepted and accepted[len(found) - 1], case, "output")
    return found


def plain(value):
    """A value of a data set as numpy arrays and lists of them."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, onnx.SequenceProto):
        return numpy_helper.to_list(value)
    return value if isinstance(value, (list, dict)) else np.asarray(value)


def check_value(result, expected, accepted, case, where: str) -> None:
    """Compare one value, which may be a list, with the tolerance of its case."""
    if isinstance(expected, onnx.SequenceProto):
        expected = plain(expected)
    if isinstance(expected, (list, tuple)):
        if not isinstance(result, (list, tuple)) or len(result) != len(expected):
            raise AssertionError(f"{where} is not a list of {len(expected)}")
        for index, (one, other) in enumerate(zip(result, expected)):
            check_value(one, other, accepted and accepted[index], case, f"{where} {index}")
        return
    if expected is None or result is None:
        if expected is not result:
            raise AssertionError(f"{where} is {result}, expected {expected}")
        return
    expected = plain(expected)
    if result.shape != expected.shape:
        raise AssertionError(f"{where} has shape {result.shape}, expected {expected.shape}")
    if expected.dtype.kind in "OSU":
        np.testing.assert_array_equal(result.astype(str), expected.astype(str), where)
        return
    if result.dtype != expected.dtype:
        raise AssertionError(f"{where} is {result.dtype}, expected {expected.dtype}")
    if result.dtype == np.float16 and accepted is not None:
        # The cases allow one unit in the last place, which a chain of operations may exceed by rounding elsewhere.
        with np.errstate(invalid="ignore"):  # infinities
            apart = np.abs(result.astype(np.float64) - accepted.astype(np.float64))
            result = np.where(apart <= np.abs(np.spacing(accepted)), expected, result)
    np.testing.assert_allclose(result, expected, rtol=case.rtol, atol=case.atol, err_msg=where)


def first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:4])}"[:300]


def run(case, op: str, report: Path, mode: str) -> Outcome:
    """Run a case on the CPU provider and, when that passes, on ours."""
    outcome = Outcome(case.name, op)
    model = case.model.SerializeToString()
    try:
        cpu = ort.InferenceSession(model, session_options(), providers=["CPUExecutionProvider"])
        outcome.accepted = check(cpu, case)
    except Exception as error:  # whatever onnxruntime raises for what it does not have
        outcome.cpu_error = first_line(error)
        return outcome
    try:
        report.unlink(missing_ok=True)
        options = session_options()
        options.append_execution_provider("Spacemit", {"claim": "all", "mode": mode, "report": str(report)})
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        session = ort.InferenceSession(model, options)
        check(session, case, outcome.accepted)
        read_report(report, session, outcome)
    except Exception as error:  # every failure counts against the provider
        outcome.error = first_line(error)
    return outcome


def read_report(report: Path, session: ort.InferenceSession, outcome: Outcome) -> None:
    """Note what was claimed, as the provider says and, where it can tell, as onnxruntime says."""
    if not report.exists():  # a graph without nodes
        return
    said = json.loads(report.read_text())
    outcome.claimed = len(said["claims"])
    outcome.declined = [(one["op"], one["code"], one["reason"]) for one in said["declines"]]
    if any(not reason for _, _, reason in outcome.declined):
        raise AssertionError("a node is declined without a reason")
    if hasattr(session, "get_provider_graph_assignment_info"):
        graphs = session.get_provider_graph_assignment_info()
        assigned = Counter(node.op_type for one in graphs if one.ep_name == "Spacemit" for node in one.get_nodes())
        claimed = Counter(one["op"] for one in said["claims"])
        if assigned != claimed:
            raise AssertionError(f"claimed {dict(claimed)}, but onnxruntime assigned {dict(assigned)}")


def failures(outcomes: list[Outcome]) -> list[str]:
    """What fails though the CPU provider passes it, and what passes though it is known to fail."""
    known = LOST_IN_1_23 | OLDER_ATTENTION if ort.__version__.startswith("1.23.") else set()
    failed = {one.name: one.error for one in outcomes if one.error is not None}
    stale = [f"{one.name} is known to fail but passes" for one in outcomes if one.name in known - failed.keys()]
    return [f"{name}: {error}" for name, error in failed.items() if name not in known] + stale


def ops_of(cases) -> list[str]:
    """The operator that each case is for; that of an expanded function is its function."""
    single = {case.name: case.model.graph.node[0].op_type for case in cases if "_expanded" not in case.name}
    return [single.get(case.name.split("_expanded")[0], case.model.graph.node[0].op_type) for case in cases]


def run_all(cases, mode: str) -> list[Outcome]:
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        for index, (case, op) in enumerate(zip(cases, ops_of(cases))):
            faulthandler.dump_traceback_later(SECONDS_PER_CASE, exit=True)
            if index % CASES_PER_LINE == 0:
                print(f"{index}/{len(cases)} cases, now {case.name}", flush=True)
            outcomes.append(run(case, op, Path(folder) / "report.json", mode))
    faulthandler.cancel_dump_traceback_later()
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="bring docs/conformance.md up to date")
    parser.add_argument("--only", default="", metavar="PREFIX", help="only cases of this name; the table is left alone")
    parser.add_argument("--every", default=1, type=int, metavar="N", help="one of N cases; the table is left alone")
    parser.add_argument("--mode", default="auto", choices=["auto", "compile", "kernels"], help="option of the provider")
    parser.add_argument("--no-table", action="store_true", help="leave the table alone: it is that of another version")
    arguments = parser.parse_args()
    faulthandler.enable()
    spacemit.register()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's, from the definitions of the cases
        cases = [case for case in collect_testcases(None) if case.name.startswith(arguments.only)]
    cases = cases[:: arguments.every]
    outcomes = run_all(cases, arguments.mode)
    problems = failures(outcomes)
    problems += conformance_table.unwritten_reasons(outcomes)
    kinds = Counter(one.kind for one in outcomes)
    print(f"onnxruntime {ort.__version__}: {len(outcomes)} cases, {dict(kinds)}, {len(problems)} problems")
    if not arguments.only and arguments.every == 1 and not arguments.no_table:
        problems += conformance_table.update(outcomes, arguments.write)
    for problem in problems:
        print(f"FAIL {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
