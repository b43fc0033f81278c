"""A decoder in the form of onnxruntime-genai, run greedily with its KV cache in place."""

import numpy as np
import onnxruntime as ort

DTYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


class LanguageModel:
    """One text of at most ``context`` tokens, read and continued by the model of ``session``.

    Past and present of a layer are one buffer of that length, [1, kv heads, context, head], so that a run
    adds rows and copies none.
    """

    def __init__(self, session, context=2048):
        self.session, self.context, self.length = session, context, 0
        # chosen, but not yet read
        self.pending = []
        self.binding = session.io_binding()
        for value in session.get_inputs():
            if value.name.startswith("past_key_values."):
                _, heads, _, head = value.shape
                zeros = np.zeros((1, heads, context, head), DTYPES[value.type])
                buffer = ort.OrtValue.ortvalue_from_numpy(zeros)
                self.binding.bind_ortvalue_input(value.name, buffer)
                self.binding.bind_ortvalue_output(value.name.replace("past_key_values", "present"), buffer)
        self.vocabulary = next(value.shape[-1] for value in session.get_outputs() if value.name == "logits")

    @property
    def room(self):
        """How many tokens still fit."""
        return self.context - self.length - len(self.pending)

    def feed(self, tokens):
        """Read ``tokens``, at least one; their logits, float32 [tokens, vocabulary]."""
        length = self.length + len(tokens)
        if length > self.context:
            raise ValueError(f"{len(tokens)} tokens do not fit behind {self.length}: the context is {self.context}")
        logits = np.empty((1, len(tokens), self.vocabulary), np.float32)
        self.binding.bind_cpu_input("input_ids", np.array([tokens], np.int64))
        self.binding.bind_cpu_input("attention_mask", np.ones((1, length), np.int64))
        self.binding.bind_output("logits", "cpu", 0, np.float32, logits.shape, logits.ctypes.data)
        self.session.run_with_iobinding(self.binding)
        self.length = length
        return logits[0]

    def append(self, tokens):
        """Read more text."""
        self.logits = self.feed([*self.pending, *tokens])[-1]
        self.pending = []

    def next(self):
        """The likeliest token to follow, which becomes part of the text."""
        if self.pending:
            self.append([])
        self.pending = [int(self.logits.argmax())]
        return self.pending[0]
