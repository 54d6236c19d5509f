// SPDX-License-Identifier: Apache-2.0
// EGraph: classes of formulas that are known to be equal.
//
// Floor 6.5. Union-find, a table of nodes and deferred congruence (Nelson and Oppen 1980; Willsey
// et al., POPL 2021). A class knows its constant if it has one: constants are folded when nodes are
// made and when classes are joined, and such a class keeps its leaves only. Two constants that
// differ in one class mean that a rule was used outside its domain: is_sound() says so, and nobody
// should take a result. Not here: rules (rules.hpp) and when to stop (simplify.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/felix/formula.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith::felix {

using ClassId = std::uint32_t;

/// What a class is known to be.
struct ClassConstant {
  bool is_known = false, is_truth = false;
  double value = 0;
};

class EGraph {
 public:
  /// Operands in `args` are classes; of a symbol, its number.
  using Node = FormulaNode;

  ClassId add(Node node) {
    canonicalise(node);
    const std::uint32_t place = table_.intern(hash_of(node), nodes_, node, same);
    if (place < class_of_node_.size()) {
      return find(class_of_node_[place]);
    }
    const ClassId made = static_cast<ClassId>(classes_.size());
    class_of_node_.push_back(made);
    parent_.push_back(made);
    classes_.push_back({{node}, {}, constant_of(node)});
    for (std::size_t i = 0; i < arity_of(node.op); ++i) {
      classes_[node.args[i]].parents.push_back({node, made});
    }
    keep_constant(made);
    return find(made);
  }
  ClassId add(const FormulaPool& pool, FormulaId root) {
    const std::vector<bool> used = used_by(pool, {root});
    std::vector<ClassId> made(pool.size(), 0);
    for (std::uint32_t i = 0; i < pool.size(); ++i) {
      if (used[i]) {
        Node node = pool[FormulaId{i}];
        for (std::size_t k = 0; k < arity_of(node.op); ++k) {
          node.args[k] = made[node.args[k]];
        }
        made[i] = add(node);
      }
    }
    return find(made[root.value]);
  }

  /// Says whether they were two.
  bool unite(ClassId a, ClassId b) {
    a = find(a);
    b = find(b);
    if (a == b) {
      return false;
    }
    if (classes_[b].parents.size() > classes_[a].parents.size()) {
      std::swap(a, b);
    }
    parent_[b] = a;
    Class gone = std::move(classes_[b]);
    classes_[b] = Class{};
    Class& kept = classes_[a];
    pending_.insert(pending_.end(), gone.parents.begin(), gone.parents.end());
    if (merge(kept.constant, gone.constant)) {
      changed_.insert(changed_.end(), kept.parents.begin(), kept.parents.end());
    } else if (kept.constant.is_known && !gone.constant.is_known) {
      changed_.insert(changed_.end(), gone.parents.begin(), gone.parents.end());
    }
    kept.nodes.insert(kept.nodes.end(), gone.nodes.begin(), gone.nodes.end());
    kept.parents.insert(kept.parents.end(), gone.parents.begin(), gone.parents.end());
    keep_constant(a);
    return true;
  }

  /// Joins what follows from what was joined; before it, classes may hold equal nodes twice.
  void rebuild() {
    while (!pending_.empty() || !changed_.empty()) {
      while (!pending_.empty()) {
        Parent use = pending_.back();
        pending_.pop_back();
        canonicalise(use.node);
        const std::uint32_t place = table_.intern(hash_of(use.node), nodes_, use.node, same);
        if (place == class_of_node_.size()) {
          class_of_node_.push_back(use.owner);
        } else {
          const ClassId other = class_of_node_[place];
          class_of_node_[place] = use.owner;
          unite(other, use.owner);
        }
      }
      while (!changed_.empty()) {
        const Parent use = changed_.back();
        changed_.pop_back();
        const ClassId owner = find(use.owner);
        Node node = use.node;
        canonicalise(node);
        if (merge(classes_[owner].constant, constant_of(node))) {
          const std::vector<Parent>& parents = classes_[owner].parents;
          changed_.insert(changed_.end(), parents.begin(), parents.end());
          keep_constant(owner);
        }
      }
    }
    for (Class& item : classes_) {
      for (Node& node : item.nodes) {
        canonicalise(node);
      }
      sort_items(item.nodes, comes_first);
      std::size_t kept = 0;
      for (std::size_t i = 0; i < item.nodes.size(); ++i) {
        if (kept == 0 || !same(item.nodes[kept - 1], item.nodes[i])) {
          item.nodes[kept++] = item.nodes[i];
        }
      }
      item.nodes.resize(kept);
    }
  }

  ClassId find(ClassId id) const {
    while (parent_[id] != id) {
      id = parent_[id];
    }
    return id;
  }
  /// Classes that were made; those that are not their own find() are empty.
  std::size_t num_classes() const { return classes_.size(); }
  /// Nodes that were ever made, the measure of how large it is.
  std::size_t num_nodes() const { return nodes_.size(); }
  const std::vector<Node>& nodes_of(ClassId id) const { return classes_[id].nodes; }
  const ClassConstant& constant_of_class(ClassId id) const { return classes_[id].constant; }
  bool is_sound() const { return is_sound_; }
  static bool near(double a, double b) { return math::fabs(a - b) <= 1e-7; }

 private:
  struct Parent {
    Node node;
    ClassId owner;
  };
  struct Class {
    std::vector<Node> nodes;
    std::vector<Parent> parents;
    ClassConstant constant;
  };

  static std::uint64_t hash_of(const Node& node) {
    return hash_of_parts(static_cast<std::uint64_t>(node.op), node.args, node.value);
  }
  static bool same(const Node& a, const Node& b) {
    return a.op == b.op && a.args[0] == b.args[0] && a.args[1] == b.args[1] &&
           a.args[2] == b.args[2] && a.value == b.value;
  }
  static bool comes_first(const Node& a, const Node& b) {
    if (a.op != b.op) {
      return a.op < b.op;
    }
    for (std::size_t i = 0; i < 3; ++i) {
      if (a.args[i] != b.args[i]) {
        return a.args[i] < b.args[i];
      }
    }
    return a.value < b.value;
  }
  void canonicalise(Node& node) const {
    for (std::size_t i = 0; i < arity_of(node.op); ++i) {
      node.args[i] = find(node.args[i]);
    }
  }

  /// Of a node whose operands are constants; none where a value would not be a finite number.
  ClassConstant constant_of(const Node& node) const {
    if (node.op == Op::number || node.op == Op::truth) {
      return {true, node.op == Op::truth, node.value};
    }
    if (node.op == Op::symbol || node.op == Op::select || node.op >= Op::sigmoid) {
      return {};
    }
    double values[3] = {0, 0, 0};
    for (std::size_t i = 0; i < arity_of(node.op); ++i) {
      const ClassConstant& operand = classes_[node.args[i]].constant;
      if (!operand.is_known) {
        return {};
      }
      values[i] = operand.value;
    }
    const double value = value_of(node.op, values[0], values[1], values[2]);
    return value - value == 0 ? ClassConstant{true, facts_of(node.op).is_condition, value + 0.0}
                              : ClassConstant{};
  }
  /// Says whether `into` became known.
  bool merge(ClassConstant& into, const ClassConstant& other) {
    if (!other.is_known) {
      return false;
    }
    if (into.is_known) {
      is_sound_ = is_sound_ && into.is_truth == other.is_truth && near(into.value, other.value);
      return false;
    }
    into = other;
    return true;
  }
  void keep_constant(ClassId id) {
    const ClassConstant constant = classes_[id].constant;
    if (!constant.is_known || !is_sound_) {
      return;
    }
    const Node leaf{constant.is_truth ? Op::truth : Op::number, {0, 0, 0}, constant.value};
    if (!any_item(classes_[id].nodes, [&](const Node& node) { return same(node, leaf); })) {
      unite(id, add(leaf));
      id = find(id);
    }
    std::vector<Node>& nodes = classes_[id].nodes;
    std::size_t kept = 0;
    for (const Node& node : nodes) {
      if (arity_of(node.op) == 0) {
        nodes[kept++] = node;
      }
    }
    nodes.resize(kept);
  }

  std::vector<Node> nodes_;             // as they were when made or joined
  std::vector<ClassId> class_of_node_;  // beside them
  std::vector<ClassId> parent_;         // union-find
  std::vector<Class> classes_;
  std::vector<Parent> pending_;  // uses of classes that are gone
  std::vector<Parent> changed_;  // uses of classes whose constant has become known
  NodeTable table_;
  bool is_sound_ = true;
};

}  // namespace tensorsmith::felix
