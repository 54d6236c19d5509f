// SPDX-License-Identifier: Apache-2.0
// Rows that the threads of a block sum up together.
#pragma once

#include <string>

#include "lower_fixtures.hpp"
#include "support/gpu_programs.hpp"

namespace tensorsmith::test {

/// S[i] = sum of row i of 3 rows: stages 0 A, 1 S.
inline DagPtr sum_dag(std::int64_t columns) {
  te::Program p;
  auto A = p.placeholder("A", {3, columns}, DType::i32);
  auto k = p.reduce_axis("k", columns);
  auto S = p.compute("S", {3}, [&](auto i) { return te::sum(A(i, k), {k}); });
  return p.dag({A, S});
}

/// A block for each row, `threads` threads for its columns.
inline State row_sum_state(std::int64_t columns, std::int64_t threads) {
  ScheduleBuilder s(sum_dag(columns));
  s.split(1, 1, {static_cast<std::int32_t>(threads)});
  s.annotate(1, 0, Annotation::block_x);
  s.annotate(1, 2, Annotation::thread_x);
  return s.state();
}

/// The program's text, after checking that it is right in every order of threads.
inline std::string exchange_text(const State& state) {
  const LoopProgram program = lowered(state, gpu_target());
  const std::string text = text_of(program);
  INFO(text);
  CHECK(KnownResults(*state.initial_dag()).wrong_with(program) == "");
  return "\n" + text;
}

}  // namespace tensorsmith::test
