// SPDX-License-Identifier: Apache-2.0
// extract_features: one row of 164 numbers per stored buffer, read straight from a state.
//
// Floor 5. Ansor reference, ch. 6; columns in features.def. Nothing is lowered: a concrete state is
// enough, its bounds need not be inferred. Not here: what a model makes of the rows; the GPU
// verification after which the reference gives no rows.
#pragma once

#include <optional>

#include "tensorsmith/feature/columns.hpp"
#include "tensorsmith/feature/feature_options.hpp"
#include "tensorsmith/feature/feature_vector.hpp"
#include "tensorsmith/feature/program_view.hpp"
#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// Rows in the order of the first store to each buffer. No rows if the state is not concrete or
/// cannot be built (an attached stage that is read from outside).
TENSORSMITH_INLINE FeatureMatrix extract_features(const State& state,
                                                  const FeatureOptions& options = {});

/// The same where the stores of the state are known.
TENSORSMITH_INLINE FeatureMatrix extract_features(const State& state, const StoreProgram& stores,
                                                  const FeatureOptions& options);

/// A part of a ProgramView. Nothing if the state is not concrete or cannot be built.
TENSORSMITH_INLINE std::optional<StoreProgram> store_program_of(const ProgramView& view,
                                                                const FeatureContext& context);

inline FeatureMatrix extract_features(const State& state, const Target& target) {
  return extract_features(state, FeatureOptions{.cache_line_bytes = target.cache_line_bytes});
}

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/feature/extract_body.hpp"
#endif
