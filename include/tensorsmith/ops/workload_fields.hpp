// SPDX-License-Identifier: Apache-2.0
// The parts of workload strings: numbers, types, sizes, epilogues, chains.
//
// Floor 3. Own design. What is wrong is an Error that names the text, what was expected and what
// came. Not here: the forms (ops/workload.hpp), the grammar (ops/workload_grammar.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/ops/permuted_result.hpp"
#include "tensorsmith/ops/workload_text.hpp"
#include "tensorsmith/support/error.hpp"

namespace tensorsmith::ops::detail {

inline std::vector<std::string> split_text(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  return parts;
}

/// The text being read, and an example of its form for messages.
class WorkloadFields {
 protected:
  explicit WorkloadFields(std::string_view text) : text_(text) {}

  [[noreturn]] void refuse(const std::string& expected, const std::string& came) const {
    throw Error("workload \"" + text_ + "\": expected " + expected + ", got " + came);
  }

  std::int64_t number(const std::string& what, const std::string& digits,
                      std::int64_t least = 1) const {
    const std::string range =
        least == 0 ? "a whole number of at least 0" : "a positive whole number";
    if (digits.empty()) {
      refuse(range + " for " + what, "nothing");
    }
    std::int64_t value = 0;
    for (char c : digits) {
      if (c < '0' || c > '9') {
        refuse(range + " for " + what, "\"" + digits + "\"");
      }
      value = value * 10 + (c - '0');
      if (value > INT32_MAX) {
        refuse("at most 2147483647 for " + what, digits);
      }
    }
    if (value < least) {
      refuse(range + " for " + what, digits);
    }
    return value;
  }
  DType dtype(const std::string& name) const {
    for (DType type : all_dtypes) {
      const bool is_of_operands = type != DType::boolean && type != DType::i16;
      if (is_of_operands && is_name_of(name, type)) {
        return type;
      }
    }
    refuse("a type out of f64, f32, f16, bf16, i64, i32, i8, u8", "\"" + name + "\"");
  }
  std::vector<std::int64_t> sizes(const std::string& form, const std::string& text) const {
    const std::vector<std::string> names = split_text(form, 'x'), parts = split_text(text, 'x');
    if (names.size() != parts.size()) {
      refuse(form + " as in " + example_, "\"" + text + "\"");
    }
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      numbers.push_back(number(names[i], parts[i]));
    }
    return numbers;
  }
  /// Sizes of this form and the type behind them.
  std::vector<std::int64_t> sizes_and_type(const std::string& form, const std::string& rest,
                                           DType& type) const {
    const std::vector<std::string> head = split_text(rest, ':');
    if (head.size() > 2) {
      refuse("sizes, a colon and one type", "\"" + rest + "\"");
    }
    const std::vector<std::int64_t> numbers = sizes(form, head[0]);
    type = head.size() == 2 ? dtype(head[1]) : DType::f32;
    return numbers;
  }
  void set_once(const std::string& flag, bool& field) const {
    if (field) {
      refuse("every flag once", "\"" + flag + "\" twice");
    }
    field = true;
  }
  /// The value of "KEY=i8" or "KEY=u8", for operands of 8 bits.
  void set_byte_type(const std::string& flag, DType operands, ByteType& field) const {
    const std::size_t equals = flag.find('=');
    const std::string key = flag.substr(0, equals), value = flag.substr(equals + 1);
    if (field != ByteType::none) {
      refuse("every flag once", "\"" + key + "=\" twice");
    }
    if (value != "i8" && value != "u8") {
      refuse(key + "=i8 or " + key + "=u8", "\"" + flag + "\"");
    }
    if (operands != DType::i8 && operands != DType::u8) {
      refuse("operands of i8 or u8 with " + key + "=", std::string(name_of(operands)));
    }
    field = value == "i8" ? ByteType::i8 : ByteType::u8;
  }
  /// Whether the flag begins with nan=, which it sets.
  bool nan_option(const std::string& flag, bool& propagates_nan) const {
    if (flag.rfind("nan=", 0) != 0) {
      return false;
    }
    if (flag != "nan=propagate") {
      refuse("nan=propagate", "\"" + flag + "\"");
    }
    set_once(flag, propagates_nan);
    return true;
  }
  /// weights=, bias, batchnorm, add, relu, gelu, requant=, packed, nan=; false for anything else.
  template <class Params>
  bool epilogue(const std::string& flag, Params& p) const {
    if (flag == "bias" || flag == "add") {
      set_once(flag, flag == "bias" ? p.bias : p.add);
    } else if (flag == "relu" || flag == "gelu") {
      if (p.activation != Activation::none) {
        refuse("at most one of relu and gelu", "a second one");
      }
      p.activation = flag == "relu" ? Activation::relu : Activation::gelu;
    } else if (flag == "packed") {
      if (p.packing != PackingClass::plain) {
        refuse("at most one of packed and layout=free", "a second one");
      }
      p.packing = PackingClass::packed_weights;
    } else if (flag.rfind("weights=", 0) == 0) {
      set_byte_type(flag, p.dtype, p.weights);
    } else if (flag.rfind("requant=", 0) == 0) {
      set_byte_type(flag, p.dtype, p.requant);
    } else {
      if constexpr (requires { p.batch_norm; }) {
        if (flag == "batchnorm") {
          set_once(flag, p.batch_norm);
          return true;
        }
      }
      return nan_option(flag, p.propagates_nan);
    }
    return true;
  }

  /// Sizes, a type and the steps of a chain.
  PointwiseParams chain(const std::string& rest) const {
    PointwiseParams p;
    const std::vector<std::string> parts = split_text(rest, ',');
    const std::string extents = parts[0].substr(0, parts[0].find(':'));
    std::string form = "D1";
    for (std::size_t axis = 2; axis <= split_text(extents, 'x').size(); ++axis) {
      form += "xD" + std::to_string(axis);
    }
    p.shape = sizes_and_type(form, parts[0], p.dtype);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const std::string key = "perm=";
      if (i + 1 == parts.size() && parts[i].rfind(key, 0) == 0) {
        p.permutation = permutation(parts[i].substr(key.size()), p.shape.size());
      } else if (!nan_option(parts[i], p.propagates_nan)) {
        p.chain.push_back(step(parts[i]));
      }
    }
    return p;
  }
  std::vector<std::int64_t> permutation(const std::string& text, std::size_t rank) const {
    std::vector<std::int64_t> axes;
    for (const std::string& axis : split_text(text, 'x')) {
      axes.push_back(number("an axis of perm=", axis, 0));
    }
    if (axes.size() != rank || !is_permutation(axes)) {
      refuse("every axis from 0 to " + std::to_string(rank - 1) + " once in perm=, as in perm=1x0",
             "\"" + text + "\"");
    }
    return axes;
  }
  PointwiseStep step(const std::string& text) const {
    for (std::size_t i = 0; i < pointwise_names.size() * broadcast_names.size(); ++i) {
      const PointwiseStep found(static_cast<PointwiseOp>(i / broadcast_names.size()),
                                static_cast<Broadcast>(i % broadcast_names.size()));
      if (text == step_text(found)) {
        return found;
      }
    }
    refuse(
        "steps out of relu, gelu, sigmoid, tanh, exp and add, sub, mul, div, max, min, these also "
        "with _per_column or _per_row",
        "\"" + text + "\"");
  }

  std::string text_;
  std::string example_;
};

}  // namespace tensorsmith::ops::detail
