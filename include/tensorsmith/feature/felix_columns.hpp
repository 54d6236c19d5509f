// SPDX-License-Identifier: Apache-2.0
// The columns of a row of Felix's features: those of the Ansor reference without its curve.
//
// Floor 5. Felix, ch. 3.2. The reuse of a buffer is three conditions there, and numbers are
// ln(1 + x). Not here: what the numbers are (felix_row.hpp).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/feature/block_schema.hpp"
#include "tensorsmith/feature/columns.hpp"
#include "tensorsmith/feature/intensity.hpp"

namespace tensorsmith {

constexpr std::size_t felix_length = feature_length - intensity_points;  // 154
inline constexpr std::string_view felix_block_name = "felix154";

constexpr std::size_t felix_column(HeadColumn c) { return column(c); }
constexpr std::size_t felix_column(std::size_t buffer, BufferColumn c) { return column(buffer, c); }
/// Not of a point of the curve.
constexpr std::size_t felix_column(TailColumn c) { return column(c) - intensity_points; }
static_assert(felix_column(TailColumn::count) == felix_length);

/// Felix's name of column `index`.
inline std::string felix_name(std::size_t index) {
  constexpr std::pair<std::string_view, std::string_view> renamed[] = {
      {"mathfunc", "math_func"},
      {"otherfunc", "other_func"},
      {"reuse_type.kLoopMultipleRead", "multi_read_cond"},
      {"reuse_type.kSerialMultipleReadWrite", "serial_multi_rw_cond"},
      {"reuse_type.kNoReuse", "no_reuse_cond"}};
  const std::size_t curve = column(TailColumn::arith_intensity_curve_0);
  std::string name = feature_name(index < curve ? index : index + intensity_points);
  for (const auto& [theirs, ours] : renamed) {
    const std::size_t at = name.find(theirs);
    if (at != std::string::npos) {
      name.replace(at, theirs.size(), ours);
    }
  }
  return name;
}

inline const Shared<const BlockSchema>& felix_schema() {
  static const Shared<const BlockSchema> schema = [] {
    std::vector<std::string> tags;
    for (std::size_t c = 0; c < felix_length; ++c) {
      tags.push_back(felix_name(c));
    }
    return make_shared_of<const BlockSchema>(std::string(felix_block_name), std::move(tags));
  }();
  return schema;
}

}  // namespace tensorsmith
