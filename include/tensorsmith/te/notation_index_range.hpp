// SPDX-License-Identifier: Apache-2.0
// The values that an index of a parsed statement takes (te/notation.hpp).
//
// Floor 2. Own design.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/te/notation_syntax.hpp"

namespace tensorsmith::te::detail {

/// The values of an index, ends included.
struct IndexRange {
  bool is_known = false;
  std::int64_t low = 0, high = 0;

  bool leaves(std::int64_t extent) const { return is_known && (low < 0 || high >= extent); }
  void include(const IndexRange& other) {
    low = is_known && low < other.low ? low : other.low;
    high = is_known && high > other.high ? high : other.high;
    is_known = true;
  }
};

struct StatementRanges {
  std::vector<std::pair<std::string, std::int64_t>> extents;
  std::vector<std::string> reduced;  ///< iterators of the right side only, in order

  std::int64_t extent_of(const std::string& name) const {
    for (const auto& [known, extent] : extents) {
      if (known == name) {
        return extent;
      }
    }
    return 0;
  }
  IndexRange range_of(const NotationProgram& program, std::uint32_t id) const {
    const NotationNode& n = program.nodes[id];
    if (n.kind == NotationKind::integer && !n.is_beyond) {
      return {true, n.integer, n.integer};
    }
    if (n.kind == NotationKind::name) {
      const std::int64_t extent = extent_of(n.name);
      return {extent > 0, 0, extent - 1};
    }
    if (n.kind == NotationKind::prefix && n.name == "-") {
      const IndexRange a = range_of(program, n.operands[0]);
      return a.low == INT64_MIN ? IndexRange{} : IndexRange{a.is_known, -a.high, -a.low};
    }
    const bool is_least = n.kind == NotationKind::call && n.name == "min";
    const bool is_most = n.kind == NotationKind::call && n.name == "max";
    if ((n.kind != NotationKind::infix && !is_least && !is_most) || n.operands.size() != 2) {
      return {};
    }
    const IndexRange a = range_of(program, n.operands[0]), b = range_of(program, n.operands[1]);
    if (!a.is_known || !b.is_known) {
      return {};
    }
    if (is_least || is_most) {
      return {true, (a.low < b.low) == is_least ? a.low : b.low,
              (a.high < b.high) == is_least ? a.high : b.high};
    }
    IndexRange r{true, 0, 0};
    bool overflows = false;
    if (n.name == "+") {
      overflows = __builtin_add_overflow(a.low, b.low, &r.low) ||
                  __builtin_add_overflow(a.high, b.high, &r.high);
    } else if (n.name == "-") {
      overflows = __builtin_sub_overflow(a.low, b.high, &r.low) ||
                  __builtin_sub_overflow(a.high, b.low, &r.high);
    } else if (n.name == "*" && (a.low == a.high || b.low == b.high)) {
      const std::int64_t factor = a.low == a.high ? a.low : b.low;
      const IndexRange other = a.low == a.high ? b : a;
      std::int64_t x = 0, y = 0;
      overflows = __builtin_mul_overflow(other.low, factor, &x) ||
                  __builtin_mul_overflow(other.high, factor, &y);
      r.low = x < y ? x : y;
      r.high = x < y ? y : x;
    } else if (n.name == "//" && b.low == b.high && b.low > 0) {
      r.low = floor_of(a.low, b.low);
      r.high = floor_of(a.high, b.low);
    } else if (n.name == "%" && b.low == b.high && b.low > 0) {
      const bool is_one_period = floor_of(a.low, b.low) == floor_of(a.high, b.low);
      r.low = is_one_period ? a.low - floor_of(a.low, b.low) * b.low : 0;
      r.high = is_one_period ? a.high - floor_of(a.high, b.low) * b.low : b.low - 1;
    } else {
      return {};
    }
    return overflows ? IndexRange{} : r;
  }

 private:
  static std::int64_t floor_of(std::int64_t a, std::int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
  }
};

}  // namespace tensorsmith::te::detail
