"""The decoder of whisper-base with KV caches, as onnxruntime-genai's builder writes it.

Inputs ``input_ids`` int32 [batch, sequence], ``past_key_self_LAYER`` and ``past_value_self_LAYER`` float32
[batch, 8, past, 64], ``past_key_cross_LAYER`` and ``past_value_cross_LAYER`` float32 [batch, 8, 1500, 64];
outputs ``logits`` float32 [batch, sequence, 51865], ``present_key_self_LAYER`` and ``present_value_self_LAYER``.
Forms: fp32, q8 and q4 (the weights of all products in blocks of 32).
"""

from onnx import TensorProto

from models.whisper import HEAD, HEADS, LAYERS, POSITIONS, VOCABULARY, WhisperGraph


class Decoder(WhisperGraph):
    """Writes the graph."""

    def build(self, path):
        self.input("input_ids", TensorProto.INT32, ["batch", "sequence"])
        for index in range(LAYERS):
            for kind, length in (("self", "past"), ("cross", POSITIONS)):
                for part in ("key", "value"):
                    self.input(f"past_{part}_{kind}_{index}", TensorProto.FLOAT, ["batch", HEADS, length, HEAD])
        self.root = self.embed()
        for index in range(LAYERS):
            self.layer(index)
        hidden = self.norm("decoder/layer_norm", last=True)
        self.matmul(hidden, self.weight("decoder/embeddings/weight"), "decoder/projection", out="logits")
        self.output("logits", TensorProto.FLOAT, ["batch", "sequence", VOCABULARY])
        for index in range(LAYERS):
            for part in ("key", "value"):
                self.output(f"present_{part}_self_{index}", TensorProto.FLOAT, ["batch", HEADS, "total", HEAD])
        self.save(path, opset=21, ir_version=10)

    def embed(self):
        """Tokens, and the positions behind those of the past."""
        length = self.op("Gather", self.op("Shape", "input_ids"), self.i64(1), axis=0)
        past = self.op("Gather", self.op("Shape", "past_key_self_0"), self.i64(2), axis=0)
        end = self.op("Unsqueeze", self.op("Add", length, past), self.i64([0]))
        table = self.const("positions", self.weight("decoder/position_encodings/encodings"))
        start = self.op("Unsqueeze", past, self.i64([0]))
        positions = self.op("Slice", table, start, end, self.i64([0]), self.i64([1]))
        tokens = self.const("embeddings", self.weight("decoder/embeddings/weight"))
        return self.op("Add", self.op("Gather", tokens, "input_ids", axis=0), positions)

    def layer(self, index):
        layer = f"decoder/layer_{index}"
        hidden = self.norm(f"{layer}/self_attention/layer_norm")
        outputs = [f"self_attention_{index}", f"present_key_self_{index}", f"present_value_self_{index}"]
        past = [f"past_{part}_self_{index}" for part in ("key", "value")]
        query_key_value = self.query_key_value(hidden, f"{layer}/self_attention/linear_0")
        self.multi_head_attention(*query_key_value, "", "", "", *past, causal=True, out=outputs)
        self.skip = self.linear(outputs[0], f"{layer}/self_attention/linear_1")
        query = self.linear(self.norm(f"{layer}/attention/layer_norm"), f"{layer}/attention/linear_0")
        cross = [f"past_{part}_cross_{index}" for part in ("key", "value")]
        self.skip = self.linear(self.multi_head_attention(query, *cross), f"{layer}/attention/linear_2")
        self.feed_forward(layer)


BUILDERS = {
    "whisper-decoder-fp32": lambda zoo, path: Decoder().build(path),
    "whisper-decoder-q8": lambda zoo, path: Decoder(bits=8).build(path),
    "whisper-decoder-q4": lambda zoo, path: Decoder(bits=4).build(path),
}
