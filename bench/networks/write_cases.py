#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the node tests of the wheel onnx as files, for unit_onnx.

   write_cases.py FOLDER
   TENSORSMITH_ONNX_CASES=FOLDER unit_onnx "[onnx_cases]"

One folder per test with model.onnx and test_data_set_0/input_N.pb, output_N.pb.
"""
import pathlib
import sys

import numpy
import onnx
from onnx.backend.test.case.node import collect_testcases

written = 0
for case in collect_testcases(None):
    if case.model is None:
        continue
    tensors = {}
    try:
        for kind, arrays in zip(("input", "output"), case.data_sets[0]):
            for i, array in enumerate(arrays):
                is_tensor = isinstance(array, onnx.TensorProto)
                tensor = array if is_tensor else onnx.numpy_helper.from_array(numpy.asarray(array))
                tensors[f"{kind}_{i}.pb"] = tensor.SerializeToString()
    except Exception:  # sequences and optional values are no tensors
        continue
    folder = pathlib.Path(sys.argv[1]) / case.name
    (folder / "test_data_set_0").mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for name, data in tensors.items():
        (folder / "test_data_set_0" / name).write_bytes(data)
    written += 1
print(written, "cases of onnx", onnx.__version__)
