// SPDX-License-Identifier: Apache-2.0
// Maxima, minima and relu of infinities and NaN in exported C++ and in CUDA text, as the search
// draws programs.
#include "backend/cuda_shim_fixture.hpp"
#include "support/extreme_inputs.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/gpu_rules.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "tensorsmith/te/eval_dag.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// A workload with its inputs and its result.
struct ExtremeCase {
  std::string text;
  Shared<const ComputeDag> dag;
  std::vector<HostArray> arguments;
  HostArray expected;
};

std::vector<ExtremeCase> extreme_cases() {
  std::vector<ExtremeCase> cases;
  for (const std::string& text : extreme_workloads()) {
    const auto workload = ops::parse_workload(text);
    INFO(text << (workload ? "" : workload.error()));
    REQUIRE(workload.has_value());
    std::vector<HostArray> arguments = extreme_arguments(*workload->dag);
    auto results = eval_dag(*workload->dag, {arguments.begin(), arguments.end() - 1});
    REQUIRE(results.has_value());
    cases.push_back({text, workload->dag, std::move(arguments), std::move(results->front())});
  }
  return cases;
}

/// The first program that is drawn from a space and lowered.
template <class Population>
LoopProgram first_program(const SearchSpace& space, const Population& population,
                          const Target& target) {
  for (std::uint32_t number = 0; number < 100; ++number) {
    CounterRng rng(seed(), 41, number);
    if (const auto candidate = draw_candidate(space, population, rng)) {
      if (auto program = lower(candidate->state, target)) {
        return std::move(*program);
      }
    }
  }
  FAIL("no program in 100 draws");
  return LoopProgram();
}

}  // namespace

TEST_CASE("maxima and minima of infinities and NaN in exported C++", "[cpp_source]") {
  const Target target = Target::x86_64_v4();
  SpaceOptions native = native_space_options();
  native.hardware = hardware_params(target);
  native.hardware.num_cores = 2;
  SketchOptions options = native_cpu_sketch_options();
  options.hardware = native.hardware;
  const std::vector<Toolchain> tools = quick_toolchains();
  const TemporaryFolder folder;
  int number = 0;
  for (const ExtremeCase& one : extreme_cases()) {
    const SearchSpace space(generate_sketches(one.dag, native_cpu_rules(), options), native);
    CppSourceOptions source;
    source.function_name = "kernel";
    source.abi_entry = true;
    const KernelSource kernel =
        emit_cpp_source(first_program(space, NativeCpuPopulation{}, target), source);
    const Toolchain& tool = tools[static_cast<std::size_t>(number) % tools.size()];
    const Loaded loaded = compile(tool, kernel, folder.path(), number++);
    std::vector<std::vector<std::byte>> memory;
    std::vector<void*> pointers;
    for (const HostArray& array : one.arguments) {
      memory.emplace_back(array.data.size() + 128);
      std::byte* const data = memory.back().data();
      std::byte* const aligned = data + (64 - reinterpret_cast<std::uintptr_t>(data) % 64) % 64;
      std::memcpy(aligned, array.data.data(), array.data.size());
      pointers.push_back(aligned);
    }
    loaded.entry(pointers.data(), nullptr, nullptr);
    HostArray actual = one.expected;
    std::memcpy(actual.data.data(), pointers.back(), actual.data.size());
    INFO(one.text << "\n" << kernel.source);
    CHECK(unequal(actual, one.expected) == "");
    ::dlclose(loaded.library);
  }
}

TEST_CASE("maxima and minima of infinities and NaN in CUDA text", "[cuda_source]") {
  const HardwareParams hardware{-1, 16, 64, 49152, 2147483647, 64, 4, 4};
  const Target target = Target::cuda(80).value();
  const std::vector<ExtremeCase> cases = extreme_cases();
  std::vector<CudaSource> sources;
  for (const ExtremeCase& one : cases) {
    const SearchSpace space(
        generate_sketches(one.dag, ansor_gpu_rules(), gpu_sketch_options(hardware)),
        gpu_space_options(hardware));
    CudaSourceOptions options;
    options.name = "kernel_" + std::to_string(sources.size());
    auto source = cuda_source(first_program(space, AnsorGpuPopulation{}, target), target, options);
    INFO(one.text << (source ? "" : source.error()));
    REQUIRE(source.has_value());
    sources.push_back(std::move(*source));
  }
  const ShimLibrary library(sources);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::vector<HostArray> actual = cases[i].arguments;
    REQUIRE(library.run(i, actual, 1) == "");
    INFO(cases[i].text << "\n" << sources[i].text);
    CHECK(unequal(actual.back(), cases[i].expected) == "");
  }
}
