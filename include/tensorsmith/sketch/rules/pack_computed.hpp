// SPDX-License-Identifier: Apache-2.0
// PackComputed: a tiled stage reads a packed copy of what another stage computes.
//
// Floor 5. Own design; for whom a copy is and when it is worth it: rules/pack_operand.hpp. The
// stage is looked at once more, as one that the copy reads: where it is cheap it is computed into
// the copy.
//     B[j, k] = f(X[j, k]); C[i, j] += A[i, k] * B[j, k]
//     -->  B.packed[j, k] = B[j, k];  C[i, j] += A[i, k] * B.packed[j, k]
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/packs.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/rules/pack_operand.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {

struct PackComputed : private PackOperand {
  static constexpr std::string_view name() { return "pack_computed"; }

  Applicability applicability(const RuleInput& input) const {
    const auto& stage = input.state.stage(static_cast<std::size_t>(input.stage));
    const bool applies =
        !stage.is_placeholder && stage.compute_at == ComputeAt::root &&
        !PackedCopies(input.state.steps()).contains(input.stage) &&
        input.state.operation(static_cast<std::size_t>(input.stage)).outputs.size() == 1 &&
        !copies_of(input).empty();
    return applies ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    std::vector<Derivation> derived;
    for (State& state : with_copies(input)) {
      derived.push_back(Derivation{std::move(state), input.stage});
    }
    return derived;
  }
};

}  // namespace tensorsmith
