// SPDX-License-Identifier: Apache-2.0
// The tables of methods: one line per space and policy.
#include "tune/methods.hpp"

#include <array>

#include "tune/search.hpp"

namespace tensorsmith {
namespace {

template <class Row>
const Row* find_row(std::span<const Row> table, std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Row& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

std::span<const SpaceMethod> space_methods() {
  static const std::array<SpaceMethod, 2> all = {native_space_method(), ansor_space_method()};
  return all;
}

std::span<const PolicyMethod> policy_methods() {
  static const std::array<PolicyMethod, 5> all = {evolution_method(), ansor_evolution_method(),
                                                  pruner_method(), pruner_offline_method(),
                                                  felix_method()};
  return all;
}

const SpaceMethod* named_space(const TuneOptions& options) {
  return options.make_space ? nullptr : find_row(space_methods(), options.space);
}

const PolicyMethod* named_policy(const TuneOptions& options) {
  return options.make_policy ? nullptr : find_row(policy_methods(), options.policy);
}

bool follows_reference(const TuneOptions& options) {
  const SpaceMethod* const space = named_space(options);
  const PolicyMethod* const policy = named_policy(options);
  return (space != nullptr && space->follows_reference) ||
         (policy != nullptr && policy->follows_reference);
}

}  // namespace tensorsmith
