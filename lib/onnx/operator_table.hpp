// SPDX-License-Identifier: Apache-2.0
// The table of operators (operators.def): which are read, in which versions, by what.
//
// Private to lib/. Own design. One table drives the readers, the checks of inputs and attributes,
// the page of operators and the tests.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/model.hpp"
#include "tensorsmith/onnx.hpp"

namespace tensorsmith::onnx {

class NodeSource;
using Reader = void (*)(NodeSource&);

constexpr std::int64_t oldest_opset = 7, newest_opset = 28;

struct OperatorRow {
  std::string_view domain, name, versions, num_inputs, num_outputs, attributes;
  OnnxStatus status;
  Reader reader;  ///< null if refused
  std::string_view reason;
};

std::span<const OperatorRow> operator_rows();
const OperatorRow* find_operator(std::string_view domain, std::string_view name);

/// The version that is in force in an operator set, 0: it came later.
std::int64_t version_in_force(const OperatorRow& row, std::int64_t opset);
std::vector<std::int64_t> versions_of(const OperatorRow& row);

/// What is wrong with the numbers of inputs and results, the attributes and their types in a node
/// of this version; empty: nothing. One clause without the node's name.
std::string problem_of(const OperatorRow& row, std::int64_t version, const NodeMessage& node);

}  // namespace tensorsmith::onnx
