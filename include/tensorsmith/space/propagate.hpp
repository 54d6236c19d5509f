// SPDX-License-Identifier: Apache-2.0
// Propagator: what the variables of a space may be, given its constraints.
//
// Floor 6. Own design. Bounds of constraints by intervals (tape.hpp), chains of lengths exactly, by
// the table of their rows; both in turn until nothing changes. What is cut off is in no legal
// assignment; what stays need not be in one.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/space/tape.hpp"

namespace tensorsmith {

/// The values that every variable may still have, ascending; none of a variable that is open.
using Domains = std::vector<std::vector<std::int32_t>>;

/// Values of a few variables that belong together, row by row, ascending.
struct ValueTable {
  std::vector<VariableId> variables;
  std::vector<std::int32_t> cells;

  std::size_t width() const { return variables.size(); }
  std::size_t size() const { return cells.size() / variables.size(); }
  const std::int32_t* row(std::size_t at) const { return cells.data() + at * width(); }
  /// Where these values of its variables stand.
  std::optional<std::size_t> find(const Assignment& values) const {
    std::size_t first = 0, last = size();
    while (first < last) {
      const std::size_t middle = first + (last - first) / 2;
      const int order = compare(row(middle), values);
      if (order == 0) {
        return middle;
      }
      (order < 0 ? first : last) = order < 0 ? middle + 1 : middle;
    }
    return std::nullopt;
  }
  void assign(std::size_t at, Assignment& values) const {
    for (std::size_t i = 0; i < width(); ++i) {
      values[variables[i]] = row(at)[i];
    }
  }

 private:
  int compare(const std::int32_t* cells_of_row, const Assignment& values) const {
    for (std::size_t i = 0; i < width(); ++i) {
      if (cells_of_row[i] != values[variables[i]]) {
        return cells_of_row[i] < values[variables[i]] ? -1 : 1;
      }
    }
    return 0;
  }
};

namespace detail {

inline bool has_value(const std::vector<std::int32_t>& ascending, std::int32_t value) {
  std::size_t first = 0, last = ascending.size();
  while (first < last) {
    const std::size_t middle = first + (last - first) / 2;
    if (ascending[middle] < value) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first < ascending.size() && ascending[first] == value;
}

/// More rows than this are not written down.
inline constexpr std::size_t most_table_rows = std::size_t{1} << 18;

/// How many lists of `count` lengths divide `extent`, the rest left over.
inline double num_factorizations(std::int64_t extent, std::size_t count) {
  double rows = 1;
  for (std::int64_t p = 2; extent > 1; ++p) {
    if (p * p > extent) {
      p = extent;
    }
    for (double exponent = 1; extent % p == 0; ++exponent) {
      extent /= p;
      rows *= (exponent + static_cast<double>(count)) / exponent;
    }
  }
  return rows;
}

/// All rows of a chain whose lengths are in the domains; nothing if they are too many.
inline std::optional<ValueTable> chain_table(const LengthChain& chain, const Domains& domains) {
  double most = 0;
  for (std::int64_t root : chain.roots) {
    most += num_factorizations(root, chain.lengths.size());
  }
  if (most > static_cast<double>(most_table_rows)) {
    return std::nullopt;
  }
  std::vector<Assignment> rows;  // by position in the chain
  Assignment row(chain.lengths.size());
  const auto extend = [&](const auto& self, std::size_t at, std::int64_t rest) -> void {
    if (at == chain.lengths.size()) {
      rows.push_back(row);
      return;
    }
    for (std::int32_t length : domains[chain.lengths[at].value]) {
      if (length > 0 && rest % length == 0) {
        row[VariableId{static_cast<std::uint32_t>(at)}] = length;
        self(self, at + 1, rest / length);
      }
    }
  };
  for (std::int64_t root : chain.roots) {
    extend(extend, 0, root);
  }
  sort_items(rows);
  ValueTable table{chain.lengths, {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || !(rows[i] == rows[i - 1])) {
      table.cells.insert(table.cells.end(), rows[i].data(), rows[i].data() + rows[i].size());
    }
  }
  return table;
}

}  // namespace detail

/// Whether a search may not break constraints of this kind.
constexpr bool is_binding(ConstraintKind kind) { return kind != ConstraintKind::preference; }

class Propagator {
 public:
  /// With the binding constraints about variables whose domains are known.
  explicit Propagator(const VariableSpace& space) : space_(&space) {
    for (const SpaceConstraint& constraint : space.constraints()) {
      std::vector<VariableId> used = variables_of(space.pool(), constraint.condition);
      const bool is_closed =
          !any_item(used, [&](VariableId id) { return space[id].domain.is_open(); });
      if (is_closed && is_binding(constraint.kind)) {
        roots_.push_back(constraint.condition);
        used_.push_back(std::move(used));
      }
    }
    tape_ = Tape(space.pool(), roots_);
    const Domains all = domains();
    for (const LengthChain& chain : space.chains()) {
      tables_.push_back(detail::chain_table(chain, all));
    }
  }

  const VariableSpace& space() const { return *space_; }
  /// The conditions, and the variables of each.
  const std::vector<ExprId>& roots() const { return roots_; }
  const std::vector<std::vector<VariableId>>& used() const { return used_; }
  /// By chain; nothing for those with too many rows.
  const std::vector<std::optional<ValueTable>>& tables() const { return tables_; }

  Domains domains() const {
    Domains all;
    for (const Variable& variable : space_->variables()) {
      all.push_back(variable.domain.values());
    }
    return all;
  }

  /// Cuts off what no legal assignment has; false if there is none.
  bool propagate(Domains& domains) const {
    for (bool changes = true; changes;) {
      changes = false;
      if (!narrow_bounds(domains, changes) || !narrow_chains(domains, changes)) {
        return false;
      }
    }
    return true;
  }

 private:
  bool narrow_bounds(Domains& domains, bool& changes) const {
    std::vector<Interval> intervals(domains.size());
    for (std::size_t i = 0; i < domains.size(); ++i) {
      if (!domains[i].empty()) {
        intervals[i] = {domains[i].front(), domains[i].back()};
      }
    }
    if (!tape_.narrow(intervals)) {
      return false;
    }
    for (std::size_t i = 0; i < domains.size(); ++i) {
      if (!keep(domains, i, changes,
                [&](std::int32_t value) { return intervals[i].contains(value); })) {
        return false;
      }
    }
    return true;
  }

  /// Keeps the values for which `stays` holds; false if a variable with a domain has none.
  template <class Stays>
  bool keep(Domains& domains, std::size_t at, bool& changes, const Stays& stays) const {
    const std::size_t before = domains[at].size();
    std::erase_if(domains[at], [&](std::int32_t value) { return !stays(value); });
    changes = changes || domains[at].size() != before;
    return before == 0 || !domains[at].empty();
  }

  bool narrow_chains(Domains& domains, bool& changes) const {
    for (std::size_t c = 0; c < tables_.size(); ++c) {
      if (!(tables_[c] ? narrow_table(*tables_[c], domains, changes)
                       : narrow_chain(space_->chains()[c], domains, changes))) {
        return false;
      }
    }
    return true;
  }

  bool narrow_table(const ValueTable& table, Domains& domains, bool& changes) const {
    Domains seen(table.width());
    for (std::size_t r = 0; r < table.size(); ++r) {
      const std::int32_t* row = table.row(r);
      bool is_left = true;
      for (std::size_t i = 0; is_left && i < table.width(); ++i) {
        is_left = detail::has_value(domains[table.variables[i].value], row[i]);
      }
      for (std::size_t i = 0; is_left && i < table.width(); ++i) {
        seen[i].push_back(row[i]);
      }
    }
    for (std::size_t i = 0; i < table.width(); ++i) {
      sort_items(seen[i]);
      if (!keep(domains, table.variables[i].value, changes,
                [&](std::int32_t value) { return detail::has_value(seen[i], value); })) {
        return false;
      }
    }
    return true;
  }

  /// The same where there is no table: exact only where all others are decided.
  bool narrow_chain(const LengthChain& chain, Domains& domains, bool& changes) const {
    for (VariableId id : chain.lengths) {
      std::int64_t decided = 1, least = 1;
      for (VariableId other : chain.lengths) {
        const std::vector<std::int32_t>& values = domains[other.value];
        if (other != id && !values.empty()) {
          decided = detail::saturated(BinaryOp::mul, decided, values.size() == 1 ? values[0] : 1);
          least = detail::saturated(BinaryOp::mul, least, values.front());
        }
      }
      const auto fits = [&](std::int32_t value) {
        return any_item(chain.roots, [&](std::int64_t root) {
          const std::int64_t part = detail::saturated(BinaryOp::mul, decided, value);
          return part > 0 && root % part == 0 &&
                 detail::saturated(BinaryOp::mul, least, value) <= root;
        });
      };
      if (!keep(domains, id.value, changes, fits)) {
        return false;
      }
    }
    return true;
  }

  const VariableSpace* space_;
  std::vector<ExprId> roots_;
  Tape tape_;
  std::vector<std::vector<VariableId>> used_;
  std::vector<std::optional<ValueTable>> tables_;
};

}  // namespace tensorsmith
