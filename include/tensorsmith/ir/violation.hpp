// SPDX-License-Identifier: Apache-2.0
// Violation: a rule of loop programs that one place of a program breaks.
//
// Floor 1. Own design. Not here: finding them (verify.hpp).
#pragma once

#include <string>

#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/ir/verify_rules.hpp"

namespace tensorsmith {

struct Violation {
  VerifyRule rule = VerifyRule::missing_body;
  StmtId stmt;
  BufferId buffer;
  VarId var;
  ExprId expr;
  bool operator==(const Violation&) const = default;
};

/// One line for people, with the first line of the statement.
inline std::string explain(const Violation& violation, const LoopProgram& program) {
  std::string text(text_of(violation.rule));
  if (violation.buffer.valid()) {
    text += ": " + program[violation.buffer].name;
  }
  if (violation.var.valid()) {
    text += ": " + program.pool.var_name(violation.var);
  }
  if (violation.expr.valid()) {
    text += ": " + debug_string(violation.expr, program.pool);
  }
  if (violation.stmt.valid()) {
    const std::string stmt = debug_string(violation.stmt, program);
    text += " in `" + stmt.substr(0, stmt.find('\n')) + "`";
  }
  return text;
}

}  // namespace tensorsmith
