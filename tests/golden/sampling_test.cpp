// SPDX-License-Identifier: Apache-2.0
// requires: json
// Initial populations with the reference's random numbers: seed 123 samples what the reference
// sampled, for CPUs and for CUDA. How many distinct programs there are is in summary.json; the
// programs themselves are the samples of origin "initial".
#include <array>
#include <map>
#include <set>

#include "support/catch.hpp"
#include "support/golden_tasks.hpp"
#include "support/json_steps.hpp"
#include "tensorsmith/feature/range_text.hpp"
#include "tensorsmith/sched/step_json.hpp"
#include "tensorsmith/search/reference_sampler.hpp"
#include "tensorsmith/sketch/cpu_rules.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/gpu_rules.hpp"

namespace tensorsmith::test {
namespace {

constexpr std::uint32_t golden_seed = 123;
constexpr std::size_t golden_population = 2048;

/// The machine that the data are for.
HardwareParams golden_hardware(const GoldenTask& task, const char* target) {
  const auto p =
      task.facts.at("targets").at(target).at("hardware_params").get<std::array<std::int32_t, 8>>();
  return {p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]};
}

SearchSpace space_of(const std::string& task, bool is_gpu) {
  const HardwareParams hardware = golden_hardware(golden_task(task), is_gpu ? "cuda" : "cpu");
  SketchOptions sketch_options;
  sketch_options.hardware = hardware;
  SpaceOptions options;
  options.hardware = hardware;
  const auto& dag = golden_task(task).dag;
  if (is_gpu) {
    options = gpu_space_options(hardware);
    return SearchSpace(generate_sketches(dag, ansor_gpu_rules(), gpu_sketch_options(hardware)),
                       options);
  }
  return SearchSpace(generate_sketches(dag, ansor_cpu_rules(), sketch_options), options);
}

/// Histories of the distinct valid programs, in the order drawn. The reference draws until it has
/// 50; after five batches without a new one it is content with half as many. Programs are the same
/// if their texts are, minima included.
std::vector<Json> initial_population(const std::string& task, bool is_gpu) {
  const SearchSpace space = space_of(task, is_gpu);
  MersenneTwister policy(golden_seed);
  ReferenceGenerators generators(policy, golden_population);
  std::set<std::string> texts;
  std::vector<Json> histories;
  std::size_t wanted = 50, num_in_vain = 0;
  while (histories.size() < wanted) {
    ++num_in_vain;
    for (const Candidate& candidate : is_gpu ? generators.draw(space, AnsorGpuPopulation{}, {})
                                             : generators.draw(space, AnsorCpuPopulation{}, {})) {
      const bool is_valid = is_gpu || !has_nested_parallel(candidate.state);
      if (is_valid && texts.insert(reference_state_text(candidate.state).value()).second) {
        histories.push_back(Json::parse(steps_json(candidate.state.steps())));
        num_in_vain = 0;
      }
    }
    if (num_in_vain == 5) {
      if (wanted == 1) {
        break;
      }
      wanted /= 2;
      num_in_vain = 0;
    }
  }
  return histories;
}

/// Equal, but that the reference records 0 for an extent that varies from iteration to iteration.
bool is_same_history(const Json& ours, const Json& golden) {
  if (ours.size() != golden.size()) {
    return false;
  }
  for (std::size_t i = 0; i < ours.size(); ++i) {
    Json step = ours[i];
    if (step[0] == "SP" && golden[i][0] == "SP" && golden[i][3] == 0) {
      step[3] = 0;
    }
    if (step != golden[i]) {
      return false;
    }
  }
  return true;
}

/// Compares sizes, and the programs that `samples` names.
void compare_populations(const GoldenFile& file, bool is_gpu,
                         const std::map<std::string, std::vector<Json>>& samples) {
  const char* const target = is_gpu ? "cuda" : "cpu";
  ComparedRows sizes(file.name), programs(file.name);
  sizes.of("sizes of initial populations");
  programs.of("programs of initial populations");
  const Json summary = Json::parse(read_text(file.path));
  for (const auto& [task, facts] : summary.items()) {
    if (!facts.contains(target)) {
      continue;
    }
    INFO("task " << task << ", " << target);
    const std::vector<Json> ours = initial_population(task, is_gpu);
    CHECK(ours.size() == facts.at(target).at("population").get<std::size_t>());
    ++sizes;
    const auto expected = samples.find(task);
    if (expected == samples.end()) {
      continue;
    }
    std::set<std::string> exact;
    for (const Json& history : ours) {
      exact.insert(history.dump());
    }
    for (const Json& golden : expected->second) {
      bool is_found = exact.count(golden.dump()) > 0;
      for (std::size_t i = 0; !is_found && i < ours.size(); ++i) {
        is_found = is_same_history(ours[i], golden);
      }
      CHECK(is_found);
      ++programs;
    }
  }
}

void check(bool is_gpu, const std::string& sample_file) {
  std::map<std::string, std::vector<Json>> samples;
  for (const GoldenFile& file : golden_files(sample_file)) {
    for (const Json& line : read_json_lines(file.path)) {
      if (line.at("origin") == "initial") {
        const Json record = Json::parse(line.at("record").get<std::string>());
        samples[line.at("task")].push_back(record.at("i")[1][1]);
      }
    }
  }
  for (const GoldenFile& file : golden_files("summary.json")) {
    compare_populations(file, is_gpu, samples);
  }
}

}  // namespace

TEST_CASE("the reference's seed samples the reference's programs on CPUs") {
  check(false, "samples_cpu.jsonl");
}

TEST_CASE("the reference's seed samples the reference's programs on CUDA") {
  check(true, "samples_cuda.jsonl");
}

}  // namespace tensorsmith::test
