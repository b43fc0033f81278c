"""What ``cargo xtask bench`` measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# where the KV caches of decoders share their memory; 2048 rows, whatever of them is used
IN_PLACE = {"past_key_values.": "present."}
CAPACITY = 2048


@dataclass(frozen=True)
class Case:
    """A model with sizes for its symbolic dimensions; ``work`` names them."""

    model: str
    work: str
    dims: Mapping[str, int]
    in_place: Mapping[str, str] = field(default_factory=dict)
    threads: int = 1

    @property
    def name(self):
        return f"{self.model}-{self.work}-t{self.threads}"


def embedder(model, batch, sequence):
    return Case(model, f"b{batch}-s{sequence}", {"batch": batch, "sequence": sequence})


def prefill(model, tokens):
    dims = {"sequence_length": tokens, "total_sequence_length": tokens, "past_sequence_length": 0}
    return Case(model, f"prefill{tokens}", dims)


def decode(model, past):
    """One token behind ``past``, with the caches in place."""
    dims = {"sequence_length": 1, "total_sequence_length": past + 1, "past_sequence_length": CAPACITY}
    return Case(model, f"decode{past}", dims, IN_PLACE)


def decode_separate(model, past):
    """One token behind ``past``; the caches come in one buffer and go out in another."""
    dims = {"sequence_length": 1, "total_sequence_length": past + 1, "past_sequence_length": past}
    return Case(model, f"decode{past}-separate", dims)


WORK = ((prefill, 128), (decode, 256))
ONE_THREAD = [
    *(embedder(model, *size) for model in ("minilm-fp32", "minilm-dq8") for size in ((8, 128), (1, 32))),
    *(
        case
        for model in ("smollm2-q4", "smollm2-q8")
        for case in (
            prefill(model, 128),
            decode(model, 256),
            decode(model, 2000),
            decode_separate(model, 256),
            decode_separate(model, 2000),
        )
    ),
    *(work(f"smollm2-{form}", size) for form in ("q4-float-zp", "q8-float") for work, size in WORK),
    decode("qwen3-shape-q4", 256),
    decode("qwen3-shape-q4", 2000),
    decode_separate("qwen3-shape-q4", 2000),
    *(Case(f"whisper-encoder-{form}", "30s", {}) for form in ("mha", "attention", "unfused", "dq8")),
    Case("whisper-decoder-q8", "step64", {"sequence": 1, "past": 64}),
    Case("flan-t5-encoder", "s48", {"encoder_sequence_length": 48}),
    Case("flan-t5-decoder", "s16", {"decoder_sequence_length": 16, "encoder_sequence_length": 48}),
]
CASES = [Case(case.model, case.work, case.dims, case.in_place, threads) for case in ONE_THREAD for threads in (1, 2)]
