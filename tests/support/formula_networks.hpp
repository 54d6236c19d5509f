// SPDX-License-Identifier: Apache-2.0
// The networks of full size whose weights a formula gives, their programs, and the losses of lists
// in which scores are equal.
//
// Test support, for sources that have Eigen. Formula: tests/data/golden/pruner/README.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/cost/program_losses.hpp"
#include "lib/cost/program_network.hpp"
#include "support/golden_numbers.hpp"
#include "support/program_networks.hpp"
#include "tensorsmith/cost/model_metrics.hpp"

namespace tensorsmith::test {

inline std::span<const float> tensor_values(const program_network::ProgramNetwork& network,
                                            const std::string& name, std::span<const float> of) {
  for (const auto& tensor : network.tensors()) {
    if (tensor.name == name) {
      return of.subspan(tensor.offset, tensor.size());
    }
  }
  throw std::runtime_error("no tensor " + name);
}

inline std::vector<float> values_of(const program_network::Vector& vector) {
  return {vector.begin(), vector.end()};
}

inline void set_formula_weights(program_network::ProgramNetwork& network, std::uint64_t first) {
  for (const auto& tensor : network.tensors()) {
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      std::uint64_t h = ((first + tensor.offset + i) * 2654435761ULL + 12345) & 0xFFFFFFFFULL;
      h ^= h >> 15;
      h = h * 2246822519ULL & 0xFFFFFFFFULL;
      h ^= h >> 13;
      const double u = static_cast<double>(h) / 0x1p32 * 2 - 1;
      const double bound =
          tensor.is_vector ? 0.05 : 1 / std::sqrt(static_cast<double>(tensor.num_inputs));
      network.parameters()[tensor.offset + i] = tensor.name == "norm.weight"
                                                    ? 1.0F + static_cast<float>(0.1 * u)
                                                    : static_cast<float>(u * bound);
    }
  }
}

/// A network of the file ("pam", "mlp") with its weights.
inline program_network::ProgramNetwork formula_network(const Json& file, const std::string& name) {
  using program_network::NetworkShape;
  program_network::ProgramNetwork network(name == "pam" ? NetworkShape::pam()
                                                        : NetworkShape::mlp());
  set_formula_weights(network, name == "pam" ? file.at("formula_start").get<std::uint64_t>() : 0);
  return network;
}

/// The programs of the file, features extracted here.
inline program_network::ProgramBatch formula_batch(const Json& file, bool has_flow) {
  const PrunerPrograms programs("samples_cuda.jsonl");
  std::vector<program_network::ProgramInputs> inputs;
  for (const Json& input : file.at("inputs")) {
    inputs.push_back(network_inputs(programs.program(input[0], input[1])));
  }
  program_network::InputScale scale;
  auto divisors = file.at("norm_statement").get<std::vector<float>>();
  if (has_flow) {
    const auto more = file.at("norm_block").get<std::vector<float>>();
    divisors.insert(divisors.end(), more.begin(), more.end());
  }
  scale.set(std::move(divisors));
  std::vector<const program_network::ProgramInputs*> pointers;
  for (const auto& one : inputs) {
    pointers.push_back(&one);
  }
  return program_network::make_batch(pointers, scale, has_flow);
}

/// Sums and some elements of every tensor of `of` against a summary of the reference, relative to
/// the sum of absolutes (sums), the sum of squares, and the largest of the elements shown or the
/// root of the mean square. Where what is left is rounding only, relative to 0.01.
inline double worst_summary(const program_network::ProgramNetwork& network,
                            std::span<const float> of, const Json& expected) {
  double worst = 0;
  for (const auto& tensor : network.tensors()) {
    const auto values = tensor_values(network, tensor.name, of);
    const Json& summary = expected.at(tensor.name);
    double sum = 0, absolute = 0, squares = 0;
    for (const float value : values) {
      sum += value;
      absolute += std::abs(static_cast<double>(value));
      squares += static_cast<double>(value) * value;
    }
    const double of_absolute = summary.at("abs_sum"), of_squares = summary.at("sq_sum");
    const auto differs = [&](double actual, double wanted, double scale) {
      worst = std::max(worst, std::abs(actual - wanted) / std::max(scale, 1e-2));
    };
    differs(sum, summary.at("sum"), of_absolute);
    differs(absolute, of_absolute, of_absolute);
    differs(squares, of_squares, of_squares);
    const Numbers first = numbers_of(summary.at("first"));
    double scale = std::sqrt(of_squares / static_cast<double>(values.size()));
    for (const double value : first) {
      scale = std::max(scale, std::abs(value));
    }
    for (std::size_t i = 0; i < first.size() && i < values.size(); ++i) {
      differs(values[i], first[i], scale);
    }
    const Numbers last = numbers_of(summary.at("last"));
    for (std::size_t i = 0; i < last.size() && i < values.size(); ++i) {
      differs(values[values.size() - 1 - i], last[last.size() - 1 - i], scale);
    }
  }
  return worst;
}

/// Orders of a list by falling score that differ by the places of neighbours whose scores are equal
/// or differ by `within` at most.
inline std::vector<std::vector<std::size_t>> orders_of_equals(std::span<const float> scores,
                                                              float within) {
  std::vector<std::vector<std::size_t>> orders(1);
  for (const std::uint32_t at : descending_order(scores)) {
    orders[0].push_back(at);
  }
  constexpr std::size_t most = 1024;
  const std::vector<std::size_t> sorted = orders[0];
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    const std::size_t known = orders.size();
    if (scores[sorted[i]] - scores[sorted[i + 1]] <= within && known < most) {
      for (std::size_t k = 0; k < known; ++k) {
        orders.push_back(orders[k]);
        std::swap(orders.back()[i], orders.back()[i + 1]);
      }
    }
  }
  return orders;
}

/// Loss and slopes of a list. A ranking loss depends on the order of equal scores, which is that of
/// the reference's sort: the order whose loss is nearest to `expected` is taken. Scores that are
/// our own may differ by `within` where the reference's are equal.
inline double loss_in_order_of(double expected, ProgramLoss kind, std::span<const float> scores,
                               std::span<const float> labels, std::span<float> slope,
                               float within = 0) {
  double nearest = 0;
  bool is_first = true;
  for (const auto& order : orders_of_equals(scores, within)) {
    // Equal scores keep the places that they have in the list; those that are nearly equal are made
    // so.
    std::vector<float> ordered_scores, ordered_labels, ordered_slope(scores.size());
    for (const std::size_t at : order) {
      const float before = ordered_scores.empty() ? scores[at] : ordered_scores.back();
      ordered_scores.push_back(std::min(scores[at], before));
      ordered_labels.push_back(labels[at]);
    }
    const double loss = program_loss(kind, ordered_scores, ordered_labels, ordered_slope);
    if (is_first || std::abs(loss - expected) < std::abs(nearest - expected)) {
      is_first = false;
      nearest = loss;
      for (std::size_t i = 0; i < order.size(); ++i) {
        slope[order[i]] = ordered_slope[i];
      }
    }
  }
  return nearest;
}

}  // namespace tensorsmith::test
