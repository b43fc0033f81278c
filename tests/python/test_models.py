"""MiniLM in the forms that exporters give it: placement and exactness beside the CPU provider."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from placement import assert_all_on_spacemit

import onnxruntime_ep_spacemit  # noqa: F401  gives SessionOptions.append_execution_provider
from models.manifest import MODELS

MINILM = [name for name, model in MODELS.items() if model.family == "minilm"]
SIZES = [(8, 128), (1, 32), (1, 1), (2, 7), (3, 200)]
# operators that only compute shapes may stay on the CPU provider
SHAPE_OPERATORS = {"Shape", "Gather", "Unsqueeze", "Squeeze", "Concat", "Slice", "Range", "Cast"}


def feeds(batch, sequence):
    """Seeded token ids with padding of different lengths at the end of the rows."""
    random = np.random.default_rng(batch * 1000 + sequence)
    mask = np.ones((batch, sequence), np.int64)
    for row in range(batch):
        mask[row, sequence - row % sequence :] = 0
    mask[:, 0] = 1
    ids = random.integers(1000, 30000, (batch, sequence)) * mask
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}


def cosine(left, right):
    left, right = left.astype(np.float64).ravel(), right.astype(np.float64).ravel()
    return left @ right / (np.linalg.norm(left) * np.linalg.norm(right))


@pytest.mark.parametrize("name", MINILM)
def test_every_node_but_shape_computations_is_claimed(sessions, name):
    session, _, report = sessions(name)
    assert_all_on_spacemit(session, report, but=SHAPE_OPERATORS)


@pytest.mark.parametrize("name", [name for name in MINILM if MODELS[name].cosine is not None])
@pytest.mark.parametrize(("batch", "sequence"), SIZES)
def test_outputs_are_those_of_the_cpu_provider(sessions, name, batch, sequence):
    ours, cpu, _ = sessions(name)
    wanted = {value.name for value in cpu.get_inputs()}
    inputs = {key: value for key, value in feeds(batch, sequence).items() if key in wanted}
    for actual, expected in zip(ours.run(None, inputs), cpu.run(None, inputs)):
        assert actual.shape == expected.shape
        assert cosine(actual, expected) >= MODELS[name].cosine


def test_dynamic_int8_is_as_near_as_the_cpu_provider_is_to_itself(sessions, zoo):
    """The measure: the CPU provider with and without its optimisations. Two that far from the truth are twice apart."""
    ours, cpu, _ = sessions("minilm-dq8")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    plain = ort.InferenceSession(str(zoo.need("minilm-dq8")), options)
    inputs = [feeds(*size) for size in SIZES]
    outputs = [[session.run(None, one)[0] for one in inputs] for session in (ours, cpu, plain)]
    spread = max(1 - cosine(left, right) for left, right in zip(outputs[2], outputs[1]))
    assert max(1 - cosine(left, right) for left, right in zip(outputs[0], outputs[1])) <= 2 * spread


def test_dynamic_int8_integers_are_exact(zoo):
    """Every quantisation of the model as on the CPU provider, and its integer products in 64 bits.

    The products of the CPU provider are no measure: its 16-bit sums saturate on x86-64 machines that have no VNNI.
    """
    model = onnx.load(zoo.need("minilm-dq8"))
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    quantisers = [node for node in model.graph.node if node.op_type == "DynamicQuantizeLinear"]
    assert len(quantisers) == 24
    activations = watch(model, [node.input[0] for node in quantisers], feeds(2, 19))
    for quantiser in quantisers:
        products = [
            node
            for node in model.graph.node
            if node.op_type == "MatMulInteger" and node.input[0] == quantiser.output[0]
        ]
        options = ort.SessionOptions()
        options.append_execution_provider("Spacemit", {"claim": "all"})
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        inputs = {quantiser.input[0]: activations[quantiser.input[0]]}
        ours = ort.InferenceSession(extract(model, [quantiser, *products]), options).run(None, inputs)
        expected = ort.InferenceSession(extract(model, [quantiser])).run(None, inputs)
        codes, _, zero_point = (array.astype(np.int64) for array in expected)
        for node in products:
            weight, weight_zero_point = (constants[name].astype(np.int64) for name in (node.input[1], node.input[3]))
            expected.append((codes - zero_point) @ (weight - weight_zero_point))
        for actual, wanted in zip(ours, expected):
            np.testing.assert_array_equal(actual, wanted)


def watch(model, names, inputs):
    """Values of the tensors called ``names``, as the CPU provider computes them: {name: array}."""
    watched = onnx.ModelProto()
    watched.CopyFrom(model)
    watched.graph.output.extend(onnx.ValueInfoProto(name=name) for name in dict.fromkeys(names))
    session = ort.InferenceSession(watched.SerializeToString())
    return dict(zip(names, session.run(names, inputs)))


def extract(model, nodes):
    """A serialized model of these nodes, with float32 inputs and all of their outputs."""
    produced = [name for node in nodes for name in node.output]
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    read = list(dict.fromkeys(name for node in nodes for name in node.input))
    graph = onnx.helper.make_graph(
        nodes,
        "part",
        [
            onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
            for name in read
            if name not in constants and name not in produced
        ],
        [onnx.ValueInfoProto(name=name) for name in produced],
        [constants[name] for name in read if name in constants],
    )
    part = onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    return part.SerializeToString()


def test_similar_sentences_are_closer(sessions):
    """Token ids of 'a man is playing a guitar', 'someone plays a guitar' and 'the stock market fell today'."""
    rows = [
        [101, 1037, 2158, 2003, 2652, 1037, 2858, 102],
        [101, 2619, 3248, 1037, 2858, 102, 0, 0],
        [101, 1996, 4518, 3006, 3062, 2651, 102, 0],
    ]
    ids = np.array(rows, np.int64)
    mask = (ids != 0).astype(np.int64)
    tokens = sessions("minilm-fp32")[0].run(
        None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    )[0]
    first, second, third = (tokens * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    assert cosine(first, second) > 0.6
    assert cosine(first, third) < 0.3
