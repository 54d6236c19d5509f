// SPDX-License-Identifier: Apache-2.0
// fill_input: the input values of a task, the same in every process that asks.
//
// Floor 6. Own design. A pure function of (seed, argument index, fill): the worker and whoever
// computes the reference both call it, so inputs never travel. Large inputs repeat the first 65,521
// values: a prime, so no tile or stride of a wrong program meets the same value again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tensorsmith/measure/narrow_float.hpp"
#include "tensorsmith/measure/task.hpp"
#include "tensorsmith/support/assert.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith {

namespace detail {
inline constexpr std::size_t fill_period = 65'521;

template <class T, class Draw>
void fill_elements(std::span<std::byte> out, const Draw& draw) {
  constexpr std::size_t period = fill_period * sizeof(T);
  const std::size_t drawn = out.size() < period ? out.size() : period;
  for (std::size_t i = 0; i + sizeof(T) <= drawn; i += sizeof(T)) {
    const T value = draw();
    std::memcpy(out.data() + i, &value, sizeof(T));
  }
  for (std::size_t i = drawn; i < out.size(); i += period) {
    const std::size_t left = out.size() - i;
    std::memcpy(out.data() + i, out.data(), left < period ? left : period);
  }
}

/// `period`: the values before they repeat, `width` bytes each.
inline void copy_rows(std::span<const std::byte> period, std::size_t width, const RowSample& rows,
                      std::int64_t num_elements, std::span<std::byte> out) {
  const auto length = static_cast<std::int64_t>(period.size() / width);
  const auto bytes = [&](std::int64_t count) { return static_cast<std::size_t>(count) * width; };
  std::int64_t last = 0, place = 0;  // place: last % length, without a division for each row
  each_sampled_run(rows, num_elements, [&](std::int64_t first, std::int64_t to, std::int64_t n) {
    place += first - last;
    place = place < 2 * length ? place - (place < length ? 0 : length) : place % length;
    last = first;
    for (std::int64_t from = place; n > 0; from = 0) {
      const std::int64_t some = n < length - from ? n : length - from;
      std::memcpy(out.data() + bytes(to), period.data() + bytes(from), bytes(some));
      to += some;
      n -= some;
    }
  });
}

/// The first bytes of argument `index`.
inline void fill_start(const MeasureTask& task, std::size_t index, std::span<std::byte> out) {
  const KernelArgument& argument = task.arguments[index];
  if (out.empty()) {
    return;
  }
  if (!argument.fill.bytes.empty()) {
    std::memcpy(out.data(), argument.fill.bytes.data(), out.size());
    return;
  }
  CounterRng rng(task.input_seed, static_cast<std::uint32_t>(index));
  const double low = argument.fill.low;
  const double width = argument.fill.high - low;
  const auto real = [&rng, low, width] { return low + width * rng.next_double(); };
  const auto real_float = [&rng, low, width] {  // 24 bits are all that a float keeps
    return static_cast<float>(low + width * (static_cast<double>(rng.next_u32() >> 8) * 0x1.0p-24));
  };
  const std::int64_t first = static_cast<std::int64_t>(low);
  const std::uint32_t count = static_cast<std::uint32_t>(width) + 1;
  const auto integer = [&rng, first, count] { return first + rng.next_below(count); };
  switch (argument.dtype) {
  case DType::f64:
    return fill_elements<double>(out, real);
  case DType::f32:
    return fill_elements<float>(out, real_float);
  case DType::f16:
    return fill_elements<std::uint16_t>(out,
                                        [&real_float] { return f16_from_float(real_float()); });
  case DType::bf16:
    return fill_elements<std::uint16_t>(out,
                                        [&real_float] { return bf16_from_float(real_float()); });
  case DType::i64:
    return fill_elements<std::int64_t>(out, integer);
  case DType::i32:
    return fill_elements<std::int32_t>(out,
                                       [&integer] { return static_cast<std::int32_t>(integer()); });
  case DType::i16:
    return fill_elements<std::int16_t>(out,
                                       [&integer] { return static_cast<std::int16_t>(integer()); });
  case DType::i8:
  case DType::u8:
  case DType::boolean:
    return fill_elements<std::uint8_t>(out,
                                       [&integer] { return static_cast<std::uint8_t>(integer()); });
  }
}

}  // namespace detail

/// Writes argument `index` of `task` (an input) into `out`, num_bytes() long. Linear in its size.
inline void fill_input(const MeasureTask& task, std::size_t index, std::span<std::byte> out) {
  TENSORSMITH_ASSERT(out.size() == static_cast<std::size_t>(task.arguments[index].num_bytes()),
                     "fill_input: size of the buffer");
  detail::fill_start(task, index, out);
}

/// Writes those rows of it only. Linear in their size.
inline void fill_input_rows(const MeasureTask& task, std::size_t index, const RowSample& rows,
                            std::span<std::byte> out) {
  const KernelArgument& argument = task.arguments[index];
  if (rows.is_whole()) {
    return fill_input(task, index, out);
  }
  const auto width = static_cast<std::size_t>(bytes_of(argument.dtype));
  const auto whole = static_cast<std::size_t>(argument.num_elements);
  TENSORSMITH_ASSERT(
      rows.fits(argument.num_elements) &&
          out.size() == static_cast<std::size_t>(rows.elements_of(argument.num_elements)) * width,
      "fill_input_rows: size of the buffer");
  const bool repeats = argument.fill.bytes.empty() && whole > detail::fill_period;
  std::vector<std::byte> period((repeats ? detail::fill_period : whole) * width);
  detail::fill_start(task, index, period);
  detail::copy_rows(period, width, rows, argument.num_elements, out);
}

}  // namespace tensorsmith
