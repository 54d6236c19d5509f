// PolicyParams: the parameters of a search by the names that users of the Ansor reference know.
//
// Floor 7. Ansor reference, ch. 4.1 (names, meanings, default values).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tensorsmith {

struct PolicyParams {
  double eps_greedy = 0.05;
  std::int32_t retry_search_one_round_on_empty = 1;
  std::int32_t sample_init_min_population = 50;
  double sample_init_use_measured_ratio = 0.2;
  std::int32_t evolutionary_search_population = 2048;
  std::int32_t evolutionary_search_num_iters = 4;
  double evolutionary_search_mutation_prob = 0.85;
  std::string cpu_multi_level_tiling_structure = "SSRSRS";
  std::string gpu_multi_level_tiling_structure = "SSSRRSRS";
  std::int32_t max_innermost_split_factor = 64;
  std::int32_t max_vectorize_size = 16;
  std::int32_t disable_change_compute_location = 0;

  static constexpr std::array<std::string_view, 12> names() {
    return {"eps_greedy",
            "retry_search_one_round_on_empty",
            "sample_init_min_population",
            "sample_init_use_measured_ratio",
            "evolutionary_search_population",
            "evolutionary_search_num_iters",
            "evolutionary_search_mutation_prob",
            "cpu_multi_level_tiling_structure",
            "gpu_multi_level_tiling_structure",
            "max_innermost_split_factor",
            "max_vectorize_size",
            "disable_change_compute_location"};
  }

  /// Empty if `value` was taken, else a sentence that says what is expected.
  std::string set(std::string_view name, const std::string& value) {
    const auto known = names();
    const auto is = [&](std::size_t i) { return name == known[i]; };
    return is(0)    ? set_share(name, value, eps_greedy)
           : is(1)  ? set_count(name, value, 0, 1000, retry_search_one_round_on_empty)
           : is(2)  ? set_count(name, value, 1, 1 << 17, sample_init_min_population)
           : is(3)  ? set_share(name, value, sample_init_use_measured_ratio)
           : is(4)  ? set_count(name, value, 1, 1 << 17, evolutionary_search_population)
           : is(5)  ? set_count(name, value, 0, 4000, evolutionary_search_num_iters)
           : is(6)  ? set_share(name, value, evolutionary_search_mutation_prob)
           : is(7)  ? set_structure(name, value, cpu_multi_level_tiling_structure)
           : is(8)  ? set_structure(name, value, gpu_multi_level_tiling_structure)
           : is(9)  ? set_count(name, value, 1, 1 << 20, max_innermost_split_factor)
           : is(10) ? set_count(name, value, 1, 1 << 20, max_vectorize_size)
           : is(11) ? set_count(name, value, 0, 1, disable_change_compute_location)
                    : unknown(name);
  }

 private:
  static std::string unknown(std::string_view name) {
    std::string text = "unknown search parameter \"" + std::string(name) + "\"; known:";
    for (std::string_view known : names()) {
      text += (text.back() == ':' ? " " : ", ") + std::string(known);
    }
    return text;
  }
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
  static std::string set_share(std::string_view name, const std::string& value, double& share) {
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
  static std::string set_structure(std::string_view name, const std::string& value,
                                   std::string& structure) {
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
