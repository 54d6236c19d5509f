// SPDX-License-Identifier: Apache-2.0
// NotationWriter: the canonical text of a dag (te/notation.hpp).
//
// Floor 2. Own design. Every input is declared, every iterator has its extent: nothing is left to
// be inferred. Constants stand bare where the other operand says their type, as `f32(2.0)` else.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/text_writer.hpp"
#include "tensorsmith/te/check_operation.hpp"
#include "tensorsmith/te/notation_words.hpp"
#include "tensorsmith/te/program.hpp"
#include "tensorsmith/te/same_computation.hpp"
#include "tensorsmith/te/stage_order.hpp"

namespace tensorsmith::te::detail {

class NotationWriter {
 public:
  explicit NotationWriter(const ComputeDag& dag) : dag_(dag), pool_(dag.pool()) {}

  /// Throws Error if the text is too long.
  std::string operator()() {
    std::vector<std::string> inputs, results;
    const auto declare = [&](const TensorInfo& tensor) {
      statement(typed_name(tensor.name, tensor.dtype) + extents(tensor.shape) +
                attributes(dag_.operation(tensor.operation)));
      inputs.push_back(tensor.name);
    };
    for (TensorId argument : dag_.arguments()) {
      const TensorInfo& tensor = dag_.tensor(argument);
      if (dag_.operation(tensor.operation).is_placeholder()) {
        declare(tensor);
      }
    }
    for (const Operation& op : dag_.operations()) {
      if (op.is_placeholder() && !contains(inputs, dag_.tensor(op.outputs[0]).name)) {
        declare(dag_.tensor(op.outputs[0]));
      }
    }
    for (const Operation& op : dag_.operations()) {
      if (!op.is_placeholder()) {
        statement(compute(op));
        for (TensorId output : op.outputs) {
          results.push_back(dag_.tensor(output).name);
        }
      }
    }
    std::string arguments;
    std::vector<std::string> expected = std::move(inputs), given;
    for (const std::string& result : results) {
      if (!contains(read_, result)) {
        expected.push_back(result);
      }
    }
    for (TensorId argument : dag_.arguments()) {
      given.push_back(dag_.tensor(argument).name);
      arguments += " " + given.back();
    }
    return expected == given ? text_ : text_ + " | args" + arguments;
  }

 private:
  enum Level { lowest = 0, any_of, all_of, equality, relation, sum, product, prefix, primary };

  void statement(const std::string& text) {
    text_ += (text_.empty() ? "" : "; ") + text;
    require_length(text_);
  }
  static void require_length(const std::string& text) {
    if (text.size() > longest_notation) {
      throw Error("te: the text of this computation is longer than " +
                  std::to_string(longest_notation) +
                  " bytes: its formulas repeat parts of themselves too often");
    }
  }
  static std::string extents(const SmallVector<std::int64_t, 6>& shape) {
    std::string text;
    for (std::int64_t extent : shape) {
      text += (text.empty() ? "" : ",") + std::to_string(extent);
    }
    return "[" + text + "]";
  }
  static std::string typed_name(const std::string& name, DType type) {
    const bool is_plain = type == DType::f32 && !split_type(name).has_type;
    return is_plain ? name : name + "." + std::string(name_of(type));
  }

  std::string compute(const Operation& op) {
    for (ExprId body : op.bodies) {
      if (is_deeper_than(pool_, body, deepest_notation)) {
        throw Error("te: the formula of \"" + op.name + "\" has more than " +
                    std::to_string(deepest_notation) +
                    " operations inside of each other, which have no text");
      }
    }
    reduce_axes_ = &op.reduce_axes;
    const Reduce* reduce = pool_.as<Reduce>(op.bodies[0]);
    std::string way = "=";
    if (reduce != nullptr) {
      way = combiner(reduce->combiner, pool_.dtype(op.bodies[0]));
    }
    std::string formulas = bodies(op, reduce, true);
    const bool is_listed = met_.size() != op.reduce_axes.size() || !extents_are_placed_;
    if (is_listed) {
      formulas = bodies(op, reduce, false);
    }
    std::string text =
        op.outputs.size() == 1 ? typed_name(op.name, dag_.tensor(op.outputs[0]).dtype) : op.name;
    text += "[" + axes(op.axes) + (is_listed ? "; " + axes(op.reduce_axes) : "") + "] " + way;
    return text + " " + formulas + attributes(op);
  }
  std::string axes(const std::vector<Axis>& axes) const {
    std::string text;
    for (const Axis& axis : axes) {
      text +=
          (text.empty() ? "" : ",") + pool_.var_name(axis.var) + ":" + std::to_string(axis.extent);
    }
    return text;
  }
  /// `places_extents`: of iterators of the reduction, where they are met first.
  std::string bodies(const Operation& op, const Reduce* reduce, bool places_extents) {
    places_extents_ = places_extents;
    extents_are_placed_ = true;
    met_.clear();
    std::string text;
    const std::size_t count = reduce != nullptr ? reduce->sources.size() : op.bodies.size();
    for (std::size_t i = 0; i < count; ++i) {
      text += (i > 0 ? ", " : "") +
              expr(reduce != nullptr ? reduce->sources[i] : op.bodies[i], lowest, false);
    }
    return count == 1 && op.outputs.size() == 1 ? text : "(" + text + ")";
  }

  /// "+=", "max=", or the name of a combiner that is written in front of its first use.
  std::string combiner(CombinerId id, DType type) {
    for (const auto& [known, name] : combiners_) {
      if (known == id) {
        return name;
      }
    }
    std::string name;
    for (const NamedReduction& reduction : named_reductions) {
      if (name.empty() && is_reduction(id, type, reduction)) {
        name = std::string(reduction.text);
      }
    }
    if (name.empty()) {
      const std::string own = "c" + std::to_string(num_own_++);
      statement("combine " + own + definition(pool_.combiner(id)));
      name = own + "=";
    }
    combiners_.emplace_back(id, name);
    return name;
  }
  bool is_reduction(CombinerId id, DType type, const NamedReduction& reduction) const {
    if (pool_.combiner(id).lhs.size() != 1 || type == DType::boolean ||
        pool_.var_dtype(pool_.combiner(id).lhs[0]) != type) {
      return false;
    }
    Program program;
    const ReduceAxis k = program.reduce_axis("k", 2);
    const Tensor x = program.placeholder("X", {2}, type);
    const Expr made = reduction.make(x(k), {k});
    const ExprPool& pool = made.program()->pool;
    return SameExpression(pool_, pool).combiners(id, pool.as<Reduce>(made.id())->combiner);
  }
  std::string definition(const Combiner& rules) {
    std::string types, results;
    for (std::size_t i = 0; i < rules.lhs.size(); ++i) {
      const DType type = pool_.var_dtype(rules.lhs[i]);
      const bool is_bare = is_constant(rules.identity[i]) && pool_.dtype(rules.identity[i]) == type;
      types += (i > 0 ? ", " : "") + std::string(name_of(type)) + " = " +
               expr(rules.identity[i], lowest, is_bare);
      own_names_.emplace_back(rules.lhs[i], combiner_variable('x', i, rules.lhs.size()));
      own_names_.emplace_back(rules.rhs[i], combiner_variable('y', i, rules.lhs.size()));
    }
    for (std::size_t i = 0; i < rules.results.size(); ++i) {
      results += (i > 0 ? ", " : "") + expr(rules.results[i], lowest, false);
    }
    own_names_.clear();
    return "(" + types + ") = (" + results + ")";
  }

  bool is_constant(ExprId id) const {
    return pool_.as<IntImm>(id) != nullptr || pool_.as<FloatImm>(id) != nullptr;
  }
  static std::string in_parentheses(bool wanted, std::string text) {
    return wanted ? "(" + text + ")" : text;
  }
  std::string constant(ExprId id, bool is_bare) const {
    const FloatImm* real = pool_.as<FloatImm>(id);
    std::string text =
        real != nullptr ? text_of_real(real->value) : std::to_string(pool_.as<IntImm>(id)->value);
    const DType type = pool_.dtype(id);
    is_bare = is_bare && type != DType::boolean;
    return is_bare ? text : std::string(name_of(type)) + "(" + text + ")";
  }
  /// Operands of one type, of which the first says the type of constants.
  std::string list(std::span<const ExprId> items) {
    bool has_type = false;
    for (ExprId item : items) {
      has_type = has_type || !is_constant(item);
    }
    std::string text;
    for (std::size_t i = 0; i < items.size(); ++i) {
      text += (i > 0 ? ", " : "") + expr(items[i], lowest, has_type || i > 0);
    }
    return text;
  }
  std::string binary(const Binary& n, Level level) {
    const OperatorText op = text_of_operator(n.op);
    if (!op.is_infix) {
      const ExprId both[] = {n.a, n.b};
      return std::string(op.text) + "(" + list(both) + ")";
    }
    const auto own = static_cast<Level>(op.level);
    const std::string a = expr(n.a, own, !is_constant(n.b));
    const std::string b = expr(n.b, static_cast<Level>(own + 1), true);
    const bool is_close = own == product;
    return in_parentheses(own < level, a + (is_close ? "" : " ") + std::string(op.text) +
                                           (is_close ? "" : " ") + b);
  }
  std::string index(ExprId id) {
    if (const VarRef* ref = pool_.as<VarRef>(id); ref != nullptr && places_extents_) {
      for (const Axis& axis : *reduce_axes_) {
        if (axis.var == ref->var && !contains(met_, axis.var)) {
          meet(axis.var);
          return pool_.var_name(axis.var) + ":" + std::to_string(axis.extent);
        }
      }
    }
    return expr(id, lowest, pool_.dtype(id) == DType::i32);
  }
  /// Iterators of a reduction are met in their own order, or are listed.
  void meet(VarId var) {
    extents_are_placed_ = extents_are_placed_ && met_.size() < reduce_axes_->size() &&
                          (*reduce_axes_)[met_.size()].var == var;
    met_.push_back(var);
  }
  std::string variable(VarId var) {
    for (const auto& [own, name] : own_names_) {
      if (own == var) {
        return name;
      }
    }
    if (has_var(*reduce_axes_, var) && !contains(met_, var)) {
      meet(var);
      extents_are_placed_ = false;  // no place for its extent
    }
    return pool_.var_name(var);
  }

  std::string expr(ExprId id, Level level, bool is_bare) {
    const ExprNode& node = pool_[id];
    std::string text = std::visit(
        Overloaded{
            [&](const IntImm&) { return constant(id, is_bare); },
            [&](const FloatImm&) { return constant(id, is_bare); },
            [&](const VarRef& n) { return variable(n.var); },
            [&](const Unary& n) {
              return in_parentheses(prefix < level,
                                    (n.op == UnaryOp::neg ? "-" : "!") + expr(n.a, primary, false));
            },
            [&](const Binary& n) { return binary(n, level); },
            [&](const Select& n) {
              const ExprId arms[] = {n.if_true, n.if_false};
              return "select(" + expr(n.condition, lowest, false) + ", " + list(arms) + ")";
            },
            [&](const Cast& n) {
              return std::string(name_of(node.dtype)) + "(" + expr(n.a, lowest, false) + ")";
            },
            [&](const Call& n) {
              if (n.op == CallOp::if_then_else) {
                const ExprId arms[] = {n.args[1], n.args[2]};
                return "if_then_else(" + expr(n.args[0], lowest, false) + ", " + list(arms) + ")";
              }
              return std::string(name_of(n.op)) + "(" +
                     list(std::span<const ExprId>(n.args.begin(), n.args.size())) + ")";
            },
            [&](const TensorRead& n) {
              const std::string& name = dag_.tensor(n.tensor).name;
              read_.push_back(name);
              std::string indices;
              for (ExprId at : n.indices) {
                indices += (indices.empty() ? "" : ",") + index(at);
              }
              return name + "[" + indices + "]";
            },
            [&](const Load&) { return std::string("?"); },   // of loop programs only
            [&](const Reduce&) { return std::string("?"); }  // at the root only
        },
        node.op);
    require_length(text);
    return text;
  }

  static std::string attributes(const Operation& op) {
    std::string text;
    const auto add = [&](const std::string& item) { text += (text.empty() ? "" : ", ") + item; };
    if (!op.tag.empty()) {
      add("tag: " + notation_string(op.tag));
    }
    for (const NamedList& named : named_lists) {
      const std::vector<std::string>& names = op.attrs.*named.list;
      std::string list;
      for (const std::string& name : names) {
        list += (list.empty() ? "" : ", ") + notation_string(name);
      }
      if (!names.empty()) {
        add(std::string(named.name) + ": [" + list + "]");
      }
    }
    if (op.attrs.flop >= 0) {
      add("flop: " + std::to_string(op.attrs.flop));
    }
    if (op.attrs.const_matrix) {
      add("const_matrix");
    }
    if (op.attrs.never_inline) {
      add("never_inline");
    }
    if (op.attrs.rounding != 1) {
      add("rounding: " + text_of_real(op.attrs.rounding));
    }
    if (!op.attrs.task_scheduler_tag.empty()) {
      add("task_scheduler_tag: " + notation_string(op.attrs.task_scheduler_tag));
    }
    return text.empty() ? text : " {" + text + "}";
  }

  const ComputeDag& dag_;
  const ExprPool& pool_;
  std::string text_;
  std::vector<std::string> read_;  ///< names of tensors
  std::vector<std::pair<CombinerId, std::string>> combiners_;
  std::vector<std::pair<VarId, std::string>> own_names_;  ///< of the combiner that is written
  std::int32_t num_own_ = 0;
  const std::vector<Axis>* reduce_axes_ = nullptr;  ///< of the operation that is written
  bool places_extents_ = false, extents_are_placed_ = false;
  std::vector<VarId> met_;  ///< iterators of the reduction, in the order of the text
};

}  // namespace tensorsmith::te::detail
