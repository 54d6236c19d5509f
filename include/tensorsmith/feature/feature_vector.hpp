// FeatureMatrix: what a cost model sees of one program, one row of 164 numbers per stored buffer.
//
// Floor 5. Layout of a row: Ansor reference, ch. 6.2 (names and order live in features.def).
// Not here: extraction, the meaning of the columns, normalisation (a model fits its own).
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

/// Raised whenever a column changes its meaning. Stored with every saved model: weights that were
/// trained on another schema are refused.
constexpr std::uint32_t feature_schema_version = 1;

/// Row-major [num_rows, feature_length]. Neither rows nor a draft: the features could not be
/// extracted, which means "this program cannot be built".
struct FeatureMatrix {
  std::uint32_t num_rows = 0;
  std::vector<float> values;
  /// What the analytic model says of the program (cost/corrected_draft.hpp); empty: nothing.
  std::vector<float> draft;

  bool empty() const { return num_rows == 0 && draft.empty(); }

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
  for (const std::vector<float>* values : {&features.values, &features.draft}) {
    for (const float value : *values) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof(bits));
      h = hash_combine(h, bits);
    }
  }
  return h;
}

}  // namespace tensorsmith
