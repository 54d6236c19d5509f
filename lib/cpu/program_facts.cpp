// SPDX-License-Identifier: Apache-2.0
#include "program_facts.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "ir_builder.hpp"
#include "tensorsmith/ir/flat_index.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::llvm_codegen {
namespace {

template <class T>
void insert_sorted(std::vector<T>& list, T item) {
  const auto at = std::lower_bound(list.begin(), list.end(), item);
  if (at == list.end() || *at != item) {
    list.insert(at, item);
  }
}

template <class T>
void merge_into(std::vector<T>& list, const std::vector<T>& more) {
  constexpr std::size_t few = 4;
  if (more.size() <= few) {
    for (const T& item : more) {
      insert_sorted(list, item);
    }
    return;
  }
  std::vector<T> both;
  both.reserve(list.size() + more.size());
  std::set_union(list.begin(), list.end(), more.begin(), more.end(), std::back_inserter(both));
  list = std::move(both);
}

/// Bytes of the register lane that holds one element.
int compute_bytes(DType type) { return is_float(type) && type != DType::f64 ? 4 : bytes_of(type); }

}  // namespace

bool StmtFacts::stores(BufferId buffer) const {
  return std::binary_search(stored.begin(), stored.end(), buffer);
}

bool StmtFacts::loads(BufferId buffer) const {
  return std::binary_search(loaded.begin(), loaded.end(), buffer);
}

ProgramFacts::ProgramFacts(const LoopProgram& program)
    : program_(program), exprs_(program.pool.num_exprs()), stmts_(program.stmts.size()),
      stmt_state_(program.stmts.size()) {
  for (const Buffer& buffer : program.buffers) {
    if (buffer.shape.size() != buffer.strides.size()) {
      give_up("buffer " + buffer.name + ": shape and strides differ in length");
    }
    for (std::int64_t extent : buffer.shape) {
      if (extent < 1) {
        give_up("buffer " + buffer.name + ": extent " + std::to_string(extent));
      }
    }
    if (buffer.num_elements() < 1) {
      give_up("buffer " + buffer.name + ": negative strides");
    }
  }
  for (std::size_t i = 0; i < program.arguments.size(); ++i) {
    if (program.arguments[i].value >= program.buffers.size()) {
      give_up("argument " + std::to_string(i) + " is no buffer of the program");
    }
  }
  visit_stmt(program.body);
  find_nan_free_buffers();
  find_ranges();
  if (any_item(program.buffers, [](const Buffer& buffer) { return buffer.is_streamed; })) {
    find_read_back(program.body, of(program.body));
  }
}

bool ProgramFacts::uses(ExprId expr, VarId var) const {
  const std::vector<VarId>& vars = vars_of(expr);
  return std::binary_search(vars.begin(), vars.end(), var);
}

std::optional<std::int64_t> ProgramFacts::coefficient(ExprId id, VarId var) const {
  if (!uses(id, var)) {
    return 0;
  }
  const ExprNode& node = program_.pool[id];
  if (!is_index(id) || node.dtype == DType::boolean) {
    return std::nullopt;
  }
  if (std::holds_alternative<VarRef>(node.op)) {
    return 1;
  }
  if (const Cast* cast = std::get_if<Cast>(&node.op)) {
    return coefficient(cast->a, var);
  }
  if (const Unary* unary = std::get_if<Unary>(&node.op); unary && unary->op == UnaryOp::neg) {
    const auto inner = coefficient(unary->a, var);
    return inner ? std::optional(-*inner) : std::nullopt;
  }
  const Binary* const binary = std::get_if<Binary>(&node.op);
  if (binary == nullptr) {
    return std::nullopt;
  }
  const auto a = coefficient(binary->a, var);
  const auto b = coefficient(binary->b, var);
  if (!a || !b) {
    return std::nullopt;
  }
  const IntImm* const factor_a = program_.pool.as<IntImm>(binary->a);
  const IntImm* const factor_b = program_.pool.as<IntImm>(binary->b);
  switch (binary->op) {
  case BinaryOp::add:
    return *a + *b;
  case BinaryOp::sub:
    return *a - *b;
  case BinaryOp::mul:
    return factor_a != nullptr   ? std::optional(factor_a->value * *b)
           : factor_b != nullptr ? std::optional(factor_b->value * *a)
                                 : std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<std::int64_t> ProgramFacts::stride(BufferId buffer, const ExprList& indices,
                                                 VarId var) const {
  std::int64_t sum = 0;
  for (const FlatTerm& term : flat_index(program_.pool, indices, program_[buffer].strides)) {
    const auto part = coefficient(term.index, var);
    if (!part) {
      return std::nullopt;
    }
    sum += *part * term.coefficient;
  }
  return sum;
}

void ProgramFacts::check_access(BufferId buffer, const ExprList& indices) {
  if (buffer.value >= program_.buffers.size()) {
    give_up("access to buffer number " + std::to_string(buffer.value) + " of " +
            std::to_string(program_.buffers.size()));
  }
  if (indices.size() != program_[buffer].shape.size()) {
    give_up("buffer " + program_[buffer].name + " has " +
            std::to_string(program_[buffer].shape.size()) + " dimensions and is accessed with " +
            std::to_string(indices.size()) + " indices");
  }
  for (ExprId index : indices) {
    visit_expr(index);
    if (is_float(program_.pool.dtype(index))) {
      give_up("buffer " + program_[buffer].name + " is indexed by a real number");
    }
  }
}

const ProgramFacts::ExprFacts& ProgramFacts::visit_expr(ExprId id) {
  if (id.value >= exprs_.size()) {
    give_up("an expression is not in the program's pool");
  }
  if (exprs_[id.value].is_known) {
    return exprs_[id.value];
  }
  const ExprNode& node = program_.pool[id];
  ExprFacts facts;
  facts.is_known = true;
  facts.is_index = is_index_type(node.dtype) || node.dtype == DType::boolean;
  facts.widest_bytes = compute_bytes(node.dtype);
  const Load* const load = std::get_if<Load>(&node.op);
  if (load != nullptr) {
    check_access(load->buffer, load->indices);
    if (program_[load->buffer].dtype != node.dtype) {
      give_up("buffer " + program_[load->buffer].name + " is read as another element type");
    }
    insert_sorted(facts.loads, load->buffer);
    facts.is_index = facts.is_speculatable = false;
  } else if (const VarRef* ref = std::get_if<VarRef>(&node.op)) {
    facts.vars.push_back(ref->var);
  } else if (std::holds_alternative<TensorRead>(node.op) ||
             std::holds_alternative<Reduce>(node.op)) {
    give_up("a tensor expression (TensorRead or Reduce) is left in the loop program");
  } else if (std::holds_alternative<FloatImm>(node.op) || std::holds_alternative<Call>(node.op)) {
    facts.is_index = false;
  }
  if (const Binary* binary = std::get_if<Binary>(&node.op)) {
    const bool divides = binary->op >= BinaryOp::div && binary->op <= BinaryOp::floormod;
    const IntImm* const divisor = program_.pool.as<IntImm>(binary->b);
    if (divides && !is_float(node.dtype) && (divisor == nullptr || divisor->value == 0)) {
      facts.is_speculatable = false;
    }
    if (program_.pool.dtype(binary->a) != program_.pool.dtype(binary->b) &&
        (is_float(program_.pool.dtype(binary->a)) || is_float(program_.pool.dtype(binary->b)))) {
      give_up(std::string("operands of ") + std::string(text_of(binary->op)) + " differ in type");
    }
  }
  for_each_child(node, [&](ExprId child) {
    const ExprFacts& inner = visit_expr(child);
    merge_into(facts.vars, inner.vars);
    merge_into(facts.loads, inner.loads);
    if (load == nullptr) {
      facts.is_index = facts.is_index && inner.is_index;
      facts.is_speculatable = facts.is_speculatable && inner.is_speculatable;
      facts.widest_bytes = std::max(facts.widest_bytes, inner.widest_bytes);
    }
  });
  exprs_[id.value] = std::move(facts);
  return exprs_[id.value];
}

void ProgramFacts::visit_stmt(StmtId id) {
  if (id.value >= stmts_.size()) {
    give_up("a statement is missing");
  }
  if (stmt_state_[id.value] == 2) {
    return;
  }
  if (stmt_state_[id.value] == 1) {
    give_up("a statement contains itself");
  }
  stmt_state_[id.value] = 1;
  StmtFacts facts;
  const auto add_expr = [&](ExprId expr) {
    merge_into(facts.vars, visit_expr(expr).vars);
    merge_into(facts.loaded, visit_expr(expr).loads);
  };
  const auto add_stmt = [&](StmtId stmt) {
    visit_stmt(stmt);
    const StmtFacts& inner = stmts_[stmt.value];
    merge_into(facts.stored, inner.stored);
    merge_into(facts.loaded, inner.loaded);
    merge_into(facts.vars, inner.vars);
    facts.has_loop = facts.has_loop || inner.has_loop;
    facts.widest_bytes = std::max(facts.widest_bytes, inner.widest_bytes);
  };
  std::visit(Overloaded{[&](const Seq& s) {
                          for (StmtId item : s.items) {
                            add_stmt(item);
                          }
                        },
                        [&](const For& s) {
                          add_expr(s.extent);
                          add_stmt(s.body);
                          if (is_float(program_.pool.dtype(s.extent)) ||
                              s.var.value >= program_.pool.num_vars()) {
                            give_up("a loop with a malformed extent or variable");
                          }
                          all_loops_.push_back(&s);
                          facts.has_loop = facts.has_loop || (s.kind != ForKind::unrolled &&
                                                              s.kind != ForKind::vectorized);
                        },
                        [&](const Store& s) {
                          check_access(s.buffer, s.indices);
                          for (ExprId index : s.indices) {
                            add_expr(index);
                          }
                          add_expr(s.value);
                          insert_sorted(facts.stored, s.buffer);
                          all_stores_.push_back(&s);
                          if (is_float(program_[s.buffer].dtype) !=
                              is_float(program_.pool.dtype(s.value))) {
                            give_up("buffer " + program_[s.buffer].name +
                                    ": a real is stored into integers or the reverse");
                          }
                          facts.widest_bytes = std::max(compute_bytes(program_[s.buffer].dtype),
                                                        exprs_[s.value.value].widest_bytes);
                        },
                        [&](const If& s) {
                          add_expr(s.condition);
                          add_stmt(s.then_body);
                          if (s.else_body.valid()) {
                            add_stmt(s.else_body);
                          }
                        },
                        [&](const Alloc& s) {
                          if (s.buffer.value >= program_.buffers.size()) {
                            give_up("Alloc of a buffer that does not exist");
                          }
                          if (program_[s.buffer].argument >= 0) {
                            give_up("Alloc of argument " + program_[s.buffer].name);
                          }
                          add_stmt(s.body);
                        },
                        [](const Barrier&) {},
                        [&](const Prefetch& s) {
                          check_access(s.buffer, s.indices);
                          for (ExprId index : s.indices) {
                            add_expr(index);
                          }
                          insert_sorted(facts.loaded, s.buffer);
                        }},
             program_[id]);
  stmts_[id.value] = std::move(facts);
  stmt_state_[id.value] = 2;
}

// The largest set of buffers allocated inside into which no store can put a NaN.
void ProgramFacts::find_nan_free_buffers() {
  is_nan_free_.assign(program_.buffers.size(), true);
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    is_nan_free_[i] = program_.buffers[i].argument < 0;
  }
  for (BufferId argument : program_.arguments) {
    is_nan_free_[argument.value] = false;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Store* store : all_stores_) {
      if (is_nan_free_[store->buffer.value] && !never_nan(store->value)) {
        is_nan_free_[store->buffer.value] = false;
        changed = true;
      }
    }
  }
}

void ProgramFacts::find_read_back(StmtId stmt, const StmtFacts& nearest) {
  const StmtFacts& around = program_.as<Seq>(stmt) != nullptr ? of(stmt) : nearest;
  const Store* store = program_.as<Store>(stmt);
  if (store != nullptr && program_[store->buffer].is_streamed && around.loads(store->buffer)) {
    read_back_.push_back(store);
  }
  for_each_child(program_[stmt], [&](StmtId child) { find_read_back(child, around); });
}

bool ProgramFacts::is_read_back(const Store& store) const {
  return std::find(read_back_.begin(), read_back_.end(), &store) != read_back_.end();
}

// From "any value" down: what every round finds holds. Extents refer to loops around them, so a
// round for each level of a nest finds everything.
void ProgramFacts::find_ranges() {
  constexpr int most_rounds = 8;
  for (int round = 0; round < most_rounds; ++round) {
    std::map<VarId, std::int64_t> last;
    for (const For* loop : all_loops_) {
      const std::int64_t extent = interval_of(program_.pool, loop->extent, ranges_).max;
      std::int64_t& max = last.try_emplace(loop->var, 0).first->second;
      max = std::max(max, extent == Interval::highest ? extent : extent - 1);
    }
    bool changed = false;
    for (const auto& [var, max] : last) {
      changed = changed || ranges_[var] != Interval{0, max};
      ranges_.set(var, 0, max);
    }
    if (!changed) {
      return;
    }
  }
}

bool ProgramFacts::is_nonnegative(ExprId id) const {
  const ExprNode& node = program_.pool[id];
  if (const IntImm* imm = std::get_if<IntImm>(&node.op)) {
    return imm->value >= 0;
  }
  if (const Select* select = std::get_if<Select>(&node.op)) {
    return is_nonnegative(select->if_true) && is_nonnegative(select->if_false);
  }
  const Binary* const binary = std::get_if<Binary>(&node.op);
  if (binary == nullptr) {
    return std::holds_alternative<VarRef>(node.op);
  }
  switch (binary->op) {
  case BinaryOp::add:
  case BinaryOp::mul:
  case BinaryOp::div:
  case BinaryOp::floordiv:
  case BinaryOp::min:
    return is_nonnegative(binary->a) && is_nonnegative(binary->b);
  case BinaryOp::max:
    return is_nonnegative(binary->a) || is_nonnegative(binary->b);
  case BinaryOp::truncmod:
    return is_nonnegative(binary->a);
  case BinaryOp::floormod:
    return is_nonnegative(binary->b);
  default:
    return false;
  }
}

bool ProgramFacts::never_nan(ExprId id) const {
  const ExprNode& node = program_.pool[id];
  if (!is_float(node.dtype)) {
    return true;
  }
  if (const FloatImm* imm = std::get_if<FloatImm>(&node.op)) {
    return imm->value == imm->value;
  }
  if (const Load* load = std::get_if<Load>(&node.op)) {
    return is_nan_free_[load->buffer.value];
  }
  if (const Binary* binary = std::get_if<Binary>(&node.op)) {
    return (binary->op == BinaryOp::min || binary->op == BinaryOp::max) &&
           (never_nan(binary->a) || never_nan(binary->b));
  }
  if (const Select* select = std::get_if<Select>(&node.op)) {
    return never_nan(select->if_true) && never_nan(select->if_false);
  }
  if (const Cast* cast = std::get_if<Cast>(&node.op)) {
    return never_nan(cast->a);
  }
  if (const Unary* unary = std::get_if<Unary>(&node.op)) {
    return never_nan(unary->a);
  }
  if (const Call* call = std::get_if<Call>(&node.op)) {
    switch (call->op) {
    case CallOp::if_then_else:
      return never_nan(call->args[1]) && never_nan(call->args[2]);
    case CallOp::exp:
    case CallOp::tanh:
    case CallOp::erf:
    case CallOp::sigmoid:
    case CallOp::abs:
    case CallOp::floor:
    case CallOp::ceil:
    case CallOp::round:
      return never_nan(call->args[0]);
    default:
      return false;
    }
  }
  return false;
}

}  // namespace tensorsmith::llvm_codegen
