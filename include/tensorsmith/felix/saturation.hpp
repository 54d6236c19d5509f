// SPDX-License-Identifier: Apache-2.0
// Saturation: applies the rules to an e-graph until nothing is new or a limit is reached.
//
// Floor 6.5. All rules are matched, then applied, then congruence is restored; rules with very many
// matches rest for some rounds, as in egg (Willsey et al., POPL 2021). Deterministic: limits are
// numbers of rounds and nodes, never time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/felix/egraph.hpp"
#include "tensorsmith/felix/rules.hpp"

namespace tensorsmith::felix {

struct SimplifyOptions {
  bool is_approximate = false;
  RuleSet rules = RuleSet::repaired;
  int rounds = 30;
  std::size_t nodes = 10000;
};

namespace detail {

/// Classes for the symbols of the table of rules.
struct Bindings {
  static constexpr std::size_t most = 8;
  ClassId classes[most];
  bool is_bound[most] = {};
};

struct RuleMatch {
  ClassId owner;
  Bindings bindings;
};

class Saturation {
 public:
  Saturation(EGraph& graph, const SimplifyOptions& options) : graph_(graph), options_(options) {
    const RuleTable& table = rule_table();
    for (const Rule& rule : table.rules) {
      const RowOf of = rule.row->of;
      if ((!rule.row->is_approximate || options.is_approximate) &&
          (of == RowOf::both || (of == RowOf::released) == (options.rules == RuleSet::released))) {
        rules_.push_back({&rule, 0, 0});
      }
    }
    TENSORSMITH_ASSERT(table.pool.num_symbols() <= Bindings::most, "rules of too many symbols");
  }

  void run() {
    graph_.rebuild();
    for (int round = 0; round < options_.rounds; ++round) {
      if (!run_round(round) || !graph_.is_sound() || graph_.num_nodes() > options_.nodes) {
        return;
      }
    }
  }

 private:
  struct ActiveRule {
    const Rule* rule;
    int times_rested, rests_until;
  };
  static constexpr std::size_t most_matches = 1000;
  static constexpr int rest_rounds = 5;

  /// False: nothing can be new any more.
  bool run_round(int round) {
    find_classes_by_op();
    std::vector<std::vector<RuleMatch>> matches(rules_.size());
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      ActiveRule& active = rules_[i];
      if (round < active.rests_until) {
        continue;
      }
      const std::size_t limit = most_matches << active.times_rested;
      match_rule(*active.rule, limit, matches[i]);
      if (matches[i].size() > limit) {
        active.rests_until = round + (rest_rounds << active.times_rested);
        ++active.times_rested;
        matches[i].clear();
      }
    }
    bool is_new = false;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      for (const RuleMatch& match : matches[i]) {
        is_new = apply(*rules_[i].rule, match) || is_new;
      }
      if (graph_.num_nodes() > options_.nodes) {
        break;
      }
    }
    graph_.rebuild();
    return is_new || wake_rules(round);
  }
  /// If rules rest, the first of them works in the next round.
  bool wake_rules(int round) {
    int first = INT32_MAX;
    for (const ActiveRule& active : rules_) {
      if (active.rests_until > round && active.rests_until < first) {
        first = active.rests_until;
      }
    }
    for (ActiveRule& active : rules_) {
      if (active.rests_until > round) {
        active.rests_until -= first - round;
      }
    }
    return first != INT32_MAX;
  }

  void find_classes_by_op() {
    for (std::vector<ClassId>& classes : by_op_) {
      classes.clear();
    }
    for (ClassId id = 0; id < graph_.num_classes(); ++id) {
      Op last = Op::number;
      for (const EGraph::Node& node : graph_.nodes_of(id)) {
        if (arity_of(node.op) > 0 && node.op != last) {
          by_op_[static_cast<std::size_t>(node.op)].push_back(id);
          last = node.op;
        }
      }
    }
  }

  void match_rule(const Rule& rule, std::size_t limit, std::vector<RuleMatch>& found) {
    const FormulaPool& pool = rule_table().pool;
    const std::size_t op = static_cast<std::size_t>(pool[rule.pattern].op);
    for (ClassId id : by_op_[op]) {
      std::vector<Bindings> all;
      match(pool, rule.pattern, id, {Bindings{}}, all);
      for (const Bindings& bindings : all) {
        found.push_back({id, bindings});
      }
      if (found.size() > limit) {
        return;
      }
    }
  }
  void match(const FormulaPool& pool, FormulaId pattern, ClassId id,
             const std::vector<Bindings>& given, std::vector<Bindings>& found) const {
    const FormulaNode& wanted = pool[pattern];
    if (wanted.op == Op::symbol) {
      const std::uint32_t at = wanted.args[0];
      for (const Bindings& bindings : given) {
        if (!bindings.is_bound[at] || bindings.classes[at] == id) {
          found.push_back(bindings);
          found.back().is_bound[at] = true;
          found.back().classes[at] = id;
        }
      }
    } else if (arity_of(wanted.op) == 0) {
      const ClassConstant& constant = graph_.constant_of_class(id);
      if (constant.is_known && constant.is_truth == (wanted.op == Op::truth) &&
          EGraph::near(constant.value, wanted.value)) {
        found.insert(found.end(), given.begin(), given.end());
      }
    } else {
      for (const EGraph::Node& node : graph_.nodes_of(id)) {
        if (node.op == wanted.op) {
          std::vector<Bindings> now = given;
          for (std::size_t i = 0; i < arity_of(node.op) && !now.empty(); ++i) {
            std::vector<Bindings> next;
            match(pool, FormulaId{wanted.args[i]}, graph_.find(node.args[i]), now, next);
            now.swap(next);
          }
          found.insert(found.end(), now.begin(), now.end());
        }
      }
    }
  }

  bool apply(const Rule& rule, const RuleMatch& match) {
    if (!holds(rule, match.bindings)) {
      return false;
    }
    const ClassId made = instantiate(rule.replacement, match.bindings);
    return graph_.unite(match.owner, made);
  }
  ClassId instantiate(FormulaId id, const Bindings& bindings) {
    const FormulaNode& wanted = rule_table().pool[id];
    if (wanted.op == Op::symbol) {
      return graph_.find(bindings.classes[wanted.args[0]]);
    }
    EGraph::Node node = wanted;
    for (std::size_t i = 0; i < arity_of(node.op); ++i) {
      node.args[i] = instantiate(FormulaId{wanted.args[i]}, bindings);
    }
    return graph_.add(node);
  }
  ClassId bound_to(const Rule& rule, std::string_view name, const Bindings& bindings) const {
    const FormulaPool& pool = rule_table().pool;
    const std::vector<bool> used = used_by(pool, {rule.pattern});
    for (std::uint32_t i = 0; i < pool.size(); ++i) {
      const FormulaNode& node = pool[FormulaId{i}];
      if (used[i] && node.op == Op::symbol && pool.name_of_symbol(node.args[0]) == name) {
        return graph_.find(bindings.classes[node.args[0]]);
      }
    }
    TENSORSMITH_ASSERT(false, "a condition on a symbol that the rule does not have");
    return 0;
  }
  bool holds(const Rule& rule, const Bindings& bindings) const {
    const auto constant = [&](std::string_view name) {
      return graph_.constant_of_class(bound_to(rule, name, bindings));
    };
    switch (rule.row->condition) {
    case RuleCondition::none:
      return true;
    case RuleCondition::b_not_zero:
      return !(constant("?b").is_known && EGraph::near(constant("?b").value, 0));
    case RuleCondition::b_not_negative:
      return constant("?b").is_known && constant("?b").value >= 0;
    case RuleCondition::a_power_of_b: {
      const ClassConstant a = constant("?a"), b = constant("?b");
      if (!a.is_known || !b.is_known || a.value <= 0 || b.value <= 0 || b.value == 1) {
        return false;
      }
      const double power = math::log(a.value) / math::log(b.value);
      return EGraph::near(power, math::nearbyint(power));
    }
    case RuleCondition::a_at_least_two:
      return constant("?a").is_known && constant("?a").value >= 2;
    case RuleCondition::a_has_symbol:
      return any_item(graph_.nodes_of(bound_to(rule, "?a", bindings)),
                      [](const EGraph::Node& node) { return node.op == Op::symbol; });
    case RuleCondition::b_is_whole:
      return is_whole(bound_to(rule, "?b", bindings), 4);
    case RuleCondition::a_not_zero:
      return constant("?a").is_known && !EGraph::near(constant("?a").value, 0);
    }
    return false;
  }

  /// Whether one of its formulas says so, down to this depth. Symbols are sizes.
  bool is_whole(ClassId id, int depth) const {
    const ClassConstant& constant = graph_.constant_of_class(id);
    if (constant.is_known) {
      return constant.value == math::nearbyint(constant.value);
    }
    return any_item(graph_.nodes_of(id), [&](const EGraph::Node& node) {
      switch (node.op) {
      case Op::symbol:
        return true;
      case Op::add:
      case Op::sub:
      case Op::mul:
      case Op::floordiv:
      case Op::mod:
      case Op::min:
      case Op::max:
        return depth > 0 && is_whole(graph_.find(node.args[0]), depth - 1) &&
               (node.op == Op::floordiv || is_whole(graph_.find(node.args[1]), depth - 1));
      default:
        return false;
      }
    });
  }

  EGraph& graph_;
  const SimplifyOptions& options_;
  std::vector<ActiveRule> rules_;
  std::vector<ClassId> by_op_[num_ops];
};

}  // namespace detail
}  // namespace tensorsmith::felix
