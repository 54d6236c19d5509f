// SPDX-License-Identifier: Apache-2.0
// InlineCheap: AlwaysInline for stages that cost less to compute anew than to keep.
//
// Floor 5. Own design. Legal where AlwaysInline is. A reduction computes an inlined operand for
// each of its terms: a register tile shares some of that work, memory shares all of it. Both costs
// are estimated, from the formula and from how many times its elements would be computed
// (stage_cost.hpp); where one is far less than the other there is one sketch, else there are two.
// A stage that finishes a product costs nothing to keep: it is stored in the place of the product.
// A stage that one other reads, element by element, is computed as often inlined as kept, so what
// it costs (exp) and whether it branches is all one.
//     H = A * W; G = gelu(H); Y = G * V
//         -->  H is computed in G, tile by tile, and Y reads G; not Y[i, j] += gelu(H[i, k]) * ...
//     M[i] = X[i] * 0.5; Y[i, j] += M[i] * V[j] where j is short  -->  M inlined, or kept
#pragma once

#include <string_view>
#include <vector>

#include "tensorsmith/sketch/map_query.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/rules/always_inline.hpp"
#include "tensorsmith/sketch/stage_cost.hpp"

namespace tensorsmith {

struct InlineCheap {
  static constexpr std::string_view name() { return "inline_cheap"; }

  Applicability applicability(const RuleInput& input) const {
    if (is_link(input)) {
      return Applicability::apply_and_skip_rest;
    }
    if (!AlwaysInline::inlines(input)) {
      return Applicability::skip;
    }
    switch (choice(input)) {
    case Choice::kept:
      return Applicability::skip;
    case Choice::open:
      return has_many(input, is_open) ? Applicability::skip : Applicability::apply;
    case Choice::inlined:
      break;
    }
    return Applicability::apply_and_skip_rest;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    return AlwaysInline{}.expand(input);
  }

  /// Whether a stage that could be inlined never is.
  static bool keeps(const RuleInput& input) {
    return AlwaysInline::inlines(input) && choice(input) == Choice::kept;
  }

 private:
  enum class Choice : std::uint8_t { inlined, kept, open };

  /// Vector instructions to store an element and to load it again.
  static constexpr double way_to_memory = 4;
  /// Costs that differ by a smaller factor may be the other way round.
  static constexpr double doubt = 2;

  /// Whether one stage that is no sum takes the elements one by one, perhaps by way of inlined
  /// ones.
  static bool is_link(const RuleInput& input) {
    auto id = static_cast<std::uint32_t>(input.stage);
    if (!AlwaysInline::is_legal(input) || !input.analysis.stage(id).reads_in_order) {
      return false;
    }
    do {
      if (!input.analysis.stage(id).matches_reader) {
        return false;
      }
      id = input.analysis.readers(id)[0];
    } while (input.state.stage(id).compute_at == ComputeAt::inlined);
    return input.state.operation(id).reduce_axes.empty();
  }

  static bool is_open(const RuleInput& input) {
    return AlwaysInline::inlines(input) && choice(input) == Choice::open;
  }

  static Choice choice(const RuleInput& input) {
    const bool is_reduced =
        any_item(consumers(input.state, input.analysis, input.stage), [&](std::int32_t reader) {
          return !input.state.operation(static_cast<std::size_t>(reader)).reduce_axes.empty();
        });
    if (!is_reduced || input.analysis.producers(static_cast<std::uint32_t>(input.stage)).empty()) {
      return Choice::inlined;
    }
    if (finishes_product(input.state, input.analysis, input.stage)) {
      return Choice::kept;
    }
    const double cost = element_cost(input.state, input.stage);
    const double anew = cost * evaluations_if_inlined(input.state, input.analysis, input.stage);
    const double once = cost + way_to_memory;
    return anew > doubt * once ? Choice::kept : anew > once ? Choice::open : Choice::inlined;
  }
};

}  // namespace tensorsmith
