// SPDX-License-Identifier: Apache-2.0
// AddRfactor: turns a part of a large reduction into a spatial axis, so that it can be parallelised
// or vectorised.
//
// Floor 5. Ansor reference, ch. 4.3. Legal for a compute stage that is no cache and whose reduction
// is large: with multi-level tiling, spatial extent <= reduce extent and <= 16 cores; else reduce
// extent > cores. Two sketches, the outer part factored or the inner one:
//     C[i] += A[i, k]  -->  C.rf[i, k_o] += A[i, k_o, k_i];  C.repl[i] += C.rf[i, k_o]
//                      -->  C.rf[i, k_o, k_i] (k_i innermost);  C.repl[i] += C.rf[i, k_i]
#pragma once

#include <string_view>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {

struct AddRfactor {
  static constexpr std::string_view name() { return "add_rfactor"; }

  Applicability applicability(const RuleInput& input) const {
    if (input.state.stage(static_cast<std::size_t>(input.stage)).is_placeholder ||
        has_cache_write(input.state, input.stage)) {
      return Applicability::skip;
    }
    const std::int64_t spatial = extent_product(input.state, input.stage, IteratorKind::spatial);
    const std::int64_t reduce = extent_product(input.state, input.stage, IteratorKind::reduction);
    const std::int64_t num_cores = input.options.hardware.num_cores;
    TENSORSMITH_ASSERT(num_cores > 0, "SketchOptions::hardware.num_cores is not stated");
    const bool needs_it = needs_tiling(input.analysis, input.stage)
                              ? spatial <= reduce && spatial <= 16 * num_cores
                              : reduce > 1 && reduce > num_cores;
    return needs_it ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    std::int32_t num_spatial = 0;
    IdList reduce;
    const auto& iterators = state.stage(static_cast<std::size_t>(input.stage)).iterators;
    for (std::size_t i = 0; i < iterators.size(); ++i) {
      if (iterators[i].kind == IteratorKind::reduction) {
        reduce.push_back(static_cast<std::int32_t>(i));
      } else {
        ++num_spatial;
      }
    }
    const std::int32_t fused = reduce.front();
    if (reduce.size() > 1) {
      grow(state, FuseStep{input.stage, reduce});
    }
    grow(state, split_of(state, input.stage, fused, LengthList{1}));

    std::vector<Derivation> derived;
    for (std::int32_t part = 0; part < 2; ++part) {
      State factored = state;
      grow(factored, RfactorStep{input.stage, fused + part, num_spatial});
      if (part == 1) {
        ReorderStep order{input.stage, {}};
        const auto count = static_cast<std::int32_t>(
            factored.stage(static_cast<std::size_t>(input.stage)).iterators.size());
        for (std::int32_t i = 0; i < count; ++i) {
          if (i != num_spatial) {
            order.after.push_back(i);
          }
        }
        order.after.push_back(num_spatial);
        grow(factored, order);
      }
      derived.push_back(Derivation{std::move(factored), input.stage - 1});
    }
    return derived;
  }
};

}  // namespace tensorsmith
