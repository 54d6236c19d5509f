// SPDX-License-Identifier: Apache-2.0
// PreparedTensors: which tensors of a program are computed before its first call, so that no row of
// features is of them.
//
// Floor 5. Own design.
#pragma once

#include <vector>

#include "tensorsmith/feature/feature_options.hpp"
#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/sched/prepared.hpp"
#include "tensorsmith/sched/state.hpp"

namespace tensorsmith::detail {

class PreparedTensors {
 public:
  /// None, unless the options leave them out. The state and its stores must outlive it.
  PreparedTensors(const State& state, const StoreProgram& stores, const FeatureOptions& options)
      : state_(state), stores_(stores) {
    if (options.leaves_out_prepared) {
      is_prepared_ = prepared_stages(state);
    }
  }
  bool operator()(TensorId tensor) const {
    return !is_prepared_.empty() && stores_.is_tensor(tensor) &&
           is_prepared_[state_.dag().tensor(tensor).operation];
  }

 private:
  const State& state_;
  const StoreProgram& stores_;
  std::vector<bool> is_prepared_;
};

}  // namespace tensorsmith::detail
