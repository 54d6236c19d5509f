// SPDX-License-Identifier: Apache-2.0
// The definitions of extract.hpp.
//
// Floor 5. Included by feature/extract.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <optional>
#include <vector>

#include "tensorsmith/feature/build_store_program.hpp"
#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/feature/feature_rows.hpp"
#include "tensorsmith/sched/prepared.hpp"

namespace tensorsmith {

TENSORSMITH_INLINE FeatureMatrix extract_features(const State& state, const StoreProgram& stores,
                                                  const FeatureOptions& options) {
  std::vector<bool> is_prepared;
  if (options.leaves_out_prepared) {
    is_prepared = prepared_stages(state);
  }
  return detail::feature_rows(stores, options, [&](TensorId tensor) {
    return options.leaves_out_prepared && stores.is_tensor(tensor) &&
           is_prepared[state.dag().tensor(tensor).operation];
  });
}

TENSORSMITH_INLINE FeatureMatrix extract_features(const State& state,
                                                  const FeatureOptions& options) {
  const auto stores = build_store_program(state);
  return stores ? extract_features(state, *stores, options) : FeatureMatrix{};
}

TENSORSMITH_INLINE std::optional<StoreProgram> store_program_of(const ProgramView& view,
                                                                const FeatureContext&) {
  return build_store_program(view.state());
}

}  // namespace tensorsmith
