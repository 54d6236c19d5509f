#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small models of onnxruntime's decoder operators with what onnxruntime computes, for unit_onnx.

   write_decoder_cases.py FOLDER
   TENSORSMITH_ONNX_CASES=FOLDER unit_onnx "[onnx_cases]"

The form is that of write_cases.py.
"""
import pathlib
import sys

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

onnxruntime.set_default_logger_severity(4)
random = numpy.random.default_rng(1)
written = 0


def real(*shape):
    return random.uniform(-1, 1, shape).astype(numpy.float32)


def bytes_of(*shape):
    return random.integers(0, 256, shape).astype(numpy.uint8)


def write(name, op, inputs, num_results, constants=(), **attributes):
    """inputs: arrays, None where absent; those whose place is in `constants` become weights."""
    global written
    names = ["" if x is None else f"i{k}" for k, x in enumerate(inputs)]
    fed = {n: x for k, (n, x) in enumerate(zip(names, inputs)) if n and k not in constants}
    graph = helper.make_graph(
        [helper.make_node(op, names, [f"y{k}" for k in range(num_results)],
                          domain="com.microsoft", **attributes)],
        name,
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
         for n, x in fed.items()],
        [helper.make_tensor_value_info(f"y{k}", onnx.TensorProto.FLOAT, None)
         for k in range(num_results)],
        [numpy_helper.from_array(inputs[k], names[k]) for k in constants if inputs[k] is not None])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18),
                                                    helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = 8
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(),
                                               providers=["CPUExecutionProvider"])
        results = session.run(None, fed)
    except Exception as error:  # a form that this version has only for other devices
        print(name, "is not computed:", str(error).splitlines()[0][:150])
        return
    folder = pathlib.Path(sys.argv[1]) / name
    (folder / "test_data_set_0").mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, arrays in (("input", fed.values()), ("output", results)):
        for k, array in enumerate(arrays):
            (folder / "test_data_set_0" / f"{kind}_{k}.pb").write_bytes(
                numpy_helper.from_array(numpy.ascontiguousarray(array)).SerializeToString())
    written += 1


def attention_cases():
    op = "MultiHeadAttention"
    b, s, t, h, d = 2, 3, 5, 2, 4
    q, k, v = real(b, s, h * d), real(b, t, h * d), real(b, t, h * d)
    wide = real(b, t, h * 6)
    lengths = numpy.array([5, 3], numpy.int32)
    seen = numpy.array([[1, 1, 1, 1, 0], [0, 1, 1, 1, 1]], numpy.int32)
    past = real(b, h, 2, d), real(b, h, 2, d)
    write("mha", op, [q, k, v], 1, num_heads=h)
    write("mha_scale", op, [q, k, v], 1, num_heads=h, scale=0.25)
    write("mha_wide_values", op, [q, k, wide], 1, num_heads=h)
    write("mha_bias", op, [q, k, wide, real(2 * h * d + h * 6)], 1, num_heads=h)
    write("mha_lengths", op, [q, k, v, None, lengths], 1, num_heads=h)
    write("mha_keys", op, [q, k, v, None, seen], 1, num_heads=h, mask_filter_value=-100.0)
    write("mha_summand", op, [q, k, v, None, None, real(1, h, s, t)], 1, num_heads=h)
    write("mha_summand_by_batch", op, [q, k, v, None, None, real(b, 1, s, t)], 1, num_heads=h)
    write("mha_causal", op, [q, q, q], 1, num_heads=h, unidirectional=1)
    write("mha_heads_apart", op, [q, real(b, h, t, d), real(b, h, t, d)], 1, num_heads=h)
    write("mha_past", op, [q, q, q, None, None, None, *past], 3, num_heads=h)
    write("mha_past_bias_causal", op, [q, q, q, real(3 * h * d), None, None, *past], 3,
          num_heads=h, unidirectional=1)
    write("mha_past_summand", op, [q, q, q, None, None, real(1, 1, s, s + 2), *past], 3,
          num_heads=h)


def rotary_cases():
    op = "RotaryEmbedding"
    cos, sin = real(9, 4), real(9, 4)
    rows = numpy.array([[0, 3, 8], [2, 1, 0]], numpy.int64)
    first = numpy.array([4], numpy.int64)
    for name, at in (("rows", rows), ("first", first)):
        for interleaved in (0, 1):
            write(f"rotary_{name}_{interleaved}", op, [real(2, 3, 16), at, cos, sin], 1,
                  interleaved=interleaved)
            write(f"rotary_apart_{name}_{interleaved}", op, [real(2, 5, 3, 8), at, cos, sin], 1,
                  interleaved=interleaved)
            write(f"rotary_part_{name}_{interleaved}", op,
                  [real(2, 3, 24), at, real(9, 2), real(9, 2)], 1, interleaved=interleaved,
                  num_heads=3, rotary_embedding_dim=4)


def bits_cases():
    op = "MatMulNBits"
    for bits in (2, 4, 8):
        for k, n, block in ((32, 3, 16), (40, 5, 32), (64, 4, 16), (70, 7, 16), (128, 2, 128)):
            blocks = -(-k // block)
            weights = bytes_of(n, blocks, block * bits // 8)
            scales = real(n, blocks)
            zeros = bytes_of(n, -(-blocks * bits // 8))
            sizes = dict(K=k, N=n, bits=bits, block_size=block)
            for name, more in (("", []), ("_zeros", [zeros]), ("_real_zeros", [real(n, blocks)]),
                               ("_bias", [None, None, real(n)])):
                inputs = [real(2, 3, k), weights, scales, *more]
                write(f"bits{bits}_{k}x{n}x{block}{name}", op, inputs, 1,
                      constants=range(1, len(inputs)), **sizes)
    write("bits4_flat", op, [real(5, 32), bytes_of(3, 2, 8), real(6), bytes_of(3)], 1,
          constants=(1, 2, 3), K=32, N=3, bits=4, block_size=16)


def group_cases():
    op = "GroupQueryAttention"
    b, h, g, d = 2, 4, 2, 32
    sizes = dict(num_heads=h, kv_num_heads=g)
    tables = real(16, d // 2), real(16, d // 2)

    def inputs(s, past, places, total, packed=False, more=(), b=b):
        if packed:
            fresh = [real(b, s, (h + 2 * g) * d), None, None]
        else:
            fresh = [real(b, s, h * d), real(b, s, g * d), real(b, s, g * d)]
        kept = [real(b, g, past, d), real(b, g, past, d)] if past is not None else [None, None]
        return [*fresh, *kept, numpy.array(places, numpy.int32), numpy.array([total], numpy.int32),
                *more]

    def case(name, given, **attributes):
        write("gqa_" + name, op, given, 3, constants=(6,), **sizes, **attributes)

    for packed in (False, True):
        end = "_packed" if packed else ""
        case("prompt" + end, inputs(5, 0, [4, 4], 5, packed))
        case("prompt_rotary" + end, inputs(5, 0, [4, 4], 5, packed, tables), do_rotary=1)
        case("step" + end, inputs(1, 6, [6, 6], 7, packed))
        case("step_rotary" + end, inputs(1, 6, [6, 6], 7, packed, tables), do_rotary=1,
             rotary_interleaved=1)
        case("step_lengths" + end, inputs(1, 6, [6, 3], 7, packed, tables), do_rotary=1)
        case("steps" + end, inputs(3, 4, [6], 7, packed, tables, b=1), do_rotary=1)
    case("window", inputs(6, 0, [5, 5], 6), local_window_size=2)
    case("window_step", inputs(1, 6, [6, 6], 7), local_window_size=3)
    case("cap", inputs(4, 0, [3, 3], 4), softcap=0.5)
    case("scale", inputs(4, 0, [3, 3], 4), scale=0.1)
    case("part", inputs(4, 0, [3, 3], 4, more=(real(16, 8), real(16, 8))), do_rotary=1)
    places = numpy.array([[3, 1, 0, 2], [5, 6, 7, 8]], numpy.int64)
    case("positions", inputs(4, 0, [3, 3], 4, more=(*tables, places)), do_rotary=1)
    case("summand", inputs(4, 0, [3, 3], 4, more=(None, None, None, real(b, h, 4, 4))))
    case("summand_step", inputs(1, 3, [3, 3], 4, more=(None, None, None, real(1, 1, 1, 4))))
    case("cap_summand", inputs(4, 0, [3, 3], 4, more=(None, None, None, real(b, 1, 4, 4))),
         softcap=0.5)


attention_cases()
rotary_cases()
bits_cases()
group_cases()
print(written, "cases of onnxruntime", onnxruntime.__version__)
