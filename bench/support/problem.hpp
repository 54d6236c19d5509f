// SPDX-License-Identifier: Apache-2.0
// From an operator of the library to the plain problem that peers and references understand.
//
// Own design. Not here: running anything.
#pragma once

#include <optional>

#include "bench/support/shapes.hpp"
#include "tensorsmith/ops/op.hpp"

namespace tensorsmith::bench {

/// Nothing for operators that no peer understands (some reductions, other element types).
std::optional<Problem> problem_of(const ops::Workload& workload);

}  // namespace tensorsmith::bench
