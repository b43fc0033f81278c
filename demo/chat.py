"""Chat with SmolLM2-135M-Instruct on the Spacemit provider; an empty line ends."""

import argparse
import time

from tokenizers.decoders import DecodeStream

from demo import sessions, smollm2
from demo.language_model import LanguageModel
from models.smollm2 import FORMS
from models.zoo import Zoo


class Chat:
    """A conversation; ``model`` is a LanguageModel or a GenaiModel. Figures are those of the last answer."""

    def __init__(self, model, tokenizer, longest):
        self.model, self.tokenizer, self.longest = model, tokenizer, longest
        self.before = smollm2.opening()

    def answer(self, text):
        """Yield the answer piece by piece. Raises ValueError when the text does not fit any more."""
        prompt = self.tokenizer.encode(self.before + smollm2.turn(text)).ids
        if len(prompt) >= self.model.room:
            raise ValueError("the conversation has become too long for the model")
        start = time.perf_counter()
        self.model.append(prompt)
        token = self.model.next()
        self.prompt_tokens, self.prompt_seconds = len(prompt), time.perf_counter() - start
        stream, tokens, start = DecodeStream(skip_special_tokens=True), 0, time.perf_counter()
        while token != smollm2.END:
            yield stream.step(self.tokenizer, token) or ""
            if tokens + 1 == self.longest or self.model.room == 0:
                break
            token = self.model.next()
            tokens += 1
        self.tokens, self.seconds = tokens, time.perf_counter() - start
        self.before = "" if token == smollm2.END else "<|im_end|>"

    def figures(self):
        prefill = f"prefill {self.prompt_tokens} tokens, {self.prompt_tokens / self.prompt_seconds:.0f} tokens/s"
        return f"{prefill}; decode {self.tokens} tokens, {self.tokens / self.seconds:.1f} tokens/s"


def reply(chat, text):
    """Print the answer as it comes."""
    for piece in chat.answer(text):
        print(piece, end="", flush=True)
    print(f"\n[{chat.figures()}]\n", flush=True)


def questions():
    """Lines from the terminal until an empty one or the end."""
    while True:
        try:
            line = input("> ").strip()
        except EOFError:
            return
        if not line:
            return
        yield line


def main():
    parser = argparse.ArgumentParser(prog="cargo xtask demo chat", description=__doc__)
    parser.add_argument("--prompt", help="answer this and end")
    parser.add_argument("--form", choices=FORMS, default="q8-float", help="form of the weights, q8-float when absent")
    parser.add_argument("--tokens", type=int, default=256, help="longest answer")
    parser.add_argument("--genai", action="store_true", help="let onnxruntime-genai run the model")
    sessions.add_arguments(parser)
    arguments = parser.parse_args()
    path = Zoo().need(f"smollm2-{arguments.form}")
    placement = arguments.provider, arguments.threads, arguments.option
    start = time.perf_counter()
    if arguments.genai:
        from demo.genai import GenaiModel

        model = GenaiModel(path, *placement)
    else:
        model = LanguageModel(sessions.create(path, *placement))
    by = "onnxruntime-genai" if arguments.genai else "onnxruntime"
    print(f"{path.stem} loaded in {time.perf_counter() - start:.1f} s by {by} on {arguments.provider}\n", flush=True)
    chat = Chat(model, smollm2.tokenizer(), arguments.tokens)
    try:
        for text in [arguments.prompt] if arguments.prompt else questions():
            reply(chat, text)
    except ValueError as error:
        print(error)
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
