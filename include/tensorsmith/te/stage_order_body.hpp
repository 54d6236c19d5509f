// SPDX-License-Identifier: Apache-2.0
// The definitions of stage_order.hpp.
//
// Floor 2. Included by te/stage_order.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/te/stage_order.hpp"

namespace tensorsmith::te {

TENSORSMITH_INLINE std::vector<TensorId> input_tensors(const ExprPool& pool, const Operation& op) {
  std::vector<TensorId> inputs;
  for (ExprId body : op.bodies) {
    visit_nodes(pool, body, [&](ExprId id) {
      const TensorRead* read = pool.as<TensorRead>(id);
      if (read != nullptr && !detail::contains(inputs, read->tensor)) {
        inputs.push_back(read->tensor);
      }
    });
  }
  return inputs;
}

TENSORSMITH_INLINE std::vector<std::uint32_t>
topological_order(const ExprPool& pool, const std::vector<Operation>& operations,
                  const std::vector<TensorId>& arguments) {
  std::uint32_t num_tensors = 0;
  for (const Operation& op : operations) {
    for (TensorId output : op.outputs) {
      num_tensors = output.value < num_tensors ? num_tensors : output.value + 1;
    }
  }
  constexpr std::uint32_t none = UINT32_MAX;
  std::vector<std::uint32_t> definer(num_tensors, none);
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    for (TensorId output : operations[i].outputs) {
      definer[output.value] = i;
    }
  }
  const auto definer_of = [&](TensorId tensor) {
    if (tensor.value >= num_tensors || definer[tensor.value] == none) {
      throw Error("te: expected tensors that an operation of the program defines, got a foreign "
                  "one");
    }
    return definer[tensor.value];
  };
  std::vector<std::uint32_t> priority(operations.size(), none);
  std::vector<std::uint32_t> degree(operations.size(), 0);
  std::vector<std::vector<std::uint32_t>> readers(operations.size());
  std::vector<std::uint32_t> stack;
  for (TensorId argument : arguments) {
    stack.push_back(definer_of(argument));
  }
  std::uint32_t count = 0;
  while (!stack.empty()) {
    const std::uint32_t op = stack.back();
    stack.pop_back();
    if (priority[op] != none) {
      continue;
    }
    priority[op] = count++;
    for (TensorId input : input_tensors(pool, operations[op])) {
      const std::uint32_t producer = definer_of(input);
      readers[producer].push_back(op);
      ++degree[op];
      stack.push_back(producer);
    }
  }
  std::vector<std::uint32_t> ready, order;
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    if (priority[i] != none && degree[i] == 0) {
      ready.push_back(i);
    }
  }
  while (!ready.empty()) {
    std::size_t top = 0;
    for (std::size_t i = 1; i < ready.size(); ++i) {
      top = priority[ready[i]] > priority[ready[top]] ? i : top;
    }
    const std::uint32_t op = ready[top];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(top));
    order.push_back(op);
    for (std::uint32_t reader : readers[op]) {
      if (--degree[reader] == 0) {
        ready.push_back(reader);
      }
    }
  }
  if (order.size() != count) {
    throw Error("te: expected operations that do not depend on themselves, got a cycle");
  }
  return order;
}

TENSORSMITH_INLINE std::vector<std::uint32_t> stage_order(const ExprPool& pool,
                                                          const std::vector<Operation>& operations,
                                                          const std::vector<TensorId>& arguments) {
  const std::vector<std::uint32_t> topological = topological_order(pool, operations, arguments);
  std::vector<std::vector<std::uint32_t>> producers(operations.size());
  std::vector<bool> is_read(operations.size(), false);
  for (std::uint32_t op : topological) {
    for (TensorId input : input_tensors(pool, operations[op])) {
      for (std::uint32_t producer : topological) {
        if (detail::contains(operations[producer].outputs, input)) {
          producers[op].push_back(producer);
          is_read[producer] = true;
        }
      }
    }
  }
  std::vector<std::uint32_t> order;
  std::vector<bool> visited(operations.size(), false);
  const auto visit = [&](const auto& self, std::uint32_t op) -> void {
    if (visited[op]) {
      return;
    }
    visited[op] = true;
    for (std::uint32_t producer : producers[op]) {
      self(self, producer);
    }
    order.push_back(op);
  };
  for (std::uint32_t op : topological) {
    if (!is_read[op]) {
      visit(visit, op);
    }
  }
  return order;
}

}  // namespace tensorsmith::te
