// ValueWalk: operations and loads of a stored value, with inlined stages substituted.
//
// Floor 5. Ansor reference, ch. 6.3 and 6.4. Conditions that loop ranges decide have been
// simplified away. Not here: loops (build_store_program.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/feature/loop_values.hpp"
#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {
namespace detail {

using IndexEnvironment = std::vector<std::pair<VarId, IndexForm>>;
/// By tensor: its operation if that is computed inline, null for all others.
using InlinedOperations = std::vector<const Operation*>;

class ValueWalk {
 public:
  ValueWalk(const ExprPool& pool, IndexAtoms& atoms, LoopValues values,
            const InlinedOperations& inlined, FeatureStore& store)
      : pool_(pool), atoms_(atoms), values_(values), inlined_(inlined), store_(store) {}

  /// The body of output `k`; a reduction becomes combine(itself, source).
  void body(const Operation& op, std::size_t k, const IndexEnvironment& environment) {
    if (const Reduce* reduce = pool_.as<Reduce>(op.bodies[k])) {
      reduce_ = reduce;
      outputs_ = &op;
      const Combiner& combiner = pool_.combiner(reduce->combiner);
      value(combiner.results[reduce->value_index], environment);
      return;
    }
    value(op.bodies[k], environment);
  }
  /// A stored value of a lowered kernel.
  void body(ExprId stored, const IndexEnvironment& environment) { value(stored, environment); }
  /// An index, as loads have it.
  IndexForm index_of(ExprId id, const IndexEnvironment& environment) {
    return recombined_index(id, environment);
  }

 private:
  IndexForm index(ExprId id, const IndexEnvironment& environment) {
    IndexForm form;
    if (const IntImm* imm = pool_.as<IntImm>(id)) {
      form.constant = imm->value;
      return form;
    }
    if (const VarRef* ref = pool_.as<VarRef>(id)) {
      for (const auto& [var, known] : environment) {
        if (var == ref->var) {
          return known;
        }
      }
      return form;
    }
    if (const Cast* cast = pool_.as<Cast>(id); cast && is_integer(pool_.dtype(cast->a))) {
      return index(cast->a, environment);
    }
    const Binary* node = pool_.as<Binary>(id);
    if (node == nullptr || is_comparison(node->op) || node->op == BinaryOp::and_ ||
        node->op == BinaryOp::or_) {
      return opaque(id, environment);
    }
    IndexForm a = index(node->a, environment);
    const IndexForm b = index(node->b, environment);
    switch (node->op) {
    case BinaryOp::add:
      a.add(b);
      return a;
    case BinaryOp::sub:
      a.add(b, -1);
      return a;
    case BinaryOp::mul:
      if (b.is_constant() || a.is_constant()) {
        form.add(b.is_constant() ? a : b, b.is_constant() ? b.constant : a.constant);
        return form;
      }
      break;
    case BinaryOp::floordiv:
    case BinaryOp::floormod:
      if (b.is_constant() && b.constant > 0) {
        return atoms_.divide(a, b.constant, node->op == BinaryOp::floordiv, values_);
      }
      break;
    case BinaryOp::min:
    case BinaryOp::max: {
      IndexForm difference = a;
      difference.add(b, -1);
      const IndexRange range = atoms_.range(difference, values_);
      const bool is_min = node->op == BinaryOp::min;
      if (range.max <= 0) {
        return is_min ? a : b;
      }
      if (range.min >= 0) {
        return is_min ? b : a;
      }
      return atoms_.other(is_min ? AtomKind::min : AtomKind::max, a, b);
    }
    default:
      break;
    }
    return atoms_.other(AtomKind::opaque, a, b);
  }
  IndexForm recombined_index(ExprId id, const IndexEnvironment& environment) {
    IndexForm form = index(id, environment);
    atoms_.recombine(form, values_);
    return form;
  }
  IndexForm opaque(ExprId id, const IndexEnvironment& environment) {
    IndexForm all;
    for_each_child(pool_[id], [&](ExprId child) {
      if (is_integer(pool_.dtype(child))) {
        all.add(index(child, environment));
      }
    });
    if (const TensorRead* read = pool_.as<TensorRead>(id)) {
      load(*read, environment);
    } else if (const Load* of_buffer = pool_.as<Load>(id)) {
      load(*of_buffer, environment);
    }
    return atoms_.other(AtomKind::opaque, std::move(all), {});
  }

  void load(const TensorRead& read, const IndexEnvironment& environment) {
    std::vector<IndexForm> indices = indices_of(read.indices, environment);
    if (const Operation* op = inlined_[read.tensor.value]) {
      IndexEnvironment inner;
      for (std::size_t a = 0; a < op->axes.size(); ++a) {
        inner.emplace_back(op->axes[a].var, indices[a]);
      }
      std::size_t k = 0;
      while (op->outputs[k] != read.tensor) {
        ++k;
      }
      value(op->bodies[k], inner);
      return;
    }
    add_read(read.tensor, std::move(indices));
  }
  /// Buffers of a kernel have the ids of tensors.
  void load(const Load& read, const IndexEnvironment& environment) {
    add_read(TensorId{read.buffer.value}, indices_of(read.indices, environment));
  }
  std::vector<IndexForm> indices_of(const ExprList& list, const IndexEnvironment& environment) {
    std::vector<IndexForm> indices;
    for (ExprId id : list) {
      indices.push_back(recombined_index(id, environment));
    }
    return indices;
  }
  void add_read(TensorId tensor, std::vector<IndexForm> indices) {
    for (const IndexForm& form : indices) {
      count_form(atoms_, form, store_.counts);
    }
    for (FeatureAccess& access : store_.accesses) {
      if (access.tensor != tensor) {
        continue;
      }
      if (access.kind != AccessKind::read) {
        access.kind = AccessKind::read_write;  // its indices are not appended
      } else {
        access.indices.insert(access.indices.end(), indices.begin(), indices.end());
      }
      return;
    }
    FeatureAccess access;
    access.tensor = tensor;
    access.rank = indices.size();
    access.indices = std::move(indices);
    store_.accesses.push_back(std::move(access));
  }

  /// The truth of a comparison of indices where ranges decide it.
  std::optional<bool> decided(ExprId id, const IndexEnvironment& environment) {
    const Binary* node = pool_.as<Binary>(id);
    if (node == nullptr) {
      const IntImm* imm = pool_.as<IntImm>(id);
      return imm ? std::optional<bool>(imm->value != 0) : std::nullopt;
    }
    if (node->op == BinaryOp::and_ || node->op == BinaryOp::or_) {
      const bool stop = node->op == BinaryOp::or_;
      const auto a = decided(node->a, environment), b = decided(node->b, environment);
      if ((a && *a == stop) || (b && *b == stop)) {
        return stop;
      }
      return a && b ? std::optional<bool>(!stop) : std::nullopt;
    }
    if (!is_comparison(node->op) || !is_index(node->a) || !is_index(node->b)) {
      return std::nullopt;
    }
    IndexForm difference = index(node->a, environment);
    difference.add(index(node->b, environment), -1);
    const IndexRange r = atoms_.range(difference, values_);
    const auto answer = [](bool yes, bool no) {
      return yes ? std::optional<bool>(true) : no ? std::optional<bool>(false) : std::nullopt;
    };
    switch (node->op) {
    case BinaryOp::lt:
      return answer(r.max < 0, r.min >= 0);
    case BinaryOp::le:
      return answer(r.max <= 0, r.min > 0);
    case BinaryOp::gt:
      return answer(r.min > 0, r.max <= 0);
    case BinaryOp::ge:
      return answer(r.min >= 0, r.max < 0);
    case BinaryOp::eq:
      return answer(r.min == 0 && r.max == 0, r.min > 0 || r.max < 0);
    default:
      return answer(r.min > 0 || r.max < 0, r.min == 0 && r.max == 0);
    }
  }
  /// Integer arithmetic over axes, without reads and operands of a combiner.
  bool is_index(ExprId id) const {
    if (const VarRef* ref = pool_.as<VarRef>(id); ref != nullptr && reduce_ != nullptr) {
      const Combiner& combiner = pool_.combiner(reduce_->combiner);
      for (std::size_t i = 0; i < combiner.lhs.size(); ++i) {
        if (combiner.lhs[i] == ref->var || combiner.rhs[i] == ref->var) {
          return false;
        }
      }
    }
    if (!is_integer(pool_.dtype(id)) || pool_.as<TensorRead>(id) != nullptr ||
        pool_.as<Load>(id) != nullptr) {
      return false;
    }
    bool all = true;
    for_each_child(pool_[id], [&](ExprId child) { all = all && is_index(child); });
    return all;
  }

  void binary(const Binary& node, const IndexEnvironment& environment) {
    const DType operand = pool_.dtype(node.a);
    if (node.op == BinaryOp::and_ || node.op == BinaryOp::or_) {
      const auto a = decided(node.a, environment), b = decided(node.b, environment);
      if (!a) {
        value(node.a, environment);
      }
      if (!b) {
        value(node.b, environment);
      }
      store_.counts[OpClass::bool_op] += !a && !b ? 1 : 0;
      return;
    }
    if (is_comparison(node.op) && is_index(node.a) && is_index(node.b)) {
      IndexForm difference = index(node.a, environment);
      difference.add(index(node.b, environment), -1);
      difference.constant = 0;  // stands alone on its side
      const bool is_or_equal = node.op == BinaryOp::ge || node.op == BinaryOp::le;
      if (const IndexForm* whole = atoms_.before_division(difference); whole && is_or_equal) {
        difference = *whole;  // c <= (4 * x + y) div 36 --> 36 * c <= 4 * x + y
      } else if (difference.terms.size() == 1 &&
                 atoms_[difference.terms[0].atom].kind == AtomKind::floordiv) {
        difference = atoms_[difference.terms[0].atom].a;  // x div c < d --> x < c * d
      }
      count_form(atoms_, difference, store_.counts);
      store_.counts[OpClass::int_cmp] += 1;
      return;
    }
    if (node.op == BinaryOp::mul && (is_one(node.a) || is_one(node.b))) {
      return value(is_one(node.a) ? node.b : node.a, environment);
    }
    value(node.a, environment);
    value(node.b, environment);
    store_.counts[op_class(node.op, operand)] += 1;
  }
  /// A constant matrix that is computed inline counts as 1 (Ansor reference, ch. 6.1).
  bool is_one(ExprId id) const {
    const TensorRead* read = pool_.as<TensorRead>(id);
    const Operation* op = read != nullptr ? inlined_[read->tensor.value] : nullptr;
    return op != nullptr && op->attrs.const_matrix;
  }

  void value(ExprId id, const IndexEnvironment& environment) {
    const ExprNode& node = pool_[id];
    if (is_integer(node.dtype) && is_index(id)) {
      count_form(atoms_, index(id, environment), store_.counts);
      return;
    }
    if (const TensorRead* read = std::get_if<TensorRead>(&node.op)) {
      return load(*read, environment);
    }
    if (const Load* read = std::get_if<Load>(&node.op)) {
      return load(*read, environment);
    }
    if (const Binary* binary_node = std::get_if<Binary>(&node.op)) {
      return binary(*binary_node, environment);
    }
    if (const VarRef* ref = std::get_if<VarRef>(&node.op)) {
      return combiner_operand(ref->var, environment);
    }
    if (const Call* call = std::get_if<Call>(&node.op)) {
      if (call->op == CallOp::if_then_else) {
        if (const auto known = decided(call->args[0], environment)) {
          return value(call->args[*known ? 1 : 2], environment);
        }
      }
      store_.counts[is_float(node.dtype) ? OpClass::float_mathfunc : OpClass::int_mathfunc] += 1;
    } else if (const Select* select = std::get_if<Select>(&node.op)) {
      if (const auto known = decided(select->condition, environment)) {
        return value(*known ? select->if_true : select->if_false, environment);
      }
      store_.counts[OpClass::select_op] += 1;
    } else if (const Unary* unary = std::get_if<Unary>(&node.op)) {
      const bool f = is_float(node.dtype);
      store_.counts[unary->op == UnaryOp::not_ ? OpClass::bool_op
                    : f                        ? OpClass::float_mul
                                               : OpClass::int_mul] += 1;
    }
    for_each_child(node, [&](ExprId child) { value(child, environment); });
  }
  /// A variable of the combiner: lhs is the stored element, rhs the source. Both are evaluated with
  /// the reduction's own axes, which are in the environment.
  void combiner_operand(VarId var, const IndexEnvironment& environment) {
    if (reduce_ == nullptr) {
      return;
    }
    const Combiner& combiner = pool_.combiner(reduce_->combiner);
    for (std::size_t i = 0; i < combiner.lhs.size(); ++i) {
      if (combiner.lhs[i] == var) {
        const FeatureAccess& own = store_.accesses[0];
        return add_read(
            outputs_->outputs[i],
            std::vector<IndexForm>(own.indices.begin(),
                                   own.indices.begin() + static_cast<std::ptrdiff_t>(own.rank)));
      }
      if (combiner.rhs[i] == var) {
        return value(reduce_->sources[i], environment);
      }
    }
  }

  const ExprPool& pool_;
  IndexAtoms& atoms_;
  LoopValues values_;
  const InlinedOperations& inlined_;
  FeatureStore& store_;
  const Reduce* reduce_ = nullptr;
  const Operation* outputs_ = nullptr;
};

}  // namespace detail
}  // namespace tensorsmith
