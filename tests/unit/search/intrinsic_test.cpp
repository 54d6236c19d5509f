// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/decisions/intrinsic.hpp"

#include "support/catch.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/search/template_of.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "tensorsmith/space/template_moves.hpp"

using namespace tensorsmith;

namespace {

SearchSpace space_for(const char* workload, const char* machine) {
  const Target target = Target::from_name(machine).value();
  SketchOptions sketch_options;
  sketch_options.hardware = hardware_params(target);
  sketch_options.hardware.num_cores = 1;
  sketch_options.intrinsics = intrinsics_of(target);
  SpaceOptions options = native_space_options();
  options.hardware = sketch_options.hardware;
  options.intrinsics = sketch_options.intrinsics;
  return SearchSpace(
      generate_sketches(ops::parse_workload(workload)->dag, native_cpu_rules(), sketch_options),
      options);
}

/// The names of the instructions that compute stages.
std::vector<std::string> used(const State& state) {
  std::vector<std::string> names;
  for (const Step& step : state.steps()) {
    if (const auto hint = hint_in<hints::Tensorize>(step)) {
      names.push_back(hint->intrinsic);
    }
  }
  return names;
}

/// The variable of the stage that an instruction computes.
VariableId asked(const Template& of, const Assignment& values) {
  for (std::uint32_t i = 0; i < of.space().size(); ++i) {
    const bool is_about = of.space()[VariableId{i}].name.find(".intrinsic") != std::string::npos;
    if (is_about && values[VariableId{i}] != not_asked) {
      return VariableId{i};
    }
  }
  return {};
}

}  // namespace

TEST_CASE("what computes a stage is a variable that can be fixed") {
  const SearchSpace space = space_for("gemm:64x64x128:i8", "znver4");
  RoleWeights others;
  others.weights[static_cast<std::size_t>(VariableRole::structure)] = 0;
  std::size_t num_fixed = 0;
  for (std::uint32_t sketch = 0; sketch < space.sketches().size(); ++sketch) {
    const std::optional<Template> of = cpu_template_of(space, sketch);
    REQUIRE(of);
    CounterRng rng(5, sketch);
    const std::optional<Instance> usual = draw_instance(*of, rng);
    const VariableId variable = usual ? asked(*of, usual->values) : VariableId{};
    if (!variable.valid()) {
      continue;
    }
    CHECK(usual->values[variable] == intrinsics::as_fits);
    CHECK(used(usual->state).size() == 1);

    Assignment values = usual->values;
    values[variable] = intrinsics::none;
    const auto plain = of->apply(values);
    REQUIRE(plain);
    CHECK(used(*plain).empty());
    CHECK(of->read(*plain) == values);
    for (std::uint32_t i = 0; i < 8; ++i) {  // moves of other variables leave it as it is
      if (const auto moved = mutate(*of, values, others, rng)) {
        CHECK(moved->values[variable] == intrinsics::none);
        CHECK(used(moved->state).empty());
      }
    }
    ++num_fixed;
  }
  CHECK(num_fixed > 0);
}

TEST_CASE("an instruction is taken by number where it fits, and refused elsewhere") {
  const SearchSpace space = space_for("gemm:64x64x128:i8", "znver4");
  const auto& known = space.options().intrinsics;
  const std::optional<Template> of = cpu_template_of(space, 0);
  REQUIRE(of);
  std::size_t num_taken = 0, num_refused = 0;
  for (std::uint32_t i = 0; i < 8; ++i) {
    CounterRng rng(6, i);
    const std::optional<Instance> usual = draw_instance(*of, rng);
    const VariableId variable = usual ? asked(*of, usual->values) : VariableId{};
    for (std::size_t k = 0; variable.valid() && k <= known.size(); ++k) {
      Assignment values = usual->values;
      values[variable] = intrinsics::first + static_cast<std::int32_t>(k);
      const auto made = of->apply(values);
      ++(made ? num_taken : num_refused);
      if (made) {
        REQUIRE(k < known.size());
        CHECK(used(*made) == std::vector<std::string>{std::string(known[k]->name)});
        const bool is_usual = used(*made) == used(usual->state);
        CHECK(of->read(*made) == (is_usual ? usual->values : values));
      }
    }
  }
  CHECK(num_taken > 0);
  CHECK(num_refused > 0);
}

TEST_CASE("a program without a product asks for no instruction") {
  const SearchSpace space = space_for("softmax:64x512", "znver4");
  const std::optional<Template> of = cpu_template_of(space, 0);
  REQUIRE(of);
  CounterRng rng(7);
  const std::optional<Instance> drawn = draw_instance(*of, rng);
  REQUIRE(drawn);
  CHECK_FALSE(asked(*of, drawn->values).valid());
}
