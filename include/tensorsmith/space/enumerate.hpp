// SPDX-License-Identifier: Apache-2.0
// Enumeration: how many legal assignments there are, and the number of each.
//
// Floor 6. Own design. Groups of variables that no constraint ties together are counted apart and
// multiplied. Unknown where such a part has more combinations than one is willing to try, where the
// number leaves 64 bits, or where a domain is open.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/space/sample.hpp"

namespace tensorsmith {

class Enumeration {
 public:
  /// `sampler` must outlive it. Tries at most `limit` combinations of every part.
  explicit Enumeration(const SpaceSampler& sampler, std::uint64_t limit = std::uint64_t{1} << 22)
      : sampler_(&sampler) {
    is_known_ = sampler.has_tables() &&
                !any_item(sampler.space().variables(),
                          [](const Variable& variable) { return variable.domain.is_open(); });
    if (sampler.is_empty() || !is_known_) {
      count_ = 0;
      return;
    }
    find_parts();
    for (Part& part : parts_) {
      is_known_ = is_known_ && list(part, limit);
      if (is_known_ && __builtin_mul_overflow(count_, part.legal.size(), &count_)) {
        is_known_ = false;
      }
    }
  }

  /// Nothing: unknown.
  std::optional<std::uint64_t> count() const {
    return is_known_ ? std::optional(count_) : std::nullopt;
  }

  /// Number `index` of count().
  Assignment at(std::uint64_t index) const {
    TENSORSMITH_ASSERT(is_known_ && index < count_, "no assignment has this number");
    Assignment values(sampler_->space().size());
    for (const Part& part : parts_) {
      std::uint64_t code = part.legal[index % part.legal.size()];
      index /= part.legal.size();
      for (std::size_t g : part.groups) {
        const ValueTable& group = sampler_->groups()[g];
        group.assign(code % group.size(), values);
        code /= group.size();
      }
    }
    return values;
  }

  /// The number of a legal assignment.
  std::optional<std::uint64_t> index_of(const Assignment& values) const {
    if (!is_known_) {
      return std::nullopt;
    }
    std::uint64_t index = 0, scale = 1;
    for (const Part& part : parts_) {
      std::uint64_t code = 0, scale_of_group = 1;
      for (std::size_t g : part.groups) {
        const ValueTable& group = sampler_->groups()[g];
        const std::optional<std::size_t> row = group.find(values);
        if (!row) {
          return std::nullopt;
        }
        code += scale_of_group * *row;
        scale_of_group *= group.size();
      }
      std::size_t first = 0, last = part.legal.size();
      while (first < last) {
        const std::size_t middle = first + (last - first) / 2;
        (part.legal[middle] < code ? first : last) =
            part.legal[middle] < code ? middle + 1 : middle;
      }
      if (first == part.legal.size() || part.legal[first] != code) {
        return std::nullopt;
      }
      index += scale * first;
      scale *= part.legal.size();
    }
    return index;
  }

 private:
  struct Part {
    std::vector<std::size_t> groups;
    std::vector<std::uint64_t> legal;  ///< rows of the groups as one number, ascending
  };

  void find_parts() {
    const std::vector<ValueTable>& groups = sampler_->groups();
    std::vector<std::size_t> part_of(groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      part_of[g] = g;
    }
    for (const SpaceConstraint& constraint : sampler_->space().constraints()) {
      if (!is_binding(constraint.kind)) {
        continue;
      }
      const auto used = variables_of(sampler_->space().pool(), constraint.condition);
      std::optional<std::size_t> first;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        if (!any_item(groups[g].variables, [&](VariableId id) { return has_item(used, id); })) {
          continue;
        }
        const std::size_t joined = part_of[g], with = first ? *first : joined;
        for (std::size_t& part : part_of) {
          part = part == joined ? with : part;
        }
        first = with;
      }
    }
    for (std::size_t name = 0; name < groups.size(); ++name) {
      Part part;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        if (part_of[g] == name) {
          part.groups.push_back(g);
        }
      }
      if (!part.groups.empty()) {
        parts_.push_back(std::move(part));
      }
    }
  }

  /// Lists the legal combinations of a part; false if there are too many to try.
  bool list(Part& part, std::uint64_t limit) const {
    const VariableSpace& space = sampler_->space();
    std::uint64_t combinations = 1;
    std::vector<VariableId> own;
    for (std::size_t g : part.groups) {
      const ValueTable& group = sampler_->groups()[g];
      if (__builtin_mul_overflow(combinations, group.size(), &combinations) ||
          combinations > limit) {
        return false;
      }
      own.insert(own.end(), group.variables.begin(), group.variables.end());
    }
    std::vector<ExprId> conditions;
    for (const SpaceConstraint& constraint : space.constraints()) {
      const auto used = variables_of(space.pool(), constraint.condition);
      if (is_binding(constraint.kind) && !used.empty() && has_item(own, used.front())) {
        conditions.push_back(constraint.condition);
      }
    }
    const Tape tape(space.pool(), conditions);
    std::vector<std::int64_t> registers(tape.size());
    Assignment values(space.size());
    for (std::uint64_t code = 0; code < combinations; ++code) {
      std::uint64_t rest = code;
      for (std::size_t g : part.groups) {
        const ValueTable& group = sampler_->groups()[g];
        group.assign(rest % group.size(), values);
        rest /= group.size();
      }
      bool is_legal = true;
      for (std::size_t i = 0; is_legal && i < conditions.size(); ++i) {
        is_legal = tape.run(i, values.data(), registers.data()) != 0;
      }
      if (is_legal) {
        part.legal.push_back(code);
      }
    }
    return true;
  }

  const SpaceSampler* sampler_;
  bool is_known_ = true;
  std::uint64_t count_ = 1;
  std::vector<Part> parts_;
};

}  // namespace tensorsmith
