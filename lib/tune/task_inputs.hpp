// SPDX-License-Identifier: Apache-2.0
// give_inputs: the values that a task names for its inputs, in place of drawn ones.
//
// Private to lib/tune and tests. Own design. Here because a compiled program would read out of
// bounds with a wrong index: values are checked before anything runs.
#pragma once

#include <vector>

#include "tensorsmith/measure/task.hpp"
#include "tensorsmith/task_input.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

/// `task` is of that dag, or of one with the same arguments. Throws Error with the input's name,
/// and for an index out of bounds the element, its value, and what it reads.
void give_inputs(MeasureTask& task, const ComputeDag& dag, const std::vector<TaskInput>& inputs);

}  // namespace tensorsmith
