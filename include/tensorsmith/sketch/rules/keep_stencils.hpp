// KeepStencils: a cheap stage that its reader reads at several places is computed into memory.
//
// Floor 5. Own design (the choice between work twice and a buffer, as schedules of image pipelines
// have it). Legal always; asked for a stage that AlwaysInline inlines, where one reader has several
// reads of it, in a workload without products. The inlined form stays another sketch.
//     B[i] = A[i] + A[i+1] + A[i+2];  C[i] = B[i] + B[i+1] + B[i+2]
//         -->  B in memory, whole or a tile of C at a time: 2 + 2 sums an element instead of 8
#pragma once

#include <string_view>
#include <vector>

#include "tensorsmith/sketch/map_query.hpp"
#include "tensorsmith/sketch/rule.hpp"

namespace tensorsmith {

struct KeepStencils {
  static constexpr std::string_view name() { return "keep_stencils"; }

  Applicability applicability(const RuleInput& input) const {
    return is_shared(input) ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    return {Derivation{input.state, input.stage - 1}};
  }

 private:
  static bool is_shared(const RuleInput& input) {
    const auto stage = static_cast<std::uint32_t>(input.stage);
    if (!AlwaysInline::inlines(input) || input.analysis.producers(stage).empty() ||
        is_copy(input.state.dag().pool(), input.state.operation(stage)) ||
        !has_no_products(input.analysis)) {
      return false;
    }
    return any_item(input.analysis.read_by(stage), [](const Access& access) {
      return any_item(access.reads,
                      [&](const ExprList& read) { return !(read == access.reads.front()); });
    });
  }
};

}  // namespace tensorsmith
