// SPDX-License-Identifier: Apache-2.0
// Vectorize: fuses some innermost spatial loops of every stage and vectorizes them.
//
// Floor 7. Ansor reference, ch. 5.1 (Vectorization). Fusible: not past an attach point, a
// reduction, an annotated loop, the second loop of a tiled stage, or max_vectorize_size iterations.
// Of n > 1 fusible loops the reference takes 1 ... n - 1, never all; so do we.
//     for i.3 (0,4), j.3 (0,8)  -->  for i.3 (0,4), vectorize j.3 (0,8)
#pragma once

#include <string_view>

#include "tensorsmith/search/search_space.hpp"

namespace tensorsmith {

/// How many of the innermost loops could be one vector of at most `limit` elements.
inline std::uint32_t num_vector_loops(const State& state, std::int32_t stage, std::int64_t limit) {
  const auto& iterators = state.stage(static_cast<std::size_t>(stage)).iterators;
  const bool tiled = is_tiled(state, stage);
  std::int64_t extent = 1;
  std::uint32_t count = 0;
  for (std::size_t i = iterators.size(); i > 0; --i) {
    const auto& it = iterators[i - 1];
    if (is_attach_point(state, stage, i - 1) || it.kind == IteratorKind::reduction ||
        it.annotation != Annotation::none || (tiled && count == 1)) {
      break;
    }
    extent *= it.extent.value_or(limit + 1);
    if (extent > limit) {
      break;
    }
    ++count;
  }
  return count;
}

struct Vectorize {
  static constexpr std::string_view name() { return "vectorize"; }

  template <class Rng>
  bool apply(const SearchSpace& space, Candidate& candidate, Rng& rng) const {
    State& state = candidate.state;
    for (std::size_t id = 0; id < state.num_stages(); ++id) {
      if (state.stage(id).is_placeholder || state.stage(id).compute_at == ComputeAt::inlined) {
        continue;
      }
      const auto stage = static_cast<std::int32_t>(id);
      std::uint32_t count = num_vector_loops(state, stage, space.options().max_vectorize_size);
      if (count == 0) {
        continue;
      }
      if (count > 1) {
        count = 1 + rng.next_below(count - 1);
      }
      const auto first = static_cast<std::int32_t>(state.stage(id).iterators.size()) -
                         static_cast<std::int32_t>(count);
      if (count > 1) {
        FuseStep fuse{stage, {}};
        for (std::uint32_t i = 0; i < count; ++i) {
          fuse.iterators.push_back(first + static_cast<std::int32_t>(i));
        }
        if (!try_step(state, fuse)) {
          return false;
        }
      }
      if (!try_step(state, AnnotationStep{stage, first, Annotation::vectorize})) {
        return false;
      }
    }
    return true;
  }
};

}  // namespace tensorsmith
