// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/sched/bounds_body.hpp"
#include "tensorsmith/sched/derivation_body.hpp"

namespace tensorsmith {

template StepCheck try_apply(State& state, Step step);

}  // namespace tensorsmith
