// SPDX-License-Identifier: Apache-2.0
// Random legal step sequences: what the oracle chain draws from. Any factor, any attach point.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::test {

/// The first stage of the state's dag that reads `stage`, -1 if none.
inline std::int32_t first_reader(const State& state, std::int32_t stage) {
  const auto& operations = state.dag().operations();
  for (std::size_t r = 0; r < operations.size(); ++r) {
    bool reads = false;
    for (ExprId body : operations[r].bodies) {
      visit_expr(state.dag().pool(), body, [&](ExprId id) {
        const auto* read = state.dag().pool().as<TensorRead>(id);
        reads = reads ||
                (read != nullptr &&
                 static_cast<std::int32_t>(state.dag().tensor(read->tensor).operation) == stage);
      });
    }
    if (reads) {
      return static_cast<std::int32_t>(r);
    }
  }
  return -1;
}

/// Some of the reduction axes of `op` are summed first; every axis that a factor of theirs has is
/// kept, and perhaps others, in any order.
inline FactorSumStep random_factored_sum(CounterRng& rng, const ComputeDag& dag, std::int32_t stage,
                                         const Operation& op) {
  FactorSumStep step{stage, {}, {}};
  const auto num_spatial = static_cast<std::int32_t>(op.axes.size());
  const auto num_axes = num_spatial + static_cast<std::int32_t>(op.reduce_axes.size());
  for (std::int32_t at = num_spatial; at < num_axes; ++at) {
    if (rng.next_below(2) == 0) {
      step.summed.push_back(at);
    }
  }
  const ExprList factors = factors_of_sum(dag.pool(), op);
  for (std::int32_t at = 0; at < num_axes; ++at) {
    const bool is_needed = any_item(factors, [&](ExprId factor) {
      return detail::is_moved_by(dag.pool(), op, factor, step.summed) &&
             uses_var(dag.pool(), factor, op.axis_var(at));
    });
    if (!has_item(step.summed, at) && (is_needed || rng.next_below(4) == 0)) {
      step.kept.push_back(at);
    }
  }
  rng.shuffle(step.kept);
  return step;
}

/// Up to `max_steps` attempts; what is illegal is dropped, so the result is always a legal state.
/// With exact_sums, steps that change the order of a summation (rfactor, factored sums) are
/// left out.
inline State random_state(CounterRng& rng, const Shared<const ComputeDag>& dag,
                          std::uint32_t max_steps, bool exact_sums = false) {
  State state = State::initial(dag);
  const auto attempt = [&](Step step) { return !try_apply(state, std::move(step)); };
  const auto below = [&](std::size_t n) {
    return static_cast<std::int32_t>(rng.next_below(static_cast<std::uint32_t>(n)));
  };
  const std::uint32_t count = rng.next_below(max_steps);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::int32_t id = below(state.num_stages());
    const auto& stage = state.stage(static_cast<std::size_t>(id));
    const auto num_iterators = stage.iterators.size();
    const auto& op = state.operation(static_cast<std::size_t>(id));
    switch (rng.next_below(14)) {
    case 0:
    case 1:
    case 2:
      if (num_iterators > 0) {
        const std::int32_t iterator = below(num_iterators);
        LengthList lengths;
        for (std::int32_t k = 1 + below(2); k > 0; --k) {
          lengths.push_back(1 + below(8));
        }
        attempt(SplitStep{id, iterator,
                          stage.iterators[static_cast<std::size_t>(iterator)].extent.value_or(0),
                          lengths, rng.next_below(4) != 0});
      }
      break;
    case 3:
      if (num_iterators > 1) {
        const std::int32_t first = below(num_iterators - 1);
        const auto at = static_cast<std::size_t>(first);
        if (stage.iterators[at].kind == stage.iterators[at + 1].kind) {
          attempt(FuseStep{id, {first, first + 1}});
        }
      }
      break;
    case 4:
    case 5:
      // The reference keeps attach points by position when it reorders; here the order comes first.
      if (num_iterators > 1 && state.attach_map().iterator_to_stages.empty()) {
        IdList order;
        for (std::size_t k = 0; k < num_iterators; ++k) {
          order.push_back(static_cast<std::int32_t>(k));
        }
        rng.shuffle(order);
        attempt(ReorderStep{id, order});
      }
      break;
    case 6:
    case 7:
      if (const std::int32_t reader = first_reader(state, id);
          reader >= 0 && !stage.is_placeholder) {
        const auto& target = state.stage(static_cast<std::size_t>(reader));
        if (rng.next_below(3) == 0 && op.reduce_axes.empty()) {
          attempt(ComputeInlineStep{id});
        } else if (!target.iterators.empty() && target.compute_at != ComputeAt::inlined) {
          attempt(ComputeAtStep{id, reader, below(target.iterators.size())});
        }
      }
      break;
    case 8:
      if (num_iterators > 0) {
        const std::int32_t iterator = below(num_iterators);
        const Annotation choices[] = {Annotation::unroll, Annotation::vectorize,
                                      Annotation::parallel};
        if (stage.iterators[static_cast<std::size_t>(iterator)].kind == IteratorKind::spatial) {
          attempt(AnnotationStep{id, iterator, choices[below(3)]});
        }
      }
      break;
    case 12:
      if (num_iterators > 0 && rng.next_below(3) == 0) {
        attempt(rng.next_below(2) == 0
                    ? PragmaStep{id, 0, hints::VectorizeSum{}}
                    : PragmaStep{id, 0, "row_block$" + std::to_string(1 + below(8))});
      } else if (num_iterators > 0) {
        attempt(PragmaStep{id, 0,
                           "prefetch$" + std::to_string(below(3)) + "$" + std::to_string(below(9)) +
                               "$" + std::to_string(1 + below(3))});
      }
      break;
    case 9:
      attempt(CacheWriteStep{id, "local"});
      break;
    case 13:
      if (exact_sums || !attempt(random_factored_sum(rng, state.dag(), id, op))) {
        attempt(ExpandReductionStep{id});
      }
      break;
    case 10:
      if (const std::int32_t reader = first_reader(state, id); reader >= 0) {
        const bool is_of_patches = rng.next_below(2) == 0 &&
                                   attempt(CacheReadStep{id, std::string(patches_scope), {reader}});
        const bool is_of_lanes = !is_of_patches && rng.next_below(2) == 0 &&
                                 attempt(CacheReadStep{id, std::string(lanes_scope), {reader}});
        if ((is_of_patches || is_of_lanes || attempt(CacheReadStep{id, "local", {reader}})) &&
            rng.next_below(2) == 0) {
          const auto& cache = state.operation(static_cast<std::size_t>(id) + 1);
          StorageLayoutStep layout{id + 1, {}, {}, below(3)};
          for (std::size_t d = 0; d < cache.axes.size(); ++d) {
            layout.blocks.push_back(below(2) == 0 ? 0 : 1 + below(6));
            layout.order.push_back(static_cast<std::int32_t>(2 * d));
            if (layout.blocks.back() > 0) {
              layout.order.push_back(static_cast<std::int32_t>(2 * d + 1));
            }
          }
          rng.shuffle(layout.order);
          attempt(layout);
        }
      }
      break;
    default:
      if (!exact_sums && op.reduce_axes.size() == 1 && num_iterators > 0 &&
          stage.iterators.back().kind == IteratorKind::reduction) {
        const auto last = static_cast<std::int32_t>(num_iterators) - 1;
        if (attempt(SplitStep{
                id, last, stage.iterators.back().extent.value_or(0), {1 + below(4)}, true})) {
          attempt(RfactorStep{id, last + below(2), below(op.axes.size() + 1)});
        }
      }
      break;
    }
  }
  return state;
}

}  // namespace tensorsmith::test
