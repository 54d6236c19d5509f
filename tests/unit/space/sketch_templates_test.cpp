// SPDX-License-Identifier: Apache-2.0
// Templates of the native spaces: every program that the populations draw and the mutators make is
// an assignment of its sketch's template, and what templates draw reads back.
#include "tensorsmith/search/template_of.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/native_gpu_space.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/step_json.hpp"
#include "tensorsmith/search/evolution/crossover.hpp"
#include "tensorsmith/search/evolution/native_gpu_mutators.hpp"
#include "tensorsmith/search/evolution/weighted_mutators.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_gpu_rules.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "tensorsmith/space/assignment_text.hpp"
#include "tensorsmith/space/template_moves.hpp"

namespace tensorsmith::test {
namespace {

constexpr const char* cpu_workloads[] = {
    "gemm:96x80x112:f32",
    "gemm:64x96x128:f32,bias,relu",
    "gemm:256x512x1024:f32",
    "gemm:128x64x96:i8",
    "bmm:3x40x56x24:f32",
    "conv2d:n=1,h=14,w=14,ci=16,co=24,k=3,s=1,p=1",
    "conv2d:n=1,h=28,w=28,ci=32,co=32,k=3,s=1,p=1,relu",
    "softmax:64x512",
    "layernorm:32x768",
    "reduce_sum:64x4096",
};
constexpr const char* gpu_workloads[] = {
    "gemm:512x512x512:f32",  "gemm:128x3072x768:f32,bias,relu",
    "gemm:512x512x512:f16",  "gemm:16x16x65536:f32",
    "bmm:12x128x128x64:f32", "conv2d:n=1,h=28,w=28,ci=64,co=64,k=3,s=1,p=1",
    "softmax:512x1024",      "layernorm:128x768",
};

SearchSpace native_cpu_space(const std::string& workload) {
  const auto parsed = ops::parse_workload(workload);
  REQUIRE(parsed.has_value());
  const Target target = Target::from_name("znver4").value();
  SketchOptions sketch_options;
  sketch_options.hardware = hardware_params(target);
  sketch_options.hardware.num_cores = 4;
  sketch_options.hardware.vector_unit_bytes = target.vector_bits / 8;
  sketch_options.collapse_axes = true;
  sketch_options.core_cache_bytes = 16384;  // so that small operands are packed and prefetched
  sketch_options.intrinsics = intrinsics_of(target);
  SpaceOptions options = native_space_options();
  options.hardware = sketch_options.hardware;
  options.min_prefetch_bytes = sketch_options.core_cache_bytes;
  options.min_streamed_bytes = 1 << 16;
  options.intrinsics = sketch_options.intrinsics;
  return SearchSpace(generate_sketches(parsed->dag, native_cpu_rules(), sketch_options), options);
}

struct Tally {
  std::size_t drawn = 0, read = 0, legal = 0;
};

std::vector<std::optional<Template>> templates_of(const SearchSpace& space, bool is_gpu) {
  std::vector<std::optional<Template>> made;
  for (std::uint32_t i = 0; i < space.sketches().size(); ++i) {
    made.push_back(is_gpu ? gpu_template_of(space, i) : cpu_template_of(space, i));
  }
  return made;
}

/// apply(read(s)) is s, and reads as the same.
void check_program(const SearchSpace& space, const std::vector<std::optional<Template>>& templates,
                   const Candidate& program, Tally& tally) {
  INFO(steps_json(program.state.steps()));
  ++tally.drawn;
  REQUIRE(program.sketch < space.sketches().size());
  REQUIRE(templates[program.sketch].has_value());
  const Template& of = *templates[program.sketch];
  const auto values = of.read(program.state);
  if (!values) {
    FAIL_CHECK("the template of its sketch does not have this program");
    return;
  }
  INFO(to_text(of.space(), *values));
  const auto again = of.apply(*values);
  REQUIRE(again.has_value());
  CHECK(is_same_history(again->steps(), program.state.steps()));
  CHECK(state_text(*again) == state_text(program.state));
  CHECK(of.read(*again) == values);
  ++tally.read;
  tally.legal += of.sampler().is_legal(*values) ? 1 : 0;
}

template <class Population, class Mutators>
void check_drawn(const SearchSpace& space, bool is_gpu, std::uint32_t count, Tally& tally) {
  const auto templates = templates_of(space, is_gpu);
  std::optional<Candidate> before;
  for (std::uint32_t i = 0; i < count; ++i) {
    CounterRng rng(seed(), 21, i);
    std::optional<Candidate> program = draw_candidate(space, Population{}, rng);
    for (std::uint32_t n = rng.next_below(6); program && n > 0; --n) {
      if (std::optional<Candidate> mutant = Mutators{}.mutate(space, *program, rng)) {
        program = std::move(mutant);
      }
    }
    if (program) {
      check_program(space, templates, *program, tally);
      if (before) {
        if (const auto child = Crossover{}.cross(space, *program, *before, rng)) {
          check_program(space, templates, *child, tally);
        }
      }
      before = std::move(program);
    }
  }
}

/// read(apply(a)) is a for what templates draw, and for what their moves make of it.
void check_instances(const SearchSpace& space, bool is_gpu, std::uint32_t count, Tally& tally) {
  const auto templates = templates_of(space, is_gpu);
  for (std::uint32_t i = 0; i < count; ++i) {
    CounterRng rng(seed(), 22, i);
    const auto& of = templates[rng.next_below(static_cast<std::uint32_t>(templates.size()))];
    REQUIRE(of.has_value());
    std::optional<Instance> instance = draw_instance(*of, rng);
    for (int n = 0; instance && n < 3; ++n) {
      INFO(to_text(of->space(), instance->values));
      INFO(steps_json(instance->state.steps()));
      ++tally.drawn;
      const auto values = of->read(instance->state);
      if (!values) {
        FAIL_CHECK("a program of the template is not read");
      } else {
        CHECK(to_text(of->space(), *values) == to_text(of->space(), instance->values));
        ++tally.read;
      }
      CHECK(of->sampler().is_legal(instance->values));
      if (std::optional<Instance> next = mutate(*of, instance->values, RoleWeights{}, rng)) {
        instance = std::move(next);
      }
    }
  }
}

void check_cpu(std::uint32_t count) {
  Tally programs, instances;
  for (const char* workload : cpu_workloads) {
    INFO(workload);
    const SearchSpace space = native_cpu_space(workload);
    check_drawn<NativeCpuPopulation, NativeCpuMutators>(space, false, count, programs);
    check_instances(space, false, count / 2, instances);
  }
  CHECK(programs.read == programs.drawn);
  CHECK(instances.read == instances.drawn);
  CHECK(programs.drawn > 4 * count);
  CHECK(instances.drawn > 4 * count);
  std::printf("  native CPU: %zu of %zu programs read, %zu inside of all domains; %zu drawn\n",
              programs.read, programs.drawn, programs.legal, instances.drawn);
}

void check_gpu(std::uint32_t count) {
  Tally programs, instances;
  for (const char* workload : gpu_workloads) {
    INFO(workload);
    const auto parsed = ops::parse_workload(workload);
    REQUIRE(parsed.has_value());
    const SearchSpace space = native_gpu_space(parsed->dag, Target::from_name("a100").value());
    check_drawn<NativeGpuPopulation, NativeGpuMutators>(space, true, count, programs);
    check_instances(space, true, count, instances);
  }
  CHECK(programs.read == programs.drawn);
  CHECK(instances.read == instances.drawn);
  CHECK(programs.drawn > 2 * count);
  CHECK(instances.drawn > 2 * count);
  std::printf("  native GPU: %zu of %zu programs read, %zu inside of all domains; %zu drawn\n",
              programs.read, programs.drawn, programs.legal, instances.drawn);
}

}  // namespace

TEST_CASE("what tiles ask of a block follows from their lengths") {
  std::size_t num_templates = 0, num_constrained = 0, num_programs = 0, num_fitting = 0;
  for (const char* workload : gpu_workloads) {
    INFO(workload);
    const SearchSpace space =
        native_gpu_space(ops::parse_workload(workload)->dag, Target::from_name("a100").value());
    for (const std::optional<Template>& of : templates_of(space, true)) {
      ++num_templates;
      num_constrained += of->space().derived().empty() ? 0 : 1;
      for (std::uint32_t i = 0; i < 6; ++i) {
        CounterRng rng(seed(), 23, i);
        const std::optional<Instance> instance = draw_instance(*of, rng);
        if (!instance) {
          continue;
        }
        INFO(to_text(of->space(), instance->values));
        ++num_programs;
        num_fitting += fits_block(instance->state, space.options()) ? 1 : 0;
        std::map<std::string, std::int64_t> derived;
        for (const NamedExpr& named : of->space().derived()) {
          const Tape tape(of->space().pool(), {named.value});
          const std::size_t dot = named.name.rfind('.');
          derived[named.name.substr(dot + 1)] = tape.evaluate(0, instance->values.data());
        }
        if (derived.empty()) {
          continue;
        }
        const auto needs = detail::block_needs(instance->state);
        const auto largest =
            *std::max_element(needs.begin(), needs.end(), [](const auto& a, const auto& b) {
              return a.shared_bytes < b.shared_bytes;
            });
        CHECK(derived.at("threads") == largest.threads);
        CHECK(derived.at("private_bytes") == largest.private_bytes);
        CHECK(derived.at("registers") == largest.registers());
        CHECK(derived.at("shared_bytes") <= largest.shared_bytes);
      }
    }
  }
  CHECK(num_constrained > 0);
  CHECK(num_fitting > 0);
  std::printf("  %zu of %zu templates have limits of tiles; %zu of %zu programs fit a block\n",
              num_constrained, num_templates, num_fitting, num_programs);
}

TEST_CASE("native CPU programs are assignments of templates") { check_cpu(30); }
TEST_CASE("native GPU programs are assignments of templates") { check_gpu(12); }
TEST_CASE("many native CPU programs are assignments of templates", "[.many]") { check_cpu(1000); }
TEST_CASE("many native GPU programs are assignments of templates", "[.many]") { check_gpu(1250); }

}  // namespace tensorsmith::test
