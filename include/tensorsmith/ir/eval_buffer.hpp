// SPDX-License-Identifier: Apache-2.0
// The contents of a buffer in the interpreter: one cell per element, padding included.
//
// Floor 1. Own design. A cell knows whether it has got a value since the buffer came into
// existence.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/ir/loop_program.hpp"

namespace tensorsmith::detail {

struct EvalBuffer {
  std::vector<Scalar> cells;
  std::vector<std::uint32_t> epochs;  // a cell has a value if its epoch is the present one
  std::uint32_t epoch = 1;

  void resize(std::int64_t size) {
    cells.resize(static_cast<std::size_t>(size));
    epochs.resize(static_cast<std::size_t>(size));
  }
  bool has_value(std::size_t cell) const { return epochs[cell] == epoch; }
  /// Undefined contents, as at the entry of an Alloc.
  void forget() { ++epoch; }

  void set(const Buffer& buffer, const HostArray& array) {
    for_each_element(buffer, [&](std::int64_t n, std::size_t cell) {
      cells[cell] = array.get(n);
      epochs[cell] = epoch;
    });
  }
  /// Copies the elements that have a value; returns the first that has none, or -1.
  std::int64_t get(const Buffer& buffer, HostArray& array) const {
    std::int64_t missing = -1;
    for_each_element(buffer, [&](std::int64_t n, std::size_t cell) {
      if (has_value(cell)) {
        array.set(n, cells[cell]);
      } else if (missing < 0) {
        missing = n;
      }
    });
    return missing;
  }

 private:
  /// f(row-major number, cell) for every element of the shape.
  template <class F>
  static void for_each_element(const Buffer& buffer, const F& f) {
    std::vector<std::int64_t> index(buffer.shape.size(), 0);
    std::int64_t total = 1;
    for (std::int64_t extent : buffer.shape) {
      total *= extent;
    }
    std::int64_t cell = 0;
    for (std::int64_t n = 0; n < total; ++n) {
      f(n, static_cast<std::size_t>(cell));
      for (std::size_t d = index.size(); d-- > 0;) {
        cell += buffer.strides[d];
        if (++index[d] < buffer.shape[d]) {
          break;
        }
        cell -= buffer.strides[d] * buffer.shape[d];
        index[d] = 0;
      }
    }
  }
};

}  // namespace tensorsmith::detail
