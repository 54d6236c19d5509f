// The definition of extract_features.
//
// Floor 5. Included by feature/extract.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <vector>

#include "tensorsmith/feature/build_store_program.hpp"
#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/feature/feature_rows.hpp"
#include "tensorsmith/sched/prepared.hpp"

namespace tensorsmith {

TENSORSMITH_INLINE FeatureMatrix extract_features(const State& state,
                                                  const FeatureOptions& options) {
  const auto program = build_store_program(state);
  if (!program) {
    return {};
  }
  std::vector<bool> is_prepared;
  if (options.leaves_out_prepared) {
    is_prepared = prepared_stages(state);
  }
  return detail::feature_rows(*program, options, [&](TensorId tensor) {
    return options.leaves_out_prepared && program->is_tensor(tensor) &&
           is_prepared[state.dag().tensor(tensor).operation];
  });
}

}  // namespace tensorsmith
