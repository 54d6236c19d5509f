// SPDX-License-Identifier: Apache-2.0
// Identifiers, type names and constants of the C family, in C++ and in CUDA C++ without headers.
//
// Floor 5. Own design. f16 and bf16 are stored as 16-bit integers and computed as float; boolean is
// stored as one byte.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/ir/dtype.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

/// C++ has the names of its standard library; NVRTC has no header but knows CUDA's own functions.
enum class CDialect : std::uint8_t { cpp, cuda };

/// The type a value is computed in.
constexpr std::string_view c_type(DType type, CDialect dialect = CDialect::cpp) {
  const bool is_cpp = dialect == CDialect::cpp;
  switch (type) {
  case DType::f64:
    return "double";
  case DType::f32:
  case DType::f16:
  case DType::bf16:
    return "float";
  case DType::i64:
    return is_cpp ? "std::int64_t" : "long long";
  case DType::i32:
    return is_cpp ? "std::int32_t" : "int";
  case DType::i16:
    return is_cpp ? "std::int16_t" : "short";
  case DType::i8:
    return is_cpp ? "std::int8_t" : "signed char";
  case DType::u8:
    return is_cpp ? "std::uint8_t" : "unsigned char";
  case DType::boolean:
    return "bool";
  }
  return "";
}

/// The type of an element in memory.
constexpr std::string_view c_storage_type(DType type, CDialect dialect = CDialect::cpp) {
  if (type == DType::boolean) {
    return c_type(DType::u8, dialect);
  }
  if (type == DType::f16 || type == DType::bf16) {
    return dialect == CDialect::cpp ? "std::uint16_t" : "unsigned short";
  }
  return c_type(type, dialect);
}

inline std::string c_integer(std::int64_t value, DType type, CDialect dialect = CDialect::cpp) {
  if (type == DType::boolean) {
    return value != 0 ? "true" : "false";
  }
  const bool is_cpp = dialect == CDialect::cpp;
  if (value == INT64_MIN) {
    return is_cpp ? "(-INT64_C(9223372036854775807) - 1)" : "(-9223372036854775807ll - 1)";
  }
  const bool is_long = value > INT32_MAX || value < -INT32_MAX;
  std::string digits = std::to_string(value < 0 ? -value : value);
  if (is_long) {
    digits = is_cpp ? "INT64_C(" + digits + ")" : digits + "ll";
  }
  return (value < 0 ? "-" : "") + digits;
}

/// Shortest of the usual precisions that reads back as the same value; f16 and bf16 as float.
inline std::string c_float(double value, DType type, CDialect dialect = CDialect::cpp) {
  const bool is_double = type == DType::f64;
  const bool is_cpp = dialect == CDialect::cpp;
  if (math::is_nan(value)) {
    return is_cpp ? (is_double ? "static_cast<double>(NAN)" : "NAN")
                  : (is_double ? "__longlong_as_double(0x7ff8000000000000ll)"
                               : "__int_as_float(0x7fc00000)");
  }
  const double exact = is_double ? value : static_cast<double>(static_cast<float>(value));
  if (math::is_infinite(exact)) {
    const std::string text = is_cpp      ? (is_double ? "HUGE_VAL" : "HUGE_VALF")
                             : is_double ? "__longlong_as_double(0x7ff0000000000000ll)"
                                         : "__int_as_float(0x7f800000)";
    return exact < 0 ? "(-" + text + ")" : text;
  }
  char buffer[40];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, exact);
    const double read = std::strtod(buffer, nullptr);
    if (is_double ? read == exact : static_cast<float>(read) == static_cast<float>(exact)) {
      break;
    }
  }
  std::string text = buffer;
  if (text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  text += is_double ? "" : "f";
  return math::is_negative(exact) ? "(" + text + ")" : text;
}

/// `name` with every other character as '_', runs shortened: `i.0@j.0@` becomes `i_0_j_0`.
inline std::string c_identifier(std::string_view name) {
  std::string text;
  for (char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (digit && text.empty()) {
      text += "v";
    }
    if (letter || digit) {
      text += c;
    } else if (!text.empty() && text.back() != '_') {
      text += '_';
    }
  }
  while (!text.empty() && text.back() == '_') {
    text.pop_back();
  }
  return text.empty() ? "v" : text;
}

/// Hands out identifiers that are neither reserved nor taken.
class NameTable {
 public:
  explicit NameTable(CDialect dialect = CDialect::cpp) : dialect_(dialect) {}

  std::string unique(std::string_view wanted) {
    const std::string base = c_identifier(wanted);
    std::string name = base;
    for (int i = 2; is_reserved(name) || is_taken(name); ++i) {
      name = base + "_" + std::to_string(i);
    }
    taken_.push_back(name);
    return name;
  }
  /// What the text itself calls so: `floor_div(` and `min_of<` without their last characters.
  template <class Helpers>
  void reserve(const Helpers& helpers) {
    for (const auto& helper : helpers) {
      taken_.emplace_back(helper.name.substr(0, helper.name.find_first_of("(<")));
    }
  }
  void reserve_word(std::string_view word) { taken_.emplace_back(word); }
  /// The name's scope has ended; the latest use of it is given up.
  void release(std::string_view name) {
    for (auto last = taken_.end(); last != taken_.begin();) {
      if (*--last == name) {
        taken_.erase(last);
        return;
      }
    }
  }

 private:
  static bool is_among(std::string_view list, std::string_view word) {
    return list.find(" " + std::string(word) + " ") != std::string_view::npos;
  }
  /// f32x8 and f32x8u in C++; uchar4 and make_uchar4 in CUDA.
  bool is_vector_type(std::string_view name) const {
    const bool is_cpp = dialect_ == CDialect::cpp;
    if (is_cpp && name.size() > 1 && name.back() == 'u') {
      name.remove_suffix(1);
    } else if (!is_cpp && name.substr(0, 5) == "make_") {
      name.remove_prefix(5);
    }
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    if (digits == 0 || digits == name.size()) {
      return false;
    }
    name = name.substr(0, digits);
    return is_cpp ? is_among(" f32x f64x ", name)
                  : is_among(" double float ushort longlong int short uchar char ", name);
  }
  bool is_reserved(std::string_view name) const {
    // What the text of CUDA programs uses, and functions that NVRTC declares by itself.
    constexpr std::string_view cuda_words =
        " threadIdx blockIdx blockDim gridDim warpSize min max abs exp log sqrt tanh erf pow floor "
        "ceil round j0 j1 jn y0 y1 yn block_x block_y block_z thread_x thread_y "
        "thread_z dim3 norm gamma clock trap brkpt signbit isnan isinf isfinite remainder fmax "
        "fmin fmod fabs rint nearbyint rsqrt TENSORSMITH_CUDA_SHIM ";
    // C++20's keywords and macros, and what exported text uses beside its helpers.
    constexpr std::string_view words =
        " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t "
        "char16_t char32_t class compl concept const consteval constexpr constinit const_cast "
        "continue co_await co_return co_yield decltype default delete do double dynamic_cast else "
        "enum explicit export extern false float for friend goto if inline int long mutable "
        "namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
        "register reinterpret_cast requires return short signed sizeof static static_assert "
        "static_cast struct switch template this thread_local throw true try typedef typeid "
        "typename union unsigned using virtual void volatile wchar_t while xor xor_eq main std "
        "linux unix errno NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL INT64_C Scratch parallel_for "
        "ParallelRuntime ";
    if (dialect_ == CDialect::cuda && !name.empty()) {  // expf is to exp as sqrtf is to sqrt
      const std::string_view of_double = name.substr(0, name.size() - (name.back() == 'f' ? 1 : 0));
      if (is_among(cuda_words, name) || is_among(cuda_words, of_double)) {
        return true;
      }
    }
    return is_vector_type(name) || is_among(words, name);
  }
  bool is_taken(std::string_view name) const { return has_item(taken_, name); }

  CDialect dialect_;
  std::vector<std::string> taken_;
};

}  // namespace tensorsmith
