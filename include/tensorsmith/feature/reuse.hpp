// SPDX-License-Identifier: Apache-2.0
// Reuse: how far apart two uses of the same element are, in iterations and bytes.
//
// Floor 5. Ansor reference, ch. 6.5, and TenSet's extractor, whose walk goes on to the next use.
// Not here: what a store touches (access.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

enum class ReuseKind : std::uint8_t { loop_multiple_read, serial_multiple_read_write, none };

/// What stores touch under each loop; grows from store to store in program order.
class TouchTables {
 public:
  struct Entry {
    TensorId tensor;
    double elements, element_bytes;
    AccessKind kind;
    double bytes() const { return elements * element_bytes; }
  };
  explicit TouchTables(std::int32_t num_tables) : tables_(static_cast<std::size_t>(num_tables)) {}
  std::vector<Entry>& operator[](std::int32_t table) {
    return tables_[static_cast<std::size_t>(table)];
  }

 private:
  std::vector<std::vector<Entry>> tables_;
};

namespace detail {

struct Reuse {
  ReuseKind kind = ReuseKind::none;
  double dis_iter = 0, dis_bytes = 0, ct = 0;
};

/// One access of one store, asked about its loops by position, outermost first.
template <class Extent, class IsUsed, class Table>
struct ReuseQuestion {
  std::size_t depth;
  TensorId tensor;
  Extent extent;   ///< iterations
  IsUsed is_used;  ///< an index of the access depends on the loop
  Table table;     ///< what was touched so far
};
template <class Extent, class IsUsed, class Table>
ReuseQuestion(std::size_t, TensorId, Extent, IsUsed, Table) -> ReuseQuestion<Extent, IsUsed, Table>;

inline double touched_bytes(const std::vector<TouchTables::Entry>& table) {
  double sum = 0;
  for (const TouchTables::Entry& entry : table) {
    sum += entry.bytes();
  }
  return sum;
}
/// As if every access touched one element.
inline double element_bytes(const std::vector<TouchTables::Entry>& table) {
  double sum = 0;
  for (const TouchTables::Entry& entry : table) {
    sum += entry.element_bytes;
  }
  return sum;
}

/// How often a table names a tensor, and the fewest elements of it.
struct TouchCount {
  double count = 0, least = 0;
};
inline TouchCount touch_count(const std::vector<TouchTables::Entry>& table, TensorId tensor) {
  TouchCount found;
  for (const TouchTables::Entry& entry : table) {
    if (entry.tensor == tensor) {
      found.least = found.count == 0 ? entry.elements : smaller_of(found.least, entry.elements);
      found.count += 1;
    }
  }
  return found;
}

/// From the innermost loop to the first that the access does not use, or in which another
/// statement touches the buffer.
template <class Question>
Reuse reuse_until_unused(const Question& q) {
  double iterations = 1, bytes = -1;
  for (std::size_t p = q.depth; p-- > 0;) {
    const auto& table = q.table(p);
    if (!q.is_used(p)) {
      return {ReuseKind::loop_multiple_read, iterations, bytes < 0 ? element_bytes(table) : bytes,
              q.extent(p)};
    }
    iterations *= q.extent(p);
    bytes = touched_bytes(table);
    const TouchCount touched = touch_count(table, q.tensor);
    if (touched.count > 1) {
      return {ReuseKind::serial_multiple_read_write, touched.least / q.extent(p),
              bytes / q.extent(p), touched.count - 1};
    }
  }
  return {};
}

/// Past that loop to the next one that the access uses; the iterations between count the uses. Of
/// another statement all iterations do, and reads alone lie between.
template <class Question>
Reuse reuse_until_next_use(const Question& q) {
  double iterations = 1, bytes = -1, count = 1;
  bool is_counting = false;
  for (std::size_t p = q.depth; p-- > 0;) {
    const auto& table = q.table(p);
    const bool is_used = q.is_used(p);
    if (is_counting && is_used) {
      break;
    }
    if (is_used) {
      iterations *= q.extent(p);
      bytes = touched_bytes(table);
    } else {
      bytes = !is_counting && bytes < 0 ? element_bytes(table) : bytes;
      is_counting = true;
      count *= q.extent(p);
    }
    const TouchCount touched = touch_count(table, q.tensor);
    if (touched.count > 1) {
      double read = 0, outer = 1;
      for (const TouchTables::Entry& entry : table) {
        read += entry.kind == AccessKind::read ? entry.bytes() : 0;
      }
      for (std::size_t around = 0; around <= p; ++around) {
        outer *= q.extent(around);
      }
      return {ReuseKind::serial_multiple_read_write, touched.least / q.extent(p),
              read / q.extent(p), outer};
    }
  }
  return is_counting ? Reuse{ReuseKind::loop_multiple_read, iterations, bytes, count} : Reuse{};
}

}  // namespace detail
}  // namespace tensorsmith
