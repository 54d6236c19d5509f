// SPDX-License-Identifier: Apache-2.0
// expect: conver
// A VarId never converts to an ExprId.
#include "tensorsmith/ir/expr.hpp"

tensorsmith::ExprId take(tensorsmith::ExprId id) { return id; }

int main() {
  const tensorsmith::ExprId expr{1};
  const tensorsmith::VarId var{1};
  (void)take(expr);
#ifdef MUST_FAIL
  (void)take(var);
#endif
  return var.valid() ? 0 : 1;
}
