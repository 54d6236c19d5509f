// SPDX-License-Identifier: Apache-2.0
// DrawCopies: how the shared copies of a GPU's block are fetched, and how they lie in memory.
//
// Floor 7. Own design; nothing in a space without fetch_stages. Drawn, because neither is always
// better: more buffers hide the way from memory and leave room for fewer blocks, padded rows end
// conflicts between banks, and a matrix that is stored across lets a thread load several of its
// rows at once; operands in registers ahead of their use hide the way from shared memory and take
// registers. Every decision is a step of its own, so that a mutation can change one of them.
//     C: for k { A.shared }
//         -->  C fetch_ahead: 3, load_ahead: 2, A.shared stored as [k][i], rows padded
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/sched/layouts.hpp"
#include "tensorsmith/search/evolution/mutator.hpp"
#include "tensorsmith/search/population/fit_block.hpp"
#include "tensorsmith/search/search_space.hpp"

namespace tensorsmith {
namespace detail {

inline constexpr std::uint32_t num_copy_layouts = 3;
/// 0: rows as they are; 1: padded by 16 bytes; 2: the last two dimensions exchanged, and padded.
inline StorageLayoutStep copy_layout(const State& state, std::int32_t stage, std::uint32_t which) {
  const Operation& op = state.operation(static_cast<std::size_t>(stage));
  const std::size_t rank = op.axes.size();
  const std::int64_t unit = 16 / bytes_of(state.dag().tensor(op.outputs[0]).dtype);
  StorageLayoutStep layout{stage, LengthList(rank, 0), {}, which == 0 ? 0 : unit};
  for (std::size_t d = 0; d < rank; ++d) {
    const bool is_exchanged = which == 2 && rank >= 2 && d + 2 >= rank;
    const std::size_t at = is_exchanged ? 2 * rank - 3 - d : d;
    layout.order.push_back(static_cast<std::int32_t>(2 * at));
  }
  return layout;
}

/// The shared copies that are computed inside of other stages, by their ids.
inline std::vector<std::int32_t> shared_copies(const State& state) {
  std::vector<std::int32_t> copies;
  for (std::size_t id = 0; id < state.num_stages(); ++id) {
    if (state.stage(id).compute_at == ComputeAt::iterator && state.stage(id).is_shared_copy()) {
      copies.push_back(static_cast<std::int32_t>(id));
    }
  }
  return copies;
}

}  // namespace detail

struct DrawCopies {
  static constexpr std::string_view name() { return "draw_copies"; }

  template <class Rng>
  bool apply(const SearchSpace& space, Candidate& candidate, Rng& rng) const {
    const std::vector<std::int32_t>& choices = space.options().fetch_stages;
    if (choices.empty()) {
      return true;
    }
    State& state = candidate.state;
    std::vector<std::int32_t> readers;
    for (std::int32_t copy : detail::shared_copies(state)) {
      const std::int32_t reader = state.attach_map().stage_to_iterator.at(copy).stage;
      if (!has_item(readers, reader)) {
        readers.push_back(reader);
      }
      const bool is_open = storage_layouts(state)[static_cast<std::size_t>(copy)] == nullptr;
      const std::uint32_t layout = is_open ? rng.next_below(detail::num_copy_layouts) : 0;
      if (is_open && !try_step(state, detail::copy_layout(state, copy, layout))) {
        return false;
      }
    }
    for (std::int32_t reader : readers) {
      // The most that fits, if what is drawn does not.
      std::uint32_t drawn = rng.next_below(static_cast<std::uint32_t>(choices.size()));
      State with = state;
      while (!try_step(with, PragmaStep{reader, 0, hints::FetchAhead{choices[drawn]}}) ||
             !fits_block(with, space.options())) {
        if (drawn-- == 0) {
          return false;
        }
        with = state;
      }
      state = std::move(with);
      const std::vector<std::int32_t>& sets = space.options().load_sets;
      if (!sets.empty()) {
        const std::uint32_t which = rng.next_below(static_cast<std::uint32_t>(sets.size()));
        if (!try_step(state, PragmaStep{reader, 0, hints::LoadAhead{sets[which]}})) {
          return false;
        }
      }
    }
    return true;
  }
};

/// Draws another number of buffers or of sets of registers, or another layout of a copy.
struct MutateCopies {
  static constexpr std::string_view name() { return "copies"; }

  std::optional<Candidate> mutate(const SearchSpace& space, const Candidate& parent,
                                  CounterRng& rng) const {
    std::vector<Step> steps = parent.state.steps();
    const std::size_t own = num_sketch_steps(space, parent);
    std::vector<std::size_t> decisions;
    for (std::size_t at = own; at < steps.size(); ++at) {
      const bool has_sets = !space.options().load_sets.empty();
      if (std::holds_alternative<StorageLayoutStep>(steps[at]) ||
          has_hint<hints::FetchAhead>(steps[at]) ||
          (has_sets && has_hint<hints::LoadAhead>(steps[at]))) {
        decisions.push_back(at);
      }
    }
    const std::vector<std::int32_t>& choices = space.options().fetch_stages;
    if (decisions.empty() || choices.empty()) {
      return std::nullopt;
    }
    Step& chosen = steps[pick(decisions, rng)];
    const std::int32_t stage = stage_of(chosen);  // no step behind it adds a stage
    const Step before = chosen;
    if (has_hint<hints::LoadAhead>(before)) {
      chosen = PragmaStep{stage, 0, hints::LoadAhead{pick(space.options().load_sets, rng)}};
    } else if (has_hint<hints::FetchAhead>(before)) {
      chosen = PragmaStep{stage, 0, hints::FetchAhead{pick(choices, rng)}};
    } else {
      chosen = detail::copy_layout(parent.state, stage, rng.next_below(detail::num_copy_layouts));
    }
    return chosen == before ? std::nullopt : space.build(steps, parent.sketch);
  }
};

}  // namespace tensorsmith
