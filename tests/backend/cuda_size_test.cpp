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

TEST_CASE("numbers of blocks that are divided again leave indices in 32 bits", "[cuda_source]") {
  const auto index_type = [](std::int64_t rows) {
    GpuBuild b;
    constexpr std::int64_t columns = std::int64_t{1} << 20;
    const BufferId x = b.arg("x", {rows, columns}, DType::f32);
    const VarId block = b.var("b"), t = b.var("t");
    const ExprId row = b.p.pool.floordiv(b.v(block), b.n(1024));
    const ExprId column = b.add(b.mul(b.p.pool.floormod(b.v(block), b.n(1024)), b.n(1024)), b.v(t));
    const StmtId body = b.store(x, {row, column}, b.c(1, DType::f32));
    b.p.body =
        b.loop(block, rows * 1024, b.loop(t, 1024, body, ForKind::thread_x), ForKind::block_x);
    const auto source = cuda_source(b.p, *Target::cuda(80));
    REQUIRE(source.has_value());
    return source->text.find("const int block_x") != std::string::npos ? "int" : "long long";
  };
  CHECK(index_type(1024) == std::string("int"));        // 2^30 elements
  CHECK(index_type(4096) == std::string("long long"));  // 2^32
}
