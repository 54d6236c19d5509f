// SPDX-License-Identifier: Apache-2.0
// generate_sketches: all sketches that a rule set derives from a workload.
//
// Floor 5. Ansor reference, ch. 4.2 (driver and post-processing). Breadth first over pairs
// (state, stage), from the last stage to the first; the order of the result is part of the
// contract. Not here: choosing split lengths (search/population/).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

/// Every rfactor step stands after the split it factors; that split had to be concrete to derive
/// the stages, and is opened now if its length was a stand-in, 1.
///     SP(s, k, 512, [1]); RF(s, ...)  -->  SP(s, k, 512, [?]); RF(s, ...)
inline void open_rfactor_splits(State& sketch) {
  std::vector<Step>& steps = sketch.mutable_steps();
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (!std::holds_alternative<RfactorStep>(steps[i])) {
      continue;
    }
    SplitStep* split = std::get_if<SplitStep>(&steps[i - 1]);
    TENSORSMITH_ASSERT(split != nullptr, "an rfactor step without the split before it");
    if (split->lengths == LengthList{1}) {
      split->lengths = LengthList(1, unknown_length);
      sketch.set_concrete(false);
    }
  }
}

/// A derivation with the analysis of its dag.
struct SketchNode {
  Derivation at;
  Shared<const AccessAnalysis> analysis;
};

inline SketchNode first_node(Shared<const ComputeDag> dag, DataReuse reuse) {
  auto analysis = make_shared_of<const AccessAnalysis>(*dag, reuse);
  const State initial = State::initial(std::move(dag));
  const auto last = static_cast<std::int32_t>(initial.num_stages()) - 1;
  return SketchNode{Derivation{initial, last}, std::move(analysis)};
}

/// take(rule name, number among that rule's results, node) for every way on from an open node.
template <SketchRule... Rules, class Take>
void for_each_way_on(const SketchNode& node, const RuleSet<Rules...>& rules,
                     const SketchOptions& options, const Take& take) {
  const RuleInput input{node.at.state, *node.analysis, node.at.next_stage, options};
  rules.for_each_while([&](const auto& rule) {
    const Applicability answer = rule.applicability(input);
    if (answer != Applicability::skip) {
      std::size_t number = 0;
      for (Derivation& derived : rule.expand(input)) {
        const bool same_dag = derived.state.dag_ptr() == node.at.state.dag_ptr();
        auto analysis =
            same_dag ? node.analysis
                     : make_shared_of<const AccessAnalysis>(derived.state.dag(), options.reuse);
        take(rule.name(), number++, SketchNode{std::move(derived), std::move(analysis)});
      }
    }
    return answer != Applicability::apply_and_skip_rest;
  });
}

/// All sketches; nothing as soon as more than `most` derivations are open.
template <SketchRule... Rules>
std::optional<std::vector<State>>
generate_sketches_up_to(Shared<const ComputeDag> dag, const RuleSet<Rules...>& rules,
                        const SketchOptions& options, std::size_t most) {
  std::vector<SketchNode> frontier;
  frontier.push_back(first_node(std::move(dag), options.reuse));
  std::vector<State> sketches;
  while (!frontier.empty()) {
    if (frontier.size() + sketches.size() > most) {
      return std::nullopt;
    }
    std::vector<SketchNode> next;
    for (const SketchNode& node : frontier) {
      if (node.at.next_stage < 0) {
        sketches.push_back(node.at.state);
        continue;
      }
      for_each_way_on(node, rules, options, [&](std::string_view, std::size_t, SketchNode derived) {
        next.push_back(std::move(derived));
      });
    }
    frontier = std::move(next);
  }
  for (State& sketch : sketches) {
    open_rfactor_splits(sketch);
  }
  return sketches;
}

template <SketchRule... Rules>
std::vector<State> generate_sketches(Shared<const ComputeDag> dag, const RuleSet<Rules...>& rules,
                                     const SketchOptions& options) {
  return *generate_sketches_up_to(std::move(dag), rules, options,
                                  std::numeric_limits<std::size_t>::max());
}

}  // namespace tensorsmith
