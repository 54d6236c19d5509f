// SPDX-License-Identifier: Apache-2.0
// requires: json
// Programs of the reference as assignments of the templates of its sketches: every history reads,
// gives the same program again, and reads back the same.
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <vector>

#include "support/catch.hpp"
#include "support/golden_tasks.hpp"
#include "tensorsmith/record/ansor_log.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/sched/step_json.hpp"
#include "tensorsmith/search/template_of.hpp"
#include "tensorsmith/sketch/cpu_rules.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/gpu_rules.hpp"
#include "tensorsmith/space/template_moves.hpp"

namespace tensorsmith::test {
namespace {

struct TaskTemplates {
  SearchSpace space;
  std::vector<Template> templates;
};

TaskTemplates templates_of(const std::string& name, bool is_gpu) {
  const GoldenTask& task = golden_task(name);
  const auto p = task.facts.at("targets")
                     .at(is_gpu ? "cuda" : "cpu")
                     .at("hardware_params")
                     .get<std::array<std::int32_t, 8>>();
  const HardwareParams hardware{p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]};
  SpaceOptions options = is_gpu ? gpu_space_options(hardware) : SpaceOptions{};
  options.hardware = hardware;
  SketchOptions sketch_options = is_gpu ? gpu_sketch_options(hardware) : SketchOptions{};
  sketch_options.hardware = hardware;
  SearchSpace space(is_gpu ? generate_sketches(task.dag, ansor_gpu_rules(), sketch_options)
                           : generate_sketches(task.dag, ansor_cpu_rules(), sketch_options),
                    options);
  std::vector<Template> templates;
  for (std::uint32_t i = 0; i < space.sketches().size(); ++i) {
    if (auto made = is_gpu ? gpu_template_of<ReferenceDrawing>(space, i)
                           : cpu_template_of<ReferenceDrawing>(space, i)) {
      templates.push_back(std::move(*made));
    }
  }
  return {std::move(space), std::move(templates)};
}

void check_templates(const GoldenFile& file, bool is_gpu) {
  ComparedRows rows(file.name);
  rows.of("histories that templates read");
  std::map<std::string, TaskTemplates> tasks;
  std::size_t total = 0, in_domains = 0;
  for (const Json& line : read_json_lines(file.path)) {
    const std::string name = line.at("task");
    if (tasks.count(name) == 0) {
      tasks.emplace(name, templates_of(name, is_gpu));
    }
    const TaskTemplates& task = tasks.at(name);
    const auto record = ansor_record_from_line(line.at("record").get<std::string>());
    REQUIRE(record.has_value());
    ++total;
    std::optional<Assignment> values;
    const Template* found = nullptr;
    for (const Template& each : task.templates) {
      if (auto read = each.read(record->steps)) {
        values = std::move(read);
        found = &each;
        break;
      }
    }
    INFO(name << ", sample " << line.at("sample") << ", " << steps_json(record->steps));
    if (found == nullptr) {
      FAIL_CHECK("no template has this history");
      continue;
    }
    const auto state = found->apply(*values);
    REQUIRE(state.has_value());
    CHECK(is_same_history(state->steps(), record->steps));
    CHECK(state_text(*state) ==
          state_text(*infer_bounds(*replay(task.space.initial(), record->steps))));
    CHECK(found->read(*state) == values);
    in_domains += found->sampler().is_legal(*values) ? 1 : 0;
    ++rows;
  }
  CHECK(rows.count() == total);
  std::printf("  %s: %zu of %zu read, %zu of them inside of all domains and constraints\n",
              file.name.c_str(), rows.count(), total, in_domains);
}

}  // namespace

TEST_CASE("CPU samples of the reference are assignments of templates", "[golden]") {
  for (const GoldenFile& file : golden_files("samples_cpu.jsonl")) {
    check_templates(file, false);
  }
}

TEST_CASE("CUDA samples of the reference are assignments of templates", "[golden]") {
  for (const GoldenFile& file : golden_files("samples_cuda.jsonl")) {
    check_templates(file, true);
  }
}

}  // namespace tensorsmith::test
