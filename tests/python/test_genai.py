"""onnxruntime-genai with the provider's library registered writes what our own loop writes."""

from dataclasses import replace

import pytest
from greedy import write

from demo.genai import GenaiModel
from demo.sessions import CPU, SPACEMIT
from models.smollm2 import CUT, shape

COUNT = 64


@pytest.mark.parametrize("provider", [SPACEMIT, CPU])
def test_tokens_are_those_of_our_loop(zoo, sessions, provider):
    name, prompt = "smollm2-cut-fp32", [900, 31, 77, 1200, 5]
    ours, cpu, _ = sessions(name)
    model = GenaiModel(zoo.need(name), provider, threads=2, sizes=replace(shape(), **CUT))
    model.append(prompt)
    tokens = [model.next() for _ in range(COUNT)]
    assert tokens == write(ours if provider == SPACEMIT else cpu, prompt, COUNT).tokens


def test_unknown_options_are_refused_by_name(zoo):
    with pytest.raises(RuntimeError, match="colour"):
        GenaiModel(zoo.need("smollm2-cut-fp32"), SPACEMIT, options=[("colour", "red")], sizes=replace(shape(), **CUT))
