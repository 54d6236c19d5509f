// SPDX-License-Identifier: Apache-2.0
// Lesson 0: the ten lines of the README.
// links: compiled
#include <cstdio>

#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/te/program.hpp"

int main() {
  namespace ts = tensorsmith;
  ts::te::Program p;
  auto a = p.placeholder("A", {64, 64}), b = p.placeholder("B", {64, 64});
  auto k = p.reduce_axis("k", 64);
  auto c =
      p.compute("C", {64, 64}, [&](auto i, auto j) { return ts::te::sum(a(i, k) * b(k, j), {k}); });
  ts::State state = ts::State::initial(p.dag({a, b, c}));
  state = *ts::apply_step(state, ts::SplitStep{2, 0, 64, {8}});      // i --> i.0, i.1
  state = *ts::apply_step(state, ts::ReorderStep{2, {0, 3, 1, 2}});  // k outside of i.1 and j
  auto loops = ts::lower(state, ts::Target::x86_64_v3());  // a LoopProgram, or why there is none
  std::puts((loops ? ts::to_text(*loops) : ts::explain(loops.error())).c_str());
  return loops ? 0 : 1;
}
