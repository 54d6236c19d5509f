// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ops/requantize.hpp"

#include "tensorsmith/ops/workload.hpp"
#include "unit/ops/naive.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// How many of the exact sums lie halfway between two whole numbers.
std::size_t num_halves(const Values& sums, const Values& scale, double zero_point) {
  std::size_t halves = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double exact = sums[i] * scale[i % scale.size()] + zero_point;
    halves += exact - std::floor(exact) == 0.5 ? 1 : 0;
  }
  return halves;
}

}  // namespace

TEST_CASE("requantized products equal naive loops, halves to even", "[ops]") {
  std::size_t halves = 0, clamped = 0;
  for (int bits = 0; bits < 32; ++bits) {
    ops::GemmParams p;
    p.is_batched = (bits & 1) != 0;
    p.batch = p.is_batched ? 2 : 1;
    p.m = 5;
    p.n = 7;
    p.k = 9;
    p.dtype = (bits & 2) != 0 ? DType::u8 : DType::i8;
    p.weights = (bits & 4) != 0 ? ops::ByteType::i8 : ops::ByteType::u8;
    p.bias = (bits & 8) != 0;
    p.activation = (bits & 16) != 0 ? ops::Activation::relu : ops::Activation::none;
    p.requant = (bits & 12) != 0 ? ops::ByteType::u8 : ops::ByteType::i8;
    const ops::Workload workload = ops::gemm(p);
    INFO(workload.name);
    const ComputeDag& dag = *workload.dag;
    CHECK(dag.tensor(dag.arguments()[1]).dtype == ops::dtype_of(p.weights, p.dtype));
    CHECK(dag.tensor(dag.arguments().back()).dtype == ops::dtype_of(p.requant, p.dtype));
    const Run result = run(workload, 0.125);
    REQUIRE(result.inputs.size() == (p.bias ? 5u : 4u));
    check_equal(result.output, naive_gemm(p, result.inputs));
    ops::GemmParams sum = p;
    sum.requant = ops::ByteType::none;
    const Values sums = naive_gemm(sum, result.inputs);
    halves += num_halves(sums, result.inputs[result.inputs.size() - 2], result.inputs.back()[0]);
    const double high = p.requant == ops::ByteType::u8 ? 255 : 127;
    for (double value : result.output) {
      clamped += value == high || value == high - 255 ? 1 : 0;
    }
  }
  CHECK(halves > 20);
  CHECK(clamped > 20);
}

TEST_CASE("requantized convolutions equal naive loops in both layouts", "[ops]") {
  for (ops::Layout layout : {ops::Layout::nhwc, ops::Layout::nchw}) {
    for (ops::ByteType type : {ops::ByteType::u8, ops::ByteType::i8}) {
      ops::ConvParams p;
      p.ci = 3;
      p.co = 5;
      p.spatial = {6, 7, 1};
      p.kernel = {3, 3, 1};
      p.pad = {1, 1, 0};
      p.layout = layout;
      p.dtype = DType::u8;
      p.weights = ops::ByteType::i8;
      p.bias = true;
      p.add = type == ops::ByteType::u8;
      p.requant = type;
      const ops::Workload workload = ops::conv(p);
      INFO(workload.name);
      const Run result = run(workload, 0.0625);
      check_equal(result.output, naive_conv(p, result.inputs));
      CHECK(workload.dag->tensor(workload.dag->arguments().back()).dtype ==
            ops::dtype_of(type, p.dtype));
    }
  }
}

TEST_CASE("requantization wants 8-bit operands", "[ops]") {
  ops::GemmParams p;
  p.requant = ops::ByteType::u8;
  CHECK_THROWS_WITH(ops::gemm(p),
                    "ops::gemm: expected 8-bit operands of a requantized result, got f32");
  p.dtype = DType::i32;
  CHECK_THROWS_AS(ops::gemm(p), Error);
  ops::ConvParams c;
  c.weights = ops::ByteType::i8;
  CHECK_THROWS_WITH(ops::conv(c), "ops::conv: expected 8-bit operands with 8-bit weights, got f32");
}

TEST_CASE("strings of low-precision workloads", "[ops]") {
  const auto canonical = [](const char* text) {
    const auto parsed = ops::parse_workload(text);
    INFO(text << ": " << (parsed ? "" : parsed.error()));
    REQUIRE(parsed.has_value());
    return parsed->name;
  };
  CHECK(canonical("gemm:3x5x7:u8,requant=i8,packed,tb,weights=i8,bias") ==
        "gemm:3x5x7:u8,weights=i8,tb,bias,requant=i8,packed");
  CHECK(canonical("bmm:2x3x5x7:i8,weights=i8,requant=u8") == "bmm:2x3x5x7:i8,requant=u8");
  CHECK(canonical("conv2d:h=9,w=8,ci=4,co=6,k=3,requant=u8,weights=i8,dtype=u8,relu") ==
        "conv2d:n=1,h=9,w=8,ci=4,co=6,k=3,s=1,p=0,dtype=u8,weights=i8,relu,requant=u8");
}
