// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ops/gemm.hpp"

#include "unit/ops/naive.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("gemm equals naive loops for all transposes and epilogues", "[ops]") {
  for (int bits = 0; bits < 32; ++bits) {
    ops::GemmParams p;
    p.m = 5;
    p.n = 7;
    p.k = 3;
    p.transpose_a = (bits & 1) != 0;
    p.transpose_b = (bits & 2) != 0;
    p.bias = (bits & 4) != 0;
    p.activation = (bits & 8) != 0 ? ops::Activation::relu : ops::Activation::none;
    p.add = (bits & 16) != 0;
    const ops::Workload workload = ops::gemm(p);
    INFO(workload.name);
    const Run result = run(workload);
    CHECK(result.shape == std::vector<std::int64_t>{5, 7});
    check_equal(result.output, naive_gemm(p, result.inputs));
    CHECK(workload.nominal_flop == 2.0 * 5 * 7 * 3);
    CHECK(workload.reduction_length == 3);
  }
}

TEST_CASE("batched gemm equals naive loops", "[ops]") {
  for (int bits = 0; bits < 4; ++bits) {
    ops::GemmParams p;
    p.is_batched = true;
    p.batch = 3;
    p.m = 2;
    p.n = 5;
    p.k = 4;
    p.transpose_a = (bits & 1) != 0;
    p.transpose_b = (bits & 2) != 0;
    p.bias = true;
    p.add = bits == 3;
    const Run result = run(ops::gemm(p));
    CHECK(result.shape == std::vector<std::int64_t>{3, 2, 5});
    check_equal(result.output, naive_gemm(p, result.inputs));
  }
}

TEST_CASE("gemm with a layernorm of its rows equals naive loops", "[ops]") {
  for (int bits = 0; bits < 8; ++bits) {
    ops::GemmParams p;
    p.is_batched = bits >= 4;
    p.batch = p.is_batched ? 2 : 1;
    p.m = 3;
    p.n = 11;
    p.k = 4;
    p.layernorm = true;
    p.bias = (bits & 1) != 0;
    p.add = (bits & 2) != 0;
    const ops::Workload workload = ops::gemm(p);
    INFO(workload.name);
    const Run result = run(workload);
    CHECK(result.inputs.size() == 4u + (p.bias ? 1u : 0u) + (p.add ? 1u : 0u));
    check_equal(result.output, naive_gemm(p, result.inputs), 1e-4);
    CHECK(workload.reduction_length == 11);
  }
}

TEST_CASE("gemm with gelu", "[ops]") {
  ops::GemmParams p;
  p.m = 4;
  p.n = 6;
  p.k = 2;
  p.bias = true;
  p.activation = ops::Activation::gelu;
  const Run result = run(ops::gemm(p));
  check_equal(result.output, naive_gemm(p, result.inputs), 1e-5);
}

TEST_CASE("narrow types are summed up in a wider one", "[ops]") {
  const std::pair<DType, DType> cases[] = {{DType::i8, DType::i32},
                                           {DType::u8, DType::i32},
                                           {DType::f16, DType::f32},
                                           {DType::bf16, DType::f32},
                                           {DType::f64, DType::f64}};
  for (const auto& [in, out] : cases) {
    ops::GemmParams p;
    p.m = 3;
    p.n = 4;
    p.k = 5;
    p.dtype = in;
    const ops::Workload workload = ops::gemm(p);
    CHECK(workload.dag->tensor(workload.dag->arguments()[2]).dtype == out);
    const Run result = run(workload);
    check_equal(result.output, naive_gemm(p, result.inputs));
  }
}

TEST_CASE("gemm refuses what it cannot be", "[ops]") {
  ops::GemmParams p;
  p.k = 0;
  CHECK_THROWS_WITH(ops::gemm(p), "ops::gemm: expected a positive k, got 0");
  p.k = 1;
  p.batch = 2;
  CHECK_THROWS_AS(ops::gemm(p), Error);
  p.batch = 1;
  p.dtype = DType::i32;
  p.activation = ops::Activation::gelu;
  CHECK_THROWS_AS(ops::gemm(p), Error);
  p.activation = ops::Activation::none;
  p.layernorm = true;
  CHECK_THROWS_WITH(ops::gemm(p), "ops::gemm: expected a float type with layernorm, got i32");
}

TEST_CASE("packed weights are layout-free", "[ops]") {
  ops::GemmParams p;
  p.packing = ops::PackingClass::packed_weights;
  const ops::Workload workload = ops::gemm(p);
  CHECK(workload.dag->operation(2).attrs.layout_free_placeholders == std::vector<std::string>{"B"});
  CHECK(ops::letter_of(workload.packing) == 'b');
}
