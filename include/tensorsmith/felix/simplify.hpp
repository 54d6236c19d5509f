// SPDX-License-Identifier: Apache-2.0
// Simplifies formulas and proves them equal, by equality saturation.
//
// Floor 6.5. Two measures of a result: the number of nodes; in the approximate mode, weights that
// make a disjunction of plain comparisons better than one comparison of a product.
#pragma once

#include <string>
#include <vector>

#include "tensorsmith/felix/saturation.hpp"

namespace tensorsmith::felix {

struct Simplified {
  FormulaId formula;
  double cost = 0;
  bool is_sound = true;  ///< false: rules contradict each other on it, and it was left as it is
};

/// Of one node, without its operands.
inline double cost_of_op(Op op, bool is_approximate) {
  if (!is_approximate || arity_of(op) == 0 || op == Op::and_ || op == Op::or_ || op == Op::not_ ||
      op == Op::lt) {
    return 1;
  }
  return op >= Op::eq && op <= Op::ge ? 5 : 10;
}

/// Of a formula written out, without sharing.
inline double cost_of(const FormulaPool& pool, FormulaId id, bool is_approximate) {
  std::vector<double> costs(id.value + 1, 0);
  for (std::uint32_t i = 0; i <= id.value; ++i) {
    const FormulaNode& node = pool[FormulaId{i}];
    costs[i] = cost_of_op(node.op, is_approximate);
    for (std::size_t k = 0; k < arity_of(node.op); ++k) {
      costs[i] += costs[node.args[k]];
    }
  }
  return costs[id.value];
}

namespace detail {

/// The cheapest formula of each class that is needed for `root`.
class Extraction {
 public:
  Extraction(const EGraph& graph, bool is_approximate) : graph_(graph) {
    costs_.assign(graph.num_classes(), infinite);
    best_.resize(graph.num_classes());
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (ClassId id = 0; id < graph.num_classes(); ++id) {
        for (const EGraph::Node& node : graph.nodes_of(id)) {
          double cost = cost_of_op(node.op, is_approximate);
          for (std::size_t i = 0; i < arity_of(node.op); ++i) {
            cost += costs_[graph.find(node.args[i])];
          }
          if (cost < costs_[id]) {
            costs_[id] = cost;
            best_[id] = node;
            is_changed = true;
          }
        }
      }
    }
  }
  double cost(ClassId id) const { return costs_[graph_.find(id)]; }
  /// Symbols keep their numbers: `pool` is the one that the graph was filled from.
  FormulaId formula(FormulaPool& pool, ClassId id) const {
    const EGraph::Node& node = best_[graph_.find(id)];
    switch (node.op) {
    case Op::number:
      return pool.number(node.value);
    case Op::truth:
      return pool.truth(node.value != 0);
    case Op::symbol:
      return pool.symbol(std::string(pool.name_of_symbol(node.args[0])),
                         pool.kind_of_symbol(node.args[0]));
    default:
      break;
    }
    FormulaId args[3];
    for (std::size_t i = 0; i < arity_of(node.op); ++i) {
      args[i] = formula(pool, node.args[i]);
    }
    return pool.make(node.op, args[0], args[1], args[2]);
  }

 private:
  static constexpr double infinite = 1e300;
  const EGraph& graph_;
  std::vector<double> costs_;
  std::vector<EGraph::Node> best_;
};

}  // namespace detail

inline Simplified simplify(FormulaPool& pool, FormulaId formula,
                           const SimplifyOptions& options = {}) {
  EGraph graph;
  const ClassId root = graph.add(pool, formula);
  detail::Saturation(graph, options).run();
  if (!graph.is_sound()) {
    return {formula, cost_of(pool, formula, options.is_approximate), false};
  }
  const detail::Extraction extraction(graph, options.is_approximate);
  return {extraction.formula(pool, root), extraction.cost(root), true};
}

/// Whether they are proven equal within the limits; false says nothing.
inline bool are_equal(const FormulaPool& pool, FormulaId a, FormulaId b,
                      const SimplifyOptions& options = {}) {
  EGraph graph;
  const ClassId first = graph.add(pool, a);
  const ClassId second = graph.add(pool, b);
  detail::Saturation(graph, options).run();
  return graph.is_sound() && graph.find(first) == graph.find(second);
}

}  // namespace tensorsmith::felix
