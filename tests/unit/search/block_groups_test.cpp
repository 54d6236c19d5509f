// SPDX-License-Identifier: Apache-2.0
// Groups of blocks: their steps, where they are drawn and mutated, what they do to the order of
// tiles, and what the model of a board sees of it.
#include "tensorsmith/search/block_groups.hpp"

#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/native_gpu_space.hpp"
#include "tensorsmith/cost/gpu_latency.hpp"
#include "tensorsmith/lower/lower.hpp"

namespace tensorsmith {
namespace {

/// Of its only stage with tiles.
std::optional<BlockLoops> tile_blocks(const SearchSpace& space, const Candidate& candidate) {
  const auto found = block_loops(candidate.state.steps(), num_sketch_steps(space, candidate));
  return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

std::vector<BlockGroup> choices_of(const SearchSpace& space, const Candidate& candidate) {
  const auto loops = tile_blocks(space, candidate);
  const auto tiles =
      loops ? detail::tile_loops(space, candidate.state.steps(), *loops) : std::nullopt;
  return tiles ? detail::group_choices(space, candidate.state, *loops, *tiles)
               : std::vector<BlockGroup>{};
}

std::optional<Candidate> regrouped(const SearchSpace& space, const Candidate& candidate,
                                   const std::optional<BlockGroup>& group) {
  const std::vector<Step>& steps = candidate.state.steps();
  const BlockLoops loops = tile_blocks(space, candidate).value();
  const auto tiles = detail::tile_loops(space, steps, loops);
  REQUIRE(tiles.has_value());
  return space.build(with_block_group(steps, loops, group, tiles->num_iterators), candidate.sketch);
}

/// A board of four multiprocessors for one block each.
Target board_of_four() {
  Target target = test::small_board();
  target.gpu->board->num_sms = 4;
  return target;
}

SearchSpace space_of(const char* workload, const Target& target, std::int32_t max_threads = 1024,
                     std::int32_t warp_size = 32) {
  return test::native_gpu_space(ops::parse_workload(workload)->dag, target, max_threads, warp_size);
}

/// Distinct bytes that the blocks of one wave read of the argument of that name.
double wave_bytes(const LoopProgram& program, const GpuKernelTime& kernel,
                  const std::string& name) {
  double bytes = 0;
  for (const GpuTraffic& traffic : kernel.work.traffic) {
    bytes = program[traffic.buffer].name == name && !traffic.is_store
                ? larger_of(bytes, traffic.wave_bytes)
                : bytes;
  }
  return bytes;
}

}  // namespace

TEST_CASE("a group is a split, an order and one loop more to fuse") {
  const std::vector<Step> plain = {FuseStep{2, {0, 1, 2}},
                                   AnnotationStep{2, 0, Annotation::block_x}, FuseStep{2, {1, 2}},
                                   AnnotationStep{2, 1, Annotation::vthread}};
  const std::vector<BlockLoops> loops = block_loops(plain, 0);
  REQUIRE(loops.size() == 1);
  CHECK_FALSE(block_group(plain, loops[0]).has_value());
  const BlockGroup group{1, 12, 4};
  const std::vector<Step> grouped = with_block_group(plain, loops[0], group, 5);
  const std::vector<Step> expected = {SplitStep{2, 1, 12, {4}, true},
                                      ReorderStep{2, {0, 1, 3, 2, 4, 5}},
                                      FuseStep{2, {0, 1, 2, 3}},
                                      plain[1],
                                      plain[2],
                                      plain[3]};
  CHECK(grouped == expected);
  const std::vector<BlockLoops> of_groups = block_loops(grouped, 0);
  REQUIRE(of_groups.size() == 1);
  CHECK(of_groups[0].is_split(0));
  CHECK_FALSE(of_groups[0].is_split(1));
  CHECK(block_group(grouped, of_groups[0]) == group);
  CHECK(with_block_group(grouped, of_groups[0], std::nullopt, 5) == plain);
  CHECK(block_loops(plain, 1).empty());  // the sketch's
  const std::vector<Step> threads = {FuseStep{2, {0, 1, 2}},
                                     AnnotationStep{2, 0, Annotation::block_x},
                                     AnnotationStep{2, 1, Annotation::thread_x}, plain[3]};
  CHECK(block_loops(threads, 0).empty());
}

TEST_CASE("tiles get their blocks in groups only on a board that does not hold them all") {
  const Target a100 = Target::from_name("a100").value();
  const SearchSpace large = space_of("gemm:8192x8192x64:i32", a100);
  const SearchSpace small = space_of("gemm:128x128x64:i32", a100);
  const SearchSpace of_class = space_of("gemm:8192x8192x64:i32", Target::cuda(80).value());
  int num_grouped = 0, num_plain = 0;
  for (std::uint32_t i = 0; i < 60; ++i) {
    for (const SearchSpace* space : {&large, &small, &of_class}) {
      CounterRng rng(1, 0, 0, i);
      const auto drawn = draw_candidate(*space, NativeGpuPopulation{}, rng);
      if (!drawn) {
        continue;
      }
      const bool is_grouped = test::has_block_group(*space, *drawn);
      if (space != &large) {
        CHECK_FALSE(is_grouped);
        continue;
      }
      (is_grouped ? num_grouped : num_plain) += 1;
      if (is_grouped) {  // the same program from its history
        const auto again = space->build(drawn->state.steps(), drawn->sketch);
        REQUIRE(again.has_value());
        CHECK(again->state.steps() == drawn->state.steps());
        CHECK(has_item(choices_of(*space, *drawn),
                       *block_group(drawn->state.steps(), *tile_blocks(*space, *drawn))));
      }
    }
  }
  CHECK(num_grouped > 10);
  CHECK(num_plain > 10);
}

TEST_CASE("which tiles the blocks of a wave have, with groups and without") {
  using Tiles = std::vector<std::int64_t>;
  CHECK(detail::covered_tiles({64, 64}, {}, 216) == Tiles{4, 64});
  CHECK(detail::covered_tiles({64, 64}, {0, 64, 16}, 216) == Tiles{16, 14});
  CHECK(detail::covered_tiles({64, 2}, {0, 64, 16}, 216) == Tiles{64, 2});
  CHECK(detail::covered_tiles({8, 6, 4}, {1, 6, 3}, 30) == Tiles{2, 6, 4});
  CHECK(detail::covered_tiles({4, 4}, {0, 4, 2}, 216) == Tiles{4, 4});
}

TEST_CASE("no operand is shared along a batch, so its tiles are not grouped") {
  const SearchSpace space = space_of("bmm:6x48x40x8:i32", test::small_board(), 64, 4);
  std::size_t num_choices = 0;
  for (std::uint32_t i = 0; i < 150; ++i) {
    CounterRng rng(3, 0, 0, i);
    const auto drawn = draw_candidate(space, NativeGpuPopulation{}, rng);
    for (const BlockGroup& group : drawn ? choices_of(space, *drawn) : std::vector<BlockGroup>{}) {
      ++num_choices;
      CHECK(group.loop == 1);
      CHECK(group.extent % group.length == 0);
    }
  }
  CHECK(num_choices > 10);
}

TEST_CASE("mutations draw other groups, and those of tiles leave groups that divide") {
  const SearchSpace space = space_of("gemm:96x120x16:i32", test::small_board(), 64, 4);
  std::optional<Candidate> parent;
  for (std::uint32_t i = 0; i < 200 && !(parent && choices_of(space, *parent).size() > 1); ++i) {
    CounterRng rng(4, 0, 0, i);
    parent = draw_candidate(space, NativeGpuPopulation{}, rng);
  }
  REQUIRE(parent.has_value());
  int num_children = 0, num_grouped = 0, num_changed = 0;
  for (std::uint32_t i = 0; i < 300; ++i) {
    CounterRng rng(5, 0, 0, i);
    const auto before = block_group(parent->state.steps(), *tile_blocks(space, *parent));
    auto child = i % 4 == 0 ? MutateBlockGroups{}.mutate(space, *parent, rng)
                            : NativeGpuMutators{}.mutate(space, *parent, rng);
    if (!child) {
      continue;
    }
    ++num_children;
    const auto loops = tile_blocks(space, *child);
    REQUIRE(loops.has_value());
    const auto group = block_group(child->state.steps(), *loops);
    num_grouped += group ? 1 : 0;
    num_changed += i % 4 == 0 && group != before ? 1 : 0;
    if (group) {
      CHECK(has_item(choices_of(space, *child), *group));
    }
    parent = std::move(child);
  }
  CHECK(num_children > 100);
  CHECK(num_grouped > 20);
  CHECK(num_children - num_grouped > 5);
  CHECK(num_changed > 5);
}

TEST_CASE("the model sees which tiles run at the same time") {
  const Target target = board_of_four();
  const SearchSpace space = space_of("gemm:64x64x16:i32", target, 64, 4);
  int num_checked = 0;
  for (std::uint32_t i = 0; i < 200 && num_checked < 10; ++i) {
    CounterRng rng(6, 0, 0, i);
    const auto drawn = draw_candidate(space, NativeGpuPopulation{}, rng);
    const auto loops = drawn ? tile_blocks(space, *drawn) : std::nullopt;
    const auto tiles =
        loops ? detail::tile_loops(space, drawn->state.steps(), *loops) : std::nullopt;
    if (!tiles || tiles->extents[0] % 2 != 0 || tiles->extents[1] < 4) {
      continue;
    }
    const auto plain = regrouped(space, *drawn, std::nullopt);
    const auto grouped = regrouped(space, *drawn, BlockGroup{0, tiles->extents[0], 2});
    REQUIRE(plain.has_value());
    REQUIRE(grouped.has_value());
    INFO(state_text(grouped->state));
    const auto of_plain = lower(plain->state, target), of_groups = lower(grouped->state, target);
    REQUIRE(of_plain.has_value());
    REQUIRE(of_groups.has_value());
    const auto time = gpu_latency(*of_plain, target),
               time_grouped = gpu_latency(*of_groups, target);
    REQUIRE(time.has_value());
    REQUIRE(time_grouped.has_value());
    if (time->kernels.size() != 1) {
      continue;
    }
    ++num_checked;
    // Of the four blocks of a wave: tiles (0, 0) to (0, 3), or (0, 0), (1, 0), (0, 1) and (1, 1).
    const double row = 64.0 * 16 * 4 / static_cast<double>(tiles->extents[0]);
    const double column = 64.0 / static_cast<double>(tiles->extents[1]) * 4 * 16;
    CHECK(wave_bytes(*of_plain, time->kernels[0], "A") == row);
    CHECK(wave_bytes(*of_groups, time_grouped->kernels[0], "A") == 2 * row);
    CHECK(wave_bytes(*of_plain, time->kernels[0], "B") == larger_of(4 * column, 32.0 * 16));
    CHECK(wave_bytes(*of_groups, time_grouped->kernels[0], "B") ==
          larger_of(2 * column, 32.0 * 16));
  }
  CHECK(num_checked == 10);
}

}  // namespace tensorsmith
