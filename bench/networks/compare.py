#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times networks beside onnxruntime (and OpenVINO, if there is one), in turns.

   compare.py TENSORSMITH MODEL.onnx... [--threads N] [--rounds N] [--seconds N] [--journals FOLDER]
              [--dim NAME=SIZE] [--json FILE]

TENSORSMITH is the program. Without --seconds networks run with what the analytic model puts first; with it they are
tuned before, under that budget each. Journals in FOLDER are kept, and what they hold counts. A ratio above 1 says that
ours is faster. Needs the wheels numpy and onnxruntime; openvino is optional.
"""
import argparse
import json
import math
import pathlib
import subprocess
import tempfile
import time

import numpy
import onnxruntime

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("tensorsmith")
parser.add_argument("models", nargs="+")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--seconds", type=float, default=0)
parser.add_argument("--journals")
parser.add_argument("--dim", action="append", default=[])
parser.add_argument("--json")
options = parser.parse_args()
dims = dict(text.rsplit("=", 1) for text in options.dim)


def ours(command, model, *more):
    words = [options.tensorsmith, "network", command, model, "--json", "--threads", str(options.threads)]
    for text in options.dim:
        words += ["--dim", text]
    out = subprocess.run(words + list(more), check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def least(run):
    """Seconds of the fastest of the calls of one second."""
    run()
    best, begin = math.inf, time.perf_counter()
    while time.perf_counter() - begin < 1:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def onnxruntime_runner(model):
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
    random = numpy.random.default_rng(1)
    inputs = {}
    for given in session.get_inputs():
        shape = [int(dims.get(extent, 1)) if isinstance(extent, str) else extent for extent in given.shape]
        inputs[given.name] = random.standard_normal(shape).astype(numpy.float32)
    return lambda: session.run(None, inputs), inputs


def openvino_runner(model, inputs):
    try:
        import openvino
    except ImportError:
        return None
    core = openvino.Core()
    # Otherwise it computes in bf16 where the processor can.
    core.set_property("CPU", {"INFERENCE_NUM_THREADS": options.threads, "INFERENCE_PRECISION_HINT": "f32"})
    request = core.compile_model(core.read_model(model), "CPU").create_infer_request()
    return lambda: request.infer(inputs)


report, ratios = [], []
for model in options.models:
    with tempfile.TemporaryDirectory() as folder:
        name = f"{pathlib.Path(model).stem}-{options.threads}.jsonl"
        journal = ["--db", str(pathlib.Path(options.journals or folder) / name)]
        if options.seconds > 0:
            ours("tune", model, "--seconds", str(options.seconds), *journal)
        peers = {}
        peers["onnxruntime"], inputs = onnxruntime_runner(model)
        runner = openvino_runner(model, inputs)
        if runner is not None:
            peers["openvino"] = runner
        own, times = [], {name: [] for name in peers}
        for _ in range(options.rounds):
            own.append(ours("bench", model, "--rounds", "1000000", "--seconds", "1", *journal)["best_ns"] * 1e-9)
            for name, run in peers.items():
                times[name].append(least(run))
        row = {"model": model, "threads": options.threads, "seconds": options.seconds, "ours_ms": 1e3 * min(own)}
        best = math.inf
        for name, each in times.items():
            row[name + "_ms"] = 1e3 * min(each)
            row[name + "_ratio"] = float(numpy.median([t / o for t, o in zip(each, own)]))
            best = min(best, row[name + "_ratio"])
        row["ratio"] = best
        ratios.append(best)
        report.append(row)
        print(json.dumps(row), flush=True)
print("geomean", math.exp(sum(map(math.log, ratios)) / len(ratios)), "least", min(ratios))
if options.json:
    with open(options.json, "w") as file:
        json.dump({"onnxruntime": onnxruntime.__version__, "networks": report}, file, indent=2)
