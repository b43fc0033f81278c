"""The encoder of whisper-base.

Input ``audio_features`` float32 [batch, 80, 3000], output ``hidden_states`` float32 [batch, 1500, 512]. Forms: mha and
attention, which onnxruntime-genai's builder writes (MultiHeadAttention, or com.microsoft Attention with the weights
of query, key and value inside) and which also give the keys and values for the decoder's cross attention,
``present_key_cross_LAYER`` and ``present_value_cross_LAYER`` float32 [batch, 8, 1500, 64]; unfused, whose output
is ``last_hidden_state`` and which has no operators of com.microsoft; dq8, mha with dynamic int8 products.
"""

from onnx import TensorProto

from models.whisper import (
    CROSS_KEY,
    CROSS_VALUE,
    HEAD,
    HEADS,
    HIDDEN,
    KEY,
    LAYERS,
    MELS,
    POSITIONS,
    WhisperGraph,
)


class Encoder(WhisperGraph):
    """Writes the graph of one form."""

    def __init__(self, form):
        super().__init__(fused=form != "unfused")
        self.form = form

    def build(self, path):
        features = self.input("audio_features", TensorProto.FLOAT, ["batch", MELS, 2 * POSITIONS])
        self.root = self.embed(features)
        for index in range(LAYERS):
            layer = f"encoder/layer_{index}"
            hidden = self.norm(f"{layer}/self_attention/layer_norm")
            attended = self.self_attention(hidden, f"{layer}/self_attention/linear_0")
            self.skip = self.linear(attended, f"{layer}/self_attention/linear_1")
            self.feed_forward(layer)
        name = "hidden_states" if self.fused else "last_hidden_state"
        hidden = self.norm("encoder/layer_norm", out=name, last=True)
        self.output(name, TensorProto.FLOAT, ["batch", POSITIONS, HIDDEN])
        if self.fused:
            self.cross_keys_and_values(hidden)
        self.save(path, *((21, 10) if self.fused else (17, 8)))

    def embed(self, x):
        """Two convolutions along time, the second of stride 2, and positions."""
        for name, stride in (("conv1", 1), ("conv2", 2)):
            weight, bias = (
                self.const(f"{name}.{part}", self.weight(f"encoder/{name}/{part}")) for part in ("weight", "bias")
            )
            window = {"kernel_shape": [3], "pads": [1, 1], "strides": [stride], "dilations": [1], "group": 1}
            x = self.gelu(self.op("Conv", x, weight, bias, **window))
        positions = self.const("positions", self.weight("encoder/position_encodings/encodings"))
        return self.op("Add", self.op("Transpose", x, perm=[0, 2, 1]), positions)

    def self_attention(self, hidden, prefix):
        if self.form == "mha":
            return self.multi_head_attention(*self.query_key_value(hidden, prefix))
        return self.packed(hidden, prefix) if self.form == "attention" else self.unfused(hidden, prefix)

    def packed(self, hidden, prefix):
        bias = self.weight(f"{prefix}/bias").copy()
        bias[KEY] = 0
        return self.contrib(
            "Attention",
            hidden,
            self.const(f"{prefix}.weight_T", self.weight(f"{prefix}/weight").T),
            self.const(f"{prefix}.bias", bias),
            do_rotary=0,
            mask_filter_value=-10000.0,
            num_heads=HEADS,
            past_present_share_buffer=0,
            qkv_hidden_sizes=[HIDDEN] * 3,
            rotary_embedding_dim=0,
            scale=HEAD**-0.5,
            unidirectional=0,
        )

    def unfused(self, hidden, prefix):
        query, key, value = self.query_key_value(hidden, prefix)
        query = self.heads(self.op("Mul", query, self.f32("scale", HEAD**-0.5)), [0, 2, 1, 3])
        scores = self.op("Softmax", self.op("MatMul", query, self.heads(key, [0, 2, 3, 1])), axis=-1)
        context = self.op("MatMul", scores, self.heads(value, [0, 2, 1, 3]))
        return self.op("Reshape", self.op("Transpose", context, perm=[0, 2, 1, 3]), self.i64([0, -1, HIDDEN]))

    def cross_keys_and_values(self, hidden):
        for index in range(LAYERS):
            prefix = f"decoder/layer_{index}/attention/linear_1"
            for part, rows in (("key", CROSS_KEY), ("value", CROSS_VALUE)):
                y = self.linear(hidden, prefix, rows, bias=part == "value")
                name = f"present_{part}_cross_{index}"
                self.heads(y, [0, 2, 1, 3], rows=(-1, POSITIONS), out=name)
                self.output(name, TensorProto.FLOAT, ["batch", HEADS, POSITIONS, HEAD])


def dynamic_int8(zoo, path):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(
        zoo.need("whisper-encoder-mha"),
        path,
        op_types_to_quantize=["MatMul"],
        weight_type=QuantType.QInt8,
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )


BUILDERS = {
    "whisper-encoder-mha": lambda zoo, path: Encoder("mha").build(path),
    "whisper-encoder-attention": lambda zoo, path: Encoder("attention").build(path),
    "whisper-encoder-unfused": lambda zoo, path: Encoder("unfused").build(path),
    "whisper-encoder-dq8": dynamic_int8,
}
