// SPDX-License-Identifier: Apache-2.0
// Programs that the native space for GPUs draws, through NVRTC; skipped where there is none. Many
// more of them: bench_cuda.
#include "backend/nvrtc_texts.hpp"
#include "support/catch.hpp"
#include "support/native_gpu_space.hpp"
#include "tensorsmith/codegen/cuda_source.hpp"
#include "tensorsmith/codegen/nvrtc.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_gpu_rules.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("drawn programs compile for four architectures and keep their limits", "[nvrtc]") {
  const auto compiler = NvrtcCompiler::open();
  if (!compiler) {
    skip(compiler.error());
    return;
  }
  constexpr std::size_t texts_each = 2;
  for (const std::int32_t capability : {75, 80, 89, 90}) {
    const Target target = *Target::cuda(capability);
    for (const char* workload :
         {"gemm:256x256x256:f32", "gemm:256x256x256:f16,bias,relu", "gemm:256x256x256:i8",
          "gemm:1000x1000x1000:f16", "gemm:129x301x77:bf16,bias", "gemm:100x1003x333:i8,tb",
          "conv2d:n=1,h=14,w=14,ci=32,co=32,k=3,s=1,p=1", "softmax:64x256", "layernorm:37x1000",
          "log_softmax:8x4096:f16", "argmax:64x197", "reduce_sum:64x512:bf16"}) {
      const auto built = ops::parse_workload(workload);
      REQUIRE(built.has_value());
      const SearchSpace space = native_gpu_space(built->dag, target);
      std::size_t num_texts = 0;
      for (std::uint32_t i = 0; num_texts < texts_each && i < 100; ++i) {
        CounterRng rng(1, 0, 0, i);
        const auto drawn = draw_candidate(space, NativeGpuPopulation{}, rng);
        const auto program = drawn ? std::optional(lower(drawn->state, target)) : std::nullopt;
        if (!program) {
          continue;
        }
        REQUIRE(program->has_value());
        const auto source = cuda_source(**program, target);
        INFO(workload << ", sm_" << capability << (source ? "\n" + source->text : source.error()));
        REQUIRE(source.has_value());
        if (!is_worth_compiling(*source, *target.gpu)) {
          continue;
        }
        ++num_texts;
        check_compiled(*compiler, *source, *target.gpu);
      }
      CHECK(num_texts == texts_each);
    }
  }
}
