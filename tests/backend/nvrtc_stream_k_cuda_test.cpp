// SPDX-License-Identifier: Apache-2.0
// Programs whose blocks share the sums out, drawn for whole boards, through NVRTC; skipped where
// there is none.
#include "backend/nvrtc_texts.hpp"
#include "support/catch.hpp"
#include "support/native_gpu_space.hpp"
#include "tensorsmith/codegen/cuda_source.hpp"
#include "tensorsmith/codegen/nvrtc.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("blocks that share sums out compile for sm_80 and sm_90a and keep their limits",
          "[nvrtc]") {
  const auto compiler = NvrtcCompiler::open();
  if (!compiler) {
    skip(compiler.error());
    return;
  }
  constexpr std::size_t texts_each = 2;
  for (const char* board : {"a100", "h200"}) {
    const Target target = Target::from_name(board).value();
    for (const char* workload :
         {"gemm:1408x1408x512:f32", "gemm:1500x1300x512:f32,bias,relu", "gemm:1792x1792x512:f16"}) {
      const SearchSpace space = native_gpu_space(ops::parse_workload(workload)->dag, target);
      std::size_t num_texts = 0;
      for (std::uint32_t draws = 0; num_texts < texts_each && draws < 1000;) {
        const auto state = draw_stream_k(space, 200, draws);
        REQUIRE(state.has_value());
        const auto program = lower(*state, target);
        REQUIRE(program.has_value());
        const auto source = cuda_source(*program, target);
        INFO(workload << ", " << board << (source ? "\n" + source->text : source.error()));
        REQUIRE(source.has_value());
        if (!shares_sums(*program) || !is_worth_compiling(*source, *target.gpu)) {
          continue;
        }
        ++num_texts;
        check_compiled(*compiler, *source, *target.gpu);
      }
      CHECK(num_texts == texts_each);
    }
  }
}
