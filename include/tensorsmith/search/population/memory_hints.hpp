// SPDX-License-Identifier: Apache-2.0
// DrawMemoryHint: lets the register tile of a stage ask for a large operand ahead of its use, or
// writes a large result past the caches.
//
// Floor 7. Own design; nothing in a space without hints. No prefetch a distance ahead where blocks
// in caches can be used again and again: there it costs more than it brings. The next block of an
// operand is asked for once, however often it is used. Half of the programs that stream an operand
// or a result get one hint. Which distance pays depends on the machine, so it is drawn.
//     C: for i, j, k  -->  C prefetch: operand 1, 12 lines, into L1: for i, j, k
//     C: for k.0, j, k.1  -->  C prefetch: operand 1, the next block, into L1: for k.0, j, k.1
//     C: for i, j, k  -->  C streams its result: for i, j, k
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sched/reduction_blocks.hpp"
#include "tensorsmith/search/search_space.hpp"
#include "tensorsmith/te/tensor_size.hpp"

namespace tensorsmith {
namespace detail {

/// How many elements of the stage's result an element of the operand goes into.
inline std::int64_t uses_of_element(const State& state, std::size_t stage, const TensorRead& read) {
  const ExprPool& pool = state.dag().pool();
  std::int64_t uses = 1;
  for (const Axis& axis : state.operation(stage).axes) {
    bool is_index = false;
    for (ExprId index : read.indices) {
      is_index = is_index || uses_var(pool, index, axis.var);
    }
    uses *= is_index ? 1 : axis.extent;
  }
  return uses;
}

/// Whether the stage computes an output that nobody reads, larger than the caches keep.
inline bool has_large_result(const SpaceOptions& options, const State& state,
                             const AccessAnalysis& analysis, std::size_t stage) {
  const Operation& op = state.operation(stage);
  const auto least = static_cast<double>(options.min_streamed_bytes);
  return least > 0 && analysis.is_output(static_cast<std::uint32_t>(stage)) &&
         analysis.read_by(static_cast<std::uint32_t>(stage)).empty() &&
         bytes_of_tensor(state.dag().tensor(op.outputs[0])) >= least;
}

/// Every hint that the space has for a program of these steps, in a fixed order.
inline std::vector<PragmaStep> possible_memory_hints(const SpaceOptions& options,
                                                     const State& state,
                                                     const AccessAnalysis& analysis) {
  std::vector<PragmaStep> found;
  for (std::size_t id = 0; id < state.num_stages(); ++id) {
    const auto stage = static_cast<std::int32_t>(id);
    if (state.stage(id).is_placeholder || state.stage(id).compute_at == ComputeAt::inlined) {
      continue;
    }
    if (has_large_result(options, state, analysis, id)) {
      found.push_back(PragmaStep{stage, 0, hints::StreamResult{}});
    }
    if (options.prefetch_lines.empty() || !has_non_spatial_iterator(state, stage)) {
      continue;
    }
    const bool has_blocks = has_blocks_of_reduction(state, id);
    std::int32_t operand = 0;
    for (ExprId body : state.operation(id).bodies) {
      visit_expr(state.dag().pool(), body, [&](ExprId expr) {
        const TensorRead* read = state.dag().pool().as<TensorRead>(expr);
        if (read == nullptr) {
          return;
        }
        const TensorInfo& tensor = state.dag().tensor(read->tensor);
        const bool is_large =
            state.stage(tensor.operation).is_placeholder &&
            bytes_of_tensor(tensor) >= static_cast<double>(options.min_prefetch_bytes);
        const bool is_streamed =
            is_large && uses_of_element(state, id, *read) <= options.max_prefetch_uses;
        for (std::int32_t lines : options.prefetch_lines) {
          if (is_streamed) {
            found.push_back(PragmaStep{stage, 0, hints::Prefetch{operand, lines, 1}});
          }
        }
        if (is_large && has_blocks) {
          found.push_back(PragmaStep{stage, 0, hints::PrefetchBlock{operand, 1}});
        }
        ++operand;
      });
    }
  }
  return found;
}

inline std::vector<PragmaStep> possible_memory_hints(const SearchSpace& space,
                                                     const Candidate& program) {
  return possible_memory_hints(space.options(), program.state, *program.analysis);
}

inline bool is_memory_hint(const Step& step) {
  return has_hint<hints::Prefetch, hints::PrefetchBlock, hints::StreamResult>(step);
}

/// The program with `hint` and no other; with none if there is none.
inline std::optional<Candidate> with_memory_hint(const SearchSpace& space, const Candidate& program,
                                                 const std::optional<PragmaStep>& hint) {
  std::vector<Step> steps = program.state.steps();
  std::erase_if(steps, is_memory_hint);
  if (hint) {
    steps.push_back(*hint);
  }
  return space.build(steps, program.sketch);
}

}  // namespace detail

struct DrawMemoryHint {
  static constexpr std::string_view name() { return "memory_hint"; }

  template <class Rng>
  bool apply(const SearchSpace& space, Candidate& candidate, Rng& rng) const {
    const std::vector<PragmaStep> possible = detail::possible_memory_hints(space, candidate);
    if (possible.empty() || rng.next_below(2) == 0) {
      return true;
    }
    return try_step(candidate.state,
                    possible[rng.next_below(static_cast<std::uint32_t>(possible.size()))]);
  }
};

}  // namespace tensorsmith
