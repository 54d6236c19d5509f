// SPDX-License-Identifier: Apache-2.0
// Tasks as text: one workload per line, and its weight if that is not 1.
//
//     gemm:512x512x512:f32 3   # called three times
//     C[i:64] += A[i,k:64]*B[k] 2
//
// Floor 10; compiled in lib/tune. Own design.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/tune_tasks.hpp"

namespace tensorsmith {

/// All tasks of a text, at least one. Throws Error that names `source` and the line of what is
/// none.
std::vector<WeightedTask> tasks_of_text(std::string_view text, const std::string& source,
                                        const Target& target);

}  // namespace tensorsmith
