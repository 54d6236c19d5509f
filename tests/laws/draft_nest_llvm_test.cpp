// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// The loops that a draft is made of are those that lowering makes: order, extents, vector loop and
// its width, register tile, promotion. On states as the native CPU space has them.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/emulated_tiles.hpp"
#include "tensorsmith/cost/draft_nest.hpp"
#include "tensorsmith/lower/emit.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "tensorsmith/te/program.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// Loops of one iteration are left out.
struct NestSummary {
  std::vector<std::int64_t> outer, run, tile;  ///< around the run, of it, of the tile in any order
  std::int64_t width = 1;
  bool has_vector = false, is_promoted = false, is_folded = false;
  /// Of the lowered one: some loops go beyond the end of their axis (1021 in 16 x 64). Drafts count
  /// the iterations that compute something, and shorten the outermost loop.
  bool overruns = false;

  bool has_loops_of(const NestSummary& lowered) const {
    return width == lowered.width && has_vector == lowered.has_vector &&
           is_promoted == lowered.is_promoted && is_folded == lowered.is_folded &&
           run == lowered.run && tile == lowered.tile &&
           (outer == lowered.outer || (lowered.overruns && is_shortened(outer, lowered.outer)));
  }
  /// Loops that are shortened to one iteration are missing.
  static bool is_shortened(const std::vector<std::int64_t>& some,
                           const std::vector<std::int64_t>& all) {
    std::size_t next = 0;
    for (const std::int64_t extent : all) {
      next += next < some.size() && some[next] <= extent ? 1 : 0;
    }
    return next == some.size() && !some.empty() == !all.empty();
  }

  std::string text() const {
    std::string all;
    for (const auto& [name, loops] :
         {std::pair("outer", &outer), std::pair("run", &run), std::pair("tile", &tile)}) {
      all += std::string(name) + " (";
      for (const std::int64_t extent : *loops) {
        all += " " + std::to_string(extent);
      }
      all += " ) ";
    }
    return all + (has_vector ? "vector " + std::to_string(width) : std::string("scalar")) +
           (is_promoted ? " promoted" : "") + (is_folded ? " folded" : "");
  }
};

void add_loop(std::vector<std::int64_t>& loops, std::int64_t extent) {
  if (extent > 1) {
    loops.push_back(extent);
  }
}

NestSummary summary_of(const ShapedNest& nest) {
  NestSummary summary;
  const NestShape& shape = nest.shape;
  summary.has_vector = shape.vector_leaf >= 0;
  summary.is_promoted = shape.is_promoted;
  summary.is_folded = nest.is_folded;
  for (std::size_t leaf = 0; leaf < nest.derivation.leaves.size(); ++leaf) {
    const auto at = static_cast<std::int32_t>(leaf);
    if (at == shape.vector_leaf || (nest.is_folded && at == nest.group_leaf)) {
      summary.width *= nest.extent(leaf);
    } else if (shape.reduction_begin < 0 || at < shape.reduction_begin) {
      add_loop(summary.outer, nest.extent(leaf));
    } else {
      add_loop(at < shape.reduction_end ? summary.run : summary.tile, nest.extent(leaf));
    }
  }
  std::sort(summary.tile.begin(), summary.tile.end());
  for (const IteratorRelation& relation : nest.derivation.relations) {
    std::int64_t covered = 1;
    for (const std::int32_t part : relation.parts) {
      covered *= nest.node_extent[static_cast<std::size_t>(part)];
    }
    const std::int64_t parent = nest.node_extent[static_cast<std::size_t>(relation.parent)];
    summary.overruns = summary.overruns || (relation.is_split && covered > parent);
  }
  return summary;
}

/// What an iterator's loops add up to; of an axis that they go beyond the last iteration counts.
NestSummary summary_of(const detail::DraftNest& nest, bool has_reduction) {
  NestSummary summary;
  summary.has_vector = nest.has_vector;
  summary.is_promoted = nest.is_promoted;
  summary.is_folded = nest.is_folded;
  summary.width = nest.has_vector ? static_cast<std::int64_t>(detail::whole(nest.width)) : 1;
  const std::size_t end = nest.loops.size() - (nest.has_vector ? 1 : 0);
  for (std::size_t i = nest.first_own; i < end;) {
    double extent = nest.loops[i].is_solved ? 1 : nest.loops[i].extent;
    std::size_t next = i + 1;
    for (; next < end && nest.loops[next].is_fused_inner; ++next) {
      extent *= nest.loops[next].extent;
    }
    const auto count = static_cast<std::int64_t>(detail::whole(extent));
    if (!has_reduction || i < nest.run_begin) {
      add_loop(summary.outer, count);
    } else {
      add_loop(i < nest.tile_begin ? summary.run : summary.tile, count);
    }
    i = next;
  }
  std::sort(summary.tile.begin(), summary.tile.end());
  return summary;
}

SearchSpace native_space(const Shared<const ComputeDag>& dag, const Target& target) {
  SketchOptions options = native_cpu_sketch_options();
  options.hardware = hardware_params(target);
  options.hardware.num_cores = 2;
  options.hardware.vector_unit_bytes = target.vector_bits / 8;
  options.intrinsics = intrinsics_of(target);
  std::erase_if(options.intrinsics, [&](const TensorIntrinsic* intrinsic) {
    return std::none_of(
        dag->tensors().begin(), dag->tensors().end(),
        [&](const TensorInfo& tensor) { return intrinsic->takes(intrinsic->a, tensor.dtype); });
  });
  SpaceOptions native = native_space_options();
  native.hardware = options.hardware;
  native.intrinsics = options.intrinsics;
  std::vector<State> sketches = generate_sketches(dag, native_cpu_rules(), options);
  REQUIRE_FALSE(sketches.empty());
  return SearchSpace(std::move(sketches), native);
}

/// How many nests were compared, and the differences.
struct Agreement {
  std::size_t num_compared = 0, num_other_regions = 0, num_with_intrinsic = 0;
  std::map<std::string, std::size_t> differences;  ///< by kind
  std::string first;

  std::size_t num_different() const {
    std::size_t sum = 0;
    for (const auto& [kind, count] : differences) {
      sum += count;
    }
    return sum;
  }
  void add(const NestSummary& lowered, const NestSummary& drafted, const std::string& where) {
    ++num_compared;
    if (drafted.has_loops_of(lowered)) {
      return;
    }
    const std::string kind = lowered.is_promoted != drafted.is_promoted ? "promotion"
                             : lowered.has_vector != drafted.has_vector ? "vector"
                             : lowered.is_folded != drafted.is_folded   ? "fold"
                             : lowered.width != drafted.width           ? "width"
                             : lowered.tile != drafted.tile             ? "tile"
                             : lowered.run != drafted.run               ? "run"
                                                                        : "outer";
    if (differences[kind]++ < 2) {
      first += kind + ": " + where + "\n  lowered " + lowered.text() + "\n  drafted " +
               drafted.text() + "\n";
    }
  }
};

/// Lowering knows smaller regions than the bounds of a state where loops around a stage are of
/// fused axes: blocks of them are no boxes.
bool has_region_of_state(const ShapedNest& nest, const StageDerivation& derivation,
                         const State::Stage& stage) {
  for (std::size_t i = 0; i < stage.iterators.size(); ++i) {
    const auto node = static_cast<std::size_t>(derivation.leaves[i].node);
    if (nest.node_extent[node] != stage.iterators[i].extent) {
      return false;
    }
  }
  return true;
}

void compare(const State& state, const Target& target, const std::string& name,
             Agreement& agreement) {
  std::vector<ShapedNest> nests;
  detail::Emitter emitter(state, target);
  emitter.note_shapes(nests);
  if (!emitter.run()) {
    return;
  }
  const detail::DraftProgram program(state);
  const detail::DraftShaper shaper(program, target);
  const std::vector<StageDerivation> derivations = derive(state);
  std::vector<bool> is_done(state.num_stages(), false);
  for (const ShapedNest& nest : nests) {
    const auto stage = static_cast<std::size_t>(nest.stage);
    if (is_done[stage]) {
      continue;  // emitted again for another copy of its reader
    }
    is_done[stage] = true;
    if (!has_region_of_state(nest, derivations[stage], state.stage(stage))) {
      ++agreement.num_other_regions;
      continue;
    }
    agreement.num_with_intrinsic += state.stage(stage).hints.has<hints::Tensorize>() ? 1 : 0;
    const bool has_reduction = !state.operation(stage).reduce_axes.empty();
    agreement.add(summary_of(nest), summary_of(shaper.shape(stage), has_reduction),
                  name + ", stage " + std::to_string(stage) + "\n" + state_text(state));
  }
}

Agreement compare_drawn(const std::vector<const char*>& workloads, std::uint32_t count) {
  Agreement agreement;
  for (const Target& target :
       {Target::x86_64_v3(), Target::x86_64_v4(), with_emulated_tiles(Target::x86_64_v4())}) {
    for (const char* text : workloads) {
      CAPTURE(text);
      const auto workload = ops::parse_workload(text);
      REQUIRE(workload.has_value());
      const SearchSpace space = native_space(workload->dag, target);
      for (std::uint32_t number = 0; number < count; ++number) {
        CounterRng rng(seed(), 57, number);
        if (const auto candidate = draw_candidate(space, NativeCpuPopulation{}, rng)) {
          compare(candidate->state, target, text, agreement);
        }
      }
    }
  }
  return agreement;
}

void check(const Agreement& agreement, std::size_t least) {
  std::string kinds;
  for (const auto& [kind, number] : agreement.differences) {
    kinds += " " + kind + " " + std::to_string(number);
  }
  INFO("seed " << seed() << ": " << agreement.num_different() << " of " << agreement.num_compared
               << " nests differ:" << kinds << "\n"
               << agreement.first);
  CHECK(agreement.num_compared >= least);
  CHECK(agreement.num_other_regions * 5 < agreement.num_compared);
  CHECK(agreement.num_different() == 0);
}

}  // namespace

TEST_CASE("drafts have the loops that lowering makes: products") {
  check(compare_drawn({"gemm:64x64x64", "gemm:37x1021x65", "gemm:128x96x80:f32,bias,relu",
                       "gemm:33x40x24:f64,tb", "bmm:3x17x48x32", "gemm:16x128x64:f32,ta"},
                      scaled(40)),
        scaled(100));
}

TEST_CASE("drafts have the loops that lowering makes: narrow results") {
  check(
      compare_drawn({"gemm:64x64x64:i8", "gemm:33x70x24:u8,weights=i8,requant=u8",
                     "gemm:48x64x32:i8,bias,requant=i8", "gemm:64x48x33:bf16", "gemm:32x64x64:f16",
                     "conv2d:n=1,h=14,w=14,ci=16,co=32,k=3,s=1,p=1,dtype=u8,weights=i8,requant=u8",
                     "pointwise:33x200:bf16,exp,relu", "softmax:33x200:f16"},
                    scaled(40)),
      scaled(100));
}

TEST_CASE("drafts have the loops that lowering makes: tensor intrinsics") {
  const Agreement agreement =
      compare_drawn({"gemm:64x64x64:i8", "gemm:48x64x128:bf16", "gemm:33x70x64:u8,weights=i8,tb",
                     "bmm:2x32x32x96:bf16,tb"},
                    scaled(40));
  check(agreement, scaled(100));
  CHECK(agreement.num_with_intrinsic >= scaled(20));
}

TEST_CASE("drafts have the loops that lowering makes: windows") {
  check(compare_drawn({"conv2d:n=1,h=14,w=14,ci=16,co=32,k=3,s=1,p=1",
                       "conv2d:n=1,h=15,w=13,ci=7,co=24,k=3,s=2,p=1,bias,relu",
                       "conv2d:n=1,h=14,w=14,ci=16,co=32,k=1,layout=nchw",
                       "conv2d:n=1,h=16,w=32,ci=3,co=16,k=3,s=2,p=1,bias,relu,layout=nchw",
                       "depthwise:n=1,h=14,w=14,c=32,k=3,s=1,p=1",
                       "conv2d_transpose:n=1,h=7,w=7,ci=16,co=16,k=4,s=2,p=1",
                       "max_pool:n=1,c=16,h=14,w=14,k=3,s=2,p=1"},
                      scaled(30)),
        scaled(100));
}

TEST_CASE("drafts have the loops that lowering makes: rows and chains") {
  check(compare_drawn({"softmax:64x200", "layernorm:33x128", "rmsnorm:16x1000", "reduce_sum:32x200",
                       "reduce_max:7x1021", "argmax:33x70", "pointwise:33x200,exp,add,relu",
                       "pointwise:99x7,gelu", "attention:2x32x48x16",
                       "global_avg_pool:n=8,c=16,h=7,w=7"},
                      scaled(30)),
        scaled(100));
}
