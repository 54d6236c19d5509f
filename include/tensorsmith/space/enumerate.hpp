// SPDX-License-Identifier: Apache-2.0
// Enumeration: how many legal assignments there are, and the number of each.
//
// Floor 6. Own design. By a diagram of what is legal (diagram.hpp), so without listing them.
// Unknown where the diagram would be too large, where they are more than 2^53, or where a domain is
// open.
#pragma once

#include <cstdint>
#include <optional>

#include "tensorsmith/space/sample.hpp"

namespace tensorsmith {

class Enumeration {
 public:
  /// `sampler` must outlive it. Tries at most `limit` edges of the diagram.
  explicit Enumeration(const SpaceSampler& sampler, std::size_t limit = std::size_t{1} << 22)
      : sampler_(&sampler) {
    const bool is_open = any_item(sampler.space().variables(), [](const Variable& variable) {
      return variable.domain.is_open();
    });
    if (is_open || !sampler.has_tables()) {
      return;
    }
    if (sampler.is_empty()) {
      count_ = 0;
      return;
    }
    diagram_ = LegalDiagram::make(sampler.tape(), sampler.groups(), sampler.space().size(), limit);
    const double count = diagram_->count();
    if (count == 0 || (diagram_->num_groups() == sampler.groups().size() && count <= 0x1.0p53)) {
      count_ = static_cast<std::uint64_t>(count);
    }
  }

  /// Nothing: unknown.
  std::optional<std::uint64_t> count() const { return count_; }

  /// Number `index` of count().
  Assignment at(std::uint64_t index) const {
    TENSORSMITH_ASSERT(count_ && index < *count_, "no assignment has this number");
    Assignment values(sampler_->space().size());
    diagram_->assign(sampler_->groups(), static_cast<double>(index), values);
    return values;
  }

  /// The number of a legal assignment.
  std::optional<std::uint64_t> index_of(const Assignment& values) const {
    const auto index = count_ && *count_ > 0 ? diagram_->index_of(sampler_->groups(), values)
                                             : std::optional<double>();
    return index ? std::optional(static_cast<std::uint64_t>(*index)) : std::nullopt;
  }

 private:
  const SpaceSampler* sampler_;
  std::optional<std::uint64_t> count_;
  std::optional<LegalDiagram> diagram_;
};

}  // namespace tensorsmith
