// SPDX-License-Identifier: Apache-2.0
// requires: json
// Programs of the reference whose weights may be stored anew: the rewritten dag, its text, shapes.
#include "tensorsmith/lower/layout_transform.hpp"

#include <algorithm>
#include <regex>

#include "support/catch.hpp"
#include "support/golden_tasks.hpp"
#include "tensorsmith/record/ansor_log.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/te/dag_text.hpp"
#include "tensorsmith/te/workload_key.hpp"

namespace tensorsmith::test {
namespace {

/// The definition before rewriting: the task of that name or key, its listed inputs made free.
Shared<const ComputeDag> original_dag(const Json& line) {
  const auto record = ansor_record_from_line(line.at("record").get<std::string>());
  REQUIRE(record.has_value());
  for (const GoldenTask& task : golden_tasks()) {
    if (task.facts["workload_key"] != record->workload_key) {
      continue;
    }
    Json definition = task.facts["definition"];
    for (const Json& rewritten : line.at("definition_option2")) {
      for (Json& op : definition) {
        if (op["name"] == rewritten["name"] && rewritten.contains("attrs") &&
            rewritten["attrs"].contains("layout_free_placeholders")) {
          op["attrs"]["layout_free_placeholders"] = rewritten["attrs"]["layout_free_placeholders"];
        }
      }
    }
    return dag_from_definition(definition, task.facts["arg_order"]);
  }
  return {};
}

Json arguments_of(const ComputeDag& dag) {
  Json arguments = Json::array();
  for (const TensorId id : dag.arguments()) {
    const TensorInfo& info = dag.tensor(id);
    arguments.push_back(
        {info.name, std::vector<std::int64_t>(info.shape.begin(), info.shape.end())});
  }
  return arguments;
}

/// The extents of the loops around the transform in the reference's lowered text, longer than 1.
std::vector<std::int64_t> lowered_transform_loops(const std::string& text) {
  const std::string before = text.substr(0, text.find("auto_scheduler_layout_transform_1["));
  std::vector<std::int64_t> extents;
  const std::regex loops("for [a-z0-9_, ]+ in T\\.(?:parallel|serial|grid|range|vectorized|unroll)"
                         "\\(([0-9, ]+)\\):|for \\w+ in range\\(([0-9]+)\\):");
  for (std::sregex_iterator at(before.begin(), before.end(), loops), end; at != end; ++at) {
    const std::string list = (*at)[1].matched ? (*at)[1] : (*at)[2];
    const std::regex number("[0-9]+");
    for (std::sregex_iterator n(list.begin(), list.end(), number); n != end; ++n) {
      extents.push_back(std::stoll(n->str()));
    }
  }
  std::erase(extents, 1);
  return extents;
}

void check_inside(const GoldenFile& file) {
  ComparedRows rows(file.name), loops(file.name);
  loops.of("programs' loops of the transform");
  for (const Json& line : read_json_lines(file.path)) {
    if (!line.at("kernel_args_option1").is_array()) {
      continue;  // the reference has failed
    }
    INFO(line.at("task") << ", record " << line.at("record"));
    const Shared<const ComputeDag> dag = original_dag(line);
    REQUIRE(dag);
    const auto record = ansor_record_from_line(line.at("record").get<std::string>());
    const auto state = replay(dag, record->steps);
    REQUIRE(state.has_value());
    const auto bounded = infer_bounds(*state);
    REQUIRE(bounded.has_value());
    const LayoutTransform transform = insert_layout_transforms(*bounded);
    REQUIRE(transform.inputs.size() == 1);
    CHECK(arguments_of(*transform.dag) == line.at("kernel_args_option1"));
    const auto after = replay(transform.dag, transform.steps);
    REQUIRE(after.has_value());
    const auto inferred = infer_bounds(*after);
    REQUIRE(inferred.has_value());
    CHECK(inferred->num_stages() == bounded->num_stages() + 1);
    // Without the new stage it is the old schedule.
    std::size_t place = 0;
    while (inferred->operation(place).name != "auto_scheduler_layout_transform") {
      ++place;
    }
    for (std::size_t s = 0; s < bounded->num_stages(); ++s) {
      const auto& moved = inferred->stage(s + (s >= place ? 1 : 0));
      REQUIRE(moved.iterators.size() == bounded->stage(s).iterators.size());
      for (std::size_t i = 0; i < moved.iterators.size(); ++i) {
        CHECK(moved.iterators[i].extent == bounded->stage(s).iterators[i].extent);
        CHECK(moved.iterators[i].annotation == bounded->stage(s).iterators[i].annotation);
      }
    }
    ++rows;
    if (const auto text = line.find("lowered_option1"); text != line.end()) {
      std::vector<std::int64_t> extents;
      for (const auto& iterator : inferred->stage(place).iterators) {
        extents.push_back(iterator.extent.value_or(0));
      }
      std::erase(extents, 1);
      // Loops of stages in front of it (padding) come first in the text.
      const auto all = lowered_transform_loops(text->get<std::string>());
      REQUIRE(all.size() >= extents.size());
      CHECK(std::equal(extents.rbegin(), extents.rend(), all.rbegin()));
      ++loops;
    }
  }
}

void check_before(const GoldenFile& file) {
  ComparedRows rows(file.name);
  for (const Json& line : read_json_lines(file.path)) {
    if (line.at("definition_option2").is_string()) {
      continue;  // the reference has failed
    }
    INFO(line.at("task") << ", record " << line.at("record"));
    const Shared<const ComputeDag> dag = original_dag(line);
    REQUIRE(dag);
    const auto record = ansor_record_from_line(line.at("record").get<std::string>());
    const auto state = replay(dag, record->steps);
    REQUIRE(state.has_value());
    const auto bounded = infer_bounds(*state);
    REQUIRE(bounded.has_value());
    const LayoutRewrite rewrite = rewrite_layouts(*bounded);
    CHECK(te::dag_text(*rewrite.dag) == line.at("rewritten_dag_option2").get<std::string>());
    std::string before, after;
    for (const Json& op : line.at("definition_option2")) {
      if (op.contains("attrs") && op["attrs"].contains("new_placeholder_layout")) {
        before += op["attrs"]["ori_placeholder_layout"].get<std::string>();
        after += op["attrs"]["new_placeholder_layout"].get<std::string>();
      }
    }
    REQUIRE(rewrite.inputs.size() == 1);
    CHECK(rewrite.inputs[0].before == before);
    CHECK(rewrite.inputs[0].after == after);
    if (line.at("kernel_args_option2").is_array()) {
      CHECK(arguments_of(*rewrite.dag) == line.at("kernel_args_option2"));
    }
    ++rows;
  }
}

}  // namespace

TEST_CASE("layout rewrite of the reference, weights transformed inside", "[golden]") {
  for (const GoldenFile& file : golden_files("layout_rewrite.jsonl")) {
    check_inside(file);
  }
}

TEST_CASE("layout rewrite of the reference, weights transformed before", "[golden]") {
  for (const GoldenFile& file : golden_files("layout_rewrite.jsonl")) {
    check_before(file);
  }
}

}  // namespace tensorsmith::test
