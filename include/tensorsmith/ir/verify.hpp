// SPDX-License-Identifier: Apache-2.0
// The rules of loop programs. verify() returns every violation, not the first.
//
// Floor 1. Own design. Rules about meaning make a program wrong; rules about speed (is_about_speed)
// make it slow: a guard inside a tile costs up to 50 times. Not here: whether an index stays inside
// its buffer, whether parallel iterations are independent, and whether threads race (eval.hpp finds
// all three on examples).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ir/lane_access.hpp"
#include "tensorsmith/ir/loops_around.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/tensor_match.hpp"
#include "tensorsmith/ir/violation.hpp"

namespace tensorsmith {

namespace detail {

class Verifier {
 public:
  explicit Verifier(const LoopProgram& program)
      : program_(program), loops_(program), in_scope_(program.buffers.size(), false),
        was_allocated_(program.buffers.size(), false),
        was_defined_(program.pool.num_vars(), false) {}

  std::vector<Violation> run() {
    arguments();
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      layout(BufferId{static_cast<std::uint32_t>(b)});
    }
    stmt(program_.body);
    return std::move(found_);
  }

 private:
  void report(VerifyRule rule, BufferId buffer = {}, VarId var = {}, ExprId expr = {}) {
    const Violation violation{rule, stmt_, buffer, var, expr};
    for (const Violation& old : found_) {
      if (old == violation) {
        return;
      }
    }
    found_.push_back(violation);
  }

  void arguments() {
    for (std::size_t n = 0; n < program_.arguments.size(); ++n) {
      const BufferId id = program_.arguments[n];
      in_scope_[id.value] = true;
      if (program_[id].argument != static_cast<std::int32_t>(n) ||
          program_[id].scope != Scope::global) {
        report(VerifyRule::argument_order, id);
      }
    }
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      if (program_.buffers[b].argument >= 0 && !in_scope_[b]) {
        report(VerifyRule::argument_order, BufferId{static_cast<std::uint32_t>(b)});
      }
    }
  }
  void layout(BufferId id) {
    const Buffer& buffer = program_[id];
    bool is_good = buffer.shape.size() == buffer.strides.size() && buffer.alignment > 0 &&
                   (buffer.alignment & (buffer.alignment - 1)) == 0;
    for (std::size_t d = 0; is_good && d < buffer.shape.size(); ++d) {
      is_good = buffer.shape[d] > 0 && buffer.strides[d] >= 0;
    }
    if (!is_good) {
      report(VerifyRule::buffer_layout, id);
    }
  }

  void stmt(StmtId id) {
    if (!id.valid() || id.value >= program_.stmts.size()) {
      report(VerifyRule::missing_body);
      return;
    }
    const StmtId outer = std::exchange(stmt_, id);
    const bool in_lanes = loops_.has(ForKind::vectorized);
    std::visit(Overloaded{[&](const Seq& s) {
                            for (StmtId item : s.items) {
                              stmt(item);
                            }
                          },
                          [&](const For& s) { loop(s, in_lanes); },
                          [&](const Store& s) {
                            access(s.buffer, s.indices);
                            stored_value(s.value);
                            lane_store(s);
                            if (program_.pool.dtype(s.value) != program_[s.buffer].dtype) {
                              report(VerifyRule::store_type, s.buffer);
                            }
                          },
                          [&](const If& s) { branch(s); },
                          [&](const Alloc& s) { alloc(s, in_lanes); },
                          [&](const Barrier&) {
                            if (in_lanes) {
                              report(VerifyRule::barrier_inside_vectorized);
                            } else if (num_divergent_ > 0) {
                              report(VerifyRule::barrier_place);
                            }
                          },
                          [&](const Prefetch& s) { access(s.buffer, s.indices); }},
               program_[id]);
    stmt_ = outer;
  }

  void axis(const For& s) {
    if (loops_.has(s.kind)) {
      report(VerifyRule::axis_twice, {}, s.var);
    } else if (!loops_.is_head(is_thread_loop(s.kind)) || num_private_ > 0) {
      report(VerifyRule::axis_place, {}, s.var);
    }
  }
  void loop(const For& s, bool in_lanes) {
    if (is_block_loop(s.kind) || is_thread_loop(s.kind)) {
      axis(s);
    }
    const DType type = program_.pool.dtype(s.extent);
    const IntImm* constant = program_.pool.as<IntImm>(s.extent);
    const bool wants_constant = s.kind != ForKind::serial && s.kind != ForKind::parallel;
    if (!is_integer(type) || (constant != nullptr && constant->value < 0)) {
      report(VerifyRule::extent_not_integer, {}, s.var, s.extent);
    } else if (wants_constant && constant == nullptr) {
      report(VerifyRule::extent_not_constant, {}, s.var, s.extent);
    }
    if (in_lanes && s.kind != ForKind::unrolled) {
      report(VerifyRule::loop_inside_vectorized, {}, s.var);
    }
    if (s.kind == ForKind::parallel && loops_.has(ForKind::parallel)) {
      report(VerifyRule::parallel_inside_parallel, {}, s.var);
    }
    expr(s.extent, true);
    if (s.intrinsic != nullptr) {
      intrinsic_form(s);
    }
    if (was_defined_[s.var.value]) {
      report(VerifyRule::variable_defined_twice, {}, s.var);
    }
    was_defined_[s.var.value] = true;
    const bool diverges = loops_.has_threads() && loops_.differs_among_threads(s.extent);
    num_divergent_ += diverges ? 1 : 0;
    const ThreadAxes outside = threads_;
    if (is_thread_loop(s.kind) && constant != nullptr) {
      const auto axis =
          static_cast<std::size_t>(s.kind) - static_cast<std::size_t>(ForKind::thread_x);
      threads_.var[axis] = s.var;
      threads_.extent[axis] = constant->value;
    }
    loops_.open(s.var, s.kind);
    stmt(s.body);
    loops_.close();
    threads_ = outside;
    num_divergent_ -= diverges ? 1 : 0;
  }

  void intrinsic_form(const For& s) {
    const IntImm* extent = program_.pool.as<IntImm>(s.extent);
    if (extent == nullptr || extent->value != s.intrinsic->k ||
        !is_tensor_tile(program_, *s.intrinsic, s.body)) {
      report(VerifyRule::intrinsic_form, {}, s.var);
    }
  }

  void branch(const If& s) {
    expr(s.condition);
    if (program_.pool.dtype(s.condition) != DType::boolean) {
      report(VerifyRule::operand_type, {}, {}, s.condition);
    }
    if (loops_.depends_on_tile(s.condition)) {
      report(VerifyRule::guard_in_tile, {}, {}, s.condition);
    }
    const bool diverges = loops_.has_threads() && loops_.differs_among_threads(s.condition);
    num_divergent_ += diverges ? 1 : 0;
    stmt(s.then_body);
    if (s.else_body.valid()) {
      stmt(s.else_body);
    }
    num_divergent_ -= diverges ? 1 : 0;
  }

  void alloc(const Alloc& s, bool in_lanes) {
    if (in_lanes) {
      report(VerifyRule::alloc_inside_vectorized, s.buffer);
    }
    if (program_[s.buffer].argument >= 0) {
      report(VerifyRule::argument_allocated, s.buffer);
    }
    if (was_allocated_[s.buffer.value]) {
      report(VerifyRule::buffer_allocated_twice, s.buffer);
    }
    was_allocated_[s.buffer.value] = true;
    const Scope scope = program_[s.buffer].scope;
    const bool is_kernel_level = is_of_block(scope) || (scope == Scope::global && loops_.empty());
    if (is_of_block(scope) && (!loops_.is_head(false) || num_private_ > 0)) {
      report(VerifyRule::shared_place, s.buffer);
    }
    num_private_ += is_kernel_level ? 0 : 1;
    const bool was_in_scope = in_scope_[s.buffer.value];
    in_scope_[s.buffer.value] = true;
    stmt(s.body);
    num_private_ -= is_kernel_level ? 0 : 1;
    in_scope_[s.buffer.value] = was_in_scope;
  }

  void access(BufferId id, const ExprList& indices) {
    const Buffer& buffer = program_[id];
    if (!in_scope_[id.value]) {
      report(VerifyRule::buffer_out_of_scope, id);
    }
    if (indices.size() != buffer.shape.size()) {
      report(VerifyRule::index_count, id);
    }
    for (ExprId index : indices) {
      expr(index, true);
      if (!is_integer(program_.pool.dtype(index))) {
        report(VerifyRule::index_not_integer, id, {}, index);
      }
      if (buffer.scope == Scope::register_ && !loops_.is_tile_index(index)) {
        report(VerifyRule::register_index, id, {}, index);
      }
    }
  }
  /// An element of another lane is the whole value of a store.
  void stored_value(ExprId value) {
    const Load* load = lane_load(program_, value);
    if (load == nullptr) {
      return expr(value);
    }
    access(load->buffer, load->indices);
    if (num_divergent_ > 0 || !lane_distance(program_, load->buffer, load->indices, threads_)) {
      report(VerifyRule::lane_access, load->buffer);
    }
  }
  void lane_store(const Store& s) {
    if (program_[s.buffer].scope == Scope::warp &&
        (num_divergent_ > 0 || lane_distance(program_, s.buffer, s.indices, threads_) != 0)) {
      report(VerifyRule::lane_access, s.buffer);
    }
  }

  /// `is_index`: in an index or an extent, where min and max stem from imperfect splits.
  void expr(ExprId id, bool is_index = false) {
    const ExprNode& node = program_.pool[id];
    if (const Load* n = std::get_if<Load>(&node.op)) {
      access(n->buffer, n->indices);
      if (node.dtype != program_[n->buffer].dtype) {
        report(VerifyRule::load_type, n->buffer);
      }
      if (program_[n->buffer].scope == Scope::warp) {
        report(VerifyRule::lane_access, n->buffer);
      }
      return;
    }
    if (const VarRef* n = std::get_if<VarRef>(&node.op)) {
      if (loops_.find(n->var) == nullptr) {
        report(VerifyRule::variable_out_of_scope, {}, n->var);
      }
      return;
    }
    if (std::holds_alternative<TensorRead>(node.op) || std::holds_alternative<Reduce>(node.op)) {
      report(VerifyRule::tensor_in_program, {}, {}, id);
      return;
    }
    for_each_child(node, [&](ExprId child) { expr(child, is_index); });
    ExprId condition;
    if (const Binary* n = std::get_if<Binary>(&node.op)) {
      if (program_.pool.dtype(n->a) != program_.pool.dtype(n->b)) {
        report(VerifyRule::operand_type, {}, {}, id);
      }
      const bool is_extremum = n->op == BinaryOp::min || n->op == BinaryOp::max;
      if (is_index && is_extremum && loops_.depends_on_tile(id)) {
        report(VerifyRule::extremum_in_tile, {}, {}, id);
      }
    } else if (const Select* s = std::get_if<Select>(&node.op)) {
      condition = s->condition;
      choice(id, s->if_true, s->if_false);
    } else if (const Call* c = std::get_if<Call>(&node.op);
               c != nullptr && c->op == CallOp::if_then_else) {
      condition = c->args[0];
      choice(id, c->args[1], c->args[2]);
      if (loops_.depends_on_tile(condition)) {
        report(VerifyRule::guard_in_tile, {}, {}, condition);
      }
    }
    if (condition.valid() && program_.pool.dtype(condition) != DType::boolean) {
      report(VerifyRule::operand_type, {}, {}, id);
    }
  }
  void choice(ExprId id, ExprId a, ExprId b) {
    if (program_.pool.dtype(a) != program_.pool.dtype(b)) {
      report(VerifyRule::operand_type, {}, {}, id);
    }
  }

  const LoopProgram& program_;
  std::vector<Violation> found_;
  LoopsAround loops_;
  ThreadAxes threads_;  // of the loops around
  std::vector<bool> in_scope_, was_allocated_, was_defined_;
  std::int32_t num_divergent_ = 0;  // statements around that threads may take different ways in
  std::int32_t num_private_ = 0;    // buffers of one thread around
  StmtId stmt_;
};

}  // namespace detail

/// All violations, in the order of the program. Ids of buffers must be of the program.
inline std::vector<Violation> verify(const LoopProgram& program) {
  return detail::Verifier(program).run();
}

/// Whether the program means something: no violations but of rules about speed.
inline bool is_valid(const std::vector<Violation>& violations) {
  for (const Violation& violation : violations) {
    if (!is_about_speed(violation.rule)) {
      return false;
    }
  }
  return true;
}

}  // namespace tensorsmith
