// SPDX-License-Identifier: Apache-2.0
// Tensor-core instructions through NVRTC; without NVRTC the test is skipped.
#include "backend/cpp_source_fixture.hpp"
#include "backend/warp_products.hpp"
#include "tensorsmith/codegen/cuda_source.hpp"
#include "tensorsmith/codegen/nvrtc.hpp"
#include "tensorsmith/lower/lower.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("warps' products compile for two architectures without spills", "[nvrtc]") {
  const auto compiler = NvrtcCompiler::open();
  if (!compiler) {
    skip(compiler.error());
    return;
  }
  for (const WarpProduct& product : warp_products) {
    const auto workload = ops::parse_workload(product.workload);
    REQUIRE(workload);
    const State state = warp_tiled(workload->dag, *product.intrinsic, product.tiles);
    for (const std::int32_t capability : {80, 90}) {
      const Target target = Target::cuda(capability).value();
      const auto program = lower(state, target);
      REQUIRE(program);
      const auto source = cuda_source(*program, target);
      REQUIRE(source);
      const auto cubin = compiler->compile({source->text, nvrtc_architecture(*target.gpu)});
      INFO(source->text << (cubin ? "" : cubin.error()));
      REQUIRE(cubin);
      REQUIRE(cubin->kernels.size() == 1);
      CHECK(cubin->kernels[0].spill_bytes == 0);
    }
  }
}
