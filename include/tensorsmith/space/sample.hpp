// SPDX-License-Identifier: Apache-2.0
// SpaceSampler: legal assignments at random, and which assignments are legal.
//
// Floor 6. Own design. First what no legal assignment has is cut off, once. Then values are drawn,
// those of a chain together, from a diagram of what is legal (diagram.hpp): every legal assignment
// is as likely as every other. Groups for which the diagram would be too large are drawn from all
// of their rows, and everything again if that breaks a constraint. Where too many draws in a row
// are in vain, values are chosen one group after the other, with propagation and a way back: that
// finds a legal assignment if there is one, with equal chances no more. Variables whose domain only
// a state knows stay `not_asked`.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/space/diagram.hpp"
#include "tensorsmith/support/growing_table.hpp"

namespace tensorsmith {

class SpaceSampler {
 public:
  /// `space` must outlive it. The diagram that it draws from tries at most `max_edges` edges.
  explicit SpaceSampler(const VariableSpace& space,
                        std::size_t max_edges = LegalDiagram::usual_limit)
      : propagator_(space), max_edges_(max_edges) {
    for (const SpaceConstraint& constraint : space.constraints()) {
      tests_.push_back({Tape(space.pool(), {constraint.condition}),
                        variables_of(space.pool(), constraint.condition)});
    }
    domains_ = propagator_.domains();
    is_empty_ = !propagator_.propagate(domains_);
    if (!is_empty_) {
      make_groups();
      order_constraints();
    }
  }

  const VariableSpace& space() const { return propagator_.space(); }
  /// Whether propagation alone shows that nothing is legal.
  bool is_empty() const { return is_empty_; }
  /// What propagation leaves.
  const Domains& domains() const { return domains_; }
  /// Variables that are drawn together; constraints may tie groups to each other.
  const std::vector<ValueTable>& groups() const { return groups_; }
  /// The constraints that can be tested once group `at` and those in front of it have values.
  std::size_t num_tested(std::size_t at) const { return tested_[at]; }

  template <class Rng>
  std::optional<Assignment> draw(Rng& rng) const {
    if (is_empty_) {
      return std::nullopt;
    }
    if (has_tables_) {
      const LegalDiagram& legal = diagram();
      if (legal.count() == 0) {
        return std::nullopt;
      }
      Assignment values(space().size());
      if (legal.num_groups() == groups_.size()) {
        legal.draw(groups_, values, rng);
        return values;
      }
      std::vector<std::int64_t> registers(tape_.size());
      for (int attempt = 0; attempt < max_attempts; ++attempt) {
        legal.draw(groups_, values, rng);
        if (draw_rest(legal.num_groups(), values, registers, rng)) {
          return values;
        }
      }
    }
    std::size_t budget = max_choices;
    return search(0, domains_, rng, budget);
  }

  /// Whether values that all have a domain keep it, their chains and the binding constraints. Those
  /// that are not asked break nothing.
  bool is_legal(const Assignment& values) const {
    const std::vector<Variable>& variables = space().variables();
    for (std::uint32_t i = 0; i < variables.size(); ++i) {
      const std::int32_t value = values[VariableId{i}];
      if (!variables[i].domain.is_open() && value != not_asked &&
          !detail::has_value(variables[i].domain.values(), value)) {
        return false;
      }
    }
    for (const LengthChain& chain : space().chains()) {
      std::int64_t product = 1;
      for (VariableId id : chain.lengths) {
        product = detail::saturated(BinaryOp::mul, product, values[id]);
      }
      const bool is_asked =
          all_items(chain.lengths, [&](VariableId id) { return values[id] != not_asked; });
      if (is_asked && !chain.allows(product)) {
        return false;
      }
    }
    for (std::size_t i = 0; i < tests_.size(); ++i) {
      if (is_binding(space().constraints()[i].kind) && !tests_[i].holds(values)) {
        return false;
      }
    }
    return true;
  }

  /// The constraints that the values break; the binding ones, or all.
  std::vector<const SpaceConstraint*> broken(const Assignment& values,
                                             bool binding_only = false) const {
    std::vector<const SpaceConstraint*> found;
    for (std::size_t i = 0; i < tests_.size(); ++i) {
      const SpaceConstraint& constraint = space().constraints()[i];
      if (!(binding_only && !is_binding(constraint.kind)) && !tests_[i].holds(values)) {
        found.push_back(&constraint);
      }
    }
    return found;
  }

  /// The binding constraints in the order in which they can be tested, see num_tested().
  const Tape& tape() const { return tape_; }
  /// Whether all chains are drawn from tables, not length by length.
  bool has_tables() const { return has_tables_; }
  /// What is legal of the first groups, or of all; has_tables(). Made when first asked for.
  const LegalDiagram& diagram() const {
    return diagram_.find_or_add(
        0, [](const LegalDiagram&) { return true; },
        [&] { return LegalDiagram::make(tape_, groups_, space().size(), max_edges_); });
  }

 private:
  /// One constraint.
  struct Test {
    Tape tape;
    std::vector<VariableId> used;

    bool holds(const Assignment& values) const {
      return any_item(used, [&](VariableId id) { return values[id] == not_asked; }) ||
             tape.evaluate(0, values.data()) != 0;
    }
  };
  static constexpr int max_attempts = 512;
  static constexpr std::size_t max_choices = 20000;

  void make_groups() {
    std::vector<bool> is_taken(space().size());
    for (std::size_t c = 0; c < propagator_.tables().size(); ++c) {
      const std::optional<ValueTable>& table = propagator_.tables()[c];
      has_tables_ = has_tables_ && table.has_value();
      if (table) {
        groups_.push_back(rows_left(*table));
        for (VariableId id : table->variables) {
          is_taken[id.value] = true;
        }
      }
    }
    for (std::uint32_t i = 0; i < space().size(); ++i) {
      if (!is_taken[i] && !domains_[i].empty()) {
        groups_.push_back(ValueTable{{VariableId{i}}, domains_[i]});
      }
    }
  }

  ValueTable rows_left(const ValueTable& table) const {
    ValueTable left{table.variables, {}};
    for (std::size_t r = 0; r < table.size(); ++r) {
      const std::int32_t* row = table.row(r);
      bool is_left = true;
      for (std::size_t i = 0; is_left && i < table.width(); ++i) {
        is_left = detail::has_value(domains_[table.variables[i].value], row[i]);
      }
      if (is_left) {
        left.cells.insert(left.cells.end(), row, row + table.width());
      }
    }
    return left;
  }

  /// Groups that many constraints are about come first, those that share constraints one after the
  /// other, and every constraint as soon as it can.
  void order_constraints() {
    const auto& used = propagator_.used();
    std::vector<std::vector<bool>> is_about(groups_.size());  // group, constraint
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (const auto& variables : used) {
        is_about[g].push_back(
            any_item(variables, [&](VariableId id) { return has_item(groups_[g].variables, id); }));
      }
    }
    std::vector<ValueTable> sorted;
    std::vector<std::size_t> group_of(space().size(), 0);
    std::vector<bool> is_taken(groups_.size()), is_open(used.size());
    while (sorted.size() < groups_.size()) {
      std::size_t best = groups_.size(), most_shared = 0, most = 0;
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        if (is_taken[g]) {
          continue;
        }
        std::size_t shared = 0, all = 0;
        for (std::size_t i = 0; i < used.size(); ++i) {
          shared += is_about[g][i] && is_open[i] ? 1 : 0;
          all += is_about[g][i] ? 1 : 0;
        }
        if (best == groups_.size() || shared > most_shared ||
            (shared == most_shared &&
             (all > most || (all == most && groups_[g].size() < groups_[best].size())))) {
          best = g;
          most_shared = shared;
          most = all;
        }
      }
      is_taken[best] = true;
      for (std::size_t i = 0; i < used.size(); ++i) {
        is_open[i] = is_open[i] || is_about[best][i];
      }
      for (VariableId id : groups_[best].variables) {
        group_of[id.value] = sorted.size();
      }
      sorted.push_back(std::move(groups_[best]));
    }
    groups_ = std::move(sorted);
    std::vector<ExprId> roots;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::size_t i = 0; i < used.size(); ++i) {
        std::size_t last = 0;
        for (VariableId id : used[i]) {
          last = larger_of(last, group_of[id.value]);
        }
        if (last == g) {
          roots.push_back(propagator_.roots()[i]);
        }
      }
      tested_.push_back(roots.size());
    }
    tape_ = Tape(space().pool(), roots);
  }

  /// Rows for the groups from `first` on; false if they break a constraint.
  template <class Rng>
  bool draw_rest(std::size_t first, Assignment& values, std::vector<std::int64_t>& registers,
                 Rng& rng) const {
    std::size_t test = 0;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (g >= first) {
        const auto count = static_cast<std::uint32_t>(groups_[g].size());
        groups_[g].assign(count == 1 ? 0 : rng.next_below(count), values);
      }
      for (; test < tested_[g]; ++test) {
        if (tape_.run(test, values.data(), registers.data()) == 0) {
          return false;
        }
      }
    }
    return true;
  }

  /// A legal assignment inside of the domains; values are chosen group by group from `at` on.
  template <class Rng>
  std::optional<Assignment> search(std::size_t at, const Domains& domains, Rng& rng,
                                   std::size_t& budget) const {
    if (at == groups_.size()) {
      Assignment values(space().size());
      for (std::uint32_t i = 0; i < domains.size(); ++i) {
        values[VariableId{i}] = domains[i].empty() ? not_asked : domains[i].front();
      }
      return is_legal(values) ? std::optional(values) : std::nullopt;
    }
    const ValueTable& group = groups_[at];
    std::vector<std::uint32_t> rows;
    for (std::uint32_t r = 0; r < group.size(); ++r) {
      bool is_left = true;
      for (std::size_t i = 0; is_left && i < group.width(); ++i) {
        is_left = detail::has_value(domains[group.variables[i].value], group.row(r)[i]);
      }
      if (is_left) {
        rows.push_back(r);
      }
    }
    while (!rows.empty() && budget > 0) {
      --budget;
      const std::uint32_t drawn = rng.next_below(static_cast<std::uint32_t>(rows.size()));
      Domains narrowed = domains;
      for (std::size_t i = 0; i < group.width(); ++i) {
        narrowed[group.variables[i].value] = {group.row(rows[drawn])[i]};
      }
      rows[drawn] = rows.back();
      rows.pop_back();
      if (propagator_.propagate(narrowed)) {
        if (auto found = search(at + 1, narrowed, rng, budget)) {
          return found;
        }
      }
    }
    return std::nullopt;
  }

  Propagator propagator_;
  std::size_t max_edges_;
  std::vector<Test> tests_;  ///< by constraint
  Domains domains_;
  bool is_empty_ = false, has_tables_ = true;
  std::vector<ValueTable> groups_;
  Tape tape_;
  std::vector<std::size_t> tested_;             ///< by group: how many roots of the tape
  mutable GrowingTable<LegalDiagram> diagram_;  ///< none, or one
};

}  // namespace tensorsmith
