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
}  // namespace detail

/// Writes argument `index` of `task` (an input) into `out`, num_bytes() long. Linear in its size.
inline void fill_input(const MeasureTask& task, std::size_t index, std::span<std::byte> out) {
  const KernelArgument& argument = task.arguments[index];
  TENSORSMITH_ASSERT(out.size() == static_cast<std::size_t>(argument.num_bytes()),
                     "fill_input: size of the buffer");
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
    return detail::fill_elements<double>(out, real);
  case DType::f32:
    return detail::fill_elements<float>(out, real_float);
  case DType::f16:
    return detail::fill_elements<std::uint16_t>(
        out, [&real_float] { return f16_from_float(real_float()); });
  case DType::bf16:
    return detail::fill_elements<std::uint16_t>(
        out, [&real_float] { return bf16_from_float(real_float()); });
  case DType::i64:
    return detail::fill_elements<std::int64_t>(out, integer);
  case DType::i32:
    return detail::fill_elements<std::int32_t>(
        out, [&integer] { return static_cast<std::int32_t>(integer()); });
  case DType::i8:
  case DType::u8:
  case DType::boolean:
    return detail::fill_elements<std::uint8_t>(
        out, [&integer] { return static_cast<std::uint8_t>(integer()); });
  }
}

}  // namespace tensorsmith
