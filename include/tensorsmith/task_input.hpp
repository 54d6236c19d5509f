// SPDX-License-Identifier: Apache-2.0
// TaskInput: what one input of a task holds while its programs are verified and measured.
//
// Floor 1. Own design. Without one, floats are drawn from -1 to 1 (roots and logarithms get no
// negative numbers), integers from -8 to 8, and indices from all that are legal. Not here: how
// values are drawn (measure/fill.hpp).
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensorsmith/support/callback.hpp"

namespace tensorsmith {

struct TaskInput {
  std::string name;  ///< of the placeholder
  /// Floats uniform in [low, high), integers in [low, high]; if there is neither of what follows.
  double low = 0, high = 0;
  /// Exactly these, in the order of the last axis first. Elements of the input's type.
  std::vector<std::byte> bytes;
  /// Writes all elements of the input.
  Callback<void(std::span<std::byte>)> generate;

  static TaskInput range(std::string name, double low, double high) {
    TaskInput input;
    input.name = std::move(name);
    input.low = low;
    input.high = high;
    return input;
  }
  /// `elements`: anything with data() and size().
  template <class Elements>
  static TaskInput data(std::string name, const Elements& elements) {
    using Element = std::remove_cvref_t<decltype(*elements.data())>;
    static_assert(std::is_trivially_copyable_v<Element>);
    TaskInput input;
    input.name = std::move(name);
    input.bytes.resize(elements.size() * sizeof(Element));
    if (!input.bytes.empty()) {
      std::memcpy(input.bytes.data(), elements.data(), input.bytes.size());
    }
    return input;
  }
  /// `element(i)` is element number i; `Element` is of the input's type.
  template <class Element, class Function>
  static TaskInput generated(std::string name, Function element) {
    TaskInput input;
    input.name = std::move(name);
    input.generate = [element](std::span<std::byte> out) {
      for (std::size_t i = 0; i < out.size() / sizeof(Element); ++i) {
        const Element value = element(i);
        std::memcpy(out.data() + i * sizeof(Element), &value, sizeof(Element));
      }
    };
    return input;
  }
};

}  // namespace tensorsmith
