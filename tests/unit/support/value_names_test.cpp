// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/value_names.hpp"

#include "support/catch.hpp"

namespace tensorsmith {
namespace {

enum class Meal { breakfast, lunch };
constexpr std::array<ValueName<Meal>, 2> meal_names = {
    {{Meal::breakfast, "breakfast"}, {Meal::lunch, "lunch"}}};

}  // namespace

TEST_CASE("a list of names says which value has which name") {
  for (const ValueName<Meal>& meal : meal_names) {
    CHECK(name_in(meal_names, meal.value) == meal.name);
    CHECK(value_in(meal_names, meal.name) == meal.value);
  }
  CHECK_FALSE(value_in(meal_names, "supper").has_value());
  CHECK(name_in(meal_names, static_cast<Meal>(7)).empty());
  CHECK(names_text(meal_names) == "breakfast, lunch");
  static_assert(value_in(meal_names, "lunch") == Meal::lunch);
}

}  // namespace tensorsmith
