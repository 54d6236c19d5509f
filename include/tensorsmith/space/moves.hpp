// SPDX-License-Identifier: Apache-2.0
// Moves: steps from one assignment to others, for all spaces alike.
//
// Floor 6. Own design. A step of a length of a chain moves a prime factor between two parts of the
// split, the outermost included, or takes the next length up or down that the others allow; a step
// of an interval goes one up or down, of a list to any other value. Variables whose domain only a
// state knows are moved where the state is (space/template.hpp). What a move gives is legal.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/space/sample.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {
namespace detail {

/// Prime factors, each once, ascending.
inline std::vector<std::int64_t> prime_factors(std::int64_t n) {
  std::vector<std::int64_t> primes;
  for (std::int64_t p = 2; n > 1; ++p) {
    if (p > n / p) {
      p = n;
    }
    if (n % p == 0) {
      primes.push_back(p);
      while (n % p == 0) {
        n /= p;
      }
    }
  }
  return primes;
}

/// The values that variable `id` of no chain may have instead, one step away.
inline std::vector<std::int32_t> other_values(const Domain& domain, std::int32_t present) {
  std::vector<std::int32_t> others;
  const std::vector<std::int32_t>& values = domain.values();
  const bool is_interval = values.size() > 2 && std::int64_t{values.back()} - values.front() + 1 ==
                                                    static_cast<std::int64_t>(values.size());
  for (std::int32_t value : values) {
    const std::int64_t distance = std::int64_t{value} - present;
    if (distance != 0 && (!is_interval || (distance >= -1 && distance <= 1))) {
      others.push_back(value);
    }
  }
  return others;
}

}  // namespace detail

/// All legal assignments one step away, by one variable of `of`, or two of its chain; each once.
inline std::vector<Assignment> neighbours_by(const SpaceSampler& sampler, const Assignment& values,
                                             VariableId of) {
  const VariableSpace& space = sampler.space();
  std::vector<Assignment> found;
  const auto add = [&](const Assignment& other) {
    if (!(other == values) && !has_item(found, other) && sampler.is_legal(other)) {
      found.push_back(other);
    }
  };
  if (values[of] == not_asked || space[of].domain.is_open()) {
    return found;
  }
  Assignment other = values;
  const LengthChain* chain = space.chain_of(of);
  if (chain == nullptr) {
    for (std::int32_t value : detail::other_values(space[of].domain, values[of])) {
      other[of] = value;
      add(other);
    }
    return found;
  }
  const auto grow = [&](VariableId id, std::int64_t factor) {
    const std::int64_t larger = other[id] * factor;
    other[id] = larger > INT32_MAX ? 0 : static_cast<std::int32_t>(larger);  // 0 is not legal
  };
  for (std::int64_t p : detail::prime_factors(values[of])) {
    for (VariableId to : chain->lengths) {
      other = values;
      other[of] = static_cast<std::int32_t>(values[of] / p);
      if (to != of) {
        grow(to, p);
      }
      add(other);  // to the outermost part if `to` is the length itself
    }
  }
  std::int64_t product = 1;
  for (VariableId id : chain->lengths) {
    product = detail::saturated(BinaryOp::mul, product, values[id]);
  }
  for (std::int64_t root : chain->roots) {
    const bool divides = product > 0 && root % product == 0;
    for (std::int64_t p : detail::prime_factors(divides ? root / product : 1)) {
      other = values;
      grow(of, p);  // from the outermost part
      add(other);
    }
  }
  other = values;
  const std::vector<std::int32_t>& domain = space[of].domain.values();
  for (const bool is_up : {false, true}) {
    for (std::size_t i = 0; i < domain.size(); ++i) {
      other[of] = domain[is_up ? i : domain.size() - 1 - i];
      if ((is_up ? other[of] > values[of] : other[of] < values[of]) && sampler.is_legal(other)) {
        add(other);
        break;
      }
    }
  }
  return found;
}

/// All legal assignments one step away, each once.
inline std::vector<Assignment> neighbours(const SpaceSampler& sampler, const Assignment& values) {
  std::vector<Assignment> found;
  for (std::uint32_t i = 0; i < sampler.space().size(); ++i) {
    for (const Assignment& other : neighbours_by(sampler, values, VariableId{i})) {
      if (!has_item(found, other)) {
        found.push_back(other);
      }
    }
  }
  return found;
}

/// How often a mutation is about variables of each role, in any unit.
struct RoleWeights {
  double weights[num_variable_roles] = {0.8, 0.06, 0.04, 0.04, 0.04, 0.02};
  double of(VariableRole role) const { return weights[static_cast<std::size_t>(role)]; }
};

/// A variable that has a value, drawn by the weight of its role; all of one role alike.
template <class Rng>
std::optional<VariableId> draw_variable(const VariableSpace& space, const Assignment& values,
                                        const RoleWeights& weights, Rng& rng) {
  double counts[num_variable_roles] = {};
  for (std::uint32_t i = 0; i < space.size(); ++i) {
    const bool is_asked = values[VariableId{i}] != not_asked;
    counts[static_cast<std::size_t>(space[VariableId{i}].role)] += is_asked ? 1 : 0;
  }
  double total = 0;
  for (std::size_t role = 0; role < num_variable_roles; ++role) {
    total += counts[role] > 0 ? weights.weights[role] : 0;
  }
  double draw = rng.next_double() * total;
  std::optional<VariableId> last;
  for (std::uint32_t i = 0; i < space.size(); ++i) {
    const VariableRole role = space[VariableId{i}].role;
    if (values[VariableId{i}] != not_asked && weights.of(role) > 0) {
      last = VariableId{i};
      draw -= weights.of(role) / counts[static_cast<std::size_t>(role)];
      if (draw < 0) {
        break;
      }
    }
  }
  return last;
}

/// A legal assignment one step away by a variable so drawn; nothing if there is no step.
template <class Rng>
std::optional<Assignment> mutate(const SpaceSampler& sampler, const Assignment& values,
                                 const RoleWeights& weights, Rng& rng) {
  const auto variable = draw_variable(sampler.space(), values, weights, rng);
  if (!variable) {
    return std::nullopt;
  }
  const std::vector<Assignment> all = neighbours_by(sampler, values, *variable);
  return all.empty() ? std::nullopt
                     : std::optional(all[rng.next_below(static_cast<std::uint32_t>(all.size()))]);
}

/// Groups of variables from either parent, one at least from the second if they differ, as far as
/// that is legal; nothing if the parents are the same or no such child was found.
template <class Rng>
std::optional<Assignment> crossover(const SpaceSampler& sampler, const Assignment& first,
                                    const Assignment& second, Rng& rng) {
  std::vector<std::vector<VariableId>> different;
  std::vector<bool> is_grouped(sampler.space().size());
  const auto add = [&](const std::vector<VariableId>& variables) {
    if (any_item(variables, [&](VariableId id) { return first[id] != second[id]; })) {
      different.push_back(variables);
    }
  };
  for (const LengthChain& chain : sampler.space().chains()) {
    add(chain.lengths);
    for (VariableId id : chain.lengths) {
      is_grouped[id.value] = true;
    }
  }
  for (std::uint32_t i = 0; i < is_grouped.size(); ++i) {
    if (!is_grouped[i]) {
      add({VariableId{i}});
    }
  }
  constexpr int max_attempts = 8;
  for (int attempt = 0; !different.empty() && attempt < max_attempts; ++attempt) {
    Assignment child = first;
    const std::uint32_t certain = rng.next_below(static_cast<std::uint32_t>(different.size()));
    for (std::uint32_t g = 0; g < different.size(); ++g) {
      if (rng.next_below(2) == 1 || g == certain) {
        for (VariableId id : different[g]) {
          child[id] = second[id];
        }
      }
    }
    if (sampler.is_legal(child)) {
      return child;
    }
  }
  return std::nullopt;
}

/// How far apart two values of a variable are: octaves between lengths, else one if they differ.
inline double distance_of(const Variable& variable, std::int32_t a, std::int32_t b) {
  if (a == b) {
    return 0;
  }
  const bool is_length = variable.role == VariableRole::tile_length;
  return is_length && a > 0 && b > 0 ? math::fabs(math::log2(a) - math::log2(b)) : 1;
}

/// The sum of that over all variables. A metric.
inline double distance(const VariableSpace& space, const Assignment& a, const Assignment& b) {
  double sum = 0;
  for (std::uint32_t i = 0; i < space.size(); ++i) {
    sum += distance_of(space[VariableId{i}], a[VariableId{i}], b[VariableId{i}]);
  }
  return sum;
}

}  // namespace tensorsmith
