// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/apply_intrinsics.hpp"

#include <tuple>

#include "support/catch.hpp"
#include "support/tile_draws.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {
namespace {

SearchSpace tensor_space(const char* workload, const char* target) {
  const auto intrinsics = intrinsics_of(Target::from_name(target).value());
  SketchOptions sketches;
  sketches.hardware.num_cores = 2;
  sketches.intrinsics = intrinsics;
  SpaceOptions options = native_space_options();
  options.hardware = sketches.hardware;
  options.intrinsics = intrinsics;
  return SearchSpace(
      generate_sketches(ops::parse_workload(workload)->dag, native_cpu_rules(), sketches), options);
}

std::size_t num_tensorized(const std::vector<Step>& steps) {
  return count_items(steps, [](const Step& step) { return has_hint<hints::Tensorize>(step); });
}

std::size_t num_pragmas(const std::vector<Step>& steps, std::string_view name) {
  return count_items(steps, [name](const Step& step) {
    const PragmaStep* pragma = std::get_if<PragmaStep>(&step);
    return pragma != nullptr && pragma->hint == Hint(std::string(name));
  });
}

/// The legal ones of 24 draws.
std::vector<Candidate> drawn_programs(const SearchSpace& space) {
  std::vector<Candidate> programs;
  for (std::uint32_t i = 0; i < 24; ++i) {
    CounterRng rng(1, 2, i);
    if (std::optional<Candidate> drawn = draw_candidate(space, NativeCpuPopulation{}, rng)) {
      programs.push_back(std::move(*drawn));
    }
  }
  return programs;
}

}  // namespace

TEST_CASE("a program has the intrinsics that fit, once, and keeps them when it is built anew") {
  const SearchSpace space = tensor_space("gemm:64x96x128:bf16", "znver4");
  const std::vector<Candidate> programs = drawn_programs(space);
  std::uint32_t num_grouped = 0;
  for (const Candidate& program : programs) {
    const std::vector<Step>& steps = program.state.steps();
    CHECK(num_tensorized(steps) == 1);
    const auto again = space.build(steps, program.sketch);
    REQUIRE(again);
    CHECK(again->state.steps() == steps);
    for (const Step& step : steps) {  // B.packed in groups of two along k, which come last
      const StorageLayoutStep* layout = std::get_if<StorageLayoutStep>(&step);
      num_grouped += layout != nullptr && layout->blocks.size() == 2 && layout->blocks[0] == 2 &&
                             layout->order.back() == 1
                         ? 1
                         : 0;
    }
  }
  CHECK(programs.size() > 12);
  CHECK(num_grouped > 0);
}

TEST_CASE("convolutions of bytes have the intrinsic, padded in memory or not at all") {
  for (const auto& [workload, inlines] :
       {std::pair("conv2d:n=1,h=14,w=14,ci=32,co=64,k=3,p=1,dtype=u8,weights=i8", true),
        std::pair("conv2d:n=1,h=14,w=14,ci=32,co=64,k=3,p=1,dtype=i8", false),
        std::pair("conv2d:n=1,h=14,w=14,ci=32,co=64,k=1,layout=free,dtype=u8,weights=i8,bias,"
                  "requant=u8",
                  false)}) {
    CAPTURE(workload);
    const SearchSpace space = tensor_space(workload, "znver4");
    const std::vector<Candidate> programs = drawn_programs(space);
    std::uint32_t num_inlined = 0;
    for (const Candidate& program : programs) {
      const State& state = program.state;
      bool is_inlined = false, has_patches = false;
      for (std::size_t stage = 0; stage < state.num_stages(); ++stage) {
        is_inlined = is_inlined || (state.operation(stage).name == "Pad" &&
                                    state.stage(stage).compute_at == ComputeAt::inlined);
        has_patches = has_patches || state.operation(stage).name == "Pad.patches";
      }
      is_inlined = is_inlined && !has_patches;  // those hold the padding
      CHECK(num_tensorized(state.steps()) == (is_inlined && !inlines ? 0u : 1u));
      num_inlined += is_inlined ? 1 : 0;
    }
    CHECK(programs.size() > 12);
    CHECK((num_inlined > 0) == (std::string(workload).find("p=1") != std::string::npos));
  }
}

TEST_CASE("tile registers compute what fills them, other instructions the rest") {
  for (const auto& [workload, tiles, lanes, group] :
       {std::tuple("gemm:64x96x128:bf16", "tensorize$tdpbf16ps", "tensorize$vdpbf16ps", 2),
        std::tuple("gemm:64x96x128:i8", "tensorize$tdpbssd", "tensorize$vpdpbusd_signed", 4)}) {
    CAPTURE(workload);
    const SearchSpace space = tensor_space(workload, "sapphirerapids");
    std::size_t num_tiles = 0, num_lanes = 0;
    const Target target = Target::from_name("sapphirerapids").value();
    for (std::uint32_t i = 0; i < 48; ++i) {
      CounterRng rng(1, 2, i);
      const std::optional<Candidate> drawn =
          i % 2 == 0 ? test::draw_with_tiles(space, target, rng)
                     : draw_candidate(space, NativeCpuPopulation{}, rng);
      if (!drawn) {
        continue;
      }
      const std::vector<Step>& steps = drawn->state.steps();
      CHECK(num_tensorized(steps) <= 1);
      const bool in_tiles = num_pragmas(steps, tiles) == 1;
      num_tiles += in_tiles ? 1 : 0;
      num_lanes += num_pragmas(steps, lanes);
      for (const Step& step : steps) {  // B lies in groups that a lane adds up, not in those of k
        const StorageLayoutStep* layout = std::get_if<StorageLayoutStep>(&step);
        if (in_tiles && layout != nullptr) {
          CHECK(layout->blocks[0] == group);
          CHECK(layout->blocks[1] % 16 == 0);
        }
      }
    }
    CHECK(num_tiles > 8);
    CHECK(num_lanes > 8);
  }
}

TEST_CASE("without instructions for bytes pairs of them are extended, in a copy or on the way") {
  for (const char* workload : {"gemm:64x96x128:i8", "gemm:64x96x128:u8", "gemm:64x96x128:i8,tb",
                               "gemm:64x96x128:u8,weights=i8", "bmm:2x64x96x128:i8",
                               "conv2d:n=1,h=14,w=14,ci=32,co=64,k=3,p=1,dtype=u8,weights=i8"}) {
    CAPTURE(workload);
    const SearchSpace space = tensor_space(workload, "znver3");
    const std::vector<Candidate> programs = drawn_programs(space);
    std::size_t num_wide = 0, num_narrow = 0;
    for (const Candidate& program : programs) {
      const std::vector<Step>& steps = program.state.steps();
      CHECK(num_pragmas(steps, "tensorize$vpmaddwd") == 1);
      for (std::size_t s = 0; s < program.state.num_stages(); ++s) {
        const Operation& op = program.state.operation(s);
        const bool is_wide = op.name.ends_with(".widened");
        num_wide += is_wide ? 1 : 0;
        num_narrow += op.name.ends_with(".packed") ? 1 : 0;
        const DType type = program.state.dag().tensor(op.outputs[0]).dtype;
        CHECK((!is_wide || type == DType::i16));
      }
    }
    CHECK(programs.size() > 12);
    CHECK(num_wide > 0);
    CHECK(num_narrow > 0);
  }
}

TEST_CASE("what no intrinsic computes has none") {
  for (const auto& [workload, target] :
       {std::pair("gemm:64x96x128:f32", "znver4"), std::pair("gemm:64x96x128:bf16", "znver3"),
        std::pair("gemm:64x96x128:u8", "znver4"), std::pair("gemm:64x96x128:f16", "znver3"),
        std::pair("gemm:64x96x128:i8", "ivybridge"), std::pair("reduce_sum:64x96:i32", "znver4")}) {
    const SearchSpace space = tensor_space(workload, target);
    CounterRng rng(1, 2, 3);
    const auto drawn = draw_candidate(space, NativeCpuPopulation{}, rng);
    REQUIRE(drawn);
    CHECK(num_tensorized(drawn->state.steps()) == 0);
  }
}

}  // namespace tensorsmith
