// SPDX-License-Identifier: Apache-2.0
// fold_dag: the outputs of a dag of constants, block by block.
//
// Private to lib/graph. Own design. The arithmetic is the interpreter's (te/eval_dag.hpp, all
// floats in f64), bit for bit; but an expression is taken apart once and runs over many elements at
// a time, so that weights of millions of elements are transposed, converted and scaled in moments.
#pragma once

#include <optional>
#include <vector>

#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::graph {

/// The outputs in the order of the dag's arguments; nothing where an index lies outside or a whole
/// number is divided by 0. `inputs`: of the placeholders among the arguments, in their order.
std::optional<std::vector<HostArray>> fold_dag(const ComputeDag& dag,
                                               const std::vector<HostArray>& inputs);

}  // namespace tensorsmith::graph
