// Numbers of golden networks: read, compared, and parameters by a formula.
//
// Test support.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/cost/program_network.hpp"
#include "support/catch.hpp"
#include "support/golden_data.hpp"

namespace tensorsmith::test {

using Numbers = std::vector<double>;

/// Numbers of a list of any depth, one after another; text ("nan") counts as not a number.
inline void append_numbers(const Json& json, Numbers& numbers) {
  if (json.is_array()) {
    for (const Json& item : json) {
      append_numbers(item, numbers);
    }
  } else {
    numbers.push_back(json.is_number() ? json.get<double>() : std::nan(""));
  }
}
inline Numbers numbers_of(const Json& json) {
  Numbers numbers;
  append_numbers(json, numbers);
  return numbers;
}

/// The largest difference, in units of the tolerance: absolute below 1, relative above.
template <class Values>
double worst_of(const Values& actual, const Numbers& expected) {
  REQUIRE(static_cast<std::size_t>(actual.size()) == expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double scale = std::max(1.0, std::abs(expected[i]));
    const auto index = static_cast<std::ptrdiff_t>(i);
    worst = std::max(worst, std::abs(*(actual.begin() + index) - expected[i]) / scale);
  }
  return worst;
}
inline std::vector<float> values_of(const program_network::Vector& vector) {
  return {vector.begin(), vector.end()};
}

inline std::span<const float> tensor_values(const program_network::ProgramNetwork& network,
                                            const std::string& name, std::span<const float> of) {
  for (const auto& tensor : network.tensors()) {
    if (tensor.name == name) {
      return of.subspan(tensor.offset, tensor.size());
    }
  }
  throw std::runtime_error("no tensor " + name);
}

/// Parameters by the formula of tests/data/golden/pruner/README.md, the first of number `first`.
inline std::vector<float> formula_values(const program_network::ProgramNetwork& network,
                                         std::uint64_t first) {
  std::vector<float> values(network.parameters().size());
  for (const auto& tensor : network.tensors()) {
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      std::uint64_t h = ((first + tensor.offset + i) * 2654435761ULL + 12345) & 0xFFFFFFFFULL;
      h ^= h >> 15;
      h = h * 2246822519ULL & 0xFFFFFFFFULL;
      h ^= h >> 13;
      const double u = static_cast<double>(h) / 0x1p32 * 2 - 1;
      const double bound =
          tensor.is_vector ? 0.05 : 1 / std::sqrt(static_cast<double>(tensor.num_inputs));
      values[tensor.offset + i] = tensor.name == "norm.weight" ? 1.0F + static_cast<float>(0.1 * u)
                                                               : static_cast<float>(u * bound);
    }
  }
  return values;
}

/// Sums, sums of absolutes and of squares, and some elements of every tensor.
inline double worst_summary(const program_network::ProgramNetwork& network,
                            std::span<const float> of, const Json& expected) {
  double worst = 0;
  for (const auto& tensor : network.tensors()) {
    const auto values = tensor_values(network, tensor.name, of);
    const Json& summary = expected.at(tensor.name);
    double absolute = 0, squares = 0;
    for (const float value : values) {
      absolute += std::abs(value);
      squares += static_cast<double>(value) * value;
    }
    const double of_absolute = summary.at("abs_sum"), of_squares = summary.at("sq_sum");
    worst = std::max(worst, std::abs(absolute - of_absolute) / std::max(1.0, of_absolute));
    worst = std::max(worst, std::abs(squares - of_squares) / std::max(1.0, of_squares));
    const Numbers first = numbers_of(summary.at("first"));
    for (std::size_t i = 0; i < first.size() && i < values.size(); ++i) {
      worst = std::max(worst, std::abs(values[i] - first[i]) / std::max(1.0, std::abs(first[i])));
    }
  }
  return worst;
}

}  // namespace tensorsmith::test
