// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rule.hpp"

#include "support/catch.hpp"
#include "tensorsmith/sketch/cpu_rules.hpp"
#include "tensorsmith/sketch/custom_rule.hpp"

namespace tensorsmith {
namespace {

struct Never {
  static constexpr std::string_view name() { return "never"; }
  Applicability applicability(const RuleInput&) const { return Applicability::skip; }
  std::vector<Derivation> expand(const RuleInput&) const { return {}; }
};
struct NotARule {
  std::string_view name() const { return "not a rule"; }
};
static_assert(SketchRule<Never>);
static_assert(SketchRule<CustomRule>);
static_assert(!SketchRule<NotARule>);

}  // namespace

TEST_CASE("the CPU rules stand in the reference's order") {
  const std::vector<std::string> expected = {
      "always_inline",   "simplify_compute_with_const_tensor", "add_rfactor",
      "add_cache_write", "multi_level_tiling_with_fusion",     "multi_level_tiling",
      "skip_stage"};
  CHECK(ansor_cpu_rules().names() == expected);
}

TEST_CASE("a user's rule is asked before the others") {
  const auto rules = ansor_cpu_rules().preceded_by(Never{});
  CHECK(rules.size() == AnsorCpuRules::size() + 1);
  CHECK(rules.names().front() == "never");
  CHECK(rules.names()[1] == "always_inline");
}

TEST_CASE("for_each_while stops at the first false") {
  int asked = 0;
  ansor_cpu_rules().for_each_while([&](const auto& rule) {
    ++asked;
    return rule.name() != "add_rfactor";
  });
  CHECK(asked == 3);
}

TEST_CASE("a custom rule needs both functions") {
  CHECK_THROWS_AS(
      CustomRule("half", nullptr, [](const RuleInput&) { return std::vector<Derivation>{}; }),
      Error);
}

}  // namespace tensorsmith
