// requires: json
// CUDA programs of the reference: all of them lower to valid kernels, and those of small tasks
// compute what their task says, and miss each of their barriers when it is taken out.
#include <cstdio>
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

std::size_t num_vthreads(const LoopProgram& program) {
  std::size_t count = 0;
  for (const Stmt& stmt : program.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    count += loop != nullptr && loop->kind == ForKind::vthread ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("CUDA samples of the reference lower; the quick ones are right", "[golden]") {
  std::map<std::string, Task> tasks;
  ComparedRows lowered("samples_cuda.jsonl");
  lowered.of("programs lowered");
  std::size_t num_run = 0, num_barriers = 0, num_missed = 0;
  for (const Json& line : read_json_lines(golden_path("samples_cuda.jsonl"))) {
    const std::string name = line.at("task");
    INFO(name << ", sample " << line.at("sample"));
    if (tasks.count(name) == 0) {
      Task task{State::initial(golden_task(name).dag), std::nullopt};
      if (is_quick(*task.initial.initial_dag())) {
        task.known.emplace(*task.initial.initial_dag());
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
      ++num_run;
    }
    if (task.known) {
      LoopProgram without = *program;
      std::vector<StmtId> barriers;
      find_barriers(without, without.body, barriers);
      for (StmtId id : barriers) {
        const Stmt barrier = std::exchange(without.stmts[id.value], Stmt(Seq{}));
        ++num_barriers;
        num_missed += task.known->wrong_with(without, LoopOrder::forward).empty() ? 0 : 1;
        without.stmts[id.value] = barrier;
      }
    }
  }
  std::printf("golden: samples_cuda.jsonl: %zu of the quick programs run, %zu barriers taken out\n",
              num_run, num_barriers);
  CHECK(num_missed == num_barriers);
  if (golden_path("") == own_golden_path("")) {
    CHECK(lowered.count() == 712);
    CHECK(num_run > 20);
  }
}

}  // namespace tensorsmith::test
