#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what onnxruntime computes of the models in a folder, for tests/data/onnx.

   record_outputs.py FOLDER    beside every X.onnx: X.input and X.output, raw float32

Needs the wheels onnx, onnxruntime and numpy; the library itself needs none of them. Every model is
checked by onnx as well: its checker and its shape inference, strictly.
"""
import pathlib
import sys

import numpy
import onnx
import onnxruntime

print("onnx", onnx.__version__, "onnxruntime", onnxruntime.__version__, "numpy", numpy.__version__)
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.onnx")):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    sizes = {"batch": 2, "seq": 6}
    given = session.get_inputs()[0]
    shape = [sizes.get(extent, extent) for extent in given.shape]
    data = numpy.random.default_rng(1).standard_normal(shape).astype(numpy.float32)
    (result,) = session.run(None, {given.name: data})
    path.with_suffix(".input").write_bytes(data.tobytes())
    path.with_suffix(".output").write_bytes(result.astype(numpy.float32).tobytes())
    print(path.name, shape, list(result.shape), float(numpy.abs(result).max()))
