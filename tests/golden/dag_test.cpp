// The 22 programs of the Ansor reference: text, hash, key, FLOPs and access analysis.
#include "support/golden_tasks.hpp"

#include <set>

#include "support/catch.hpp"
#include "tensorsmith/te/access_analysis.hpp"
#include "tensorsmith/te/flop.hpp"
#include "tensorsmith/te/workload_key.hpp"

using namespace tensorsmith;
using tensorsmith::test::golden_task;
using tensorsmith::test::GoldenTask;
using tensorsmith::test::Json;

namespace {

std::vector<std::string> covered;  // every task below

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

#define TENSORSMITH_GOLDEN_DAG(task)                                                               \
  TEST_CASE("dag of the reference: " #task, "[golden][dag]") {                                     \
    check_order_and_text(golden_task(#task));                                                      \
    check_analysis(golden_task(#task));                                                            \
  }                                                                                                \
  static const bool covered_##task = (covered.push_back(#task), true);

TENSORSMITH_GOLDEN_DAG(matmul_512x512x512)
TENSORSMITH_GOLDEN_DAG(matmul_bias_relu_128x3072x768)
TENSORSMITH_GOLDEN_DAG(batch_matmul_nt_12x128x128x64)
TENSORSMITH_GOLDEN_DAG(conv2d_nhwc_bias_relu_1x56x56x64_64_3x3)
TENSORSMITH_GOLDEN_DAG(conv2d_nchw_1x3x224x224_64_7x7_s2)
TENSORSMITH_GOLDEN_DAG(depthwise_nhwc_1x56x56x144_3x3)
TENSORSMITH_GOLDEN_DAG(softmax_1024x1000)
TENSORSMITH_GOLDEN_DAG(norm_1x1000x1000)
TENSORSMITH_GOLDEN_DAG(layernorm_1000x1000)
TENSORSMITH_GOLDEN_DAG(chained_matmul_512)
TENSORSMITH_GOLDEN_DAG(winograd_nhwc_1x28x28x128_128)
TENSORSMITH_GOLDEN_DAG(deconv_nhwc_1x4x4x512_256_k4_s2)
TENSORSMITH_GOLDEN_DAG(conv3d_ndhwc_1x16x28x28x8_16_3x3x3)
TENSORSMITH_GOLDEN_DAG(matmul_8x8x512)
TENSORSMITH_GOLDEN_DAG(add_relu_512x512)
TENSORSMITH_GOLDEN_DAG(min_64x32x32)
TENSORSMITH_GOLDEN_DAG(maxpool_nhwc_1x28x28x32_2x2_p1)
TENSORSMITH_GOLDEN_DAG(conv2d_nhwc_layoutfree_1x14x14x32_64_3x3)
TENSORSMITH_GOLDEN_DAG(matmul_4x8x512)
TENSORSMITH_GOLDEN_DAG(sum_rank0_128)
TENSORSMITH_GOLDEN_DAG(min_10x1024)
TENSORSMITH_GOLDEN_DAG(parallel_matmul_128)

TEST_CASE("every task of the file has its test", "[golden][dag]") {
  std::set<std::string> in_file;
  for (const GoldenTask& task : test::golden_tasks()) {
    in_file.insert(task.id);
  }
  CHECK(in_file.size() == 22);
  CHECK(std::set<std::string>(covered.begin(), covered.end()) == in_file);
}
