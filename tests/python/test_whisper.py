"""whisper-base on two recordings: placement, hidden states, and the same words as the CPU provider."""

import io

import numpy as np
import pytest
from placement import assert_all_on_spacemit

from demo import audio
from demo.speech import Whisper
from models.fetch import read_member
from models.manifest import MODELS

ENCODERS = [name for name, model in MODELS.items() if model.family == "whisper_encoder"]
DECODERS = [name for name, model in MODELS.items() if model.family == "whisper_decoder"]
WORDS = {
    "beckett": "Try again. Fail again. Fail better.",
    "two_cities": "It was the best of times, it was the worst of times.",
}


def recording(name):
    """Samples at 16 kHz, which is not the rate of both files."""
    return audio.read_wav(io.BytesIO(read_member("moonshine-voice", f"assets/{name}.wav")))


def transcript(encoder, decoder, samples):
    whisper = Whisper(encoder, decoder)
    windows = (whisper.transcribe(audio.log_mel(window)) for window in audio.windows(samples))
    return "".join(whisper.tokenizer.decode(list(tokens)) for tokens in windows)


def cosine(left, right):
    left, right = left.astype(np.float64).ravel(), right.astype(np.float64).ravel()
    return left @ right / (np.linalg.norm(left) * np.linalg.norm(right))


@pytest.mark.parametrize("name", [*ENCODERS, *DECODERS])
def test_every_node_is_claimed(sessions, name):
    session, _, report = sessions(name)
    assert_all_on_spacemit(session, report)


@pytest.mark.parametrize("name", [name for name in ENCODERS if MODELS[name].cosine is not None])
def test_hidden_states_are_those_of_the_cpu_provider(sessions, name):
    ours, cpu, _ = sessions(name)
    features = {"audio_features": audio.log_mel(recording("beckett"))}
    for actual, expected in zip(ours.run(None, features), cpu.run(None, features)):
        assert actual.shape == expected.shape
        assert cosine(actual, expected) >= MODELS[name].cosine


def transcripts(sessions, encoder, decoder, clip, mode="auto"):
    """Ours and that of the CPU provider."""
    samples, pair = recording(clip), [sessions(name, mode) for name in (encoder, decoder)]
    return [transcript(pair[0][index], pair[1][index], samples) for index in (0, 1)]


@pytest.mark.parametrize("clip", WORDS)
@pytest.mark.parametrize(
    ("encoder", "decoder"),
    [
        ("whisper-encoder-mha", "whisper-decoder-q8"),
        pytest.param("whisper-encoder-attention", "whisper-decoder-fp32", marks=pytest.mark.long),
        pytest.param("whisper-encoder-dq8", "whisper-decoder-q4", marks=pytest.mark.long),
    ],
)
def test_transcripts_are_those_of_the_cpu_provider(sessions, encoder, decoder, clip):
    ours, cpu = transcripts(sessions, encoder, decoder, clip)
    assert ours == cpu
    assert WORDS[clip] in cpu


@pytest.mark.long
@pytest.mark.parametrize("clip", WORDS)
@pytest.mark.parametrize("form", ["mha-q8", "attention-fp32", "dq8-q4"])
def test_kernels_alone_write_the_transcripts_of_the_cpu_provider(sessions, form, clip):
    encoder, decoder = (f"whisper-{part}-{kind}" for part, kind in zip(("encoder", "decoder"), form.split("-")))
    ours, cpu = transcripts(sessions, encoder, decoder, clip, "kernels")
    # with 4 bits and activations quantised on the fly, which rounding changes, a comma may become a full stop
    assert WORDS[clip] in ours if form == "dq8-q4" else ours == cpu
