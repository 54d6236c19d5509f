// SPDX-License-Identifier: Apache-2.0
// The definitions of extract.hpp.
//
// Floor 5. Included by feature/extract.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <optional>

#include "tensorsmith/feature/build_store_program.hpp"
#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/feature/feature_rows.hpp"
#include "tensorsmith/feature/prepared_tensors.hpp"

namespace tensorsmith {

TENSORSMITH_INLINE FeatureMatrix extract_features(const State& state, const StoreProgram& stores,
                                                  const FeatureOptions& options) {
  return detail::feature_rows(stores, options, detail::PreparedTensors(state, stores, options));
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
