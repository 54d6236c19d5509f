// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/gpu_tensor_tile.hpp"

#include "backend/warp_products.hpp"
#include "support/catch.hpp"
#include "tensorsmith/cost/gpu_latency.hpp"
#include "tensorsmith/lower/lower.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

struct Lowered {
  LoopProgram program;
  GpuKernelTime kernel;
};

/// 512 x 512 x 512 by warps; with the instruction, or as the loops that it stands for.
Lowered on_board(const char* workload, const TensorIntrinsic& intrinsic, bool has_it,
                 const char* board = "a100") {
  const Target target = Target::from_name(board).value();
  const auto parsed = ops::parse_workload(workload);
  REQUIRE(parsed);
  const State state = warp_tiled(parsed->dag, intrinsic, {2, 2, 4, 4, 2});
  auto program = lower(state, target);
  REQUIRE(program);
  for (Stmt& stmt : program->stmts) {
    if (For* loop = std::get_if<For>(&stmt); loop != nullptr && !has_it) {
      loop->intrinsic = nullptr;
    }
  }
  const auto latency = gpu_latency(*program, target);
  REQUIRE(latency);
  REQUIRE(latency->kernels.size() == 1);
  return {std::move(*program), latency->kernels[0]};
}

}  // namespace

TEST_CASE("tensor cores do the products of a loop that carries their instruction") {
  const Lowered with = on_board("gemm:512x512x512:bf16,tb", mma_m16n8k16_bf16, true);
  const Lowered without = on_board("gemm:512x512x512:bf16,tb", mma_m16n8k16_bf16, false);
  const GpuWork& work = with.kernel.work;
  const double lanes = static_cast<double>(work.num_blocks * work.num_threads);
  CHECK(work.tensor == 512.0 * 512.0 * 512.0 / lanes);
  CHECK(without.kernel.work.tensor == 0);
  CHECK(work.f32 < 0.01 * without.kernel.work.f32);
  CHECK(work.instructions < 0.2 * without.kernel.work.instructions);
  CHECK(with.kernel.arithmetic_ns < 0.2 * without.kernel.arithmetic_ns);
}

TEST_CASE("wider operands take tensor cores longer, in proportion") {
  const Lowered narrow = on_board("gemm:512x512x512:i8,tb", mma_m16n8k32_s8, true);
  const Lowered wide = on_board("gemm:512x512x512:f32,tb", mma_m16n8k8_tf32, true);
  CHECK(wide.kernel.work.tensor == 4 * narrow.kernel.work.tensor);
}

TEST_CASE("fragments are loaded once per tile of a warp") {
  const Lowered with = on_board("gemm:512x512x512:bf16,tb", mma_m16n8k16_bf16, true);
  for (const Stmt& stmt : with.program.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    const auto tile = loop == nullptr ? std::nullopt : gpu_tensor_tile(with.program, *loop);
    if (tile) {
      CHECK(tile->products == 16.0 * 4 * 4 * 4);  // k, tiles, accumulators of a lane
      CHECK(tile->instructions == 16.0 + 4 + 4);  // products, fragments of a and of b
      CHECK(tile->shared_passes == 4 * 4.0 + 2 * 4);
      return;
    }
  }
  FAIL("no loop with an intrinsic");
}

TEST_CASE("registers that are put together from bytes take more instructions and passes") {
  const GpuWork whole = on_board("gemm:512x512x512:i8,tb", mma_m16n8k32_s8, true).kernel.work;
  const GpuWork gathered = on_board("gemm:512x512x512:i8", mma_m16n8k32_s8, true).kernel.work;
  CHECK(gathered.tensor == whole.tensor);
  CHECK(gathered.instructions > 1.3 * whole.instructions);
  // Two bytes are exchanged by the load itself.
  const GpuWork rows = on_board("gemm:512x512x512:bf16,tb", mma_m16n8k16_bf16, true).kernel.work;
  const GpuWork turned = on_board("gemm:512x512x512:bf16", mma_m16n8k16_bf16, true).kernel.work;
  CHECK(turned.instructions < 1.2 * rows.instructions);
}

TEST_CASE("instructions of one warp reach a part of Hopper's tensor cores") {
  const GpuWork a100 = on_board("gemm:512x512x512:bf16,tb", mma_m16n8k16_bf16, true).kernel.work;
  const GpuWork h100 =
      on_board("gemm:512x512x512:bf16,tb", mma_m16n8k16_bf16, true, "h100").kernel.work;
  CHECK(h100.tensor == Approx(a100.tensor / 0.63));
}
