"""Greedy decoding on two providers, step by step, and how far apart they may be.

Where activations are quantised on the fly, the CPU provider's own distance from the same model with activations left in
float is the measure: another provider may be as far from that on the other side.
"""

from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime as ort

from demo.language_model import LanguageModel
from models.blocks import FLOAT32


@dataclass
class Text:
    """Tokens that a provider chose, and the logits that it chose them from: float32 [tokens, vocabulary]."""

    tokens: list
    logits: np.ndarray


def write(session, prompt, count):
    """``count`` tokens that follow ``prompt``."""
    model, tokens, logits = LanguageModel(session), [], []
    model.append(prompt)
    for _ in range(count):
        logits.append(model.logits)
        tokens.append(model.next())
        model.append([])
    return Text(tokens, np.stack(logits))


def in_float(path):
    """A CPU session of the model with activations left in float32."""
    model = onnx.load(path)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "accuracy_level":
                attribute.i = FLOAT32
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def read(session, prompt, tokens):
    """The logits of ``session`` where it would choose each of ``tokens``: float32 [tokens, vocabulary].

    It reads all of them in one run, whatever it would have chosen itself.
    """
    return LanguageModel(session).feed([*prompt, *tokens[:-1]])[len(prompt) - 1 :]


def rounding(logits, terms):
    """How far sums of ``terms`` float32 products of this size may be off."""
    return np.finfo(np.float32).eps * terms * np.abs(logits).max()


def count_ties(text, logits, exact, noise):
    """In how many places the largest of ``logits`` is another token than in ``text``.

    Asserts that in all of them the ``exact`` logits of the two are no further apart than twice ``noise``: the error of
    either can then decide.
    """
    chosen = logits.argmax(-1)
    places = np.flatnonzero(chosen != np.array(text.tokens))
    for place in places:
        gap = abs(float(exact[place, text.tokens[place]] - exact[place, chosen[place]]))
        assert gap <= 2 * noise, f"token {place}: {chosen[place]} instead of {text.tokens[place]}, which is no tie"
    return len(places)
