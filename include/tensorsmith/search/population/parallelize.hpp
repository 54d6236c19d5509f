// SPDX-License-Identifier: Apache-2.0
// Parallelize: fuses the outermost spatial loops of every root stage and runs them in parallel.
//
// Floor 7. Ansor reference, ch. 5.1 (Parallel, CPU). Loops are collected until there are more than
// 16 iterations per core, or a stage is attached. A stage whose collected loops have one iteration
// only parallelises what is attached there, and its own next loops.
//     for i.0 (0,8), j.0 (0,16), i.1  -->  parallel i.0@j.0@ (0,128), i.1
// Own design, in NativeDrawing: the innermost loop of a stage is left to vectors, unless several
// threads have nothing else to share.
#pragma once

#include <string_view>

#include "tensorsmith/search/drawing.hpp"
#include "tensorsmith/search/search_space.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

/// Where a loop may be made parallel.
struct ParallelPlace {
  std::int32_t stage;
  IdList usual;      ///< the loops that are fused for it
  std::size_t most;  ///< from the first of them on, how many could be
  bool is_usual;     ///< false: the loops around have iterations enough, so that none is here
};

/// Loops that are fused and run in parallel; of none, or of one that a step fuses with no other.
struct ParallelLoops {
  std::int32_t first = 0, count = 0;
  bool is_alone = false;

  static ParallelLoops usual(const ParallelPlace& place) {
    return {place.usual.front(), place.is_usual ? static_cast<std::int32_t>(place.usual.size()) : 0,
            false};
  }
};

namespace detail {

/// The first loop from `first` on that no step could fuse across: where a stage is computed, of a
/// reduction, or annotated.
inline std::size_t end_of_fusible(const State& state, std::int32_t stage, std::size_t first) {
  const auto& iterators = state.stage(static_cast<std::size_t>(stage)).iterators;
  while (first < iterators.size() && iterators[first].kind != IteratorKind::reduction &&
         iterators[first].annotation == Annotation::none && !is_attach_point(state, stage, first)) {
    ++first;
  }
  return first;
}

inline bool make_parallel(State& state, std::int32_t stage, const ParallelLoops& loops) {
  FuseStep fuse{stage, {}};
  for (std::int32_t loop = loops.first; loop < loops.first + loops.count; ++loop) {
    fuse.iterators.push_back(loop);
  }
  return loops.count == 0 ||
         (((loops.count == 1 && !loops.is_alone) || try_step(state, fuse)) &&
          try_step(state, AnnotationStep{stage, loops.first, Annotation::parallel}));
}

}  // namespace detail

/// For whom loops are made parallel.
struct ParallelCores {
  std::int32_t count = 1;
  bool leaves_innermost = false;  ///< to vectors
};

/// Makes loops of a stage parallel, from `first` on, and of what is computed inside of them if they
/// have one iteration. decide(place) says which loops, at every place where some could be. False if
/// that is illegal.
template <class Decide>
bool parallelize(State& state, std::int32_t stage, const ParallelCores& cores, const Decide& decide,
                 std::size_t first = 0, bool is_usual = true) {
  const std::int64_t enough = std::int64_t{cores.count} * 16;
  IdList collected;
  std::int64_t degree = 1;
  const std::size_t count = state.stage(static_cast<std::size_t>(stage)).iterators.size();
  for (std::size_t i = first; i < count; ++i) {
    const auto& it = state.stage(static_cast<std::size_t>(stage)).iterators[i];
    if (it.kind == IteratorKind::reduction || it.annotation != Annotation::none) {
      break;
    }
    if (cores.leaves_innermost && i + 1 == count && it.extent.value_or(1) > 1 &&
        (!collected.empty() || cores.count == 1) && !is_attach_point(state, stage, i)) {
      break;
    }
    collected.push_back(static_cast<std::int32_t>(i));
    degree *= it.extent.value_or(1);
    if (degree > enough || is_attach_point(state, stage, i)) {
      break;
    }
  }
  const std::size_t end = detail::end_of_fusible(state, stage, first);
  if (end < count && is_attach_point(state, stage, end)) {
    const bool is_usual_inside = is_usual && degree == 1;
    const std::vector<std::int32_t> attached = state.attach_map().iterator_to_stages.at(
        IteratorKey{stage, static_cast<std::int32_t>(end)});
    for (std::int32_t inner : attached) {
      if (!parallelize(state, inner, cores, decide, 0, is_usual_inside)) {
        return false;
      }
    }
    if (!parallelize(state, stage, cores, decide, end + 1, is_usual_inside)) {
      return false;
    }
  }
  if (collected.empty()) {
    return true;
  }
  const std::size_t most = larger_of(end - first, collected.size());
  return detail::make_parallel(state, stage,
                               decide(ParallelPlace{stage, collected, most, is_usual}));
}

template <class Drawing>
struct BasicParallelize {
  static constexpr std::string_view name() { return "parallelize"; }

  template <class Rng>
  bool apply(const SearchSpace& space, Candidate& candidate, Rng&) const {
    const std::int32_t num_cores = space.options().hardware.num_cores;
    TENSORSMITH_ASSERT(num_cores > 0, "SpaceOptions::hardware.num_cores is not stated");
    for (std::size_t stage = 0; stage < candidate.state.num_stages(); ++stage) {
      const auto& at = candidate.state.stage(stage);
      if (at.compute_at != ComputeAt::root || at.is_placeholder) {
        continue;
      }
      const ParallelCores cores{num_cores, Drawing::leaves_innermost_to_vectors};
      if (!parallelize(candidate.state, static_cast<std::int32_t>(stage), cores,
                       ParallelLoops::usual)) {
        return false;
      }
    }
    return true;
  }
};

using Parallelize = BasicParallelize<NativeDrawing>;

}  // namespace tensorsmith
