// SPDX-License-Identifier: Apache-2.0
// From a LoopProgram to the flat code of the interpreter.
//
// Floor 1. Own design. A subexpression is computed once per statement. Not here: execution
// (eval.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/ir/eval_program.hpp"

namespace tensorsmith {

namespace detail {

class EvalCompiler {
 public:
  explicit EvalCompiler(const LoopProgram& program)
      : source_(program), memo_(program.pool.num_exprs(), no_register) {
    out_.source = &program;
    in_scope_.resize(program.buffers.size());
    out_.num_threads.resize(program.buffers.size());
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      in_scope_[b] = program.buffers[b].argument >= 0;
    }
    for (BufferId id : program.arguments) {
      in_scope_[id.value] = true;
    }
    out_.root = compile(program.body);
  }
  EvalProgram finish() { return std::move(out_); }

 private:
  struct LoopVar {
    VarId var;
    std::uint32_t slot;
    bool is_lane;
  };
  struct Value {
    std::uint32_t reg;
    bool has_element;
  };

  void report(EvalErrorKind kind, BufferId buffer = {}) {
    if (!out_.error) {
      out_.error = EvalError{kind, stmt_, buffer, -1, 0, 0};
    }
  }
  const LoopVar* find(VarId var) const {
    for (std::size_t i = scope_.size(); i-- > 0;) {
      if (scope_[i].var == var) {
        return &scope_[i];
      }
    }
    return nullptr;
  }

  std::uint32_t compile(StmtId id) {
    EvalStmt out;
    out.origin = id;
    if (id.valid()) {
      stmt_ = id;
      std::visit(Overloaded{[&](const Seq& s) {
                              out.kind = EvalStmt::Kind::sequence;
                              for (StmtId item : s.items) {
                                out.children.push_back(compile(item));
                              }
                            },
                            [&](const For& s) { loop(s, out); },
                            [&](const Store& s) { store(s, out); },
                            [&](const If& s) {
                              out.kind = EvalStmt::Kind::branch;
                              code_of(s.condition, out);
                              out.children.push_back(compile(s.then_body));
                              out.children.push_back(compile(s.else_body));
                            },
                            [&](const Alloc& s) {
                              if (has_lane_) {
                                report(EvalErrorKind::unsupported, s.buffer);
                              }
                              out.kind = EvalStmt::Kind::alloc;
                              out.buffer = s.buffer;
                              out_.num_threads[s.buffer.value] = num_threads_;
                              in_scope_[s.buffer.value] = true;
                              out.children.push_back(compile(s.body));
                              in_scope_[s.buffer.value] = false;
                            },
                            [&](const Barrier&) {
                              if (has_lane_) {
                                report(EvalErrorKind::unsupported);
                              }
                              out.kind = EvalStmt::Kind::barrier;
                              out.has_barrier = true;
                            },
                            [](const Prefetch&) {}},
                 source_[id]);
    }
    for (std::uint32_t child : out.children) {
      out.has_barrier = out.has_barrier || out_.stmts[child].has_barrier;
    }
    out_.stmts.push_back(std::move(out));
    return static_cast<std::uint32_t>(out_.stmts.size()) - 1;
  }

  /// Thread loops directly inside each other.
  void threads(const For& outer, EvalStmt& out) {
    out.kind = EvalStmt::Kind::threads;
    const std::size_t depth = scope_.size();
    std::int64_t count = 1;
    StmtId body;
    for (const For* s = &outer; s != nullptr && is_thread_loop(s->kind);
         s = source_.as<For>(body)) {
      const IntImm* extent = source_.pool.as<IntImm>(s->extent);
      if (extent == nullptr || extent->value < 0 || extent->value > (std::int64_t{1} << 20)) {
        report(EvalErrorKind::extent_not_constant);
        return;
      }
      out.axes.emplace_back(out_.num_slots, extent->value);
      scope_.push_back({s->var, out_.num_slots++, false});
      count *= extent->value;
      body = s->body;
      if (!body.valid()) {
        break;
      }
    }
    num_threads_ = count;
    out.children.push_back(compile(body));
    num_threads_ = 0;
    scope_.resize(depth);
  }

  void loop(const For& s, EvalStmt& out) {
    if (is_thread_loop(s.kind) && num_threads_ == 0 && !has_lane_) {
      threads(s, out);
      return;
    }
    out.kind = EvalStmt::Kind::loop;
    out.loop_kind = s.kind;
    out.slot = out_.num_slots++;
    code_of(s.extent, out);
    const bool is_lanes = s.kind == ForKind::vectorized && !has_lane_;
    const bool had_lane = has_lane_;
    if (is_lanes) {
      const IntImm* extent = source_.pool.as<IntImm>(s.extent);
      if (extent == nullptr || extent->value > (std::int64_t{1} << 20)) {
        report(EvalErrorKind::extent_not_constant);
        return;
      }
      out.kind = EvalStmt::Kind::lanes;
      out.num_lanes = static_cast<std::uint32_t>(extent->value < 0 ? 0 : extent->value);
      out_.max_lanes = out.num_lanes > out_.max_lanes ? out.num_lanes : out_.max_lanes;
      has_lane_ = true;
    }
    scope_.push_back({s.var, out.slot, is_lanes});
    out.children.push_back(compile(s.body));
    scope_.pop_back();
    has_lane_ = had_lane;
  }

  void store(const Store& s, EvalStmt& out) {
    out.kind = EvalStmt::Kind::store;
    out.buffer = s.buffer;
    out.code_begin = static_cast<std::uint32_t>(out_.code.size());
    forget(0);
    out.value = expr(s.value).reg;
    out.access = access(s.buffer, s.indices);
    out.code_end = static_cast<std::uint32_t>(out_.code.size());
    if (is_float(source_[s.buffer].dtype) != is_float(source_.pool.dtype(s.value))) {
      report(EvalErrorKind::type_mismatch, s.buffer);
    }
  }

  void code_of(ExprId id, EvalStmt& out) {
    out.code_begin = static_cast<std::uint32_t>(out_.code.size());
    forget(0);
    out.value = expr(id).reg;
    out.code_end = static_cast<std::uint32_t>(out_.code.size());
  }

  /// Adds coefficient * id to `index` if id is affine in loop variables.
  bool affine(ExprId id, std::int64_t coefficient, EvalIndex& index, std::vector<EvalTerm>& sum) {
    const ExprNode& node = source_.pool[id];
    if (!is_index_type(node.dtype)) {
      return false;
    }
    if (const IntImm* n = std::get_if<IntImm>(&node.op)) {
      index.constant = wrapping_add(index.constant, wrapping_mul(coefficient, n->value));
      return true;
    }
    if (const VarRef* n = std::get_if<VarRef>(&node.op)) {
      const LoopVar* loop_var = find(n->var);
      if (loop_var == nullptr) {
        return false;
      }
      if (loop_var->is_lane) {
        index.lane_coefficient = wrapping_add(index.lane_coefficient, coefficient);
      } else {
        sum.push_back({loop_var->slot, coefficient});
      }
      return true;
    }
    const Binary* n = std::get_if<Binary>(&node.op);
    if (n == nullptr) {
      return false;
    }
    if (n->op == BinaryOp::add || n->op == BinaryOp::sub) {
      const std::int64_t right =
          n->op == BinaryOp::add ? coefficient : wrapping_sub(0, coefficient);
      return affine(n->a, coefficient, index, sum) && affine(n->b, right, index, sum);
    }
    if (n->op == BinaryOp::mul) {
      const IntImm* a = source_.pool.as<IntImm>(n->a);
      const IntImm* b = source_.pool.as<IntImm>(n->b);
      if (b != nullptr) {
        return affine(n->a, wrapping_mul(coefficient, b->value), index, sum);
      }
      return a != nullptr && affine(n->b, wrapping_mul(coefficient, a->value), index, sum);
    }
    return false;
  }

  std::uint32_t access(BufferId buffer, const ExprList& list) {
    if (buffer.value >= source_.buffers.size() || !in_scope_[buffer.value] ||
        list.size() != source_[buffer].shape.size()) {
      report(EvalErrorKind::buffer_out_of_scope, buffer);
      return 0;
    }
    std::vector<EvalIndex> own;
    for (ExprId id : list) {
      EvalIndex index;
      std::vector<EvalTerm> sum;
      if (affine(id, 1, index, sum)) {
        index.first = static_cast<std::uint32_t>(out_.terms.size());
        index.count = static_cast<std::uint32_t>(sum.size());
        out_.terms.insert(out_.terms.end(), sum.begin(), sum.end());
      } else {
        index = EvalIndex{};
        index.reg = expr(id).reg;
      }
      own.push_back(index);
    }
    out_.accesses.push_back({buffer, static_cast<std::uint32_t>(out_.indices.size()), stmt_});
    out_.indices.insert(out_.indices.end(), own.begin(), own.end());
    return static_cast<std::uint32_t>(out_.accesses.size()) - 1;
  }

  void forget(std::size_t keep) {
    for (; known_.size() > keep; known_.pop_back()) {
      memo_[known_.back().value] = no_register;
    }
  }
  Value expr(ExprId id) {
    if (memo_[id.value] != no_register) {
      return {memo_[id.value], has_element_[memo_[id.value]]};
    }
    const ExprNode& node = source_.pool[id];
    const std::uint32_t reg = out_.num_registers;
    if (std::holds_alternative<IntImm>(node.op) || std::holds_alternative<FloatImm>(node.op)) {
      const FloatImm* real = std::get_if<FloatImm>(&node.op);
      out_.constants.emplace_back(out_.num_registers++,
                                  real != nullptr
                                      ? scalar_of_real(round_arithmetic(real->value, node.dtype))
                                      : scalar_of(std::get_if<IntImm>(&node.op)->value));
      memo_[id.value] = reg;
      has_element_.resize(out_.num_registers);
      return {reg, false};
    }
    const Value value = instructions(node);
    memo_[id.value] = value.reg;
    known_.push_back(id);
    has_element_.resize(out_.num_registers);
    has_element_[value.reg] = value.has_element;
    return value;
  }
  Value emit(EvalInstr instr, bool has_element) {
    instr.dst = out_.num_registers++;
    out_.code.push_back(instr);
    return {instr.dst, has_element};
  }
  Value instructions(const ExprNode& node);
  Value binary(const Binary& n, DType type);
  Value lazy(const Call& n);

  const LoopProgram& source_;
  EvalProgram out_;
  std::vector<std::uint32_t> memo_;  // by ExprId; no_register = not computed here
  std::vector<ExprId> known_;        // in memo_, to be forgotten with the statement
  std::vector<bool> has_element_;    // by register
  std::vector<LoopVar> scope_;
  std::vector<bool> in_scope_;
  StmtId stmt_;
  bool has_lane_ = false;
  std::int64_t num_threads_ = 0;  // of a block, inside of its thread loops
};

}  // namespace detail
}  // namespace tensorsmith

#include "tensorsmith/ir/eval_instructions.hpp"
