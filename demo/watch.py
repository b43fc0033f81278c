"""On which cores threads run, as Linux tells it in /proc."""

import contextlib
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

INTERVAL = 0.002


@dataclass
class Thread:
    """What was seen of a thread: its name, the CPUs that it was allowed to use, and those that it ran on."""

    name: str
    allowed: set = field(default_factory=set)
    cores: set = field(default_factory=set)


def thread_ids(process):
    return {int(task.name) for task in Path(f"/proc/{process}/task").iterdir()}


class Watch:
    """Threads of processes, looked at again and again: ``threads`` is {process: {thread id: Thread}}."""

    def __init__(self, processes):
        self.threads = {process: {} for process in processes}
        self.ticks = {}

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for process in self.threads:
                for thread in thread_ids(process):
                    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                        self.look(process, thread)
            time.sleep(INTERVAL)

    def look(self, process, thread):
        """A thread has run where it is now if it is about to run, or has used time since the last look."""
        allowed = os.sched_getaffinity(thread)
        name, _, rest = Path(f"/proc/{process}/task/{thread}/stat").read_text().partition("(")[2].rpartition(")")
        # the fields of proc_pid_stat(5) from the third on: state; 14 and 15 are user and system time, 39 is the CPU
        fields = rest.split()
        state, ticks, cpu = fields[0], int(fields[11]) + int(fields[12]), int(fields[36])
        one = self.threads[process].setdefault(thread, Thread(name))
        one.allowed |= allowed
        if state == "R" or ticks > self.ticks.get(thread, ticks):
            one.cores.add(cpu)
        self.ticks[thread] = ticks
