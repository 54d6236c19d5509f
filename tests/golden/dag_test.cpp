// SPDX-License-Identifier: Apache-2.0
// The programs of the Ansor reference: text, hash, key, FLOPs and access analysis.
#include "support/golden_tasks.hpp"

#include "support/catch.hpp"
#include "tensorsmith/te/access_analysis.hpp"
#include "tensorsmith/te/flop.hpp"
#include "tensorsmith/te/notation.hpp"
#include "tensorsmith/te/workload_key.hpp"

using namespace tensorsmith;
using tensorsmith::test::ComparedRows;
using tensorsmith::test::GoldenTask;
using tensorsmith::test::Json;

namespace {

void check_order_and_text(const GoldenTask& task) {
  const Json& definition = task.facts["definition"];
  REQUIRE(task.dag->operations().size() == definition.size());
  for (std::size_t i = 0; i < definition.size(); ++i) {
    CHECK(task.dag->operation(i).name == definition[i]["name"]);
  }
  CHECK(te::dag_text(*task.dag) == task.facts["dag_text"]);
  CHECK(te::dag_text(*task.dag, true) == task.facts["dag_text_simple"]);
  CHECK(te::dag_hash(*task.dag) == task.facts["dag_hash_md5"]);
  CHECK(te::workload_key(*task.dag) == task.facts["workload_key"]);
  CHECK(te::count_flop(*task.dag) == task.facts["flop_ct"].get<double>());
}

void check_analysis(const GoldenTask& task) {
  const AccessAnalysis analysis(*task.dag);
  const Json& expected = task.facts["analysis"];
  REQUIRE(analysis.num_stages() == expected.size());
  for (std::uint32_t i = 0; i < expected.size(); ++i) {
    const StageAccess& facts = analysis.stage(i);
    INFO("stage " << i << " " << task.dag->operation(i).name);
    CHECK(facts.is_placeholder == expected[i]["is_placeholder"].get<bool>());
    CHECK(facts.is_simple_access == expected[i]["is_simple_access"].get<bool>());
    CHECK(facts.is_strictly_inlineable == expected[i]["is_strictly_inlineable"].get<bool>());
    CHECK(facts.needs_multi_level_tiling == expected[i]["needs_multi_level_tiling"].get<bool>());
    CHECK(facts.is_output == expected[i]["is_output"].get<bool>());
    Json reads = Json::object(), common = Json::object();
    for (const Access& access : facts.read_from) {
      reads[std::to_string(access.stage)] = access.reads.size();
    }
    for (const auto& [other, count] : facts.num_common_outer) {
      common[std::to_string(other)] = count;
    }
    CHECK(reads == expected[i]["reads"]);
    CHECK(common == expected[i]["num_common_outer_iterators"]);
  }
  CHECK(Json(analysis.topological_order()) == task.facts["ops_topo_order"]);
  Json pairs = Json::array();
  for (std::uint32_t s = 0; s < expected.size(); ++s) {
    for (std::uint32_t t = 0; t < expected.size(); ++t) {
      if (s != t && !analysis.is_placeholder(s) && analysis.elementwise_match(s, t)) {
        pairs.push_back({s, t});
      }
    }
  }
  CHECK(pairs == task.facts["elementwise_match_pairs"]);
}

}  // namespace

TEST_CASE(
    "conformance 11.1: Winograd; dags of the reference: text, hash, key, FLOPs, access analysis",
    "[golden][dag]") {
  // Other data may be without it.
  CHECK(te::count_flop(*test::own_golden_task("winograd_nhwc_1x28x28x128_128").dag) == 93026304);
  ComparedRows rows("tasks.json");
  for (const GoldenTask& task : test::golden_tasks()) {
    INFO(task.id);
    check_order_and_text(task);
    check_analysis(task);
    ++rows;
  }
}

TEST_CASE("dags of the reference: their text in index notation gives the same dag",
          "[golden][dag]") {
  ComparedRows rows("tasks.json as notation");
  for (const GoldenTask& task : test::golden_tasks()) {
    INFO(task.id);
    const Result<std::string, std::string> text = te::write_notation(*task.dag);
    REQUIRE(text);
    INFO(*text);
    const Result<Shared<const ComputeDag>, std::string> back = te::read_notation(*text);
    REQUIRE(back);
    CHECK(te::is_same_computation(*task.dag, **back));
    CHECK(te::workload_key(**back) == te::workload_key(*task.dag));
    ++rows;
  }
}
