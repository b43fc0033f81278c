"""SmolLM2's tokenizer, from its GGUF file, and how it is told who speaks."""

from tokenizers import Tokenizer, decoders
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

from models.smollm2 import gguf

SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
END = 2  # <|im_end|>
CONTROL = 3  # the type of a token that never comes from text


def tokenizer():
    """Byte-level BPE that takes digits one by one."""
    metadata, _ = gguf()
    tokens, types = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in metadata["tokenizer.ggml.merges"]]
    result = Tokenizer(BPE({token: index for index, token in enumerate(tokens)}, merges))
    result.pre_tokenizer = Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)])
    result.decoder = decoders.ByteLevel()
    result.add_special_tokens([token for token, kind in zip(tokens, types) if kind == CONTROL])
    return result


def opening():
    """The start of a conversation."""
    return f"<|im_start|>system\n{SYSTEM}<|im_end|>"


def turn(text):
    """What the user says, up to where the answer begins; it follows an <|im_end|>."""
    return f"\n<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
