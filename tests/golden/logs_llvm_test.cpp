// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
// Tuning logs of the reference: every record reads, is written back byte for byte, replays and
// lowers; the compiled code computes what the program as written computes, bit for bit, because the
// inputs are small whole numbers. A part of the records is compiled here, all of them by
// `test_golden "[all_records]"`.
#include "tensorsmith/record/ansor_log.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "support/catch.hpp"
#include "support/golden_data.hpp"
#include "tensorsmith/codegen/llvm_compiler.hpp"
#include "tensorsmith/host.hpp"
#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/record/workload_registry.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/explain_error.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/te/flop.hpp"

namespace tensorsmith::test {
namespace {

void run_in_order(const KernelRuntime*, ParallelBody body, void* closure, std::int64_t count) {
  body(closure, 0, count, 0);
}

struct AlignedFree {
  void operator()(std::byte* data) const { std::free(data); }
};
using AlignedMemory = std::unique_ptr<std::byte, AlignedFree>;
AlignedMemory allocate(std::size_t size) {
  return AlignedMemory(static_cast<std::byte*>(std::aligned_alloc(64, (size / 64 + 2) * 64)));
}

/// One workload of a log: its program, inputs, and what the program as written makes of them.
struct Workload {
  State initial;
  std::vector<HostArray> arrays;  ///< outputs hold -1 everywhere
  std::vector<HostArray> expected;
};

std::vector<HostArray> make_arrays(const ComputeDag& dag) {
  CounterRng rng(seed());
  std::vector<HostArray> arrays;
  for (TensorId id : dag.arguments()) {
    const TensorInfo& info = dag.tensor(id);
    HostArray array(info.dtype, std::vector<std::int64_t>(info.shape.begin(), info.shape.end()));
    const bool is_input = dag.operation(info.operation).is_placeholder();
    const auto bytes = static_cast<std::size_t>(bytes_of(info.dtype));
    for (std::size_t i = 0; i < array.data.size() / bytes; ++i) {
      const double value = is_input ? static_cast<double>(rng.next_below(9)) - 4 : -1;
      store_scalar(array.data.data() + i * bytes, info.dtype, scalar_of_real(value));
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

class LogRunner {
 public:
  LogRunner() : compiler_(host_target()), registry_(common_workloads()) {}

  Workload& workload(const std::string& key) {
    const auto found = workloads_.find(key);
    if (found != workloads_.end()) {
      return found->second;
    }
    const Shared<const ComputeDag> dag = registry_.find(key);
    REQUIRE(dag);
    Workload made{State::initial(dag), make_arrays(*dag), {}};
    const auto plain = lower(made.initial, host_target());
    REQUIRE(plain.has_value());
    made.expected = run(*plain, made.arrays);
    return workloads_.emplace(key, std::move(made)).first->second;
  }
  std::vector<HostArray> run(const LoopProgram& program, std::vector<HostArray> arrays) {
    const auto object = compiler_.compile(program);
    REQUIRE(object.has_value());
    const auto kernel = JitKernel::load(*object);
    REQUIRE(kernel.has_value());
    std::vector<AlignedMemory> memory;
    std::vector<void*> pointers;
    for (const HostArray& array : arrays) {
      memory.push_back(allocate(array.data.size()));
      std::memcpy(memory.back().get(), array.data.data(), array.data.size());
      pointers.push_back(memory.back().get());
    }
    const AlignedMemory workspace = allocate(static_cast<std::size_t>(object->workspace_bytes(1)));
    const KernelRuntime runtime{&run_in_order, nullptr, 1};
    kernel->entry()(pointers.data(), workspace.get(), &runtime);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      std::memcpy(arrays[i].data.data(), memory[i].get(), arrays[i].data.size());
    }
    return arrays;
  }

 private:
  LlvmCompiler compiler_;
  WorkloadRegistry registry_;
  std::map<std::string, Workload> workloads_;
};

bool same_data(const std::vector<HostArray>& a, const std::vector<HostArray>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].data != b[i].data) {
      return false;
    }
  }
  return a.size() == b.size();
}

/// Compiles every `stride`-th record; interprets a few of the small ones.
void check_log(const GoldenFile& file, std::size_t stride) {
  const std::vector<std::string> lines = text_lines(read_text(file.path));
  ComparedRows rows(file.name), compiled(file.name);
  rows.of("records read, written, replayed and lowered");
  compiled.of("records compiled and run");
  LogRunner runner;
  std::size_t num_interpreted = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    INFO(file.name << ", line " << i + 1);
    const auto record = ansor_record_from_line(lines[i]);
    REQUIRE(record.has_value());
    CHECK(*ansor_record_to_line(*record) == lines[i]);
    Workload& workload = runner.workload(record->workload_key);
    auto state = replay(workload.initial, record->steps);
    if (!state) {
      FAIL_CHECK(explain(state.error(), workload.initial));
      continue;
    }
    const auto bounded = infer_bounds(*state);
    REQUIRE(bounded.has_value());
    const auto program = lower(*bounded, host_target());
    if (!program) {
      FAIL_CHECK(explain(program.error()));
      continue;
    }
    ++rows;
    if (i % stride != 0) {
      continue;
    }
    CHECK(same_data(runner.run(*program, workload.arrays), workload.expected));
    ++compiled;
    if (te::count_flop(*workload.initial.initial_dag()) < 1e7 && num_interpreted < 2) {
      std::vector<HostArray> interpreted = workload.arrays;
      REQUIRE(eval(*program, interpreted, {}).has_value());
      CHECK(same_data(interpreted, workload.expected));
      ++num_interpreted;
    }
  }
}

}  // namespace

TEST_CASE("tuning logs of the reference run through our back end", "[golden][logs]") {
  for (const GoldenFile& log : golden_logs()) {
    check_log(log, 8);
  }
}

TEST_CASE("tuning logs of the reference: all records", "[.][all_records]") {
  for (const GoldenFile& log : golden_logs()) {
    check_log(log, 1);
  }
}

}  // namespace tensorsmith::test
