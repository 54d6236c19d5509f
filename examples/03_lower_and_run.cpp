// SPDX-License-Identifier: Apache-2.0
// Lesson 3: from a schedule to loops over buffers, and the proof that they compute the same.
//
// No factor divides here (29 x 70 x 37): the loops get bounds and tail copies, and no condition
// ends up inside the register tile.
// links: compiled
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/te/eval_dag.hpp"
#include "tensorsmith/te/program.hpp"

namespace ts = tensorsmith;
namespace te = tensorsmith::te;

static void require(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
  }
}

int main() {
  const std::int64_t m = 29, n = 70, length = 37;
  te::Program program;
  const te::Tensor a = program.placeholder("A", {m, length}, ts::DType::i32);
  const te::Tensor b = program.placeholder("B", {length, n}, ts::DType::i32);
  const te::ReduceAxis k = program.reduce_axis("k", length);
  const te::Tensor c = program.compute(
      "C", {m, n}, [&](te::Expr i, te::Expr j) { return te::sum(a(i, k) * b(k, j), {k}); });
  const auto dag = program.dag({a, b, c});

  ts::State state = ts::State::initial(dag);
  for (const ts::Step& step : std::vector<ts::Step>{
           ts::SplitStep{2, 0, m, {3, 4}},
           ts::SplitStep{2, 3, n, {2, 32}},
           ts::SplitStep{2, 6, length, {8}},
           ts::ReorderStep{2, {0, 3, 6, 1, 4, 7, 2, 5}},
           ts::AnnotationStep{2, 0, ts::Annotation::parallel},
           ts::AnnotationStep{2, 7, ts::Annotation::vectorize},
       }) {
    auto next = ts::apply_step(state, step);
    require(next.has_value(), "the steps are legal");
    state = *next;
  }

  const ts::Result<ts::LoopProgram, ts::LowerError> loops =
      ts::lower(state, ts::Target::x86_64_v4());
  require(loops.has_value(), "the state can be lowered");
  std::printf("%s\n", ts::to_text(*loops).c_str());

  // One array per argument of the kernel, outputs included.
  std::vector<ts::HostArray> arguments{ts::HostArray(ts::DType::i32, {m, length}),
                                       ts::HostArray(ts::DType::i32, {length, n}),
                                       ts::HostArray(ts::DType::i32, {m, n})};
  for (std::size_t input = 0; input < 2; ++input) {
    for (std::int64_t at = 0; at < arguments[input].num_elements(); ++at) {
      arguments[input].set_int(at, (at * 13 + static_cast<std::int64_t>(input)) % 17 - 8);
    }
  }
  const auto want = ts::eval_dag(*dag, {arguments[0], arguments[1]});
  require(want.has_value(), "the formulas can be evaluated");
  const auto done = ts::eval(*loops, arguments);
  require(done.has_value(), "the loops run without an access out of range");
  require(arguments[2] == (*want)[0], "the loops compute what the formulas say");
  std::printf("interpreter(loops) = interpreter(formulas) on %lld elements\n",
              static_cast<long long>(m * n));
}
