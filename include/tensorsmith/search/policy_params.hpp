// SPDX-License-Identifier: Apache-2.0
// PolicyParams: the parameters of a search by the names that users of the Ansor reference know.
//
// Floor 7. Ansor reference, ch. 4.1 (names, meanings, default values); the list of them is
// policy_params.def.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tensorsmith/support/value_names.hpp"

namespace tensorsmith {

/// What a list of parameters says of one of them.
struct PolicyParamInfo {
  std::string_view name, default_value, meaning;
};

struct PolicyParams {
  using share = double;
  using count = std::int32_t;
  using structure = std::string;
#define TENSORSMITH_SEARCH_PARAM(kind, name, value, least, most, member, meaning) kind name = value;
#include "tensorsmith/search/policy_params.def"

#define TENSORSMITH_SEARCH_PARAM(kind, name, value, least, most, member, meaning) +1
  static constexpr std::size_t num_params = 0
#include "tensorsmith/search/policy_params.def"
      ;

  static constexpr std::array<PolicyParamInfo, num_params> all() {
    return {{
#define TENSORSMITH_SEARCH_PARAM(kind, name, value, least, most, member, meaning)                  \
  {#name, #value, meaning},
#include "tensorsmith/search/policy_params.def"
    }};
  }

  /// Empty if `value` was taken, else a sentence that says what is expected.
  std::string set(std::string_view param, const std::string& value) {
#define TENSORSMITH_SEARCH_PARAM(kind, name, initial, least, most, member, meaning)                \
  if (param == #name) {                                                                            \
    return set_##kind(param, value, least, most, name);                                            \
  }
#include "tensorsmith/search/policy_params.def"
    return "unknown search parameter \"" + std::string(param) + "\"; known: " + names_text(all());
  }

 private:
  static std::string refuse(std::string_view name, const std::string& expected,
                            const std::string& value) {
    return "search parameter " + std::string(name) + ": expected " + expected + ", got \"" + value +
           "\"";
  }
  /// A decimal number without a sign; false if `text` is none.
  static bool read_number(const std::string& text, double& number) {
    std::size_t num_digits = 0, num_points = 0;
    double value = 0, scale = 1;
    for (char c : text) {
      if (c == '.') {
        ++num_points;
      } else if (c >= '0' && c <= '9') {
        value = value * 10 + (c - '0');
        scale *= num_points > 0 ? 10 : 1;
        ++num_digits;
      } else {
        return false;
      }
    }
    number = value / scale;
    return num_digits > 0 && num_digits <= 15 && num_points <= 1;
  }
  static std::string set_share(std::string_view name, const std::string& value, std::int32_t,
                               std::int32_t, double& share) {
    double number = 0;
    if (!read_number(value, number) || number > 1) {
      return refuse(name, "a number in 0..1", value);
    }
    share = number;
    return {};
  }
  static std::string set_count(std::string_view name, const std::string& value, std::int32_t least,
                               std::int32_t most, std::int32_t& count) {
    double number = 0;
    const bool is_whole = read_number(value, number) && value.find('.') == std::string::npos;
    if (!is_whole || number < least || number > most) {
      return refuse(
          name, "a whole number in " + std::to_string(least) + ".." + std::to_string(most), value);
    }
    count = static_cast<std::int32_t>(number);
    return {};
  }
  static std::string set_structure(std::string_view name, const std::string& value, std::int32_t,
                                   std::int32_t, std::string& structure) {
    const bool has_both = value.find_first_of("Ss") != std::string::npos &&
                          value.find_first_of("Rr") != std::string::npos;
    if (!has_both || value.find_first_not_of("SsRr") != std::string::npos || value.size() > 16) {
      return refuse(name, "letters S and R, at least one of each, e.g. SSRSRS", value);
    }
    structure = value;
    return {};
  }
};

}  // namespace tensorsmith
