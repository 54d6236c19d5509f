// SPDX-License-Identifier: Apache-2.0
// substituted: an expression with other expressions in place of variables.
//
// Floor 1. Own design. Nothing is folded or simplified.
#pragma once

#include <cstdint>

#include "tensorsmith/ir/algebra/pool.hpp"
#include "tensorsmith/ir/algebra/remembered.hpp"
#include "tensorsmith/support/small_vector.hpp"

namespace tensorsmith::algebra {

/// `meaning(number, self)` is what stands for a variable; `known` keeps what is done.
template <class Meaning>
Ref substituted(Pool& pool, Ref ref, RefMap<Ref>& known, const Meaning& meaning) {
  const Node node = pool[ref];
  if (node.op == Op::var) {
    return meaning(node.value, ref);
  }
  if (node.num_operands == 0) {
    return ref;
  }
  if (const Ref* done = known.find(ref)) {
    return *done;
  }
  SmallVector<Ref, 4> operands;
  bool is_changed = false;
  for (std::size_t i = 0; i < node.num_operands; ++i) {
    const Ref before = pool.operand(pool[ref], i);
    operands.push_back(substituted(pool, before, known, meaning));
    is_changed = is_changed || operands.back() != before;
  }
  Ref result = ref;
  if (is_changed) {
    result = has_list(node.op)     ? pool.with_list(node.op, node.dtype, node.value, operands)
             : is_binary(node.op)  ? pool.raw(node.op, operands[0], operands[1])
             : node.op == Op::not_ ? pool.raw_not(operands[0])
             : node.op == Op::cast ? pool.cast(node.dtype, operands[0])
                                   : pool.choice(node.op, operands[0], operands[1], operands[2]);
  }
  known.set(ref, result);
  return result;
}

}  // namespace tensorsmith::algebra
