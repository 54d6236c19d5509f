// SPDX-License-Identifier: Apache-2.0
// The columns of a feature row: positions and facts, generated from features.def.
//
// Floor 5. Ansor reference, ch. 6.2. Not here: extraction.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "tensorsmith/feature/feature_vector.hpp"

namespace tensorsmith {

constexpr std::size_t feature_num_buffers = 5;

/// Columns of the stored buffer as a whole. Those of buffer b: buffer_column(b, BufferColumn::...).
enum class HeadColumn : std::size_t {
#define TENSORSMITH_FEATURE_HEAD(id, name, unit, transform, range, meaning) id,
#include "tensorsmith/feature/features.def"
  count
};
enum class BufferColumn : std::size_t {
#define TENSORSMITH_FEATURE_BUFFER(id, name, unit, transform, range, meaning) id,
#include "tensorsmith/feature/features.def"
  count
};
enum class TailColumn : std::size_t {
#define TENSORSMITH_FEATURE_TAIL(id, name, unit, transform, range, meaning) id,
#include "tensorsmith/feature/features.def"
  count
};

constexpr auto num_buffer_columns = static_cast<std::size_t>(BufferColumn::count);

constexpr std::size_t column(HeadColumn c) { return static_cast<std::size_t>(c); }
constexpr std::size_t column(std::size_t buffer, BufferColumn c) {
  return column(HeadColumn::count) + buffer * static_cast<std::size_t>(BufferColumn::count) +
         static_cast<std::size_t>(c);
}
constexpr std::size_t column(TailColumn c) {
  return column(feature_num_buffers, BufferColumn{}) + static_cast<std::size_t>(c);
}
static_assert(column(TailColumn::count) == feature_length);

struct FeatureFacts {
  std::string_view name;  ///< without the "B0." of a buffer column
  std::string_view unit, transform, range, meaning;
  int buffer = -1;  ///< -1: not of a buffer
};

/// What column `index` < feature_length holds.
inline FeatureFacts feature_facts(std::size_t index) {
  static constexpr std::array<FeatureFacts, column(HeadColumn::count)> head{{
#define TENSORSMITH_FEATURE_HEAD(id, name, unit, transform, range, meaning)                        \
  FeatureFacts{name, unit, transform, range, meaning, -1},
#include "tensorsmith/feature/features.def"
  }};
  static constexpr std::array<FeatureFacts, static_cast<std::size_t>(BufferColumn::count)> buffer{{
#define TENSORSMITH_FEATURE_BUFFER(id, name, unit, transform, range, meaning)                      \
  FeatureFacts{name, unit, transform, range, meaning, 0},
#include "tensorsmith/feature/features.def"
  }};
  static constexpr std::array<FeatureFacts, static_cast<std::size_t>(TailColumn::count)> tail{{
#define TENSORSMITH_FEATURE_TAIL(id, name, unit, transform, range, meaning)                        \
  FeatureFacts{name, unit, transform, range, meaning, -1},
#include "tensorsmith/feature/features.def"
  }};
  TENSORSMITH_ASSERT(index < feature_length, "no such feature");
  if (index < head.size()) {
    return head[index];
  }
  index -= head.size();
  if (index < feature_num_buffers * buffer.size()) {
    FeatureFacts facts = buffer[index % buffer.size()];
    facts.buffer = static_cast<int>(index / buffer.size());
    return facts;
  }
  return tail[index - feature_num_buffers * buffer.size()];
}

/// The reference's name of column `index`.
inline std::string feature_name(std::size_t index) {
  const FeatureFacts facts = feature_facts(index);
  return facts.buffer < 0 ? std::string(facts.name)
                          : "B" + std::to_string(facts.buffer) + "." + std::string(facts.name);
}

}  // namespace tensorsmith
