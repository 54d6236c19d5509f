// SPDX-License-Identifier: Apache-2.0
// BlockSchema: the name of a block of features and the tags of its columns.
//
// Floor 5. Own design. A tag is a stable name: a column keeps its tag as long as it keeps its
// meaning. Schemas are stored with the weights of a model, so that weights of other columns are
// refused with the columns that differ. Not here: the numbers (features.hpp), how they are made
// (feature_table.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/hash.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

class BlockSchema {
 public:
  /// `num_rows`: of every program; 0: as many as a program happens to have. `version` is raised
  /// when columns change their meaning and keep their tags.
  BlockSchema(std::string name, std::vector<std::string> tags, std::uint32_t num_rows = 0,
              std::uint32_t version = 1)
      : name_(std::move(name)), tags_(std::move(tags)), num_rows_(num_rows), version_(version),
        hash_(hash_combine(hash_text(name_), (std::uint64_t{version} << 32) + num_rows)) {
    for (const std::string& tag : tags_) {
      hash_ = hash_combine(hash_, hash_text(tag));
    }
  }

  const std::string& name() const { return name_; }
  const std::vector<std::string>& tags() const { return tags_; }
  std::size_t num_columns() const { return tags_.size(); }
  std::uint32_t num_rows() const { return num_rows_; }
  std::uint32_t version() const { return version_; }
  /// Of the name, the version, the rows and the tags in their order; equal on every run.
  std::uint64_t hash() const { return hash_; }

  /// The position of a tag; num_columns() if there is none.
  std::size_t column(std::string_view tag) const {
    std::size_t at = 0;
    while (at < tags_.size() && tags_[at] != tag) {
      ++at;
    }
    return at;
  }

 private:
  std::string name_;
  std::vector<std::string> tags_;
  std::uint32_t num_rows_, version_;
  std::uint64_t hash_;
};

/// The blocks that a model reads, in its order.
using FeatureSchema = std::vector<Shared<const BlockSchema>>;

inline std::uint64_t hash_schema(const FeatureSchema& schema) {
  std::uint64_t h = hash_mix(schema.size());
  for (const Shared<const BlockSchema>& block : schema) {
    h = hash_combine(h, block->hash());
  }
  return h;
}

namespace detail {

/// `"a", "b", "c" and 4 more`: the tags of `from` that `in` does not have; empty if it has all.
inline std::string tags_missing(const BlockSchema& from, const BlockSchema& in) {
  constexpr std::size_t most = 3;
  std::string text;
  std::size_t count = 0;
  for (const std::string& tag : from.tags()) {
    if (in.column(tag) == in.num_columns() && ++count <= most) {
      text += (count == 1 ? "" : ", ") + in_quotes(tag);
    }
  }
  return count > most ? text + " and " + std::to_string(count - most) + " more" : text;
}

inline std::string block_difference(const BlockSchema& then, const BlockSchema& now) {
  const std::string block = "block " + in_quotes(now.name());
  const std::string gone = tags_missing(then, now), added = tags_missing(now, then);
  if (!gone.empty() || !added.empty()) {
    return block + ": " + (gone.empty() ? "" : "no column " + gone + " any more") +
           (gone.empty() || added.empty() ? "" : ", ") +
           (added.empty() ? "" : "column " + added + " is new");
  }
  for (std::size_t c = 0; c < then.num_columns() && c < now.num_columns(); ++c) {
    if (then.tags()[c] != now.tags()[c]) {
      return block + ": column " + std::to_string(c) + " is " + in_quotes(now.tags()[c]) +
             ", was " + in_quotes(then.tags()[c]);
    }
  }
  if (then.num_columns() != now.num_columns()) {
    return block + ": " + std::to_string(now.num_columns()) + " columns, were " +
           std::to_string(then.num_columns());
  }
  return then.num_rows() != now.num_rows()
             ? block + ": " + std::to_string(now.num_rows()) + " rows (0: any), were " +
                   std::to_string(then.num_rows())
             : block + ": the columns mean what version " + std::to_string(now.version()) +
                   " says, not " + std::to_string(then.version());
}

}  // namespace detail

/// What differs between the schema of stored weights and the one of today, block by block; empty if
/// nothing does.
inline std::string schema_difference(const FeatureSchema& then, const FeatureSchema& now) {
  std::string text;
  const auto add = [&](const std::string& difference) {
    text += (text.empty() ? "" : "; ") + difference;
  };
  const auto has = [](const FeatureSchema& schema, const std::string& name) {
    return find_item(schema, [&](const auto& block) { return block->name() == name; });
  };
  for (const Shared<const BlockSchema>& block : then) {
    const auto* same = has(now, block->name());
    if (same == nullptr) {
      add("block " + in_quotes(block->name()) + " is not read any more");
    } else if ((*same)->hash() != block->hash()) {
      add(detail::block_difference(*block, **same));
    }
  }
  for (const Shared<const BlockSchema>& block : now) {
    if (has(then, block->name()) == nullptr) {
      add("block " + in_quotes(block->name()) + " is new");
    }
  }
  return text.empty() && hash_schema(then) != hash_schema(now) ? "the blocks have another order"
                                                               : text;
}

}  // namespace tensorsmith
