// SPDX-License-Identifier: Apache-2.0
// Lesson 10: replay a log of the Ansor reference. Read records, choose the best one as the
// reference would, make its program again from the key, apply the steps, and run the loops.
// requires: json
// links: compiled records
#include <cstdio>
#include <string>
#include <vector>

#include "tensorsmith/feature/range_text.hpp"
#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/record/workload_registry.hpp"
#include "tensorsmith/sched/explain_error.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/te/eval_dag.hpp"

namespace ts = tensorsmith;

namespace {

/// Two records of one small matrix product, and a line that is none.
const char* const log_text = R"(# from a search
{"i": [["[\"matmul\", 8, 8, 8]", "llvm -keys=cpu", [2, 64, 64, 0, 0, 0, 0, 0], "", 0, []], [[], [["SP", 2, 0, 8, [4], 1], ["SP", 2, 2, 8, [4], 1], ["RE", 2, [0, 2, 4, 1, 3]], ["AN", 2, 4, 2]]]], "r": [[2e-07], 0, 0.5, 1600000000], "v": "v0.6"}
{"i": [["[\"matmul\", 8, 8, 8]", "llvm -keys=cpu", [2, 64, 64, 0, 0, 0, 0, 0], "", 0, []], [[], [["RE", 2, [0, 2, 1]], ["AN", 2, 2, 2], ["AN", 2, 0, 3]]]], "r": [[1e-07], 0, 0.5, 1600000001], "v": "v0.6"}
{"i": [["[\"matmul\", 8, 8, 8]", "llvm -ke
)";

}  // namespace

int main() {
  const ts::AnsorLog log = ts::ansor_log_from_text(log_text);
  std::printf("%zu records, line %d skipped: %s\n", log.records.size(),
              static_cast<int>(log.skipped.at(0).number), log.skipped.at(0).reason.c_str());

  const ts::AnsorHistory history(log.records);
  const ts::AnsorRecord* best = history.find("[\"matmul\", 8, 8, 8]", "llvm -mcpu=znver4");
  if (best == nullptr) {
    std::printf("no record serves this workload\n");
    return 1;
  }
  std::printf("the best took %g ns\n", best->mean_cost() * 1e9);

  // A record holds no program, only its key: the registry knows what keys mean.
  const ts::WorkloadRegistry registry = ts::common_workloads();
  const auto dag = registry.find(best->workload_key);
  const auto state = ts::replay(dag, best->steps);
  if (!state) {
    std::printf("%s\n", ts::explain(state.error(), ts::State::initial(dag)).c_str());
    return 1;
  }
  if (const auto text = ts::reference_state_text(state.value())) {
    std::printf("%s", text->c_str());
  }

  // Does the schedule compute what the program says?
  const auto program = ts::lower(state.value(), ts::Target::x86_64_v3());
  if (!program) {
    std::printf("%s\n", ts::explain(program.error()).c_str());
    return 1;
  }
  std::vector<ts::HostArray> arrays;
  for (int i = 0; i < 3; ++i) {
    arrays.emplace_back(ts::DType::f32, std::vector<std::int64_t>{8, 8});
    for (std::size_t k = 0; k < 64; ++k) {
      ts::store_scalar(arrays.back().data.data() + 4 * k, ts::DType::f32,
                       ts::scalar_of_real(static_cast<double>((k * 7 + 3) % 5) - 2));
    }
  }
  const auto expected = ts::eval_dag(*dag, {arrays[0], arrays[1]});
  const auto ran = ts::eval(program.value(), arrays, {});
  const bool is_right = ran && expected && arrays[2].data == expected->back().data;
  std::printf("the replayed schedule is %s\n", is_right ? "right" : "wrong");

  const auto line = ts::ansor_record_to_line(*best);
  std::printf("written back: %s\n", line ? line->substr(0, 60).c_str() : "not at all");
  return is_right && line ? 0 : 1;
}
