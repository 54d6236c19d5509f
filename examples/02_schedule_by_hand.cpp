// SPDX-License-Identifier: Apache-2.0
// Lesson 2: a schedule is a value. Apply steps to it and print what the loops look like.
// links: compiled
#include <cstdio>

#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/te/program.hpp"

namespace ts = tensorsmith;

int main() {
  ts::te::Program p;
  auto a = p.placeholder("A", {64, 64}), b = p.placeholder("B", {64, 64});
  auto k = p.reduce_axis("k", 64);
  auto c =
      p.compute("C", {64, 64}, [&](auto i, auto j) { return ts::te::sum(a(i, k) * b(k, j), {k}); });
  ts::State state = ts::State::initial(p.dag({a, b, c}));
  std::printf("as written:\n%s\n", ts::state_text(state).c_str());

  const ts::Step steps[] = {
      ts::SplitStep{2, 0, 64, {8}, true},                   // i -> i.0, i.1 (8)
      ts::SplitStep{2, 2, 64, {16}, true},                  // j -> j.0, j.1 (16)
      ts::ReorderStep{2, {0, 2, 4, 1, 3}},                  // i.0 j.0 k i.1 j.1
      ts::AnnotationStep{2, 4, ts::Annotation::vectorize},  // j.1
  };
  for (const ts::Step& step : steps) {
    auto next = ts::apply_step(state, step);
    if (!next) {
      std::printf("illegal: %s\n", ts::explain(next.error(), state).c_str());
      return 1;
    }
    state = std::move(next).value();
  }
  std::printf("tiled:\n%s\n", ts::state_text(state).c_str());

  // An illegal step is an answer, not a crash.
  const auto refused = ts::apply_step(state, ts::SplitStep{2, 99, 64, {8}, true});
  if (refused) {
    return 1;
  }
  std::printf("refused: %s\n", ts::explain(refused.error(), state).c_str());
  return 0;
}
