"""Whisper's encoder on the Spacemit provider beside SmolLM2 on llama.cpp: each alone, both on cores of their own, and
both on the same cores, in one process and in two."""

import argparse
import multiprocessing
import os
import threading
from dataclasses import dataclass

from demo.stages import Outcome, work
from demo.watch import Watch
from onnxruntime_ep_spacemit.tables import columns

PATIENCE = 300  # seconds for loading a model, and for a last step
SPAWN = multiprocessing.get_context("spawn")
UNITS = {"encoder": "x speech", "decoder": "tokens/s"}


@dataclass
class Report:
    """How a stage fared on its cores; ``threads`` are those of it that ran."""

    cores: tuple
    outcome: Outcome
    threads: list

    def astray(self):
        """Those of the threads that ran, or were allowed to, on cores that are not the stage's."""
        return [thread for thread in self.threads if (thread.cores | thread.allowed) - set(self.cores)]


class Running:
    """A stage at work in a thread of this process, or in a process of its own."""

    def __init__(self, name, cores, own_process):
        self.name, self.cores = name, cores
        self.connection, other = SPAWN.Pipe()
        start = SPAWN.Process if own_process else threading.Thread
        self.worker = start(target=work, args=(name, cores, other), daemon=True)
        self.worker.start()
        self.process = self.worker.pid if own_process else os.getpid()
        self.thread_ids = None
        if not own_process:
            self.wait()  # the next stage starts later, so that the threads of each are known

    def wait(self):
        """Until the stage is ready to work."""
        if self.thread_ids is None:
            self.thread_ids = self.receive()

    def receive(self):
        """What the stage sends; raises it if it is an exception, and TimeoutError if nothing comes."""
        if not self.connection.poll(PATIENCE):
            raise TimeoutError(f"the {self.name} has sent nothing for {PATIENCE} s")
        received = self.connection.recv()
        if isinstance(received, Exception):
            raise received
        return received

    def report(self, threads):
        """The end of the stage; ``threads`` are what was seen of its process."""
        outcome = self.receive()
        self.worker.join(PATIENCE)
        ran = [one for key, one in threads.items() if key in self.thread_ids and one.cores]
        return Report(self.cores, outcome, ran)


def run(placement, seconds, own_processes=False):
    """Let the stages of ``placement``, {name: cores}, work at once for so many seconds: {name: Report}."""
    running = [Running(name, cores, own_processes) for name, cores in placement.items()]
    for one in running:
        one.wait()
    for one in running:
        one.connection.send(seconds)
    watch = Watch({one.process for one in running})
    watch.run(seconds)
    return {one.name: one.report(watch.threads[one.process]) for one in running}


class Table:
    """The ways to place the stages, measured one after the other and printed as they come."""

    def __init__(self, seconds):
        self.seconds, self.alone, self.failed = seconds, {}, False
        self.rows = [["", "cores", "encoder", "decoder", "threads astray", "results"]]

    def add(self, title, placement, own_processes=False):
        """Measure; what is not as if a stage were alone on its cores is a failure."""
        print(f"{title} ...", flush=True)
        reports = run(placement, self.seconds, own_processes)
        for name, report in reports.items():
            self.alone.setdefault((name, report.cores), report.outcome)
        astray = sorted({thread.name for report in reports.values() for thread in report.astray()})
        same = all(report.outcome.results == self.alone[name, report.cores].results for name, report in reports.items())
        self.failed |= bool(astray) or not same
        rates = (self.rate(name, reports.get(name)) for name in UNITS)
        cores = " / ".join(dict.fromkeys(cpu_list(report.cores) for report in reports.values()))
        self.rows.append([title, cores, *rates, ", ".join(astray) or "none", "same" if same else "DIFFERENT"])

    def rate(self, name, report):
        """Work a second, and how much that is of the stage alone on these cores."""
        if report is None:
            return "-"
        rate = report.outcome.rate
        return f"{rate:.1f} {UNITS[name]} ({rate / self.alone[name, report.cores].rate:.0%})"


def cpu_list(cores):
    return ",".join(map(str, cores))


def cpus(text):
    """CPUs from a list such as 0-3,6."""
    ranges = (part.split("-") for part in text.split(","))
    return tuple(cpu for ends in ranges for cpu in range(int(ends[0]), int(ends[-1]) + 1))


def main():
    parser = argparse.ArgumentParser(prog="cargo xtask demo coscheduling", description=__doc__)
    allowed = sorted(os.sched_getaffinity(0))
    half = len(allowed) // 2
    parser.add_argument("--encoder-cores", type=cpus, default=tuple(allowed[:half]), metavar="CPUS", help="such as 0-3")
    parser.add_argument("--decoder-cores", type=cpus, default=tuple(allowed[half:]), metavar="CPUS", help="such as 4-7")
    parser.add_argument("--seconds", type=float, default=10, help="length of each measurement")
    arguments = parser.parse_args()
    encoder, decoder = arguments.encoder_cores, arguments.decoder_cores
    if not encoder or not decoder or set(encoder) & set(decoder):
        parser.error("each of the two needs cores of its own")
    every = tuple(sorted(encoder + decoder))
    table = Table(arguments.seconds)
    table.add("encoder alone", {"encoder": encoder})
    table.add("decoder alone", {"decoder": decoder})
    for own_processes, where in ((False, "one process"), (True, "two processes")):
        table.add(f"both in {where}", {"encoder": encoder, "decoder": decoder}, own_processes)
    table.add("encoder alone, all cores", {"encoder": every})
    table.add("decoder alone, all cores", {"decoder": every})
    for own_processes, where in ((False, "one process"), (True, "two processes")):
        table.add(f"both in {where}, all cores", {"encoder": every, "decoder": every}, own_processes)
    print("\n" + columns(table.rows, indent=""))
    return 1 if table.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
