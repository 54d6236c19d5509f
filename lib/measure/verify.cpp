// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/verify.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "tensorsmith/measure/narrow_float.hpp"

namespace tensorsmith {
namespace {

// Quiet NaNs that no arithmetic produces.
constexpr std::uint64_t poison_f64 = 0xFFF8A5A5A5A5A5A5U;
constexpr std::uint32_t poison_f32 = 0xFFE5A5A5U;
constexpr std::uint16_t poison_f16 = 0xFEA5U;
constexpr std::uint16_t poison_bf16 = 0xFFE5U;

constexpr std::byte integer_poison{0xA5};

struct F64 {
  using Bits = std::uint64_t;
  static constexpr Bits poison = poison_f64;
  static double value(Bits bits) { return std::bit_cast<double>(bits); }
};
struct F32 {
  using Bits = std::uint32_t;
  static constexpr Bits poison = poison_f32;
  static double value(Bits bits) { return static_cast<double>(std::bit_cast<float>(bits)); }
};
struct F16 {
  using Bits = std::uint16_t;
  static constexpr Bits poison = poison_f16;
  static double value(Bits bits) { return static_cast<double>(float_from_f16(bits)); }
};
struct Bf16 {
  using Bits = std::uint16_t;
  static constexpr Bits poison = poison_bf16;
  static double value(Bits bits) { return static_cast<double>(float_from_bf16(bits)); }
};

template <class Type>
typename Type::Bits load(std::span<const std::byte> bytes, std::size_t index) {
  typename Type::Bits bits;
  std::memcpy(&bits, bytes.data() + index * sizeof(bits), sizeof(bits));
  return bits;
}

// Calls visit(Type{}) for a float type.
template <class Visit>
auto with_float_type(DType dtype, const Visit& visit) {
  switch (dtype) {
  case DType::f64:
    return visit(F64{});
  case DType::f16:
    return visit(F16{});
  case DType::bf16:
    return visit(Bf16{});
  default:
    return visit(F32{});
  }
}

std::string text_of(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

struct Bounds {
  double absolute;
  double relative;
};

bool is_close(double got, double wanted, const Bounds& bounds) {
  const double error = std::fabs(got - wanted);
  if (error <= bounds.absolute + bounds.relative * std::fabs(wanted)) {
    return std::isfinite(wanted) || got == wanted;
  }
  return got == wanted || (std::isnan(got) && std::isnan(wanted));
}

/// What is wrong with an output so far. Elements are added in order.
struct Tally {
  std::size_t num_bad = 0;
  std::size_t num_unwritten = 0;
  std::size_t num_nan = 0;
  std::string first;  ///< "3: got 1", and what was expected

  template <class Type, class Expected>
  void add(std::size_t index, typename Type::Bits bits, const Expected& expected) {
    const bool is_unwritten = bits == Type::poison;
    if (num_bad == 0) {
      first = std::to_string(index) + ": " +
              (is_unwritten ? "never written" : "got " + text_of(Type::value(bits))) + expected();
    }
    ++num_bad;
    num_unwritten += is_unwritten ? 1U : 0U;
    num_nan += !is_unwritten && std::isnan(Type::value(bits)) ? 1U : 0U;
  }
};

// The loops that everything correct goes through: no branch per element, so compilers vectorise
// them.
template <class Out, class Ref>
std::size_t count_suspects(std::span<const std::byte> output, std::span<const std::byte> reference,
                           std::size_t count, const Bounds& bounds) {
  std::size_t suspects = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double got = Out::value(load<Out>(output, i));
    const double wanted = Ref::value(load<Ref>(reference, i));
    const double error = std::fabs(got - wanted);
    suspects += !(error <= bounds.absolute + bounds.relative * std::fabs(wanted)) ? 1U : 0U;
    suspects += !(std::fabs(wanted) <= 1.7976931348623157e308) ? 1U : 0U;
  }
  return suspects;
}
template <class Type>
std::size_t count_unwritten(std::span<const std::byte> output, std::size_t begin, std::size_t end) {
  typename Type::Bits unwritten = 0;  // of its width, so that a vector holds as many
  for (std::size_t i = begin; i < end; ++i) {
    unwritten += load<Type>(output, i) == Type::poison ? 1 : 0;
  }
  return unwritten;
}

constexpr std::size_t block = 1024;

/// Whether an element is as near to its reference as its own bound says; no bounds: no.
bool is_bounded(double got, double wanted, std::span<const std::byte> bounds, std::size_t index) {
  if (bounds.empty()) {
    return false;
  }
  const double bound = F64::value(load<F64>(bounds, index));
  return bound < unknown_bound && std::isfinite(wanted) && std::fabs(got - wanted) <= bound;
}

/// The elements from `begin` on against as many of the reference, and of `own_bounds` if there are.
template <class Out, class Ref>
void compare_run(std::span<const std::byte> output, std::size_t begin,
                 std::span<const std::byte> reference, std::span<const std::byte> own_bounds,
                 std::size_t count, const Bounds& bounds, Tally& tally) {
  const auto part = [](std::span<const std::byte> bytes, std::size_t width, std::size_t at) {
    return bytes.subspan(at * width);
  };
  for (std::size_t from = 0; from < count; from += block) {
    const std::size_t length = std::min(block, count - from);
    const auto got = part(output, sizeof(typename Out::Bits), begin + from);
    const auto wanted = part(reference, sizeof(typename Ref::Bits), from);
    if (count_suspects<Out, Ref>(got, wanted, length, bounds) == 0) {
      continue;
    }
    for (std::size_t i = 0; i < length; ++i) {
      const auto bits = load<Out>(got, i);
      const double value = Ref::value(load<Ref>(wanted, i));
      if (bits == Out::poison || (!is_close(Out::value(bits), value, bounds) &&
                                  !is_bounded(Out::value(bits), value, own_bounds, from + i))) {
        tally.add<Out>(begin + from + i, bits, [&] {
          return ", expected " + text_of(value) + " within " +
                 text_of(bounds.absolute + bounds.relative * std::fabs(value));
        });
      }
    }
  }
}

/// What lies outside of the rows must be written.
template <class Out>
void find_unwritten(std::span<const std::byte> output, std::size_t begin, std::size_t end,
                    Tally& tally) {
  for (std::size_t from = begin; from < end; from += block) {
    const std::size_t to = std::min(from + block, end);
    if (count_unwritten<Out>(output, from, to) == 0) {
      continue;
    }
    for (std::size_t i = from; i < to; ++i) {
      if (load<Out>(output, i) == Out::poison) {
        tally.add<Out>(i, Out::poison, [] { return std::string(); });
      }
    }
  }
}

template <class Out, class Ref>
Verdict verify_floats(const KernelArgument& argument, std::span<const std::byte> reference,
                      const Bounds& bounds, std::span<const std::byte> output) {
  Tally tally;
  std::size_t seen = 0;
  const std::span<const std::byte> values = values_of(argument, reference);
  const std::span<const std::byte> own_bounds = reference.subspan(values.size());
  const auto behind = [](std::span<const std::byte> bytes, std::int64_t elements,
                         std::size_t width) {
    return bytes.empty() ? bytes : bytes.subspan(static_cast<std::size_t>(elements) * width);
  };
  each_sampled_run(argument.reference_rows, argument.num_elements,
                   [&](std::int64_t begin, std::int64_t in_reference, std::int64_t count) {
                     const auto first = static_cast<std::size_t>(begin);
                     const auto length = static_cast<std::size_t>(count);
                     find_unwritten<Out>(output, seen, first, tally);
                     compare_run<Out, Ref>(
                         output, first, behind(values, in_reference, sizeof(typename Ref::Bits)),
                         behind(own_bounds, in_reference, sizeof(double)), length, bounds, tally);
                     seen = first + length;
                   });
  find_unwritten<Out>(output, seen, static_cast<std::size_t>(argument.num_elements), tally);
  Verdict verdict;
  if (tally.num_bad > 0) {
    verdict.status = tally.num_nan > 0 ? MeasureStatus::nan_result : MeasureStatus::wrong_result;
    verdict.message = "output '" + argument.name + "': " + std::to_string(tally.num_bad) + " of " +
                      std::to_string(argument.num_elements) + " elements are wrong (" +
                      std::to_string(tally.num_unwritten) + " never written, " +
                      std::to_string(tally.num_nan) + " NaN); first at " + tally.first;
  }
  return verdict;
}

template <class T>
std::int64_t integer_at(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return static_cast<std::int64_t>(value);
}
std::int64_t integer_at(DType dtype, std::span<const std::byte> bytes, std::size_t index) {
  switch (dtype) {
  case DType::i64:
    return integer_at<std::int64_t>(bytes, index);
  case DType::i32:
    return integer_at<std::int32_t>(bytes, index);
  case DType::i16:
    return integer_at<std::int16_t>(bytes, index);
  case DType::i8:
    return integer_at<std::int8_t>(bytes, index);
  default:
    return integer_at<std::uint8_t>(bytes, index);
  }
}

/// Whether more elements than chance leaves still are what poison_output left there. Of narrow
/// integers any value may be a result.
bool has_unwritten(DType dtype, std::span<const std::byte> output) {
  const auto width = static_cast<std::size_t>(bytes_of(dtype));
  std::array<std::byte, 8> poison = {};
  poison.fill(integer_poison);
  std::size_t count = 0;
  for (std::size_t at = 0; width >= 4 && at + width <= output.size(); at += width) {
    count += std::memcmp(output.data() + at, poison.data(), width) == 0 ? 1 : 0;
  }
  return count > 1 + output.size() / (std::size_t{1} << 28);
}

Verdict verify_integers(const KernelArgument& argument, std::span<const std::byte> reference,
                        std::span<const std::byte> output) {
  Verdict verdict;
  if (output.empty() || std::memcmp(reference.data(), output.data(), output.size()) == 0) {
    return verdict;
  }
  const bool is_rounded = argument.tolerance.kind == OutputTolerance::Kind::rounded;
  const std::size_t width = static_cast<std::size_t>(bytes_of(argument.dtype));
  const std::size_t count = output.size() / width;
  std::size_t num_different = 0;
  std::size_t first_different = 0;
  std::size_t num_bad = 0;
  std::size_t first_bad = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t got = integer_at(argument.dtype, output, i);
    const std::int64_t wanted = integer_at(argument.dtype, reference, i);
    if (got == wanted) {
      continue;
    }
    first_different = num_different == 0 ? i : first_different;
    ++num_different;
    const bool is_next = got < wanted ? got == wanted - 1 : got - 1 == wanted;
    if (!is_rounded || !is_next) {
      first_bad = num_bad == 0 ? i : first_bad;
      ++num_bad;
    }
  }
  if (num_bad == 0 && num_different > 1 + count / OutputTolerance::rounded_share) {
    num_bad = num_different;
    first_bad = first_different;
  }
  if (num_bad == 0) {
    return verdict;
  }
  verdict.status = MeasureStatus::wrong_result;
  verdict.message = "output '" + argument.name + "': " + std::to_string(num_bad) + " of " +
                    std::to_string(argument.num_elements) +
                    " elements differ from the reference; first at " + std::to_string(first_bad);
  return verdict;
}

}  // namespace

std::span<const std::byte> values_of(const KernelArgument& argument,
                                     std::span<const std::byte> reference) {
  const auto size = static_cast<std::size_t>(argument.value_bytes());
  return argument.has_bounds && reference.size() > size ? reference.first(size) : reference;
}

double rms_of(std::span<const std::byte> reference, DType dtype) {
  if (!is_float(dtype)) {
    return 0;
  }
  return with_float_type(dtype, [reference](auto type) {
    using Type = decltype(type);
    const std::size_t count = reference.size() / sizeof(typename Type::Bits);
    double sum = 0;
    std::size_t finite = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double value = Type::value(load<Type>(reference, i));
      if (std::isfinite(value)) {
        sum += value * value;
        ++finite;
      }
    }
    return finite == 0 || !std::isfinite(sum) ? 0.0 : std::sqrt(sum / static_cast<double>(finite));
  });
}

void poison_output(const KernelArgument& argument, std::span<const std::byte> reference,
                   std::span<std::byte> output) {
  if (!is_float(argument.dtype)) {
    if (reference.size() != output.size()) {
      std::fill(output.begin(), output.end(), integer_poison);
      return;
    }
    // The complements of 127 and, signed, of 0 are their neighbours.
    const bool is_rounded = argument.tolerance.kind == OutputTolerance::Kind::rounded;
    const std::byte flips = is_rounded ? std::byte{0x80} : std::byte{0xFF};
    std::transform(reference.begin(), reference.end(), output.begin(),
                   [flips](std::byte value) { return value ^ flips; });
    return;
  }
  with_float_type(argument.dtype, [output](auto type) {
    using Bits = typename decltype(type)::Bits;
    const Bits poison = decltype(type)::poison;
    // By pages out of the nearest cache: outputs may have gigabytes.
    std::array<Bits, 4096 / sizeof(Bits)> page;
    page.fill(poison);
    for (std::size_t at = 0; at < output.size(); at += sizeof(page)) {
      std::memcpy(output.data() + at, page.data(), std::min(sizeof(page), output.size() - at));
    }
  });
}

Verdict verify_output(const KernelArgument& argument, std::span<const std::byte> reference,
                      double rms, std::span<const std::byte> output) {
  const OutputTolerance& tolerance = argument.tolerance;
  if (!is_float(argument.dtype)) {
    if (argument.reference_rows.is_whole()) {
      return verify_integers(argument, reference, output);
    }
    const auto width = static_cast<std::size_t>(bytes_of(argument.dtype));
    Verdict verdict =
        verify_integers(argument, reference,
                        gather_rows(argument.reference_rows, argument.num_elements, width, output));
    if (verdict.status == MeasureStatus::ok && has_unwritten(argument.dtype, output)) {
      verdict.status = MeasureStatus::wrong_result;
      verdict.message = "output '" + argument.name + "': elements are not written";
    }
    return verdict;
  }
  Bounds bounds = {0, 0};
  if (tolerance.kind == OutputTolerance::Kind::bounded) {
    bounds = {tolerance.absolute + tolerance.of_rms * rms, tolerance.relative};
  }
  return with_float_type(argument.dtype, [&](auto type) {
    using Out = decltype(type);
    if (argument.reference_dtype == DType::f64) {
      return verify_floats<Out, F64>(argument, reference, bounds, output);
    }
    return verify_floats<Out, Out>(argument, reference, bounds, output);
  });
}

}  // namespace tensorsmith
