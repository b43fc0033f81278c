"""Sound for whisper: WAV files at 16 kHz, cut into windows, as log-mel spectrograms."""

import functools
import wave

import numpy as np

RATE, SECONDS, MELS, WINDOW, HOP = 16000, 30, 80, 400, 160
FORMATS = {1: (np.uint8, 128, 128.0), 2: (np.int16, 0, 2.0**15), 4: (np.int32, 0, 2.0**31)}


def read_wav(source):
    """Samples of a WAV file, a path or an open file: float32 at 16 kHz, the mean of its channels.

    Raises wave.Error unless it holds integers of 8, 16 or 32 bits.
    """
    with wave.open(source) as file:
        if file.getsampwidth() not in FORMATS:
            raise wave.Error(f"samples of {8 * file.getsampwidth()} bits")
        dtype, zero, scale = FORMATS[file.getsampwidth()]
        frames = np.frombuffer(file.readframes(file.getnframes()), dtype).reshape(-1, file.getnchannels())
        return resample((frames.mean(axis=1) - zero) / scale, file.getframerate())


def resample(samples, rate):
    """Samples at 16 kHz: the spectrum is cut, or padded, at the frequency that both rates can carry."""
    length = round(len(samples) * RATE / rate)
    if length == 0 or rate == RATE:
        return samples.astype(np.float32)
    # irfft leaves out the frequencies that do not fit, or adds silent ones
    return (np.fft.irfft(np.fft.rfft(samples), length) * length / len(samples)).astype(np.float32)


def windows(samples):
    """Cut into pieces of at most 30 s, at the quietest 0.1 s of the last 10 s of each."""
    longest, frame = SECONDS * RATE, RATE // 10
    while len(samples) > longest:
        tail = samples[longest - 10 * RATE : longest].reshape(-1, frame)
        end = longest - 10 * RATE + int((tail**2).sum(1).argmin()) * frame + frame // 2
        yield samples[:end]
        samples = samples[end:]
    yield samples


def log_mel(samples):
    """What whisper's encoder reads of at most 30 s: float32 [1, 80, 3000], padded with silence.

    As in OpenAI's whisper: power of 25 ms Hann windows every 10 ms, in 80 mel bands, log10, no more than 8 below the
    largest, then (x + 4) / 4.
    """
    padded = np.zeros(SECONDS * RATE)
    padded[: len(samples)] = samples
    padded = np.pad(padded, WINDOW // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP][: SECONDS * RATE // HOP]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)
    power = np.abs(np.fft.rfft(frames * hann)) ** 2
    mel = np.log10(np.maximum(power @ mel_filters().T, 1e-10)).T
    return ((np.maximum(mel, mel.max() - 8) + 4) / 4).astype(np.float32)[None]


@functools.lru_cache(maxsize=1)
def mel_filters():
    """Triangles of equal area on Slaney's mel scale up to 8 kHz: [80, 201]."""
    edges = _hertz(np.linspace(0, _mel(RATE / 2), MELS + 2))
    distance = np.fft.rfftfreq(WINDOW, 1 / RATE)[None] - edges[:, None]
    width = np.diff(edges)[:, None]
    triangles = np.minimum(distance[:-2] / width[:-1], -distance[2:] / width[1:])
    return np.maximum(triangles, 0) * 2 / (edges[2:] - edges[:-2])[:, None]


# Slaney's scale: 200/3 Hz a mel up to 1 kHz (15 mel), from there 27 mel for each factor of 6.4
def _mel(hertz):
    return np.where(hertz < 1000, 3 * hertz / 200, 15 + 27 * np.log(np.maximum(hertz, 1000) / 1000) / np.log(6.4))


def _hertz(mel):
    return np.where(mel < 15, 200 * mel / 3, 1000 * 6.4 ** ((mel - 15) / 27))
