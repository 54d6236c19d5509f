// Steps out of records, and comparison of feature rows by column name.
//
// Test support of this folder.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "support/golden_tasks.hpp"
#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/sched/replay.hpp"

namespace tensorsmith::test {

namespace detail {

inline void read_field(const Json& json, std::int32_t& out) { out = json.get<std::int32_t>(); }
inline void read_field(const Json& json, std::int64_t& out) { out = json.get<std::int64_t>(); }
inline void read_field(const Json& json, bool& out) { out = json.get<int>() != 0; }
inline void read_field(const Json& json, std::string& out) { out = json.get<std::string>(); }
inline void read_field(const Json& json, Annotation& out) {
  out = static_cast<Annotation>(json.get<int>());
}
template <class T, std::size_t N>
void read_field(const Json& json, SmallVector<T, N>& out) {
  for (const Json& item : json) {
    out.push_back(item.get<T>());
  }
}

template <std::size_t I = 0>
Step step_of(const Json& json) {
  if constexpr (I < std::variant_size_v<Step>) {
    using S = std::variant_alternative_t<I, Step>;
    if (json[0].get<std::string>() != S::tag) {
      return step_of<I + 1>(json);
    }
    S step{};
    std::size_t at = 1;
    S::fields()([&](auto... field) { (read_field(json[at++], step.*field), ...); });
    return step;
  } else {
    throw std::runtime_error("unknown step " + json.dump());
  }
}

}  // namespace detail

inline std::vector<Step> steps_of(const Json& json) {
  std::vector<Step> steps;
  for (const Json& step : json) {
    steps.push_back(detail::step_of(step));
  }
  return steps;
}

inline bool agrees(float actual, double expected) {
  return std::abs(actual - expected) <= 1e-5 * std::max(1.0, std::abs(expected));
}

/// Columns of `row` that differ from `expected` by more than one part in 1e5, "" if none. Buffers
/// may stand in another order: the reference leaves the order of equals open.
inline std::string difference(std::span<const float, feature_length> row,
                              std::vector<double> expected) {
  constexpr auto width = static_cast<std::size_t>(BufferColumn::count);
  const auto block = [](std::size_t b) { return column(b, BufferColumn{}); };
  for (std::size_t b = 0; b < feature_num_buffers; ++b) {
    for (std::size_t other = b; other < feature_num_buffers; ++other) {
      bool same = true;
      for (std::size_t c = 0; c < width; ++c) {
        same = same && agrees(row[block(b) + c], expected[block(other) + c]);
      }
      if (same) {
        const auto from = expected.begin() + static_cast<std::ptrdiff_t>(block(other));
        std::swap_ranges(from, from + width,
                         expected.begin() + static_cast<std::ptrdiff_t>(block(b)));
        break;
      }
    }
  }
  std::string text;
  for (std::size_t c = 0; c < feature_length; ++c) {
    if (!agrees(row[c], expected[c])) {
      text += feature_name(c) + " " + std::to_string(row[c]) + " instead of " +
              std::to_string(expected[c]) + "; ";
    }
  }
  return text;
}

}  // namespace tensorsmith::test
