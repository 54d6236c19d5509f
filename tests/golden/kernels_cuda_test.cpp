// SPDX-License-Identifier: Apache-2.0
// requires: json
// CUDA programs of the reference as kernels: its sampled states, and a program drawn of each of its
// sketches, are printed, compiled by NVRTC and run in the shim, and compute what their task says.
// TENSORSMITH_GOLDEN_KERNELS=all: all of them, in minutes, or TASK: all of that task; else a
// sample, and only short ones run. What a search would not give to the compiler (beyond a limit, or
// too long) is not compiled here.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda_shim_fixture.hpp"
#include "backend/nvrtc_texts.hpp"
#include "support/catch.hpp"
#include "support/golden_tasks.hpp"
#include "support/gpu_programs.hpp"
#include "tensorsmith/codegen/cuda_source.hpp"
#include "tensorsmith/codegen/nvrtc.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/record/ansor_log.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/te/flop.hpp"

namespace tensorsmith::test {
namespace {

struct GoldenKernel {
  std::string task, what;
  State state;
};

/// The samples of the reference, then one program of each of its sketches: every 20th, all, or all
/// of one task. `count`: how many there are.
std::vector<GoldenKernel> golden_kernels(const std::string& wanted, std::size_t& count) {
  const auto is_wanted = [&](const std::string& task) {
    return wanted.empty() ? count++ % 20 == 0 : (++count, wanted == "all" || wanted == task);
  };
  std::vector<GoldenKernel> all;
  std::map<std::string, State> initial;
  count = 0;
  for (const GoldenFile& file : golden_files("samples_cuda.jsonl")) {
    for (const Json& line : read_json_lines(file.path)) {
      const std::string task = line.at("task");
      initial.try_emplace(task, State::initial(golden_task(task).dag));
      if (is_wanted(task)) {
        const auto record = ansor_record_from_line(line.at("record").get<std::string>());
        REQUIRE(record.has_value());
        auto state = replay(initial.at(task), record->steps);
        REQUIRE(state.has_value());
        all.push_back({task, "sample " + line.at("sample").dump(), std::move(*state)});
      }
    }
  }
  for (const auto& [task, state] : initial) {
    const auto p = golden_task(task)
                       .facts.at("targets")
                       .at("cuda")
                       .at("hardware_params")
                       .get<std::array<std::int32_t, 8>>();
    const HardwareParams hardware{p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]};
    const std::vector<State> sketches =
        generate_sketches(golden_task(task).dag, ansor_gpu_rules(), gpu_sketch_options(hardware));
    for (std::size_t s = 0; s < sketches.size(); ++s) {
      if (!is_wanted(task)) {
        continue;
      }
      const SearchSpace space({sketches[s]}, gpu_space_options(hardware));
      std::optional<Candidate> drawn;
      for (std::uint32_t i = 0; !drawn && i < 200; ++i) {
        CounterRng rng(seed(), 12, i);
        drawn = draw_candidate(space, AnsorGpuPopulation{}, rng);
      }
      INFO(task << ", sketch " << s);
      REQUIRE(drawn.has_value());
      all.push_back({task, "of sketch " + std::to_string(s), std::move(drawn->state)});
    }
  }
  return all;
}

/// "" or "all" or the name of a task.
std::string wanted_kernels() {
  const char* const wanted = std::getenv("TENSORSMITH_GOLDEN_KERNELS");
  return wanted != nullptr ? wanted : "";
}

/// Inputs of a task, whole numbers so small that sums of a million squares are exact in f32, and
/// its results.
struct SmallResults {
  std::vector<HostArray> arguments, expected;  // `expected`: by argument, empty for inputs

  explicit SmallResults(const ComputeDag& dag) {
    std::vector<HostArray> inputs = whole_number_inputs(dag);
    for (HostArray& input : inputs) {
      for (std::int64_t i = 0; i < input.num_elements(); ++i) {
        input.set_int(i, static_cast<std::int64_t>(input.get_real(i)) % 4);
      }
    }
    std::vector<HostArray> results = eval_dag(dag, inputs).value();
    std::size_t next_input = 0, next_result = 0;
    for (TensorId id : dag.arguments()) {
      const TensorInfo& info = dag.tensor(id);
      const bool is_input = dag.operation(info.operation).is_placeholder();
      const HostArray empty(info.dtype, {info.shape.begin(), info.shape.end()});
      arguments.push_back(is_input ? inputs[next_input++] : empty);
      expected.push_back(is_input ? HostArray() : std::move(results[next_result++]));
    }
  }
};

struct Printed {
  std::size_t kernel;  ///< of the list
  CudaSource source;
};

/// Runs each of them once, in an order of the threads that is another one each time.
void run_in_shim(const std::vector<GoldenKernel>& all, const std::vector<Printed>& printed,
                 std::map<std::string, SmallResults>& known) {
  constexpr std::size_t per_library = 32;  // a translation unit of reasonable size
  for (std::size_t first = 0; first < printed.size(); first += per_library) {
    const std::size_t count = std::min(per_library, printed.size() - first);
    std::vector<CudaSource> sources;
    for (std::size_t i = 0; i < count; ++i) {
      sources.push_back(printed[first + i].source);
    }
    const ShimLibrary library(sources);
    for (std::size_t i = 0; i < count; ++i) {
      const GoldenKernel& kernel = all[printed[first + i].kernel];
      INFO(kernel.task << ", " << kernel.what);
      if (known.count(kernel.task) == 0) {
        known.emplace(kernel.task, SmallResults(*golden_task(kernel.task).dag));
      }
      const SmallResults& results = known.at(kernel.task);
      std::vector<HostArray> actual = results.arguments;
      REQUIRE(library.run(i, actual, static_cast<unsigned>(i % 3)) == "");
      for (std::size_t a = 0; a < actual.size(); ++a) {
        if (!results.expected[a].data.empty()) {
          CHECK(worst_difference(actual[a], results.expected[a]) <= 1e-4);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("CUDA samples and sketches of the reference are kernels that compile and are right",
          "[golden][nvrtc]") {
  std::size_t count = 0;
  const std::vector<GoldenKernel> all = golden_kernels(wanted_kernels(), count);
  if (all.empty() && !golden_is_own()) {
    return;  // named as skipped
  }
  REQUIRE(!all.empty());
  // Other data than the project's own may have no short programs, or none that compile soon.
  const bool is_own = golden_is_own();
  std::map<std::string, SmallResults> known;
  std::vector<Printed> compiled, run;
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO(all[i].task << ", " << all[i].what);
    const auto program = lower(all[i].state, gpu_target());
    REQUIRE(program.has_value());
    CudaSourceOptions options;
    options.name = "kernel_" + std::to_string(i);
    auto source = cuda_source(*program, gpu_target(), options);
    INFO((source ? "" : source.error()));
    REQUIRE(source.has_value());
    if (is_worth_compiling(*source, *gpu_target().gpu)) {
      compiled.push_back({i, *source});
    }
    const double flop = te::count_flop(*golden_task(all[i].task).dag);
    if (!wanted_kernels().empty() || (flop >= 0 && flop < 2e5)) {
      run.push_back({i, std::move(*source)});
    }
  }
  std::printf("golden: samples_cuda.jsonl, sketches_cuda.jsonl: %zu of %zu programs printed\n",
              all.size(), count);
  run_in_shim(all, run, known);
  std::printf("golden: %zu of them run in the shim\n", run.size());
  CHECK((run.size() > 0 || !is_own));
  const auto compiler = NvrtcCompiler::open();
  if (!compiler) {
    skip(compiler.error());
    return;
  }
  std::vector<NvrtcJob> jobs;
  for (const Printed& one : compiled) {
    jobs.push_back({one.source.text, nvrtc_architecture(*gpu_target().gpu)});
  }
  const auto cubins = compiler->compile_all(jobs);
  std::size_t num_spilling = 0;
  for (std::size_t i = 0; i < cubins.size(); ++i) {
    const GoldenKernel& kernel = all[compiled[i].kernel];
    INFO(kernel.task << ", " << kernel.what << "\n" << compiled[i].source.text);
    INFO((cubins[i] ? "" : cubins[i].error()));
    REQUIRE(cubins[i].has_value());
    REQUIRE(cubins[i]->kernels.size() == compiled[i].source.launches.size());
    num_spilling +=
        any_item(cubins[i]->kernels, [](const CubinKernel& one) { return one.spill_bytes > 0; })
            ? 1
            : 0;
  }
  std::printf("golden: %zu of them compiled by NVRTC, %zu with spills; the others are beyond the "
              "limits of a block, or of a text that compiles soon\n",
              cubins.size(), num_spilling);
  CHECK((cubins.size() > all.size() / 3 || !wanted_kernels().empty() || !is_own));
}

}  // namespace tensorsmith::test
