// SPDX-License-Identifier: Apache-2.0
// nearest_legal: the legal assignment that is nearest to one that need not be legal.
//
// Floor 6. Own design. What was decided for one problem is a wish for another one with other
// extents: its lengths may divide nothing here. Groups of variables are tried in the order of their
// distance (space/moves.hpp), branch and bound; so the answer is the nearest one unless the limit
// of tries is met first. Variables whose domain only a state knows keep their value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/space/moves.hpp"

namespace tensorsmith {
namespace detail {

class NearestSearch {
 public:
  NearestSearch(const SpaceSampler& sampler, const Assignment& wanted, std::size_t limit)
      : sampler_(sampler), values_(wanted), registers_(sampler.tape().size()), left_(limit) {
    const std::vector<ValueTable>& groups = sampler.groups();
    rest_.assign(groups.size() + 1, 0);
    for (const ValueTable& group : groups) {
      std::vector<Row> rows;
      for (std::size_t r = 0; r < group.size(); ++r) {
        double sum = 0;
        for (std::size_t i = 0; i < group.width(); ++i) {
          const VariableId id = group.variables[i];
          sum += wanted[id] == not_asked
                     ? 0
                     : distance_of(sampler.space()[id], wanted[id], group.row(r)[i]);
        }
        rows.push_back({sum, static_cast<std::uint32_t>(r)});
      }
      sort_items(rows);
      rows_.push_back(std::move(rows));
    }
    for (std::size_t g = groups.size(); g-- > 0;) {
      rest_[g] = rest_[g + 1] + (rows_[g].empty() ? 0 : rows_[g].front().distance);
    }
  }

  std::optional<Assignment> run() {
    try_groups(0, 0, 0);
    return best_;
  }

 private:
  struct Row {
    double distance;
    std::uint32_t row;
    friend bool operator<(const Row& a, const Row& b) {
      return a.distance != b.distance ? a.distance < b.distance : a.row < b.row;
    }
  };

  void try_groups(std::size_t at, std::size_t test, double so_far) {
    if (at == rows_.size()) {
      best_ = values_;
      best_distance_ = so_far;
      return;
    }
    for (const Row& row : rows_[at]) {
      const double distance = so_far + row.distance;
      if (left_ == 0 || (best_ && distance + rest_[at + 1] >= best_distance_)) {
        return;
      }
      --left_;
      sampler_.groups()[at].assign(row.row, values_);
      bool is_legal = true;
      for (std::size_t t = test; is_legal && t < sampler_.num_tested(at); ++t) {
        is_legal = sampler_.tape().run(t, values_.data(), registers_.data()) != 0;
      }
      if (is_legal) {
        try_groups(at + 1, sampler_.num_tested(at), distance);
      }
    }
  }

  const SpaceSampler& sampler_;
  Assignment values_;
  std::vector<std::int64_t> registers_;
  std::size_t left_;
  std::vector<std::vector<Row>> rows_;  ///< by group, nearest first
  std::vector<double> rest_;            ///< least distance of the groups from there on
  std::optional<Assignment> best_;
  double best_distance_ = 0;
};

}  // namespace detail

/// Nothing if there is none, or none was found within `limit` tries.
inline std::optional<Assignment>
nearest_legal(const SpaceSampler& sampler, const Assignment& wanted, std::size_t limit = 20000) {
  if (sampler.is_empty()) {
    return std::nullopt;
  }
  if (!sampler.has_tables()) {
    return sampler.is_legal(wanted) ? std::optional(wanted) : std::nullopt;
  }
  return detail::NearestSearch(sampler, wanted, limit).run();
}

}  // namespace tensorsmith
