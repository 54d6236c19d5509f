// SPDX-License-Identifier: Apache-2.0
#include "tune/error_twin.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/measure/tolerance.hpp"
#include "tensorsmith/sched/apply/expand_reduction.hpp"
#include "tune/error_facts.hpp"
#include "tune/error_terms.hpp"
#include "tune/f64_twin.hpp"

namespace tensorsmith {
namespace {

using detail::largest_factor, detail::largest_of, detail::least_of, detail::unknown;

/// Expressions are walked as trees where they are compiled.
constexpr double most_nodes = 2e5;

/// Roundings of one operation, also where it is done as two; functions are right to a few units.
constexpr double operation_roundings = 2, function_roundings = 8;

class ErrorTwin : detail::ErrorTerms {
 public:
  ErrorTwin(const ComputeDag& dag, F64Copy& copy)
      : ErrorTerms(*copy.pool()), dag_(dag), from_(dag.pool()), copy_(copy),
        tensors_(dag.tensors()), error_of_(dag.tensors().size()),
        most_error_(dag.tensors().size(), unknown_error) {
    Combiner max;
    max.lhs.push_back(to_.new_var("x", DType::f64));
    max.rhs.push_back(to_.new_var("y", DType::f64));
    max.results.push_back(to_.max(to_.var(max.lhs[0]), to_.var(max.rhs[0])));
    max.identity.push_back(real(0));
    max_ = to_.add_combiner(std::move(max));
  }

  std::optional<BoundedTwin> twin() {
    for (TensorInfo& tensor : tensors_) {
      tensor.dtype = !is_input(dag_, tensor) && is_float(tensor.dtype) ? DType::f64 : tensor.dtype;
    }
    for (const Operation& operation : dag_.operations()) {
      Operation wide = operation;
      for (ExprId& body : wide.bodies) {
        body = copy_(body);
      }
      operations_.push_back(std::move(wide));
      for (std::size_t k = 0; !operation.is_placeholder() && k < operation.bodies.size(); ++k) {
        add_error(operation, k);
      }
      if (!is_manageable_) {
        return std::nullopt;
      }
    }
    std::vector<TensorId> arguments = dag_.arguments();
    BoundedTwin made;
    for (const TensorId id : dag_.arguments()) {
      const bool has_bounds = !is_input(dag_, dag_.tensor(id)) &&
                              (is_float(dag_.tensor(id).dtype) || error_of_[id.value].valid());
      made.bounds_of.push_back(has_bounds ? std::optional(arguments.size()) : std::nullopt);
      if (has_bounds) {
        add_bounds(id);
        arguments.push_back(operations_.back().outputs[0]);
      }
    }
    made.dag = make_shared_of<const ComputeDag>(copy_.pool(), std::move(tensors_),
                                                std::move(operations_), std::move(arguments));
    return made;
  }

 private:
  // An invalid id is an error of zero.
  /// The copy as f64, whatever its type.
  ExprId value_of(ExprId id) { return as_real(copy_(id)); }

  ExprId error(ExprId id) {
    if (const auto found = errors_.find(id.value); found != errors_.end()) {
      return found->second;
    }
    const ExprId e = new_error(id);
    errors_.emplace(id.value, e);
    if (e.valid() && size_of(e) > most_nodes) {
      is_manageable_ = false;
    }
    return e;
  }

  ExprId new_error(ExprId id) {
    const ExprNode& node = from_[id];
    const DType type = node.dtype;
    if (type == DType::boolean) {
      const ExprId turns = may_turn(id);
      return turns.valid() ? to_.select(turns, real(1), real(0)) : ExprId{};
    }
    return std::visit(
        Overloaded{
            [&](const FloatImm& n) {
              const bool is_exact =
                  type == DType::f64 ||
                  (std::fabs(n.value) <= 64 && std::floor(n.value * 4) == n.value * 4) ||
                  (type == DType::f32 &&
                   static_cast<double>(static_cast<float>(n.value)) == n.value);
              return is_exact ? ExprId{} : real(std::fabs(n.value) * epsilon_of(type));
            },
            [&](const Unary& n) { return error(n.a); },
            [&](const Binary& n) { return of_binary(n, id); },
            [&](const Select& n) { return of_choice(n.condition, n.if_true, n.if_false, false); },
            [&](const IntImm&) { return ExprId{}; }, [&](const VarRef&) { return ExprId{}; },
            [&](const Cast& n) {
              const DType before = from_.dtype(n.a);
              if (!is_float(type)) {
                return to_integer(n.a, type);
              }
              const bool is_exact =
                  before == type || before == DType::boolean ||
                  (is_float(before) && epsilon_of(before) >= epsilon_of(type) &&
                   before != DType::bf16) ||
                  (before == DType::bf16 && type != DType::f16) ||
                  ((before == DType::i8 || before == DType::u8) && type != DType::bf16);
              return is_exact ? error(n.a) : plus(error(n.a), rounding(type, copy_(id), 1));
            },
            [&](const Call& n) { return of_call(n, id); },
            [&](const TensorRead& n) { return of_read(n, id); },
            [&](const auto&) { return real(unknown); }},
        node.op);
  }

  /// Of a value that becomes an integer.
  ExprId to_integer(ExprId id, DType type) {
    const ExprId e = error(id), value = value_of(id);
    if (!is_float(from_.dtype(id))) {
      return if_fits(type, value, e);
    }
    return if_fits(type, value, of_steps(value, e, [&](ExprId x) {
                     return to_.select(less(x, real(0)), to_.call(CallOp::ceil, {x}),
                                       to_.call(CallOp::floor, {x}));
                   }));
  }

  ExprId of_read(const TensorRead& read, ExprId id) {
    ExprId of_indices, found;
    ExprList indices;
    for (const ExprId index : read.indices) {
      of_indices = plus(of_indices, error(index));
      indices.push_back(copy_(index));
    }
    if (error_of_[read.tensor.value].valid()) {
      found = of_stored(read.tensor, value_of(id), indices);
    }
    return of_indices.valid() ? if_exact(of_indices, found) : found;
  }

  /// The error of a tensor's element `value`: none is known where its type overflows, or the sum of
  /// the magnitudes that it is the sum of does.
  ExprId of_stored(TensorId tensor, ExprId value, const ExprList& indices) {
    const ExprId size = magnitude(value);
    const ExprId read = to_.read(error_of_[tensor.value], DType::f64, indices);
    if (!is_float(dag_.tensor(tensor).dtype)) {
      return if_fits(dag_.tensor(tensor).dtype, value, read);
    }
    const ExprId overflows = to_.binary(
        BinaryOp::or_,
        to_.and_(less(real(largest_of(dag_.tensor(tensor).dtype)), size), at_most(size, DBL_MAX)),
        less(real(most_error_[tensor.value]), read));
    return to_.select(overflows, real(unknown), read);
  }

  ExprId of_binary(const Binary& n, ExprId id) {
    const ExprId ea = error(n.a), eb = error(n.b);
    if (!is_float(from_.dtype(id))) {
      return of_integers(n.op, from_.dtype(id), {value_of(n.a), ea}, {value_of(n.b), eb},
                         value_of(id));
    }
    const ExprId a = copy_(n.a), b = copy_(n.b), value = copy_(id);
    const ExprId made_of = plus(times(0.5, magnitude(a)), times(0.5, magnitude(b)));
    const ExprId rounded = rounding(from_.dtype(id), value, operation_roundings,
                                    n.op == BinaryOp::div ? ExprId{} : made_of);
    switch (n.op) {
    case BinaryOp::add:
    case BinaryOp::sub:
      return plus(plus(ea, eb), rounded);
    case BinaryOp::mul: {
      const ExprId both = ea.valid() && eb.valid() ? to_.mul(ea, eb) : ExprId{};
      const ExprId e = plus(plus(plus(scaled(a, eb), scaled(b, ea)), both), rounded);
      return if_not_left_out(n.a, b, if_not_left_out(n.b, a, e));
    }
    case BinaryOp::div: {
      if (!eb.valid()) {
        return ea.valid() ? if_known(ea, plus(to_.binary(BinaryOp::div, ea, magnitude(b)), rounded))
                          : rounded;
      }
      const ExprId room = to_.sub(magnitude(b), eb);
      const ExprId e = to_.binary(BinaryOp::div, plus(ea, scaled(value, eb)), room);
      return if_known(plus(ea, eb),
                      plus(to_.select(less(real(0), room), e, real(unknown)), rounded));
    }
    case BinaryOp::min:
    case BinaryOp::max:
      return ea.valid() && eb.valid() ? to_.max(known(ea), known(eb)) : plus(ea, eb);
    default:
      return real(unknown);
    }
  }

  /// Kernels may leave out a product with padding, or multiply by its zero, which gives NaN where
  /// the other factor is not finite (docs/decisions/0021-padding-and-infinities.md).
  ExprId if_not_left_out(ExprId factor, ExprId other, ExprId e) {
    if (!may_be_padding(dag_, factor)) {
      return e;
    }
    const ExprId otherwise = to_.select(at_most(magnitude(other), DBL_MAX), e, real(unknown));
    return to_.select(to_.binary(BinaryOp::eq, copy_(factor), real(0)), otherwise, e);
  }

  /// Whether rounding may turn a condition; invalid: it cannot.
  ExprId may_turn(ExprId id) {
    const ExprNode& node = from_[id];
    const Binary* n = std::get_if<Binary>(&node.op);
    if (n != nullptr && is_comparison(n->op)) {
      const ExprId e = plus(error(n->a), error(n->b));
      const ExprId apart = magnitude(to_.sub(value_of(n->a), value_of(n->b)));
      return e.valid() ? to_.and_(less(real(0), e), to_.binary(BinaryOp::le, apart, e)) : e;
    }
    if (const TensorRead* read = std::get_if<TensorRead>(&node.op)) {
      const ExprId e = of_read(*read, id);
      return e.valid() ? less(real(0), e) : e;
    }
    ExprId turns;
    for_each_child(node, [&](ExprId child) {
      const ExprId e = from_.dtype(child) == DType::boolean ? ExprId{} : error(child);
      const ExprId inner = from_.dtype(child) == DType::boolean ? may_turn(child)
                           : e.valid()                          ? less(real(0), e)
                                                                : e;
      turns = !turns.valid()   ? inner
              : !inner.valid() ? turns
                               : to_.binary(BinaryOp::or_, turns, inner);
    });
    return turns;
  }

  ExprId of_choice(ExprId condition, ExprId a, ExprId b, bool is_guard) {
    const ExprId ea = error(a), eb = error(b), turns = may_turn(condition);
    if (!ea.valid() && !eb.valid() && !turns.valid()) {
      return {};
    }
    const ExprId if_a = ea.valid() ? ea : real(0), if_b = eb.valid() ? eb : real(0);
    const ExprId kept = is_guard ? to_.if_then_else(copy_(condition), if_a, if_b)
                                 : to_.select(copy_(condition), if_a, if_b);
    if (!turns.valid()) {
      return kept;
    }
    const ExprId either =
        is_guard ? real(unknown)
                 : to_.add(to_.add(if_a, if_b), magnitude(to_.sub(value_of(a), value_of(b))));
    return to_.select(turns, either, kept);
  }

  ExprId of_call(const Call& n, ExprId id) {
    if (n.op == CallOp::if_then_else) {
      return of_choice(n.args[0], n.args[1], n.args[2], true);
    }
    if (!is_float(from_.dtype(id))) {
      ExprId e;
      for (const ExprId arg : n.args) {
        e = plus(e, error(arg));
      }
      return n.op == CallOp::abs ? if_fits(from_.dtype(id), value_of(id), e) : if_exact(e);
    }
    const ExprId e = error(n.args[0]), a = copy_(n.args[0]), value = copy_(id);
    const ExprId rounded = rounding(from_.dtype(id), value, function_roundings);
    const auto below = [&](double most) { return to_.sub(a, times(most, e)); };
    const auto if_positive = [&](const auto& bound) {
      const ExprId some = to_.select(less(real(0), below(1)), bound(), real(unknown));
      return plus(to_.select(to_.binary(BinaryOp::eq, e, real(0)), e, some), rounded);
    };
    if (!e.valid() && n.op != CallOp::pow) {
      const bool is_exact = n.op == CallOp::abs || n.op == CallOp::floor || n.op == CallOp::ceil ||
                            n.op == CallOp::round;
      return is_exact ? ExprId{} : rounded;
    }
    switch (n.op) {
    case CallOp::exp: {
      const ExprId grown = to_.sub(to_.call(CallOp::exp, {to_.min(e, real(500))}), real(1));
      const ExprId size = to_.min(magnitude(value), real(largest_factor));
      return to_.select(at_most(e, 500), plus(to_.mul(size, grown), rounded), real(unknown));
    }
    case CallOp::log:
      return if_positive([&] { return to_.binary(BinaryOp::div, e, below(1)); });
    case CallOp::sqrt:
      return if_positive([&] { return to_.sub(value, to_.call(CallOp::sqrt, {below(1)})); });
    case CallOp::rsqrt:
      return if_positive([&] { return to_.sub(to_.call(CallOp::rsqrt, {below(1)}), value); });
    case CallOp::tanh:
    case CallOp::sigmoid:
      return plus(e, rounded);
    case CallOp::erf:
      return plus(times(1.13, e), rounded);
    case CallOp::abs:
      return e;
    case CallOp::floor:
    case CallOp::ceil:
    case CallOp::round:
      return of_steps(a, e, [&](ExprId x) { return to_.call(n.op, {x}); });
    default:  // pow
      return e.valid() || error(n.args[1]).valid()
                 ? real(unknown)
                 : rounding(from_.dtype(id), value, 2 * function_roundings);
    }
  }

  bool has_error(const Reduce& reduce) {
    return any_item(reduce.sources, [&](ExprId source) { return error(source).valid(); });
  }

  void add_error(const Operation& operation, std::size_t k) {
    const TensorId tensor = operation.outputs[k];
    const Reduce* reduce = from_.as<Reduce>(operation.bodies[k]);
    if (reduce == nullptr) {
      if (const ExprId e = error(operation.bodies[k]); e.valid()) {
        error_of_[tensor.value] = add(operation, tensor, "_error", grown(operation, e), {});
      }
      return;
    }
    const Combiner& combiner = from_.combiner(reduce->combiner);
    const Binary* combines = from_.as<Binary>(combiner.results[0]);
    const DType type = from_.dtype(operation.bodies[k]);
    if ((chooses(from_, combiner) || !is_float(type)) && !has_error(*reduce)) {
      return;  // one of the sources as it is, or made of exact ones
    }
    if (combiner.results.size() > 1 || combines == nullptr) {
      error_of_[tensor.value] = add(operation, tensor, "_error", real(unknown), {});
      return;
    }
    const ExprId source = reduce->sources[0], e = error(source), value = value_of(source);
    const auto terms = static_cast<double>(num_terms(operation));
    const double eps = 4 * epsilon_of(type) * (std::sqrt(terms) + 1);
    Reduce sum = *reduce;
    sum.sources = {};
    switch (combines->op) {
    case BinaryOp::min:
    case BinaryOp::max:
      if (e.valid()) {
        sum.combiner = max_;
        sum.sources.push_back(known(e));
        error_of_[tensor.value] =
            add(operation, tensor, "_error", to_.reduce(sum), operation.reduce_axes);
      }
      return;
    case BinaryOp::add: {
      const ExprId size = magnitude(value);
      const ExprId rounded =
          is_float(type) ? to_.select(at_most(size, DBL_MAX), times(eps, size), real(0)) : ExprId{};
      most_error_[tensor.value] =
          is_float(type) ? std::min(unknown_error, eps * largest_of(type)) : unknown_error;
      const ExprId own = if_product_stays(
          free_factors(from_, source), largest_of(type) / terms,
          [&](ExprId f) { return value_of(f); }, rounded);
      sum.sources.push_back(grown(operation, plus(e, own)));
      error_of_[tensor.value] =
          add(operation, tensor, "_error", to_.reduce(sum), operation.reduce_axes);
      return;
    }
    case BinaryOp::mul:
      error_of_[tensor.value] = is_float(type)
                                    ? add_error_of_product(operation, tensor, *reduce)
                                    : add(operation, tensor, "_error", real(unknown), {});
      return;
    default:
      error_of_[tensor.value] = add(operation, tensor, "_error", real(unknown), {});
    }
  }
  /// Products of some of the factors may leave the type where that of all does not: nothing is
  /// known unless those of all above 1, and of all below, stay in it.
  TensorId add_error_of_product(const Operation& operation, TensorId tensor, Reduce product) {
    const DType type = dag_.tensor(tensor).dtype;
    const ExprId e = error(product.sources[0]), size = magnitude(copy_(product.sources[0]));
    ExprList at;
    for (const Axis& axis : operation.axes) {
      at.push_back(to_.var(axis.var));
    }
    const auto product_of = [&](const char* suffix, ExprId factor) {
      product.sources = {};
      product.sources.push_back(factor);
      const TensorId id =
          add(operation, tensor, suffix, to_.reduce(product), operation.reduce_axes);
      return to_.read(id, DType::f64, at);
    };
    const double factor = 1 + operation_roundings * epsilon_of(type);
    const ExprId high = product_of("_high", plus(times(factor, size), e));
    const ExprId above = product_of("_above", to_.max(plus(size, e), real(1)));
    const ExprId below = product_of("_below", to_.min(size, real(1)));
    const ExprId value = to_.read(tensor, DType::f64, at);
    const ExprId bound = to_.add(to_.sub(high, magnitude(value)),
                                 plus(scaled(value, real(1e-13)), rounding(type, value, 1)));
    const ExprId stays =
        to_.and_(at_most(above, largest_of(type)), less(real(least_of(type)), below));
    return add(operation, tensor, "_error", to_.select(stays, bound, real(unknown)), {});
  }
  ExprId grown(const Operation& operation, ExprId e) {
    return operation.attrs.rounding > 1 ? times(operation.attrs.rounding, e) : e;
  }

  /// What a caller compares with.
  void add_bounds(TensorId result) {
    const Operation& operation = dag_.operation(dag_.tensor(result).operation);
    ExprList at;
    for (const Axis& axis : operation.axes) {
      at.push_back(to_.var(axis.var));
    }
    const TensorId e = error_of_[result.value];
    ExprId bound = real(0);
    if (e.valid()) {
      const DType type = dag_.tensor(result).dtype;
      const ExprId value = as_real(to_.read(result, tensors_[result.value].dtype, at));
      const ExprId stored = of_stored(result, value, at);
      bound = is_float(type) ? to_.select(at_most(stored, largest_of(type)), stored, real(unknown))
                             : known(stored);
    }
    add(operation, result, "_bounds", bound, {});
  }

  /// An operation over the axes of another, with variables of its own.
  TensorId add(const Operation& like, TensorId tensor, const char* suffix, ExprId body,
               std::vector<Axis> reduce_axes) {
    Operation made;
    made.name = like.name + suffix;
    made.axes = like.axes;
    made.reduce_axes = std::move(reduce_axes);
    std::unordered_map<std::uint32_t, ExprId> renamed;
    for (std::vector<Axis>* axes : {&made.axes, &made.reduce_axes}) {
      for (Axis& axis : *axes) {
        const VarId own = to_.new_var(from_.var_name(axis.var), from_.var_dtype(axis.var));
        renamed.emplace(to_.var(axis.var).value, to_.var(own));
        axis.var = own;
      }
    }
    made.bodies.push_back(rename(body, renamed));
    if (to_.as<Reduce>(made.bodies[0]) != nullptr) {
      Reduce reduce = *to_.as<Reduce>(made.bodies[0]);
      reduce.axes = {};
      for (const Axis& axis : made.reduce_axes) {
        reduce.axes.push_back(axis.var);
      }
      made.bodies[0] = to_.reduce(std::move(reduce));
    }
    TensorInfo info = tensors_[tensor.value];
    info.name = made.name;
    info.dtype = DType::f64;
    const TensorId id{static_cast<std::uint32_t>(tensors_.size())};
    tensors_.push_back(std::move(info));
    made.outputs.push_back(id);
    operations_.push_back(std::move(made));
    return id;
  }
  ExprId rename(ExprId id, std::unordered_map<std::uint32_t, ExprId>& renamed) {
    if (const auto found = renamed.find(id.value); found != renamed.end()) {
      return found->second;
    }
    const ExprId made = map_children(to_, id, [&](ExprId child) { return rename(child, renamed); });
    renamed.emplace(id.value, made);
    return made;
  }

  double size_of(ExprId id) {
    if (const auto found = sizes_.find(id.value); found != sizes_.end()) {
      return found->second;
    }
    double size = 1;
    for_each_child(to_[id], [&](ExprId child) { size += size_of(child); });
    sizes_.emplace(id.value, size);
    return size;
  }

  const ComputeDag& dag_;
  const ExprPool& from_;
  F64Copy& copy_;
  std::vector<TensorInfo> tensors_;
  std::vector<Operation> operations_;
  std::vector<TensorId> error_of_;  ///< by tensor of `dag`; invalid: it is exact
  std::vector<double> most_error_;  ///< by tensor: of sums that stay in their type
  std::unordered_map<std::uint32_t, ExprId> errors_;
  std::unordered_map<std::uint32_t, double> sizes_;
  CombinerId max_;
  bool is_manageable_ = true;
};

}  // namespace

std::optional<BoundedTwin> error_twin(const ComputeDag& dag) {
  F64Copy copy(dag);
  return ErrorTwin(dag, copy).twin();
}

}  // namespace tensorsmith
