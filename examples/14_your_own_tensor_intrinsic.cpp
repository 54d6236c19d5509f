// SPDX-License-Identifier: Apache-2.0
// Lesson 14: teach the search an instruction.
//
// A tensor intrinsic is a description: which loops the instruction covers, the types of its
// operands, what code generation writes, and which targets have it. Nothing else has to know it:
// the loops stay in the program as its meaning, so the interpreter, the checks and machines without
// the instruction go on as before. This one multiplies four unsigned by four signed bytes per lane
// and adds the products to an i32. Read docs/decisions/0008-tensor-intrinsics.md for the rest.
// requires: llvm json
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/ir/tensor_intrinsic.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/te/program.hpp"
#include "tensorsmith/tensorsmith.hpp"

namespace ts = tensorsmith;

static void require(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
  }
}

// acc[j] = acc[j] + sum over g < 4 of i32(a[g]) * i32(b[g, j]), j over the lanes of a vector.
static constexpr ts::TensorIntrinsic dot4{
    .name = "dot4",
    .a = ts::DType::u8,
    .b = ts::DType::i8,
    .accumulator = ts::DType::i32,
    .k = 4,
    // What LLVM calls it, by the number of lanes: (accumulators, a, b) -> accumulators.
    .dots = {{{16, "llvm.x86.avx512.vpdpbusd.512"},
              {8, "llvm.x86.avx512.vpdpbusd.256"},
              {4, "llvm.x86.avx512.vpdpbusd.128"}}},
    .is_available = [](const ts::Target& target) {
      return target.has_int8_dot && target.has_masks;
    }};

int main() {
  // C[i, j] = sum over k of A[i, k] * B[k, j], bytes into i32.
  ts::te::Program p;
  auto a = p.placeholder("A", {64, 96}, ts::DType::u8);
  auto b = p.placeholder("B", {96, 64}, ts::DType::i8);
  auto k = p.reduce_axis("k", 96);
  auto c = p.compute("C", {64, 64}, [&](auto i, auto j) {
    return ts::te::sum(
        ts::te::cast(ts::DType::i32, a(i, k)) * ts::te::cast(ts::DType::i32, b(k, j)), {k});
  });

  // A target may carry descriptions of yours; they come before the known ones.
  ts::Target target = ts::host_target();
  target.intrinsics.push_back(&dot4);
  const bool has_it = dot4.is_available(target);

  const ts::TuneTask task{p.dag({a, b, c}), target, "bytes:64x64x96", 2.0 * 64 * 64 * 96};
  ts::TuneOptions options;
  options.budget = {0, 24};
  const ts::TuneResult result = ts::tune(task, options);
  require(result.has_best(), "a candidate is right and measured");
  std::printf("%s\n", result.explain().c_str());

  // The loops that the instruction computes, where this machine has it.
  const auto loops = ts::lower(result.state(), target);
  require(loops.has_value(), "its state can be lowered");
  const bool is_used = ts::to_text(*loops).find(" as dot4") != std::string::npos;
  require(is_used == has_it, "the search uses the instruction exactly where there is one");

  // The same schedule for a machine without it: the same loops, one product after the other.
  const auto plain = ts::lower(result.state(), ts::Target::x86_64_v2());
  require(plain.has_value(), "it can be lowered for any machine");
  require(ts::to_text(*plain).find(" as dot4") == std::string::npos, "without the instruction");
  std::printf("this machine %s the instruction; best %.1f us\n", has_it ? "has" : "does not have",
              result.summary.best_ns / 1e3);
}
