// SPDX-License-Identifier: Apache-2.0
// Lesson 8: embed the library in another compiler: headers only, no LLVM, no threads. Build an
// operation, schedule it, lower it, and walk the loops with your own code generator.
// links: core
#include <cstdio>
#include <string>

#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/gemm.hpp"
#include "tensorsmith/sched/replay.hpp"

namespace ts = tensorsmith;

namespace {

/// A very small "code generator": counts what it would have to emit.
struct Census {
  int loops = 0, vector_loops = 0, stores = 0;
};

void count(const ts::LoopProgram& program, ts::StmtId id, Census& census) {
  if (!id.valid()) {
    return;
  }
  std::visit(ts::Overloaded{[&](const ts::Seq& s) {
                              for (const ts::StmtId item : s.items) {
                                count(program, item, census);
                              }
                            },
                            [&](const ts::For& f) {
                              ++census.loops;
                              census.vector_loops += f.kind == ts::ForKind::vectorized ? 1 : 0;
                              count(program, f.body, census);
                            },
                            [&](const ts::Store&) { ++census.stores; },
                            [&](const ts::If& s) {
                              count(program, s.then_body, census);
                              count(program, s.else_body, census);
                            },
                            [&](const ts::Alloc& s) { count(program, s.body, census); },
                            [](const auto&) {}},
             program[id]);
}

}  // namespace

int main() {
  ts::ops::GemmParams params;
  params.m = params.n = params.k = 32;
  const ts::ops::Workload workload = ts::ops::gemm(params);
  const auto state = ts::replay(
      workload.dag, {ts::SplitStep{2, 1, 32, {8}, true}, ts::ReorderStep{2, {0, 1, 3, 2}},
                     ts::AnnotationStep{2, 3, ts::Annotation::vectorize}});
  if (!state) {
    std::printf("the schedule is illegal\n");
    return 1;
  }
  const auto program = ts::lower(state.value(), ts::Target::x86_64_v3());
  if (!program) {
    std::printf("%s\n", ts::explain(program.error()).c_str());
    return 1;
  }
  std::printf("%s\n", ts::to_text(program.value()).c_str());
  Census census;
  count(program.value(), program->body, census);
  std::printf("%d loops, %d of them vectorized, %d stores\n", census.loops, census.vector_loops,
              census.stores);
  return census.vector_loops > 0 && census.stores > 0 ? 0 : 1;
}
