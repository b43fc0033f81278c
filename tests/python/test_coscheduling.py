"""A speech encoder on our provider beside a language model on llama.cpp: each on its own cores, results as alone."""

import os
import threading

import pytest

from demo.coscheduling import Report, run
from demo.stages import Outcome
from demo.watch import Watch

SECONDS = 1


@pytest.fixture(scope="module")
def cores():
    """One core for each stage."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("two stages on disjoint cores need two CPUs")
    return {"encoder": (allowed[0],), "decoder": (allowed[1],)}


@pytest.fixture(scope="module")
def alone(cores):
    """What each stage results in without the other."""
    return {name: run({name: own}, seconds=0)[name].outcome.results for name, own in cores.items()}


@pytest.mark.parametrize("own_processes", [False, pytest.param(True, marks=pytest.mark.long)])
def test_no_thread_runs_on_a_core_of_the_other_and_results_stay(cores, alone, own_processes):
    reports = run(cores, SECONDS, own_processes)
    for name, report in reports.items():
        assert report.astray() == []
        assert {cpu for thread in report.threads for cpu in thread.cores} == set(cores[name])
        assert report.outcome.results == alone[name]
        assert len(alone[name]) == 1
    (core,) = cores["encoder"]
    assert f"spacemit-cpu{core}" in [thread.name for thread in reports["encoder"].threads]


def test_a_thread_on_a_core_of_the_other_is_noticed(cores):
    stop = threading.Event()

    def spin():
        os.sched_setaffinity(0, cores["decoder"])
        while not stop.is_set():
            pass

    thread = threading.Thread(target=spin)
    thread.start()
    watch = Watch({os.getpid()})
    watch.run(0.2)
    stop.set()
    thread.join()
    seen = [watch.threads[os.getpid()][thread.native_id]]
    nothing = Outcome(0, set())
    assert Report(cores["encoder"], nothing, seen).astray() == seen
    assert Report(cores["decoder"], nothing, seen).astray() == []
