// SPDX-License-Identifier: Apache-2.0
// The native space for GPUs, and workloads that its tensor-core programs are tested on.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/search/evolution/native_gpu_mutators.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_gpu_rules.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::test {

/// With all instructions of the target, those included that round factors.
inline SearchSpace native_gpu_space(const Shared<const ComputeDag>& dag, const Target& target,
                                    std::int32_t max_threads = 1024, std::int32_t warp_size = 32) {
  SpaceOptions space = native_gpu_space_options(target);
  space.hardware.max_threads_per_block = max_threads;
  space.hardware.warp_size = warp_size;
  SketchOptions options = gpu_sketch_options(space.hardware);
  options.intrinsics = intrinsics_of(target);
  return SearchSpace(generate_sketches(dag, native_gpu_rules(), options), std::move(space));
}

/// An A100 of 3 multiprocessors for one block each, so that few tiles are many.
inline Target small_board() {
  Target target = Target::from_name("a100").value();
  target.gpu->max_blocks_per_sm = 1;
  target.gpu->board->num_sms = 3;
  return target;
}

/// A program for which `is_wanted(space, candidate)` holds, a few mutations on; none if there is
/// none in so many draws. `draws` counts them on.
template <class Wanted>
std::optional<State> draw_wanted(const SearchSpace& space, std::uint32_t most_draws,
                                 std::uint32_t& draws, const Wanted& is_wanted) {
  for (const std::uint32_t end = draws + most_draws; draws < end; ++draws) {
    CounterRng rng(1, 17, draws);
    std::optional<Candidate> candidate = draw_candidate(space, NativeGpuPopulation{}, rng);
    for (std::uint32_t n = rng.next_below(3); candidate && n > 0; --n) {
      if (auto mutant = NativeGpuMutators{}.mutate(space, *candidate, rng)) {
        candidate = std::move(mutant);
      }
    }
    if (candidate && is_wanted(space, *candidate)) {
      ++draws;
      return candidate->state;
    }
  }
  return std::nullopt;
}

/// One whose sums are shared out among blocks.
inline std::optional<State> draw_stream_k(const SearchSpace& space, std::uint32_t most_draws,
                                          std::uint32_t& draws) {
  return draw_wanted(space, most_draws, draws, [](const SearchSpace&, const Candidate& candidate) {
    return any_item(candidate.state.steps(),
                    [](const Step& step) { return has_hint<hints::StreamK>(step); });
  });
}

/// Whether the tiles of some stage get their blocks in groups.
inline bool has_block_group(const SearchSpace& space, const Candidate& candidate) {
  const std::vector<Step>& steps = candidate.state.steps();
  return any_item(block_loops(steps, num_sketch_steps(space, candidate)),
                  [](const BlockLoops& loops) { return loops.is_grouped; });
}

/// One of those.
inline std::optional<State> draw_grouped(const SearchSpace& space, std::uint32_t most_draws,
                                         std::uint32_t& draws) {
  return draw_wanted(space, most_draws, draws, has_block_group);
}

/// Sums of more tiles than three blocks, threads multiply for themselves.
inline constexpr const char* many_tiles[] = {"gemm:40x56x24:i32", "gemm:36x44x24:i32,bias,relu",
                                             "bmm:3x48x40x8:i32",
                                             "conv2d:n=2,h=8,w=6,ci=6,co=12,k=3,s=1,p=1"};

/// Whether blocks share the sums of a lowered program out.
inline bool shares_sums(const LoopProgram& program) {
  return any_item(program.buffers,
                  [](const Buffer& buffer) { return buffer.name.ends_with(".parts"); });
}

/// Products of which few numbers of tiles come out even with three blocks; some have edges.
inline constexpr const char* odd_tiles[] = {"gemm:40x56x64:i32", "gemm:36x44x48:i32,bias,relu",
                                            "bmm:3x24x20x32:i32"};

/// Products of every type that tensor cores have, both ways round, with and without an epilogue.
inline std::vector<std::pair<std::string, Shared<const ComputeDag>>> tensor_core_workloads() {
  std::vector<std::pair<std::string, Shared<const ComputeDag>>> all;
  for (const char* workload :
       {"gemm:64x64x64:f16", "gemm:96x64x48:bf16,tb,bias,relu", "gemm:64x72x32:f16,ta",
        "bmm:2x64x64x32:f16,tb", "gemm:64x64x96:i8", "gemm:64x64x64:i8,tb", "gemm:64x64x24:f32",
        "gemm:64x64x32:f32,tb"}) {
    all.emplace_back(workload, ops::parse_workload(workload)->dag);
  }
  te::Program p;
  auto a = p.placeholder("A", {64, 32}, DType::f16), b = p.placeholder("B", {32, 64}, DType::f16);
  auto bias = p.placeholder("bias", {64}, DType::f32);
  auto k = p.reduce_axis("k", 32);
  auto c = p.compute("C", {64, 64}, [&](auto i, auto j) {
    return te::sum(te::cast(DType::f32, a(i, k)) * te::cast(DType::f32, b(k, j)), {k});
  });
  auto d = p.compute("D", {64, 64}, [&](auto i, auto j) {
    return te::cast(DType::f16, te::max(c(i, j) + bias(j), 0));
  });
  all.emplace_back("f16 to f16, bias, relu", p.dag({a, b, bias, d}));
  return all;
}

/// The same of sizes that no tile divides, with rows of odd and of even length.
inline std::vector<std::pair<std::string, Shared<const ComputeDag>>> odd_tensor_core_workloads() {
  std::vector<std::pair<std::string, Shared<const ComputeDag>>> all;
  for (const char* workload :
       {"gemm:67x70x37:f16", "gemm:65x72x40:bf16,tb,bias,relu", "gemm:70x68x50:f16,ta",
        "bmm:3x65x67x33:f16,tb", "gemm:100x66x36:i8", "gemm:66x65x47:i8,tb", "gemm:65x66x19:f32"}) {
    all.emplace_back(workload, ops::parse_workload(workload)->dag);
  }
  return all;
}

/// Products of which a warpgroup computes 64 x 64: both operands either way round, sums and sizes
/// that nothing divides, an epilogue.
inline constexpr const char* wide_warpgroup_workload = "gemm:64x256x64:bf16";
inline std::vector<std::pair<std::string, Shared<const ComputeDag>>> warpgroup_workloads() {
  std::vector<std::pair<std::string, Shared<const ComputeDag>>> all;
  for (const char* workload :
       {"gemm:128x128x128:f16", wide_warpgroup_workload, "gemm:128x64x192:bf16,tb,bias,relu",
        "gemm:128x128x64:f16,ta", "gemm:64x128x64:f16,ta,tb", "bmm:2x64x64x128:f16,tb",
        "gemm:67x130x74:f16", "gemm:70x72x100:bf16,tb", "gemm:72x68x66:f16,ta"}) {
    all.emplace_back(workload, ops::parse_workload(workload)->dag);
  }
  return all;
}

/// Few tiles and long sums: some sketches have the sum in parts.
inline constexpr const char* long_sums[] = {"gemm:8x12x512:i32", "gemm:8x12x512:f32,bias,relu",
                                            "gemm:16x16x512:f32"};

}  // namespace tensorsmith::test
