// SPDX-License-Identifier: Apache-2.0
// Features: what a cost model sees of one program, blocks of numbers by name.
//
// Floor 5. Own design. A block is a matrix; its schema names the columns. The rows of the Ansor
// reference are the block "ansor164"; a FeatureMatrix becomes features of that one block wherever
// features are expected. Not here: which blocks there are (feature_table.hpp), normalisation (a
// model fits its own).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/feature/block_schema.hpp"
#include "tensorsmith/feature/columns.hpp"
#include "tensorsmith/feature/feature_vector.hpp"
#include "tensorsmith/support/assert.hpp"

namespace tensorsmith {

/// Row-major [num_rows, schema->num_columns()].
struct FeatureBlock {
  Shared<const BlockSchema> schema;
  std::uint32_t num_rows = 0;
  std::vector<float> values;

  std::size_t num_columns() const { return schema->num_columns(); }
  std::span<const float> row(std::size_t index) const {
    TENSORSMITH_ASSERT(index < num_rows && is_well_formed(), "feature row out of range");
    return std::span<const float>(values).subspan(index * num_columns(), num_columns());
  }
  std::span<float> row(std::size_t index) {
    TENSORSMITH_ASSERT(index < num_rows && is_well_formed(), "feature row out of range");
    return std::span<float>(values).subspan(index * num_columns(), num_columns());
  }
  /// Appends a row of zeros and returns it; earlier row() spans become invalid.
  std::span<float> add_row() {
    values.resize(values.size() + num_columns(), 0.0F);
    ++num_rows;
    return std::span<float>(values).last(num_columns());
  }
  /// As many numbers as its rows and columns say, and as many rows as its schema does.
  bool is_well_formed() const {
    return values.size() == num_rows * num_columns() &&
           (schema->num_rows() == 0 || schema->num_rows() == num_rows);
  }

  friend bool operator==(const FeatureBlock& a, const FeatureBlock& b) {
    return a.schema->hash() == b.schema->hash() && a.num_rows == b.num_rows && a.values == b.values;
  }
};

inline constexpr std::string_view ansor_block_name = "ansor164";

/// The reference's columns by its names, one row per stored buffer.
inline const Shared<const BlockSchema>& ansor_schema() {
  static const Shared<const BlockSchema> schema = [] {
    std::vector<std::string> tags;
    for (std::size_t c = 0; c < feature_length; ++c) {
      tags.push_back(feature_name(c));
    }
    return make_shared_of<const BlockSchema>(std::string(ansor_block_name), std::move(tags), 0U,
                                             feature_schema_version);
  }();
  return schema;
}

class Features {
 public:
  Features() = default;
  /// The block "ansor164" alone; empty if there are no rows.
  Features(FeatureMatrix rows) {
    if (!rows.empty()) {
      blocks_.push_back(FeatureBlock{ansor_schema(), rows.num_rows, std::move(rows.values)});
    }
  }
  explicit Features(std::vector<FeatureBlock> blocks) : blocks_(std::move(blocks)) {}

  /// No features could be extracted, which means "this program cannot be built".
  bool empty() const { return blocks_.empty(); }
  const std::vector<FeatureBlock>& blocks() const { return blocks_; }
  std::vector<FeatureBlock>& blocks() { return blocks_; }

  /// Null if there is no block of that name.
  const FeatureBlock* find(std::string_view name) const {
    return find_item(blocks_, [&](const auto& block) { return block.schema->name() == name; });
  }
  /// A block that the model asked for, of features that are not empty.
  const FeatureBlock& block(std::string_view name) const {
    const FeatureBlock* found = find(name);
    TENSORSMITH_ASSERT(found != nullptr, "features without a block of that name");
    return *found;
  }

  friend bool operator==(const Features&, const Features&) = default;

 private:
  std::vector<FeatureBlock> blocks_;
};

/// Bit pattern hash, equal on every run; the order of rows and blocks is part of the content, names
/// are not. Rows are counted where programs differ in how many they have.
inline std::uint64_t hash_features(const Features& features) {
  std::uint64_t num_rows = 0;
  for (const FeatureBlock& block : features.blocks()) {
    num_rows += block.schema->num_rows() == 0 ? block.num_rows : 0;
  }
  std::uint64_t h = hash_mix(num_rows);
  for (const FeatureBlock& block : features.blocks()) {
    for (const float value : block.values) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof(bits));
      h = hash_combine(h, bits);
    }
  }
  return h;
}

}  // namespace tensorsmith
