// SPDX-License-Identifier: Apache-2.0
// attribute_text: what tells the values of attributes apart, as text.
//
// Private to lib/graph.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/support/overloaded.hpp"
#include "tensorsmith/support/text_writer.hpp"

namespace tensorsmith::graph {

/// Of a constant its number, or its shape if it has several.
inline std::string constant_text(const Constant& constant) {
  return num_elements(constant.shape) == 1 ? text_of_real(constant.real(0))
                                           : shape_text(constant.shape);
}

inline std::string attribute_text(const AttributeValue& value) {
  const auto listed = [](const auto& items, const auto& write) {
    std::string text;
    for (const auto& item : items) {
      text += (text.empty() ? "" : ", ") + write(item);
    }
    return "[" + text + "]";
  };
  return std::visit(Overloaded{[](std::int64_t x) { return std::to_string(x); },
                               [](double x) { return text_of_real(x); },
                               [](const std::string& x) { return x; },
                               [](const std::vector<std::int64_t>& x) { return shape_text(x); },
                               [&](const std::vector<double>& x) {
                                 return listed(x, [](double one) { return text_of_real(one); });
                               },
                               [&](const std::vector<std::string>& x) {
                                 return listed(x, [](const std::string& one) { return one; });
                               },
                               [](const Constant& x) { return constant_text(x); }},
                    value);
}

}  // namespace tensorsmith::graph
