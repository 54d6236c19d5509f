// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN, written out step by step.
//
// Private to lib/graph. Own design. The product of all inputs with the weights is one node, steps
// are products with the state and elementwise operators; steps are alike, so they are one task.
#pragma once

#include <string_view>

#include "graph/operators.hpp"

namespace tensorsmith::graph {

/// Whether the operator is written out once its shapes are known.
bool is_recurrent(std::string_view op);
std::vector<OperatorRow> recurrent_rows();
/// Puts other nodes in the place of every recurrent one; all inputs of those are known. Throws
/// Error.
void expand_recurrent(Graph& graph);

}  // namespace tensorsmith::graph
