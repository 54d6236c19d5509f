// Parallelize: fuses the outermost spatial loops of every root stage and runs them in parallel.
//
// Floor 7. Ansor reference, ch. 5.1 (Parallel, CPU). Loops are collected until there are more than
// 16 iterations per core, or a stage is attached. A stage whose collected loops have one iteration
// only parallelises what is attached there, and its own next loops.
//     for i.0 (0,8), j.0 (0,16), i.1  -->  parallel i.0@j.0@ (0,128), i.1
// Own design, where the reference is not followed: the innermost loop of a stage is left to
// vectors. If it is the only one and long, several threads get parts of it.
//     for i (0,65536)  -->  as it is on one thread; on four: parallel i.0 (0,16), i.1 (0,4096)
#pragma once

#include <string_view>

#include "tensorsmith/search/search_space.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/support/factorize.hpp"

namespace tensorsmith {

struct Parallelize {
  static constexpr std::string_view name() { return "parallelize"; }

  template <class Rng>
  bool apply(const SearchSpace& space, Candidate& candidate, Rng&) const {
    TENSORSMITH_ASSERT(space.options().hardware.num_cores > 0,
                       "SpaceOptions::hardware.num_cores is not stated");
    for (std::size_t stage = 0; stage < candidate.state.num_stages(); ++stage) {
      const auto& at = candidate.state.stage(stage);
      if (at.compute_at != ComputeAt::root || at.is_placeholder) {
        continue;
      }
      if (!annotate(space, candidate.state, static_cast<std::int32_t>(stage), 0)) {
        return false;
      }
    }
    return true;
  }

 private:
  /// The innermost loop, of several iterations, without a stage inside.
  static bool is_for_vectors(const SearchSpace& space, const State& state, std::int32_t stage,
                             std::size_t iterator) {
    const auto& iterators = state.stage(static_cast<std::size_t>(stage)).iterators;
    return !space.options().follows_reference && iterator + 1 == iterators.size() &&
           iterators[iterator].extent.value_or(1) > 1 && !is_attach_point(state, stage, iterator);
  }

  /// Of a loop that is a stage's only one; 0: it is not shared out.
  static std::int64_t part_of_thread(const SearchSpace& space, std::int64_t extent) {
    constexpr std::int64_t parts_per_thread = 4, least = 1024, line = 64;
    const std::int64_t threads = space.options().hardware.num_cores;
    const std::int64_t part = ceil_div(ceil_div(extent, parts_per_thread * threads), line) * line;
    return threads > 1 && part >= least ? part : 0;
  }

  static bool annotate(const SearchSpace& space, State& state, std::int32_t stage,
                       std::size_t first) {
    const std::int64_t enough = std::int64_t{space.options().hardware.num_cores} * 16;
    IdList collected;
    std::int64_t degree = 1;
    std::size_t i = first;
    const std::size_t count = state.stage(static_cast<std::size_t>(stage)).iterators.size();
    for (; i < count; ++i) {
      const auto& it = state.stage(static_cast<std::size_t>(stage)).iterators[i];
      if (it.kind == IteratorKind::reduction || it.annotation != Annotation::none) {
        break;
      }
      if (is_for_vectors(space, state, stage, i)) {
        const std::int64_t part = part_of_thread(space, it.extent.value_or(1));
        if (!collected.empty() || part == 0) {
          break;
        }
        if (!try_step(state, split_of(state, stage, static_cast<std::int32_t>(i), {part}))) {
          return false;
        }
        collected.push_back(static_cast<std::int32_t>(i));
        break;
      }
      collected.push_back(static_cast<std::int32_t>(i));
      degree *= it.extent.value_or(1);
      if (degree > enough || is_attach_point(state, stage, i)) {
        break;
      }
    }
    if (degree == 1 && i < count && is_attach_point(state, stage, i)) {
      const std::vector<std::int32_t> attached = state.attach_map().iterator_to_stages.at(
          IteratorKey{stage, static_cast<std::int32_t>(i)});
      for (std::int32_t inner : attached) {
        if (!annotate(space, state, inner, 0)) {
          return false;
        }
      }
      if (!annotate(space, state, stage, i + 1)) {
        return false;
      }
    }
    if (collected.empty()) {
      return true;
    }
    const std::int32_t outermost = collected.front();
    if (collected.size() > 1 && !try_step(state, FuseStep{stage, collected})) {
      return false;
    }
    return try_step(state, AnnotationStep{stage, outermost, Annotation::parallel});
  }
};

}  // namespace tensorsmith
