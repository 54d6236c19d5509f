// SPDX-License-Identifier: Apache-2.0
// How large the numbers of a program's index arithmetic can become: 32 bits are half the registers.
//
// Floor 5. Own design. A bound on |value| by recursion: the sum of the bounds of the terms, so it
// holds however a printer groups and folds them. Guards are not looked at.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

class IndexBound {
 public:
  explicit IndexBound(const LoopProgram& program)
      : program_(program), known_(program.pool.num_exprs()), var_(program.pool.num_vars(), 0.0) {}

  /// The largest |value| of any index, offset or extent.
  double run() {
    walk(program_.body);  // now the extent of every variable is known
    known_.assign(known_.size(), Bound{});
    largest_ = 0.0;
    walk(program_.body);
    return largest_;
  }

 private:
  struct Bound {
    double size = -1.0;  // -1: not computed yet
    bool has_load = false;
  };

  void walk(StmtId id) {
    const Stmt& stmt = program_[id];
    if (const For* loop = std::get_if<For>(&stmt)) {
      const double size = bound(loop->extent).size;
      see(size);
      double& var = var_[loop->var.value];
      var = larger_of(var, size);
    } else if (const Store* store = std::get_if<Store>(&stmt)) {
      access(store->buffer, store->indices);
      value(store->value);
    } else if (const If* branch = std::get_if<If>(&stmt)) {
      value(branch->condition);
    }
    for_each_child(stmt, [&](StmtId child) { walk(child); });
  }
  void see(double size) { largest_ = larger_of(largest_, size); }
  void access(BufferId id, const ExprList& indices) {
    double offset = 0.0;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      value(indices[d]);
      const double size = bound(indices[d]).size;
      see(size);
      offset += size * static_cast<double>(program_[id].strides[d]);
    }
    see(offset);
  }
  /// Everything below an expression that is index arithmetic.
  void value(ExprId id) {
    if (const Load* load = program_.pool.as<Load>(id)) {
      return access(load->buffer, load->indices);
    }
    const DType type = program_.pool.dtype(id);
    if ((type == DType::i32 || type == DType::i64) && !bound(id).has_load) {
      return see(bound(id).size);
    }
    for_each_child(program_.pool[id], [&](ExprId child) { value(child); });
  }
  Bound bound(ExprId id) {
    if (known_[id.value].size >= 0.0) {
      return known_[id.value];
    }
    Bound result;
    std::vector<Bound> parts;
    for_each_child(program_.pool[id], [&](ExprId child) {
      parts.push_back(bound(child));
      result.has_load = result.has_load || parts.back().has_load;
    });
    double sum = 0.0, product = 1.0;
    for (const Bound& part : parts) {
      sum += part.size;
      product *= part.size;
    }
    result.size = sum;  // of every other node: no result is larger than its operands together
    const ExprPool& pool = program_.pool;
    if (const IntImm* imm = pool.as<IntImm>(id)) {
      result.size = magnitude(static_cast<double>(imm->value));
    } else if (const VarRef* ref = pool.as<VarRef>(id)) {
      result.size = var_[ref->var.value];
    } else if (pool.as<Load>(id) != nullptr) {
      const IntegerLimits limits = limits_of(pool.dtype(id));
      result.size =
          larger_of(static_cast<double>(limits.high), magnitude(static_cast<double>(limits.low)));
      result.has_load = true;
    } else if (const Binary* binary = pool.as<Binary>(id)) {
      const IntImm* by = pool.as<IntImm>(binary->b);
      const double divisor = by != nullptr ? static_cast<double>(by->value) : 0.0;
      if (binary->op == BinaryOp::mul) {
        result.size = product;
      } else if (binary->op == BinaryOp::floordiv && divisor > 0.0) {
        result.size = parts[0].size / divisor + 1.0;
      } else if (binary->op == BinaryOp::floormod && divisor > 0.0) {
        result.size = divisor;
      }
    }
    known_[id.value] = result;
    return result;
  }
  static double magnitude(double value) { return value < 0.0 ? -value : value; }

  const LoopProgram& program_;
  std::vector<Bound> known_;  // by expression
  std::vector<double> var_;   // by variable: its largest extent so far
  double largest_ = 0.0;
};

/// Whether 32-bit integers hold every index of the program.
inline bool fits_32_bits(const LoopProgram& program) {
  return IndexBound(program).run() < 2147483648.0;
}

}  // namespace tensorsmith::detail
