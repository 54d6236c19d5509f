// SPDX-License-Identifier: Apache-2.0
// FeatureMatrix: the Ansor reference's features of one program, one row of 164 numbers per stored
// buffer.
//
// Floor 5. Layout of a row: Ansor reference, ch. 6.2 (names and order live in features.def).
// Not here: extraction, the meaning of the columns, other features (features.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tensorsmith/support/assert.hpp"
#include "tensorsmith/support/hash.hpp"

namespace tensorsmith {

/// Numbers per row.
constexpr std::size_t feature_length = 164;  // Ansor reference, ch. 6.2 (max_n_bufs = 5)

/// Raised whenever a column changes its meaning. Part of the schema that is stored with every saved
/// model: weights that were trained on another one are refused.
constexpr std::uint32_t feature_schema_version = 1;

/// Row-major [num_rows, feature_length]. No rows: the features could not be extracted, which means
/// "this program cannot be built".
struct FeatureMatrix {
  std::uint32_t num_rows = 0;
  std::vector<float> values;

  bool empty() const { return num_rows == 0; }

  std::span<const float, feature_length> row(std::size_t index) const {
    TENSORSMITH_ASSERT(index < num_rows && is_well_formed(), "feature row out of range");
    return std::span<const float, feature_length>(values.data() + index * feature_length,
                                                  feature_length);
  }
  std::span<float, feature_length> row(std::size_t index) {
    TENSORSMITH_ASSERT(index < num_rows && is_well_formed(), "feature row out of range");
    return std::span<float, feature_length>(values.data() + index * feature_length, feature_length);
  }

  /// Appends a row of zeros and returns it; earlier row() spans become invalid.
  std::span<float, feature_length> add_row() {
    values.resize(values.size() + feature_length, 0.0F);
    ++num_rows;
    return row(num_rows - 1);
  }

  bool is_well_formed() const {
    return values.size() == static_cast<std::size_t>(num_rows) * feature_length;
  }

  friend bool operator==(const FeatureMatrix&, const FeatureMatrix&) = default;
};

/// Bit pattern hash, equal on every run; a row order is part of the content.
inline std::uint64_t hash_features(const FeatureMatrix& features) {
  std::uint64_t h = hash_mix(features.num_rows);
  for (const float value : features.values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    h = hash_combine(h, bits);
  }
  return h;
}

}  // namespace tensorsmith
