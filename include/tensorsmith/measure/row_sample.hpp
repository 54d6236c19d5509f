// SPDX-License-Identifier: Apache-2.0
// RowSample: some rows of a tensor, evenly spaced along one axis.
//
// Floor 6. Own design. Seen along that axis a dense tensor is [outer, extent, inner]; of `extent`
// rows of `inner` neighbouring elements each, `count` are there: first, first + stride, ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tensorsmith {

struct RowSample {
  std::int64_t inner = 0;  ///< elements of a row; 0: no sample, the tensor is whole
  std::int64_t extent = 0;
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;

  bool is_whole() const { return inner == 0; }
  /// Whether a tensor of so many elements has such rows.
  bool fits(std::int64_t num_elements) const {
    if (is_whole()) {
      return true;
    }
    return inner > 0 && extent > 0 && count > 0 && stride > 0 && first >= 0 && first < extent &&
           (count - 1) <= (extent - 1 - first) / stride && inner <= num_elements / extent &&
           num_elements % (inner * extent) == 0;
  }
  /// Elements in the sample of a tensor that it fits.
  std::int64_t elements_of(std::int64_t num_elements) const {
    return is_whole() ? num_elements : num_elements / extent * count;
  }
};

/// Calls visit(first element in the tensor, first element in the sample, their number) for all that
/// is in the sample, in order.
template <class Visit>
void each_sampled_run(const RowSample& rows, std::int64_t num_elements, const Visit& visit) {
  if (rows.is_whole()) {
    visit(std::int64_t{0}, std::int64_t{0}, num_elements);
    return;
  }
  std::int64_t in_sample = 0;
  for (std::int64_t start = 0; start < num_elements; start += rows.extent * rows.inner) {
    std::int64_t at = start + rows.first * rows.inner;
    for (std::int64_t row = 0; row < rows.count; ++row, at += rows.stride * rows.inner) {
      visit(at, in_sample, rows.inner);
      in_sample += rows.inner;
    }
  }
}

/// The elements in the sample, side by side, of a tensor of elements of `width` bytes.
inline std::vector<std::byte> gather_rows(const RowSample& rows, std::int64_t num_elements,
                                          std::size_t width, std::span<const std::byte> tensor) {
  std::vector<std::byte> sampled(static_cast<std::size_t>(rows.elements_of(num_elements)) * width);
  each_sampled_run(rows, num_elements, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    std::memcpy(sampled.data() + static_cast<std::size_t>(to) * width,
                tensor.data() + static_cast<std::size_t>(from) * width,
                static_cast<std::size_t>(count) * width);
  });
  return sampled;
}

}  // namespace tensorsmith
