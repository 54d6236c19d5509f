// SPDX-License-Identifier: Apache-2.0
// requires: json
// CUDA programs of the reference: all of them lower to valid kernels, and those of small tasks
// compute what their task says, and miss each of their barriers when it is taken out.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/golden_tasks.hpp"
#include "support/gpu_programs.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/record/ansor_log.hpp"
#include "tensorsmith/sched/explain_error.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/te/flop.hpp"

namespace tensorsmith::test {
namespace {

struct Task {
  State initial;
  std::optional<KnownResults> known;  // of tasks that are quick to interpret
  std::size_t num_seen = 0;
};

/// Programs that the interpreter runs in milliseconds.
bool is_quick(const ComputeDag& dag) {
  const double flop = te::count_flop(dag);
  return flop >= 0 && flop < 2e5;
}

/// Of a result whose longest sum has K terms: each order of a sum of non-negative terms is off by
/// at most K halves of an epsilon, so that two orders differ by at most K.
double reordering_error(const ComputeDag& dag) {
  double longest = 1;
  for (const Operation& op : dag.operations()) {
    double length = 1;
    for (const Axis& axis : op.reduce_axes) {
      length *= static_cast<double>(axis.extent);
    }
    longest = std::max(longest, length);
  }
  return longest * static_cast<double>(std::numeric_limits<float>::epsilon());
}

std::size_t num_vthreads(const LoopProgram& program) {
  std::size_t count = 0;
  for (const Stmt& stmt : program.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    count += loop != nullptr && loop->kind == ForKind::vthread ? 1 : 0;
  }
  return count;
}

struct Counts {
  std::size_t run = 0, barriers = 0, missed = 0;
};

void check_samples(const GoldenFile& file, Counts& counts) {
  std::map<std::string, Task> tasks;
  ComparedRows lowered(file.name);
  lowered.of("programs lowered");
  for (const Json& line : read_json_lines(file.path)) {
    const std::string name = line.at("task");
    INFO(name << ", sample " << line.at("sample"));
    if (tasks.count(name) == 0) {
      Task task{State::initial(golden_task(name).dag), std::nullopt};
      if (is_quick(*task.initial.initial_dag())) {
        const ComputeDag& dag = *task.initial.initial_dag();
        task.known.emplace(dag, reordering_error(dag));
      }
      tasks.emplace(name, std::move(task));
    }
    Task& task = tasks.at(name);
    const auto record = ansor_record_from_line(line.at("record").get<std::string>());
    REQUIRE(record.has_value());
    const auto state = replay(task.initial, record->steps);
    REQUIRE(state.has_value());
    const auto program = lower(*state, gpu_target());
    if (!program) {
      FAIL_CHECK(explain(program.error()));
      continue;
    }
    INFO(to_text(*program));
    CHECK(is_valid(verify(*program)));
    CHECK(num_vthreads(*program) == 0);
    ++lowered;
    if (task.known && task.num_seen++ % 5 == 0) {
      CHECK(task.known->wrong_with(*program, LoopOrder::shuffled) == "");
      ++counts.run;
    }
    if (task.known) {
      LoopProgram without = *program;
      std::vector<StmtId> barriers;
      find_barriers(without, without.body, barriers);
      for (StmtId id : barriers) {
        const Stmt barrier = std::exchange(without.stmts[id.value], Stmt(Seq{}));
        ++counts.barriers;
        counts.missed += task.known->wrong_with(without, LoopOrder::forward).empty() ? 0 : 1;
        without.stmts[id.value] = barrier;
      }
    }
  }
}

}  // namespace

TEST_CASE("CUDA samples of the reference lower; the quick ones are right", "[golden]") {
  Counts counts;
  for (const GoldenFile& file : golden_files("samples_cuda.jsonl")) {
    check_samples(file, counts);
  }
  std::printf("golden: samples_cuda.jsonl: %zu of the quick programs run, %zu barriers taken out\n",
              counts.run, counts.barriers);
  // Other data may have programs whose threads read nothing but what they wrote themselves.
  CHECK(counts.missed >= counts.barriers - counts.barriers / 20);
  if (golden_is_own()) {
    CHECK(counts.missed == counts.barriers);
    CHECK(counts.run > 20);
  }
}

}  // namespace tensorsmith::test
