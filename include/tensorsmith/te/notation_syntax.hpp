// SPDX-License-Identifier: Apache-2.0
// What parsed index notation consists of (te/notation.hpp).
//
// Floor 2. Own design.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ir/dtype.hpp"

namespace tensorsmith::te::detail {

enum class NotationKind : std::uint8_t {
  integer,
  real,
  name,         ///< of an iterator
  element,      ///< name[operands]
  call,         ///< name(operands)
  prefix,       ///< name is "-" or "!"
  infix,        ///< name is the operator
  conditional,  ///< condition ? operand : operand
};

/// One node of a formula; operands are numbers of nodes before it.
struct NotationNode {
  NotationKind kind = NotationKind::integer;
  std::string name;
  std::vector<std::uint32_t> operands;
  std::vector<std::int64_t> extents;  ///< of an element: what stands behind its indices; 0: nothing
  std::int64_t integer = 0;
  bool is_beyond = false;  ///< 2^63, which only its negative is an integer of
  double real = 0;
  std::size_t at = 0;  ///< in the text
  std::uint32_t depth = 1;
};

struct NotationAxis {
  std::string name;
  std::int64_t extent = 0;  ///< 0: not said
  std::size_t at = 0;
};
struct NotationAttribute {
  std::string name;
  bool has_list = false;
  std::vector<std::string> texts;  ///< of the list, or the one
  double number = 0;
  bool has_number = false;
  std::size_t at = 0;
};
enum class StatementKind : std::uint8_t { input, compute, combiner };
struct NotationStatement {
  StatementKind kind = StatementKind::compute;
  std::string name;  ///< as it is written, with a type perhaps
  std::string way;   ///< "=", "+=", ..., "NAME="
  std::size_t at = 0;
  std::vector<std::int64_t> shape;   ///< of an input
  std::vector<NotationAxis> axes;    ///< of a compute
  std::vector<NotationAxis> listed;  ///< of its reduction, if they are listed
  bool has_list = false;
  std::vector<DType> types;             ///< of a combiner
  std::vector<std::uint32_t> identity;  ///< of a combiner
  std::vector<std::uint32_t> formulas;
  std::vector<NotationAttribute> attributes;
};
struct NotationProperty {
  std::string name;
  std::vector<std::string> tensors;
  std::size_t at = 0;
};
struct NotationProgram {
  std::vector<NotationNode> nodes;
  std::vector<NotationStatement> statements;
  std::vector<NotationProperty> properties;
};

}  // namespace tensorsmith::te::detail
