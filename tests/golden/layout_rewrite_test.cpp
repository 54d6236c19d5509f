// requires: json
// Programs of the reference whose weights may be stored anew: the rewritten dag, its text, shapes.
#include "tensorsmith/lower/layout_rewrite.hpp"

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

}  // namespace

TEST_CASE("layout rewrite of the reference, weights transformed before", "[golden]") {
  ComparedRows rows("layout_rewrite.jsonl");
  for (const Json& line : read_json_lines(golden_path("layout_rewrite.jsonl"))) {
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
    Json arguments = Json::array();
    for (const TensorId id : rewrite.dag->arguments()) {
      const TensorInfo& info = rewrite.dag->tensor(id);
      arguments.push_back(
          {info.name, std::vector<std::int64_t>(info.shape.begin(), info.shape.end())});
    }
    if (line.at("kernel_args_option2").is_array()) {
      CHECK(arguments == line.at("kernel_args_option2"));
    }
    ++rows;
  }
}

}  // namespace tensorsmith::test
