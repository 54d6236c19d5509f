// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
// bench_state: ns per copy of a state and one step on it.
//
//   bench_state [--json]
// The state is the tiled matrix product of examples/02 before its last steps; every line copies it
// and applies one step of one kind, as a search does.
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/support/loop_timer.hpp"
#include "bench/support/machine.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/sched/explain_error.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::bench {
namespace {

State tiled_gemm() {
  te::Program program;
  const te::Tensor a = program.placeholder("A", {512, 512});
  const te::Tensor b = program.placeholder("B", {512, 512});
  const te::ReduceAxis k = program.reduce_axis("k", 512);
  const te::Tensor c = program.compute(
      "C", {512, 512}, [&](te::Expr i, te::Expr j) { return te::sum(a(i, k) * b(k, j), {k}); });
  State state = State::initial(program.dag({a, b, c}));
  for (const Step& step :
       std::vector<Step>{CacheWriteStep{2, "local"}, SplitStep{2, 0, 512, {2, 128, 2}},
                         SplitStep{2, 4, 512, {8, 2, 4}}, SplitStep{2, 8, 512, {64}},
                         ReorderStep{2, {0, 4, 1, 5, 8, 2, 6, 9, 3, 7}},
                         FollowSplitStep{3, 0, 1, 2}, FollowSplitStep{3, 3, 2, 2},
                         ReorderStep{3, {0, 3, 1, 4, 2, 5}}, ComputeAtStep{2, 3, 3}}) {
    if (const StepCheck error = try_apply(state, step)) {
      throw Error(explain(*error, state));
    }
  }
  return state;
}

struct Case {
  const char* name;
  Step step;
};

int run(bool prints_json) {
  const State state = tiled_gemm();
  const std::vector<Case> cases{
      {"annotate", AnnotationStep{2, 9, Annotation::vectorize}},
      {"fuse 4", FuseStep{3, {0, 1, 2, 3}}},
      {"pragma", PragmaStep{2, 0, "auto_unroll_max_step$64"}},
      {"reorder 10", ReorderStep{2, {0, 4, 1, 5, 8, 2, 6, 9, 3, 7}}},
      {"split into 4", SplitStep{3, 5, 8, {2, 2, 2}}},
      {"compute at", ComputeAtStep{2, 3, 1}},
      {"compute root", ComputeRootStep{2}},
      {"cache read", CacheReadStep{0, "local", {2}}},
      {"storage layout", StorageLayoutStep{2, {0, 16}, {2, 0, 3}, 0}},
  };
  nlohmann::json report;
  report["machine"] = machine_facts(probe_host(), {});
  report["cases"] = nlohmann::json::array();
  double worst = 0;
  std::size_t sink = 0;
  const auto add = [&](const std::string& name, double ns) {
    report["cases"].push_back({{"what", name}, {"ns", ns}});
    if (!prints_json) {
      std::printf("%-28s %8.0f ns\n", name.c_str(), ns);
    }
  };
  add("copy", median_call_ns([&] {
        const State copy = state;
        sink += copy.num_stages();
      }));
  for (const Case& c : cases) {
    const double ns = median_call_ns([&] {
      State copy = state;
      sink += try_apply(copy, c.step).has_value() ? 1000000 : copy.steps().size();
    });
    worst = ns > worst ? ns : worst;
    add(std::string("copy + ") + c.name, ns);
  }
  add("text", median_call_ns([&] { sink += state_text(state).size(); }));
  add("replay of all steps", median_call_ns([&] {
        sink += replay(state.restart(), state.steps()).has_value() ? 1U : 0U;
      }));
  report["worst_copy_and_step_ns"] = worst;
  if (prints_json) {
    std::printf("%s\n", report.dump(2).c_str());
  } else {
    std::printf("worst copy + step            %8.0f ns (wanted: at most 2000)\n", worst);
  }
  return sink == 0 ? 1 : 0;
}

}  // namespace
}  // namespace tensorsmith::bench

int main(int argc, char** argv) {
  const bool prints_json = argc == 2 && std::strcmp(argv[1], "--json") == 0;
  if (argc > 1 && !prints_json) {
    std::fprintf(stderr, "usage: bench_state [--json]\n");
    return 2;
  }
  return tensorsmith::bench::run(prints_json);
}
