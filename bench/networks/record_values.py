#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records every value that onnxruntime computes in a model, for tensorsmith network bisect --against.

   record_values.py MODEL.onnx FILE.onnx [--dim NAME=SIZE] [--input NAME=VALUE]

FILE is an ONNX model without nodes: its initializers are the random inputs and all values. Sizes of
dimensions and values of inputs are those that are given to network bisect. Needs the wheels onnx,
onnxruntime and numpy. The optimizer of onnxruntime is off, so that values are those of the nodes.
"""
import argparse

import numpy
import onnx
import onnxruntime

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("model")
parser.add_argument("file")
parser.add_argument("--dim", action="append", default=[])
parser.add_argument("--input", action="append", default=[])
options = parser.parse_args()
dims = {name: int(size) for name, size in (text.rsplit("=", 1) for text in options.dim)}
fixed = {name: float(value) for name, value in (text.rsplit("=", 1) for text in options.input)}

model = onnx.load(options.model)
known = {output.name for output in model.graph.output}
for node in model.graph.node:
    for name in node.output:
        if name and name not in known:
            known.add(name)
            model.graph.output.append(onnx.ValueInfoProto(name=name))
settings = onnxruntime.SessionOptions()
settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
types = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(float16)": numpy.float16}
random = numpy.random.default_rng(1)
inputs = {}
for given in session.get_inputs():
    shape = [dims.get(extent, dims.get(f"{given.name}:{axis}", 1)) if not isinstance(extent, int) else extent
             for axis, extent in enumerate(given.shape)]
    kind = types.get(given.type)
    if given.name in fixed:
        inputs[given.name] = numpy.full(shape, fixed[given.name], kind or numpy.int64)
    elif kind is not None:
        inputs[given.name] = random.uniform(-1, 1, shape).astype(kind)
    else:
        whole = {"tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_}.get(given.type, numpy.int64)
        inputs[given.name] = numpy.zeros(shape, whole)
values = dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs)))
tensors = [onnx.numpy_helper.from_array(numpy.asarray(value, order="C"), name)
           for name, value in (inputs | values).items() if isinstance(value, numpy.ndarray)]
graph = onnx.helper.make_graph([], "recorded", [], [], initializer=tensors)
onnx.save(onnx.helper.make_model(graph), options.file)
print(f"{options.file}: {len(inputs)} inputs, {len(tensors) - len(inputs)} values")
