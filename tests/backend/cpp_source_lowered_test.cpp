// SPDX-License-Identifier: Apache-2.0
// Exported C++ of random lowered schedules against the interpreter, with g++ and clang.
#include <string>

#include "backend/cpp_source_fixture.hpp"
#include "backend/native_draws.hpp"
#include "support/full_count.hpp"
#include "support/gpu_programs.hpp"
#include "support/random_dags.hpp"
#include "support/random_steps.hpp"
#include "support/random_tiles.hpp"
#include "support/small_workloads.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/te/dag_text.hpp"

using namespace tensorsmith;

namespace {

/// A half of a long series in a usual run.
std::uint32_t half_of(std::uint32_t all) { return test::full_count(all / 2, all); }

std::size_t check_exported(DType type, std::uint32_t count, double bound) {
  const auto workloads = test::small_workloads(type);
  const auto tools = test::quick_toolchains();
  std::size_t checked = 0;
  for (std::uint32_t number = 0; checked < count && number < 2 * count; ++number) {
    const auto& workload = workloads[number % workloads.size()];
    CounterRng rng(test::seed(), 7, number);
    const State state = test::random_state(rng, workload.dag, 16);
    const auto program = lower(state, Target::x86_64_v3());
    if (!program) {
      continue;  // an attach point that does not cover a reader
    }
    INFO(workload.name << ", seed " << test::seed() << ", number " << number << "\n"
                       << state_text(state) << to_text(*program));
    test::compare_with_interpreter(*program, bound, tools);
    ++checked;
  }
  return checked;
}

}  // namespace

TEST_CASE("exported C++ of random schedules on integers is exact", "[cpp_source]") {
  CHECK(check_exported(DType::i32, half_of(48), 0.0) == half_of(48));
}

TEST_CASE("exported C++ of random schedules on floats", "[cpp_source]") {
  CHECK(check_exported(DType::f32, half_of(16), 1e-5) == half_of(16));
}

TEST_CASE("exported C++ of convolutions that leave padding out is exact", "[cpp_source]") {
  const auto workloads = test::small_workloads(DType::i32);
  const auto tools = test::quick_toolchains();
  std::size_t checked = 0;
  for (std::uint32_t number = 0; checked < 8 && number < 200; ++number) {
    const auto& workload = workloads[number % workloads.size()];
    CounterRng rng(test::seed(), 8, number);
    State state = State::initial(workload.dag);
    const bool is_padded = state.num_stages() == 4 && state.operation(1).name == "P";
    if (!is_padded || !test::tile_at_random(rng, state, "P")) {
      continue;
    }
    const auto program = lower(state, Target::x86_64_v3());
    REQUIRE(program);
    INFO(workload.name << ", number " << number << "\n" << to_text(*program));
    test::compare_with_interpreter(*program, 0.0, tools);
    ++checked;
  }
  CHECK(checked == 8);
}

TEST_CASE("exported C++ of random programs is exact", "[cpp_source]") {
  CounterRng rng(test::seed(), 10);
  const test::TemporaryFolder folder;
  int number = 0;
  for (std::uint32_t n = 0; n < half_of(24); ++n) {
    const auto dag = test::RandomDag(rng).make();
    const State state = test::random_state(rng, dag, 8);
    const auto program = lower(state, Target::x86_64_v3());
    if (!program) {
      continue;
    }
    INFO("seed " << test::seed() << ", number " << n << "\n"
                 << te::dag_text(*dag) << state_text(state) << to_text(*program));
    CppSourceOptions options;
    options.function_name = "kernel";
    options.abi_entry = true;
    const KernelSource kernel = emit_cpp_source(*program, options);
    const test::KnownResults known(*dag);
    for (const test::Toolchain& tool : test::quick_toolchains()) {
      const test::Loaded loaded = test::compile(tool, kernel, folder.path(), number++);
      std::vector<HostArray> arrays = known.arguments;
      std::vector<void*> pointers;
      for (HostArray& array : arrays) {
        pointers.push_back(array.data.data());
      }
      loaded.entry(pointers.data(), nullptr, nullptr);
      std::size_t next = 0;
      for (std::size_t i = 0; i < arrays.size(); ++i) {
        INFO(tool.command << "\nargument " << i << "\n" << kernel.source);
        CHECK((!known.is_output[i] || arrays[i] == known.expected[next++]));
      }
      ::dlclose(loaded.library);
    }
  }
  CHECK(static_cast<std::uint32_t>(number) > half_of(24));
}

// Register tiles with rests, vectors that overlap, packed operands, epilogues on the tile.
TEST_CASE("exported C++ of programs as the search draws them", "[cpp_source]") {
  const auto tools = test::quick_toolchains();
  test::NativeDraws draws(Target::x86_64_v4(), 2, 9);
  std::uint32_t checked = 0;
  for (const char* text :
       {"gemm:9x33x8:f32,bias,relu", "gemm:6x20x7",
        "conv2d:n=1,h=5,w=9,ci=3,co=19,k=3,s=1,p=1,layout=nhwc", "gemm:5x17x9:f64"}) {
    for (const test::DrawnProgram& drawn : draws.of(text, half_of(6), half_of(6))) {
      INFO(text << ", seed " << test::seed() << "\n"
                << state_text(drawn.state) << to_text(drawn.program));
      test::compare_with_interpreter(drawn.program, 1e-5, tools);
      ++checked;
    }
  }
  CHECK(checked > draws.num_drawn() / 2);
}
