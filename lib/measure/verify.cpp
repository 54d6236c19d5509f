#include "measure/verify.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "tensorsmith/measure/narrow_float.hpp"

namespace tensorsmith {
namespace {

// Quiet NaNs that no arithmetic produces.
constexpr std::uint64_t poison_f64 = 0xFFF8A5A5A5A5A5A5U;
constexpr std::uint32_t poison_f32 = 0xFFE5A5A5U;
constexpr std::uint16_t poison_f16 = 0xFEA5U;
constexpr std::uint16_t poison_bf16 = 0xFFE5U;
constexpr std::uint64_t unverified_f64 = 0xFFF8C3C3C3C3C3C3U;

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

template <class Out, class Ref>
bool is_right(typename Out::Bits got, typename Ref::Bits wanted, const Bounds& bounds) {
  const bool is_any = std::is_same_v<Ref, F64> && wanted == unverified_f64;
  return got != Out::poison && (is_any || is_close(Out::value(got), Ref::value(wanted), bounds));
}

// The loop that everything correct goes through: no branch per element, so compilers vectorise it.
template <class Out, class Ref>
std::size_t count_suspects(std::span<const std::byte> output, std::span<const std::byte> reference,
                           std::size_t begin, std::size_t end, const Bounds& bounds) {
  std::size_t suspects = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const double got = Out::value(load<Out>(output, i));
    const double wanted = Ref::value(load<Ref>(reference, i));
    const double error = std::fabs(got - wanted);
    suspects += !(error <= bounds.absolute + bounds.relative * std::fabs(wanted)) ? 1U : 0U;
    suspects += !(std::fabs(wanted) <= 1.7976931348623157e308) ? 1U : 0U;
  }
  return suspects;
}

template <class Out, class Ref>
Verdict verify_floats(const KernelArgument& argument, std::span<const std::byte> reference,
                      const Bounds& bounds, std::span<const std::byte> output) {
  const std::size_t count = static_cast<std::size_t>(argument.num_elements);
  constexpr std::size_t block = 1024;
  std::size_t num_bad = 0;
  std::size_t num_unwritten = 0;
  std::size_t num_nan = 0;
  std::size_t first_bad = 0;
  for (std::size_t begin = 0; begin < count; begin += block) {
    const std::size_t end = std::min(begin + block, count);
    if (count_suspects<Out, Ref>(output, reference, begin, end, bounds) == 0) {
      continue;
    }
    for (std::size_t i = begin; i < end; ++i) {
      const auto bits = load<Out>(output, i);
      if (is_right<Out, Ref>(bits, load<Ref>(reference, i), bounds)) {
        continue;
      }
      first_bad = num_bad == 0 ? i : first_bad;
      ++num_bad;
      num_unwritten += bits == Out::poison ? 1U : 0U;
      num_nan += bits != Out::poison && std::isnan(Out::value(bits)) ? 1U : 0U;
    }
  }
  Verdict verdict;
  if (num_bad == 0) {
    return verdict;
  }
  const auto bits = load<Out>(output, first_bad);
  const double wanted = Ref::value(load<Ref>(reference, first_bad));
  verdict.status = num_nan > 0 ? MeasureStatus::nan_result : MeasureStatus::wrong_result;
  verdict.message =
      "output '" + argument.name + "': " + std::to_string(num_bad) + " of " +
      std::to_string(count) + " elements are wrong (" + std::to_string(num_unwritten) +
      " never written, " + std::to_string(num_nan) + " NaN); first at " +
      std::to_string(first_bad) + ": " +
      (bits == Out::poison ? std::string("never written") : "got " + text_of(Out::value(bits))) +
      ", expected " + text_of(wanted) + " within " +
      text_of(bounds.absolute + bounds.relative * std::fabs(wanted));
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
  case DType::i8:
    return integer_at<std::int8_t>(bytes, index);
  default:
    return integer_at<std::uint8_t>(bytes, index);
  }
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

void leave_unverified(std::span<std::byte> reference) {
  for (std::size_t i = 0; i + sizeof(unverified_f64) <= reference.size();
       i += sizeof(unverified_f64)) {
    std::memcpy(reference.data() + i, &unverified_f64, sizeof(unverified_f64));
  }
}

void poison_output(const KernelArgument& argument, std::span<const std::byte> reference,
                   std::span<std::byte> output) {
  if (!is_float(argument.dtype)) {
    if (reference.size() != output.size()) {
      std::fill(output.begin(), output.end(), std::byte{0xA5});
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
    for (std::size_t i = 0; i + sizeof(Bits) <= output.size(); i += sizeof(Bits)) {
      std::memcpy(output.data() + i, &poison, sizeof(Bits));
    }
  });
}

Verdict verify_output(const KernelArgument& argument, std::span<const std::byte> reference,
                      double rms, std::span<const std::byte> output) {
  const OutputTolerance& tolerance = argument.tolerance;
  if (!is_float(argument.dtype)) {
    return verify_integers(argument, reference, output);
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
