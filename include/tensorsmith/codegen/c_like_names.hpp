// Identifiers, type names and constants of the C family.
//
// Floor 5. Own design. f16 and bf16 are stored as std::uint16_t and computed as float; boolean is
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

/// The type a value is computed in.
constexpr std::string_view c_type(DType type) {
  switch (type) {
  case DType::f64:
    return "double";
  case DType::f32:
  case DType::f16:
  case DType::bf16:
    return "float";
  case DType::i64:
    return "std::int64_t";
  case DType::i32:
    return "std::int32_t";
  case DType::i8:
    return "std::int8_t";
  case DType::u8:
    return "std::uint8_t";
  case DType::boolean:
    return "bool";
  }
  return "";
}

/// The type of an element in memory.
constexpr std::string_view c_storage_type(DType type) {
  if (type == DType::boolean) {
    return "std::uint8_t";
  }
  return type == DType::f16 || type == DType::bf16 ? "std::uint16_t" : c_type(type);
}

inline std::string c_integer(std::int64_t value, DType type) {
  if (type == DType::boolean) {
    return value != 0 ? "true" : "false";
  }
  if (value == INT64_MIN) {
    return "(-INT64_C(9223372036854775807) - 1)";
  }
  const bool is_long = value > INT32_MAX || value < -INT32_MAX;
  const std::string digits = std::to_string(value < 0 ? -value : value);
  return (value < 0 ? "-" : "") + (is_long ? "INT64_C(" + digits + ")" : digits);
}

/// Shortest of the usual precisions that reads back as the same value; f16 and bf16 as float.
inline std::string c_float(double value, DType type) {
  const bool is_double = type == DType::f64;
  if (math::is_nan(value)) {
    return is_double ? "static_cast<double>(NAN)" : "NAN";
  }
  const double exact = is_double ? value : static_cast<double>(static_cast<float>(value));
  if (math::is_infinite(exact)) {
    const std::string text = is_double ? "HUGE_VAL" : "HUGE_VALF";
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
  std::string unique(std::string_view wanted) {
    const std::string base = c_identifier(wanted);
    std::string name = base;
    for (int i = 2; is_reserved(name) || is_taken(name); ++i) {
      name = base + "_" + std::to_string(i);
    }
    taken_.push_back(name);
    return name;
  }
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
  static bool is_reserved(std::string_view name) {
    constexpr std::string_view words[] = {
        "alignas",  "and",      "asm",      "auto",     "bool",     "break",     "case",
        "catch",    "char",     "class",    "const",    "continue", "default",   "delete",
        "do",       "double",   "else",     "enum",     "explicit", "export",    "extern",
        "false",    "float",    "for",      "friend",   "goto",     "if",        "inline",
        "int",      "long",     "main",     "mutable",  "new",      "not",       "operator",
        "or",       "private",  "public",   "register", "return",   "short",     "signed",
        "sizeof",   "static",   "std",      "struct",   "switch",   "template",  "this",
        "throw",    "true",     "try",      "typedef",  "union",    "unsigned",  "using",
        "virtual",  "void",     "volatile", "while",    "xor",      "floor_div", "floor_mod",
        "min_of",   "max_of",   "abs_of",   "to_f16",   "from_f16", "to_bf16",   "from_bf16",
        "wrap_add", "wrap_sub", "wrap_mul", "Scratch",  "NAN",      "HUGE_VAL",  "HUGE_VALF"};
    for (const auto& word : words) {
      if (word == name) {
        return true;
      }
    }
    return false;
  }
  bool is_taken(std::string_view name) const { return has_item(taken_, name); }

  std::vector<std::string> taken_;
};

}  // namespace tensorsmith
