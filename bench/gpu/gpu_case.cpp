// SPDX-License-Identifier: Apache-2.0
// requires: cuda json
#include "bench/gpu/gpu_case.hpp"

#include <cstdio>
#include <numeric>

#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_gpu_rules.hpp"

namespace tensorsmith::bench {
namespace {

GpuPart parse_part(const std::string& text, std::vector<std::size_t> arguments) {
  auto parsed = ops::parse_workload(text);
  if (!parsed) {
    throw Error(parsed.error());
  }
  GpuPart part{text, std::move(*parsed), std::move(arguments)};
  if (part.arguments.empty()) {
    part.arguments.resize(part.workload.dag->arguments().size());
    std::iota(part.arguments.begin(), part.arguments.end(), std::size_t{0});
  }
  return part;
}

}  // namespace

double GpuCase::flop() const {
  double sum = 0;
  for (const GpuPart& part : parts) {
    sum += part.workload.nominal_flop;
  }
  return sum;
}

GpuCase parse_case(const std::string& text, bool is_tf32) {
  GpuCase one{text, {}, 0, is_tf32};
  long long heads = 0, tokens = 0, width = 0;
  int end = 0;
  if (text.starts_with("attention:")) {
    if (std::sscanf(text.c_str(), "attention:%lldx%lldx%lld%n", &heads, &tokens, &width, &end) !=
            3 ||
        static_cast<std::size_t>(end) != text.size() || heads < 1 || tokens < 1 || width < 1) {
      throw Error("workload \"" + text + "\": expected attention:BxMxD with positive numbers");
    }
    const std::string b = std::to_string(heads), m = std::to_string(tokens),
                      d = std::to_string(width);
    one.parts.push_back(
        parse_part("bmm:" + b + "x" + m + "x" + m + "x" + d + ":f32,tb", {0, 1, 2}));
    one.parts.push_back(parse_part("softmax:" + std::to_string(heads * tokens) + "x" + m, {2, 3}));
    one.parts.push_back(parse_part("bmm:" + b + "x" + m + "x" + d + "x" + m + ":f32", {3, 4, 5}));
  } else {
    one.parts.push_back(parse_part(text, {}));
  }
  one.num_buffers = one.parts.back().arguments.back() + 1;
  const auto* product = std::get_if<ops::GemmParams>(&one.parts.front().workload.params);
  if (is_tf32 && (one.parts.size() > 1 || product == nullptr || product->dtype != DType::f32)) {
    throw Error("workload \"" + text + "\": TF32 is for products of f32");
  }
  return one;
}

std::vector<State> tf32_sketches(const Shared<const ComputeDag>& dag,
                                 const SketchOptions& options) {
  SketchOptions with = options;
  with.intrinsics.push_back(&mma_m16n8k8_tf32);
  return generate_sketches(dag, native_gpu_rules(), with);
}

OutputTolerance tf32_tolerance(std::int64_t length) {
  OutputTolerance tolerance = tolerance_for(DType::f32, DType::f32, length);
  tolerance.relative += 0x1.0p-9;
  tolerance.of_rms += 4 * 0x1.0p-10;
  return tolerance;
}

Result<Done, MeasureFault> Tf32Measurer::prepare(const MeasureTask& task) {
  MeasureTask rounded = task;
  for (KernelArgument& argument : rounded.arguments) {
    if (argument.is_output) {
      argument.tolerance = tf32_tolerance(length_);
      argument.hard.clear();  // their bounds are those of products of whole factors
    }
  }
  return measurer_.prepare(rounded);
}

}  // namespace tensorsmith::bench
