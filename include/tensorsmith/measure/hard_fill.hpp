// SPDX-License-Identifier: Apache-2.0
// fill_hard_input: the inputs that show what inputs from -1 to 1 forgive.
//
// Floor 6. Own design. A pure function of (seed, argument index, draw), as fill_input. Rows are of
// 16 kinds in turn, so that one call of a kernel meets them all: where rows are independent, each
// kind by itself. The main input has all of them; rows of the others are nearly constant, so that
// products have large means too; infinities and NaN are in the main input only, for one in an
// operand that all rows share leaves nothing else to see. Integers have their whole range in even
// rows and its ends in odd ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensorsmith/measure/fill.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

namespace detail {

inline constexpr std::uint32_t num_row_kinds = 16;

/// Numbers of a float type as large as its precision or range makes them hard.
struct HardNumbers {
  double shift, far_shift;        ///< means at which a step of 1 is still a number
  double masked, huge, outlier;   ///< what stands for minus infinity in practice, and large numbers
  double most, denormal;          ///< the largest, the smallest
  double wide_log2, narrow_log2;  ///< magnitudes 2^-w to 2^w
  double near;                    ///< between the numbers of rows that are nearly constant
};
inline HardNumbers hard_numbers(DType type) {
  const double near = epsilon_of(type) > 1.0 / 1024 ? epsilon_of(type) * 4 : 1.0 / 256;
  switch (type) {
  case DType::f16:
    return {1000, 2000, -6e4, 3e4, 6e4, 65504, 0x1.0p-24, 7, 4, near};
  case DType::bf16:
    return {100, 200, -1e30, 1e15, 1e6, 3.3e38, 0x1.0p-133, 20, 8, near};
  case DType::f64:
    return {5000, 40000, -1e30, 1e15, 1e6, 1e308, 0x1.0p-1074, 20, 8, near};
  default:
    return {5000, 40000, -1e30, 1e15, 1e6, 3.4e38, 0x1.0p-149, 20, 8, near};
  }
}

/// Element `column` of a row of this kind.
inline double hard_value(HardDraw draw, const InputFill& fill, const HardNumbers& numbers,
                         std::uint32_t kind, std::int64_t column, std::int64_t place,
                         std::uint32_t bits) {
  const double part = bits * 0x1.0p-32;
  const double plain = fill.low + (fill.high - fill.low) * part;
  if (draw == HardDraw::special) {
    const double infinity = math::infinity;
    const bool is_place = column == place;
    return !fill.is_main ? plain
           : kind == 0   ? (bits & 1) != 0 ? -infinity : plain
           : kind == 2   ? is_place ? infinity - infinity : plain
           : kind == 3   ? is_place ? infinity : plain
           : kind == 4   ? -infinity
           : kind == 5   ? is_place ? -infinity : plain
           : kind == 7   ? is_place      ? infinity
                           : column == 0 ? -infinity
                                         : plain
                         : plain;
  }
  if (!fill.is_main) {
    return 1 + kind % 3 + numbers.near * (bits % 4);
  }
  const auto step = [&](std::uint32_t count) { return static_cast<double>(bits % count); };
  const auto spread = [&](double width) {
    const double size = math::exp2((2 * part - 1) * width);
    return (bits & 1) != 0 ? size : -size;
  };
  switch (kind) {
  case 0:
    return numbers.shift + step(2);
  case 2:
    return numbers.far_shift + step(4);
  case 3:
    return 3;
  case 4:
    return numbers.masked;
  case 5:
    return spread(numbers.wide_log2);
  case 6:
    return numbers.denormal * static_cast<double>(bits % 64);
  case 7:
    return numbers.huge;
  case 8:
    return bits % 4 == 0 ? plain : numbers.masked;
  case 9:
    return column == 0 ? numbers.outlier : plain;
  case 10:
    return 0;
  case 11:
    return (bits & 1) != 0 ? 1 : -1;
  case 12:
    return step(4) - numbers.far_shift;
  case 13:
    return (bits & 1) != 0 ? numbers.most : -numbers.most;
  case 14:
    return spread(numbers.narrow_log2);
  default:
    return plain;
  }
}

/// Elements before they repeat: all rows where that is not too many.
inline std::int64_t hard_period(const KernelArgument& argument) {
  constexpr std::int64_t few = 65'536, many = 1'048'576;
  const std::int64_t row = argument.fill.row_elements, whole = argument.num_elements;
  const std::int64_t rows = argument.fill.num_rows;
  std::int64_t period = rows > many / row ? row : row * rows;
  period = period > few ? period : period * (few / period + 1);
  return period < many && period < whole ? period : whole < many ? whole : many;
}

/// `value`(kind, column, place, rng) makes an element. Rows of one element go on where their number
/// begins again: their column is how often it did.
template <class T, class Value>
void draw_hard_rows(const MeasureTask& task, std::size_t index, HardDraw draw,
                    std::span<std::byte> out, const Value& value) {
  const KernelArgument& argument = task.arguments[index];
  CounterRng rng(task.input_seed, static_cast<std::uint32_t>(index),
                 1 + static_cast<std::uint32_t>(draw));
  const std::int64_t length = argument.fill.row_elements;
  const auto count = static_cast<std::int64_t>(out.size() / sizeof(T));
  std::byte* to = out.data();
  std::int64_t row = 0, round = 0;
  for (std::int64_t first = 0; first < count; first += length) {
    const auto kind = static_cast<std::uint32_t>(row % num_row_kinds);
    const std::int64_t place = length > 1 ? (row * 7 + 3) % length : row % 3;
    const std::int64_t end = smaller_of(length, count - first);
    for (std::int64_t column = 0; column < end; ++column) {
      const T element = value(kind, length > 1 ? column : round, place, rng);
      std::memcpy(to, &element, sizeof(T));
      to += sizeof(T);
    }
    if (++row == argument.fill.num_rows) {
      row = 0;
      ++round;
    }
  }
}

/// Integers over their whole range, or of its ends.
template <class T>
T hard_integer(DType type, std::uint32_t kind, CounterRng& rng) {
  const std::uint64_t bits = rng.next_u64();
  const T low = static_cast<T>(limits_of(type).low), high = static_cast<T>(limits_of(type).high);
  const T ends[] = {low, high, static_cast<T>(low + 1), static_cast<T>(high - 1), T{0}, T{1}};
  return kind % 2 == 0 ? static_cast<T>(bits) : ends[(bits >> 8) % 6];
}

/// `out`: the first elements, one period at the most.
inline void hard_start(const MeasureTask& task, std::size_t index, HardDraw draw,
                       std::span<std::byte> out) {
  const KernelArgument& argument = task.arguments[index];
  const HardNumbers numbers = hard_numbers(argument.dtype);
  const auto real = [&](std::uint32_t kind, std::int64_t column, std::int64_t place,
                        CounterRng& rng) {
    return hard_value(draw, argument.fill, numbers, kind, column, place, rng.next_u32());
  };
  const auto draw_as = [&](auto zero, const auto& convert) {
    draw_hard_rows<decltype(zero)>(
        task, index, draw, out,
        [&](std::uint32_t kind, std::int64_t column, std::int64_t place, CounterRng& rng) {
          return convert(real(kind, column, place, rng));
        });
  };
  const auto draw_integers = [&](auto zero) {
    using T = decltype(zero);
    draw_hard_rows<T>(task, index, draw, out,
                      [&](std::uint32_t kind, std::int64_t, std::int64_t, CounterRng& rng) {
                        return hard_integer<T>(argument.dtype, kind, rng);
                      });
  };
  switch (argument.dtype) {
  case DType::f64:
    return draw_as(0.0, [](double value) { return value; });
  case DType::f32:
    return draw_as(0.0F, [](double value) { return static_cast<float>(value); });
  case DType::f16:
    return draw_as(std::uint16_t{0},
                   [](double value) { return f16_from_float(static_cast<float>(value)); });
  case DType::bf16:
    return draw_as(std::uint16_t{0},
                   [](double value) { return bf16_from_float(static_cast<float>(value)); });
  case DType::i64:
    return draw_integers(std::int64_t{0});
  case DType::i32:
    return draw_integers(std::int32_t{0});
  case DType::i16:
    return draw_integers(std::int16_t{0});
  case DType::i8:
    return draw_integers(std::int8_t{0});
  case DType::u8:
    return draw_integers(std::uint8_t{0});
  case DType::boolean:
    return fill_start(task, index, out);
  }
}

}  // namespace detail

/// Writes these rows of argument `index` of `task` (an input) into `out`. Linear in their size.
inline void fill_hard_input(const MeasureTask& task, std::size_t index, HardDraw draw,
                            const RowSample& rows, std::span<std::byte> out) {
  const KernelArgument& argument = task.arguments[index];
  if (argument.fill.row_elements <= 0 || !argument.fill.bytes.empty()) {
    return fill_input_rows(task, index, rows, out);
  }
  const auto width = static_cast<std::size_t>(bytes_of(argument.dtype));
  std::vector<std::byte> period(static_cast<std::size_t>(detail::hard_period(argument)) * width);
  detail::hard_start(task, index, draw, period);
  detail::copy_rows(period, width, rows, argument.num_elements, out);
}

}  // namespace tensorsmith
