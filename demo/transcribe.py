"""Write down the speech of a WAV file with whisper-base on the Spacemit provider."""

import argparse
import io
import sys
import time
import wave

from tokenizers.decoders import DecodeStream

from demo import audio, sessions
from demo.speech import Whisper
from models.fetch import read_member
from models.zoo import Zoo

ENCODERS, DECODERS = ("mha", "attention", "dq8"), ("fp32", "q8", "q4")


def sample():
    """A reading from A Tale of Two Cities, 44 s."""
    return io.BytesIO(read_member("moonshine-voice", "assets/two_cities.wav"))


def show(whisper, samples):
    """Print what is said as it is recognised."""
    for window in audio.windows(samples):
        stream = DecodeStream(skip_special_tokens=True)
        for token in whisper.transcribe(audio.log_mel(window)):
            print(stream.step(whisper.tokenizer, token) or "", end="", flush=True)
    print()


def main():
    parser = argparse.ArgumentParser(prog="cargo xtask demo transcribe", description=__doc__)
    parser.add_argument("file", nargs="?", metavar="FILE.wav", help="a sample of English speech when absent")
    parser.add_argument("--encoder", choices=ENCODERS, default="mha", help="form of the encoder, mha when absent")
    parser.add_argument("--decoder", choices=DECODERS, default="q8", help="form of the decoder, q8 when absent")
    sessions.add_arguments(parser)
    arguments = parser.parse_args()
    try:
        samples = audio.read_wav(arguments.file or sample())
    except (OSError, EOFError, wave.Error) as error:
        sys.exit(f"cannot read {arguments.file}: {error or 'the file ends too early'}")
    paths = [Zoo().need(f"whisper-encoder-{arguments.encoder}"), Zoo().need(f"whisper-decoder-{arguments.decoder}")]
    placement = arguments.provider, arguments.threads, arguments.option
    start = time.perf_counter()
    whisper = Whisper(*(sessions.create(path, *placement) for path in paths))
    loading = time.perf_counter() - start
    print(f"whisper-base loaded in {loading:.1f} s on {arguments.provider}\n", flush=True)
    start = time.perf_counter()
    show(whisper, samples)
    elapsed, length = time.perf_counter() - start, len(samples) / audio.RATE
    print(
        f"\n[{length:.1f} s of sound in {elapsed:.1f} s, {length / elapsed:.1f} times as fast as speech; "
        f"encoder {whisper.encoder_seconds:.2f} s, decoder {whisper.tokens / whisper.decoder_seconds:.0f} tokens/s]"
    )


if __name__ == "__main__":
    main()
