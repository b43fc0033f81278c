"""An encoder on the provider beside llama.cpp, both built for riscv64 and in emulation, each on a core of its own.

    python -m demo.emulated_coscheduling --encoder COMMAND --decoder COMMAND

The commands run tests/examples/encoder.rs and llama.cpp's llama-completion. Fails if a thread of one runs on the core
of the other, or if a result is not that of each alone.
"""

import argparse
import contextlib
import os
import shlex
import subprocess
import sys
import threading
import time

from demo.watch import Watch
from models.smollm2 import GGUF
from models.zoo import Zoo
from onnxruntime_ep_spacemit.tables import columns

MODEL, PROMPT, TOKENS = "minilm-dq8", "The sky is", 6
# Seconds between looks at the threads.
PAUSE = 0.2


class Encoder:
    """The encoder's process, which answers with digests."""

    def __init__(self, command, cpu):
        words = [*shlex.split(command), str(Zoo().need(MODEL)), str(cpu)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        digest = self.process.stdout.readline().strip()
        if not digest:
            raise RuntimeError(f"the encoder ended with {self.process.wait()}")
        return digest

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


class Decoder:
    """llama.cpp's process, which writes one text."""

    def __init__(self, command, cpu):
        model = str(Zoo().unpack(*GGUF))
        words = ["-m", model, "-p", PROMPT, "-n", str(TOKENS), "--temp", "0", "-no-cnv", "--no-warmup"]
        words += ["-t", "1"]
        self.start = time.monotonic()
        self.process = subprocess.Popen(
            [*shlex.split(command), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Debian's build has its threads from OpenMP, which knows nothing of llama.cpp's --cpu-range
            preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
        )

    def wait_for_text(self):
        """Until it is at work."""
        self.first = self.process.stdout.read(1)

    def text(self):
        rest = self.process.stdout.read()
        if self.process.wait() != 0:
            raise RuntimeError(f"llama.cpp ended with {self.process.returncode}")
        return (self.first + rest).decode().strip(), time.monotonic() - self.start


def together(encoder, decoder):
    """What both result in at the same time, and what was seen of their threads."""
    digests, done = [], threading.Event()

    def encode():
        while not done.is_set():
            digests.append(encoder.run())

    decoder.wait_for_text()
    loop = threading.Thread(target=encode)
    loop.start()
    watch = Watch([encoder.process.pid, decoder.process.pid])
    while decoder.process.poll() is None:
        with contextlib.suppress(FileNotFoundError):  # it has just ended
            watch.run(PAUSE)
    done.set()
    loop.join()
    return digests, decoder.text(), [watch.threads[one.process.pid].values() for one in (encoder, decoder)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", required=True, metavar="COMMAND")
    parser.add_argument("--decoder", required=True, metavar="COMMAND")
    arguments = parser.parse_args()
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        parser.error("each of the two needs a core of its own, and there is one")
    cores = allowed[:2]
    encoder = Encoder(arguments.encoder, cores[0])
    digest = encoder.run()
    decoder = Decoder(arguments.decoder, cores[1])
    decoder.wait_for_text()
    text, seconds = decoder.text()
    digests, (text_beside, seconds_beside), threads = together(encoder, Decoder(arguments.decoder, cores[1]))
    ended = encoder.close()
    beside = [f"{len(digests)} runs beside", f"{seconds:.0f} s, beside {seconds_beside:.0f} s"]
    results = [same({digest}, set(digests)), same(text, text_beside)]
    rows = [["", "core", "threads ran on", "", "result"]]
    rows += zip(("encoder", "decoder"), cores, map(ran, threads), beside, results)
    print(columns([[str(cell) for cell in row] for row in rows], indent=""))
    print(text)
    kept = all(cores_of(own) == {core} for own, core in zip(threads, cores))
    workers = [one for one in threads[0] if one.name == f"spacemit-cpu{cores[0]}" and one.cores]
    return 0 if kept and workers and ended == 0 and {digest} == set(digests) and text == text_beside else 1


def cores_of(threads):
    """Those that the threads ran on."""
    return set().union(*(one.cores for one in threads))


def ran(threads):
    return ",".join(map(str, sorted(cores_of(threads))))


def same(alone, beside):
    return "same as alone" if alone == beside else "DIFFERENT"


if __name__ == "__main__":
    sys.exit(main())
