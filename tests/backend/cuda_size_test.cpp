// SPDX-License-Identifier: Apache-2.0
// The size of a CUDA text once it is unrolled: what decides how long its compilation takes.
#include "backend/gpu_programs.hpp"
#include "support/catch.hpp"
#include "tensorsmith/codegen/cuda_source.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

CudaLaunch only_launch(const GpuCase& example) {
  const auto source = cuda_source(example.program, *Target::cuda(80));
  REQUIRE(source.has_value());
  REQUIRE(source->launches.size() == 1);
  return source->launches[0];
}

/// One thread that stores `count` elements, in a loop that is unrolled or not.
GpuCase filling_case(std::int64_t count, ForKind kind) {
  GpuBuild plain, b;
  const BufferId x = b.arg("x", {32, count}, DType::f32);
  const VarId t = b.var("t"), i = b.var("i");
  const StmtId body = b.store(x, {b.v(t), b.v(i)}, b.load(x, {b.v(t), b.v(i)}));
  b.p.body = b.loop(t, 32, b.loop(i, count, body, kind), ForKind::thread_x);
  return {"filling", std::move(b.p), std::move(plain.p), 0.0};
}

}  // namespace

TEST_CASE("stores are counted as often as their loops are unrolled", "[cuda_source]") {
  CHECK(only_launch(filling_case(7, ForKind::unrolled)).num_stores == 7);
  CHECK(only_launch(filling_case(700, ForKind::unrolled)).num_stores == 700);
  CHECK(only_launch(filling_case(4, ForKind::vectorized)).num_stores == 4);
  CHECK(only_launch(filling_case(64, ForKind::vectorized)).num_stores == 64);
  // Serial loops are unrolled up to 128 stores, beyond that by a power of two.
  CHECK(only_launch(filling_case(100, ForKind::serial)).num_stores == 100);
  CHECK(only_launch(filling_case(1000, ForKind::serial)).num_stores == 8);
}

TEST_CASE("a text that would be unrolled very far is not worth compiling", "[cuda_source]") {
  CHECK(compiles_soon(only_launch(filling_case(512, ForKind::unrolled))));
  CHECK_FALSE(compiles_soon(only_launch(filling_case(513, ForKind::unrolled))));
}
