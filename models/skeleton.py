"""Cuts a model down to what a provider decides by: the graph that onnxruntime offers it, without large weights.

python -m models.skeleton NAME... writes ep/tests/graphs/NAME.onnx. Initializers of more than 64 elements keep type and
shape and lose their contents.
"""

import sys
import tempfile
from pathlib import Path

import onnx
import onnxruntime
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

from models.zoo import Zoo

LARGEST = 64
FOLDER = Path(__file__).resolve().parent.parent / "ep" / "tests" / "graphs"


def offered_graph(path, folder):
    """The model after onnxruntime's basic optimisations, which come before providers are asked."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(Path(folder) / "offered.onnx")
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return onnx.load(options.optimized_model_filepath)


def strip(model):
    for tensor in model.graph.initializer:
        elements = 1
        for dim in tensor.dims:
            elements *= dim
        if elements > LARGEST:
            for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
                tensor.ClearField(field)
    return model


def note_versions(model):
    """Writes into each node since which version its operator means what it means; providers are told that too."""
    opsets = {opset.domain: opset.version for opset in model.opset_import}
    for node in model.graph.node:
        version = 1
        if node.domain in ("", "ai.onnx"):
            version = onnx.defs.get_schema(node.op_type, opsets[node.domain], "").since_version
        node.metadata_props.add(key="since_version", value=str(version))
    return model


def main():
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            model = offered_graph(Zoo().need(name), folder)
        # onnxruntime knows all types when it asks; the file it saves need not tell them
        model = note_versions(strip(SymbolicShapeInference.infer_shapes(model, auto_merge=True)))
        onnx.save(model, FOLDER / f"{name}.onnx")
        print(f"{FOLDER / name}.onnx  {model.ByteSize() / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
