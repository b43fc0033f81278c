"""A small writer of ONNX graphs for the model builders."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

MICROSOFT = "com.microsoft"


class Graph:
    """Collects nodes, initializers, inputs and outputs. Methods return the name of what they add."""

    def __init__(self):
        self.nodes, self.initializers, self.inputs, self.outputs = [], {}, [], []

    def const(self, name, value):
        """Initializer ``name``; a second call with the same name adds nothing."""
        if name not in self.initializers:
            # np.array keeps a scalar 0-D, which ascontiguousarray would not
            self.initializers[name] = numpy_helper.from_array(np.array(value, order="C"), name)
        return name

    def i64(self, value):
        """An int64 constant that is named after its value."""
        return self.const(f"int64/{value}", np.array(value, np.int64))

    def f32(self, name, value):
        return self.const(name, np.array(value, np.float32))

    def op(self, op_type, *inputs, out=None, name=None, domain="", **attributes):
        """A node. ``out`` is the name of its output, or a list of several; what is not given is made up.

        Returns the name, or the list when a list was given.
        """
        name = name or f"{op_type}_{len(self.nodes)}"
        outputs = out if isinstance(out, list) else [out or f"{name}/output_0"]
        self.nodes.append(helper.make_node(op_type, list(inputs), outputs, name=name, domain=domain, **attributes))
        return out if isinstance(out, list) else outputs[0]

    def contrib(self, op_type, *inputs, **keywords):
        """A node of the domain com.microsoft."""
        return self.op(op_type, *inputs, domain=MICROSOFT, **keywords)

    def input(self, name, element_type, shape):
        self.inputs.append(helper.make_tensor_value_info(name, element_type, shape))
        return name

    def output(self, name, element_type, shape):
        self.outputs.append(helper.make_tensor_value_info(name, element_type, shape))
        return name

    def save(self, path, opset, ir_version):
        initializers = list(self.initializers.values())
        graph = helper.make_graph(self.nodes, "main_graph", self.inputs, self.outputs, initializers)
        domains = sorted({node.domain for node in self.nodes} | {""})
        opsets = [helper.make_opsetid(domain, opset if domain == "" else 1) for domain in domains]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)
        onnx.save(model, path)
