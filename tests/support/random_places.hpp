// SPDX-License-Identifier: Apache-2.0
// Random places of stages: every stage is computed somewhere inside of the tiles of its readers,
// tiles that do not divide their axes, several levels deep.
//
// Test support.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/random_steps.hpp"

namespace tensorsmith::test {

/// The dag's stages, tiled and placed from the last to the first; caches of results and operands
/// in front. What is illegal is left out.
class RandomPlaces {
 public:
  RandomPlaces(CounterRng& rng, const Shared<const ComputeDag>& dag, bool is_gpu)
      : rng_(rng), state_(State::initial(dag)), is_gpu_(is_gpu) {}

  State make() {
    add_caches();
    for (std::size_t s = state_.num_stages(); s-- > 0;) {
      const auto stage = static_cast<std::int32_t>(s);
      if (!state_.stage(s).is_placeholder) {
        place(stage);
        tile(stage);
      }
    }
    return std::move(state_);
  }

 private:
  std::int32_t below(std::size_t n) {
    return static_cast<std::int32_t>(rng_.next_below(static_cast<std::uint32_t>(n)));
  }
  bool attempt(Step step) { return !try_apply(state_, std::move(step)); }

  void add_caches() {
    for (std::size_t s = state_.num_stages(); s-- > 0;) {
      const auto stage = static_cast<std::int32_t>(s);
      const char* const scope = is_gpu_ && below(2) == 0 ? "shared" : "local";
      if (const std::int32_t reader = first_reader(state_, stage); reader >= 0 && below(5) == 0) {
        attempt(CacheReadStep{stage, scope, {reader}});
      }
      if (!state_.operation(s).reduce_axes.empty() && below(2) == 0) {
        attempt(CacheWriteStep{stage, scope});
      }
    }
  }

  /// In a loop of its first reader, or in one that this reader is computed in.
  void place(std::int32_t stage) {
    std::int32_t target = first_reader(state_, stage);
    if (target < 0 || below(8) == 0) {
      return;
    }
    while (state_.stage(static_cast<std::size_t>(target)).compute_at == ComputeAt::inlined) {
      target = first_reader(state_, target);
    }
    if (below(4) == 0 && attempt(ComputeInlineStep{stage})) {
      return;
    }
    auto end = state_.stage(static_cast<std::size_t>(target)).iterators.size();
    const auto& attached = state_.attach_map().stage_to_iterator;
    for (auto found = attached.find(target); found != attached.end() && below(3) == 0;
         found = attached.find(target)) {
      target = found->second.stage;
      end = static_cast<std::size_t>(found->second.iterator) + 1;
    }
    if (end > 0) {
      attempt(ComputeAtStep{stage, target, below(end)});
    }
  }

  void tile(std::int32_t stage) {
    const auto id = static_cast<std::size_t>(stage);
    if (state_.stage(id).compute_at == ComputeAt::inlined) {
      return;
    }
    std::vector<std::vector<std::int32_t>> levels(3);
    std::int32_t position = 0;
    for (std::size_t axis = state_.stage(id).iterators.size(); axis-- > 0;) {
      const auto& it = state_.stage(id).iterators[static_cast<std::size_t>(position)];
      const std::int64_t extent = it.extent.value_or(0);
      const std::int32_t parts = below(3);
      LengthList lengths;
      for (std::int32_t k = 0; k < parts; ++k) {
        lengths.push_back(1 + below(4));
      }
      const bool is_split =
          parts > 0 && attempt(SplitStep{stage, position, extent, lengths, below(4) != 0});
      for (std::int32_t k = 0; k <= (is_split ? parts : 0); ++k) {
        levels[static_cast<std::size_t>(k)].push_back(position++);
      }
    }
    ReorderStep order{stage, {}};
    for (auto& level : levels) {
      if (below(3) == 0) {
        rng_.shuffle(level);
      }
      for (std::int32_t iterator : level) {
        order.after.push_back(iterator);
      }
    }
    if (below(6) == 0) {
      rng_.shuffle(order.after);
    }
    attempt(order);
    if (const auto count = state_.stage(id).iterators.size(); count > 1 && below(4) == 0) {
      const std::int32_t first = below(3) == 0 ? below(count - 1) : 0;
      const auto kind = [&](std::int32_t at) {
        return state_.stage(id).iterators[static_cast<std::size_t>(at)].kind;
      };
      if (kind(first) == kind(first + 1)) {
        attempt(FuseStep{stage, {first, first + 1}});
      }
    }
    annotate(stage);
  }

  void annotate(std::int32_t stage) {
    const auto id = static_cast<std::size_t>(stage);
    const bool is_root = state_.stage(id).compute_at == ComputeAt::root;
    for (std::size_t i = 0; i < state_.stage(id).iterators.size(); ++i) {
      const bool is_reduction = state_.stage(id).iterators[i].kind != IteratorKind::spatial;
      const bool is_last = i + 1 == state_.stage(id).iterators.size();
      Annotation drawn = Annotation::none;
      if (is_gpu_) {
        constexpr Annotation of_root[] = {Annotation::block_x,  Annotation::block_y,
                                          Annotation::thread_x, Annotation::thread_y,
                                          Annotation::vthread,  Annotation::unroll};
        constexpr Annotation inside[] = {Annotation::thread_x, Annotation::thread_y,
                                         Annotation::vectorize, Annotation::unroll};
        if (below(is_root ? 2 : 3) == 0 && !is_reduction) {
          drawn = is_root ? of_root[below(std::size(of_root))] : inside[below(std::size(inside))];
        }
        for (const auto& other : state_.stage(id).iterators) {
          drawn =
              drawn != Annotation::unroll && other.annotation == drawn ? Annotation::none : drawn;
        }
      } else if (!is_reduction && below(3) == 0) {
        drawn = is_last ? Annotation::vectorize
                        : (i == 0 && is_root ? Annotation::parallel : Annotation::unroll);
      }
      if (drawn != Annotation::none) {
        attempt(AnnotationStep{stage, static_cast<std::int32_t>(i), drawn});
      }
    }
  }

  CounterRng& rng_;
  State state_;
  const bool is_gpu_;
};

}  // namespace tensorsmith::test
