"""Models that run on the provider in another process: tests/examples/remote.rs tells how to talk to it."""

import contextlib
import struct
import subprocess
import threading

import onnx
from onnx import numpy_helper
from providers import operators_of

# After which a run counts as hung.
SECONDS = 120
LENGTH = struct.Struct("<Q")


class RemoteError(Exception):
    """The model does not run there."""


class Remote:
    """The process of a command, started again after it ended. Its standard error goes to the file ``log``."""

    def __init__(self, command, log, environment):
        self.command, self.log, self.environment = command, log, environment
        self.process = None

    def run(self, model, feeds):
        """Outputs of a serialized model, all of it on the provider, and the operators that the provider runs."""
        inputs = onnx.GraphProto(initializer=[numpy_helper.from_array(array, name) for name, array in feeds.items()])
        if self.process is None:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                self.command, stdin=pipe, stdout=pipe, stderr=self.log, env=self.environment
            )
        timer = threading.Timer(SECONDS, self.process.kill)
        timer.start()
        try:
            for part in (model, inputs.SerializeToString()):
                self.process.stdin.write(LENGTH.pack(len(part)) + part)
            self.process.stdin.flush()
            graph, error, report = (self._read() for _ in range(3))
        except (BrokenPipeError, EOFError):
            raise RemoteError(f"the process ended with {self.close()}: {self._last_words()}") from None
        finally:
            timer.cancel()
        if error:
            raise RemoteError(error.decode())
        outputs = onnx.GraphProto.FromString(graph).initializer
        return [numpy_helper.to_array(output) for output in outputs], operators_of(report)

    def close(self):
        """End the process and tell its exit status."""
        process, self.process = self.process, None
        if process is None:
            return None
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        return process.wait()

    def _read(self):
        (length,) = LENGTH.unpack(self._read_bytes(LENGTH.size))
        return self._read_bytes(length)

    def _read_bytes(self, length):
        data = self.process.stdout.read(length)
        if len(data) < length:
            raise EOFError
        return data

    def _last_words(self):
        self.log.seek(max(0, self.log.seek(0, 2) - 2000))
        return self.log.read().decode(errors="replace")
