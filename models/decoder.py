"""Decoder-only language models in the graph form of the builder of onnxruntime-genai for CPUs.

Inputs ``input_ids`` int64 [batch, sequence], ``attention_mask`` int64 [batch, past + sequence] and
``past_key_values.LAYER.key`` and ``.value`` float32 [batch, kv heads, past, head]; outputs ``logits`` float32
[batch, sequence, vocabulary] and ``present.LAYER.key`` and ``.value``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from models.graph import Graph


@dataclass(frozen=True)
class Shape:
    """The sizes of a decoder; ``qk_norm`` adds Qwen3's RMS norms of each query and key head."""

    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    head: int
    vocabulary: int
    context: int
    theta: float
    epsilon: float
    qk_norm: bool = False


class Decoder:
    """Writes the graph. ``weights`` has

    * ``norm(name)``, the 1-D weight of a norm such as ``layers.0.input_layernorm``;
    * ``embed(graph)``, which adds the look-up of ``input_ids`` and returns its output;
    * ``linear(graph, x, name, out=None)``, which adds the product with the weight of node ``name``.
    """

    def __init__(self, shape, weights):
        self.shape, self.weights, self.graph = shape, weights, Graph()
        # the residual stream, and what the next norm adds to it
        self.root = self.skip = None

    def save(self, path):
        graph, shape = self.graph, self.shape
        graph.input("input_ids", TensorProto.INT64, ["batch_size", "sequence_length"])
        graph.input("attention_mask", TensorProto.INT64, ["batch_size", "total_sequence_length"])
        lengths = self.lengths()
        caches = self.rotary_caches()
        self.root = self.weights.embed(graph)
        for layer in range(shape.layers):
            self.attention(layer, [*lengths, *caches])
            self.feed_forward(layer)
        hidden = self.norm(shape.layers, "final_norm", last=True)
        self.weights.linear(graph, hidden, "/lm_head/MatMul", out="logits")
        graph.output("logits", TensorProto.FLOAT, ["batch_size", "sequence_length", shape.vocabulary])
        for layer in range(shape.layers):
            for part in ("key", "value"):
                graph.output(f"present.{layer}.{part}", TensorProto.FLOAT, self.cache_dims("total_sequence_length"))
        graph.save(path, opset=21, ir_version=10)

    def cache_dims(self, length):
        return ["batch_size", self.shape.kv_heads, length, self.shape.head]

    def lengths(self):
        """seqlens_k, the last position of each row, and total_sequence_length, both int32."""
        graph, base = self.graph, "/model/attn_mask_reformat/attn_mask_subgraph/"
        sums = graph.op("ReduceSum", "attention_mask", graph.i64([1]), name=f"{base}ReduceSum", keepdims=0)
        last = graph.op("Sub", sums, graph.i64([1]), name=f"{base}Sub")
        shape = graph.op("Shape", "attention_mask", name=f"{base}Shape")
        total = graph.op("Gather", shape, graph.i64(1), name=f"{base}Gather", axis=0)
        return [
            graph.op("Cast", last, name=f"{base}Sub/Cast", to=TensorProto.INT32),
            graph.op("Cast", total, name=f"{base}Gather/Cast", to=TensorProto.INT32),
        ]

    def rotary_caches(self):
        shape = self.shape
        frequencies = shape.theta ** -(np.arange(0, shape.head, 2, dtype=np.float64) / shape.head)
        angles = np.arange(shape.context)[:, None] * frequencies[None]
        return [self.graph.f32("cos_cache", np.cos(angles)), self.graph.f32("sin_cache", np.sin(angles))]

    def norm(self, layer, place, last=False):
        """RMS norm of the sum of root and skip, which becomes the root unless this is the ``last`` norm."""
        weight = self.norm_weight(f"layers.{layer}.{place}")
        base = f"/model/layers.{layer}/{place}"
        if self.skip is None:
            return self.plain_norm(self.root, weight, f"{base}/LayerNorm")
        outputs = [f"{base}/output_0"] if last else [f"{base}/output_0", "", "", f"{base}/output_3"]
        self.graph.contrib(
            "SkipSimplifiedLayerNormalization",
            self.root,
            self.skip,
            weight,
            out=outputs,
            name=f"{base}/SkipLayerNorm",
            epsilon=self.shape.epsilon,
        )
        self.root = outputs[-1]
        return outputs[0]

    def norm_weight(self, name):
        return self.graph.const(f"model.{name}.weight", self.weights.norm(name))

    def plain_norm(self, x, weight, name):
        epsilon = self.shape.epsilon
        return self.graph.op(
            "SimplifiedLayerNormalization", x, weight, name=name, axis=-1, epsilon=epsilon, stash_type=1
        )

    def attention(self, layer, lengths_and_caches):
        graph, shape = self.graph, self.shape
        hidden = self.norm(layer, "input_layernorm")
        base = f"/model/layers.{layer}/attn"
        packed = self.weights.linear(graph, hidden, f"{base}/qkv_proj/MatMul")
        query_key_value = self.normed_heads(layer, packed) if shape.qk_norm else (packed, "", "")
        past = [
            graph.input(f"past_key_values.{layer}.{part}", TensorProto.FLOAT, self.cache_dims("past_sequence_length"))
            for part in ("key", "value")
        ]
        attended = f"{base}/GroupQueryAttention/output_0"
        graph.contrib(
            "GroupQueryAttention",
            *query_key_value,
            *past,
            *lengths_and_caches,
            out=[attended, f"present.{layer}.key", f"present.{layer}.value"],
            name=f"{base}/GroupQueryAttention",
            num_heads=shape.heads,
            kv_num_heads=shape.kv_heads,
            scale=float(shape.head**-0.5),
            local_window_size=-1,
            softcap=0.0,
            do_rotary=1,
            rotary_interleaved=0,
        )
        self.skip = self.weights.linear(graph, attended, f"{base}/o_proj/MatMul")

    def normed_heads(self, layer, packed):
        """Query, key and value of the packed product, query and key with each head normalised."""
        graph, shape = self.graph, self.shape
        base = f"/model/layers.{layer}/attn"
        sizes = [shape.heads * shape.head, shape.kv_heads * shape.head, shape.kv_heads * shape.head]
        parts = [f"{base}/qkv_proj/Split/output_{index}" for index in range(3)]
        graph.op("Split", packed, graph.i64(sizes), out=parts, name=f"{base}/qkv_proj/Split", axis=-1)

        def normed(index, name):
            heads = graph.op("Reshape", parts[index], graph.i64([0, -1, shape.head]), name=f"{base}/{name}/Reshape_1")
            weight = self.norm_weight(f"layers.{layer}.attn.{name}.layernorm")
            heads = self.plain_norm(heads, weight, f"{base}/{name}/SimplifiedLayerNormalization")
            return graph.op("Reshape", heads, graph.i64([0, -1, sizes[index]]), name=f"{base}/{name}/Reshape_2")

        return normed(0, "q_norm"), normed(1, "k_norm"), parts[2]

    def feed_forward(self, layer):
        graph, linear = self.graph, self.weights.linear
        hidden = self.norm(layer, "post_attention_layernorm")
        base = f"/model/layers.{layer}/mlp"
        gate = linear(graph, hidden, f"{base}/gate_proj/MatMul")
        up = linear(graph, hidden, f"{base}/up_proj/MatMul")
        sigmoid = graph.op("Sigmoid", gate, name=f"{base}/act_fn/Sigmoid")
        activated = graph.op("Mul", gate, sigmoid, name=f"{base}/act_fn/Mul")
        product = graph.op("Mul", activated, up, name=f"{base}/Mul")
        self.skip = linear(graph, product, f"{base}/down_proj/MatMul")
