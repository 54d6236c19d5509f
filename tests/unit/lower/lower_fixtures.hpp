// SPDX-License-Identifier: Apache-2.0
// Lowered states: their text, and whether they compute what the workload says.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/dag_results.hpp"
#include "support/golden_text.hpp"
#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/ir/verify.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "unit/sched/sched_fixtures.hpp"

namespace tensorsmith::test {

/// Vectors of eight f32, sixteen registers.
inline const Target& small_target() {
  static const Target target = Target::x86_64_v3();
  return target;
}

inline LoopProgram lowered(const State& state, const Target& target = small_target()) {
  auto program = lower(state, target);
  if (!program) {
    FAIL(explain(program.error()) << "\n" << state_text(state));
  }
  return std::move(program).value();
}

/// Without the lines of the arguments.
inline std::string text_of(const LoopProgram& program) {
  std::string text = to_text(program), kept;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin) + 1;
    const std::string line = text.substr(begin, end - begin);
    kept += line.find(" argument ") == std::string::npos ? line : "";
    begin = end;
  }
  return kept;
}

/// "" if the program is valid and leaves in the arguments what the workload's formulas say.
inline std::string wrong_with(const LoopProgram& program, const ComputeDag& dag) {
  for (const Violation& violation : verify(program)) {
    if (!is_valid({violation})) {
      return explain(violation, program);
    }
  }
  const std::vector<HostArray> inputs = whole_number_inputs(dag);
  const auto expected = eval_dag(dag, inputs);
  if (!expected) {
    return "the formulas cannot be evaluated";
  }
  std::vector<HostArray> arguments;
  EvalOptions options;
  std::size_t next_input = 0;
  for (TensorId id : dag.arguments()) {
    const TensorInfo& info = dag.tensor(id);
    const bool is_input = dag.operation(info.operation).is_placeholder();
    arguments.push_back(is_input ? inputs[next_input++]
                                 : HostArray(info.dtype, {info.shape.begin(), info.shape.end()}));
    options.is_output.push_back(!is_input);
  }
  if (const auto done = eval(program, arguments, options); !done) {
    return explain(done.error(), program);
  }
  std::size_t next_output = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (options.is_output[i] && !(arguments[i] == (*expected)[next_output++])) {
      return "argument " + std::to_string(i) + " differs";
    }
  }
  return "";
}

/// B = A + 1, with an i32 matrix as input: stages 0 A, 1 B.
inline DagPtr copy_dag(std::int64_t rows, std::int64_t columns) {
  te::Program p;
  auto A = p.placeholder("A", {rows, columns}, DType::i32);
  auto B = p.compute("B", {rows, columns}, [&](auto i, auto j) { return A(i, j) + 1; });
  return p.dag({A, B});
}

/// B = A + 1, C = B * 2: stages 0 A, 1 B, 2 C.
inline DagPtr two_step_dag(std::int64_t rows, std::int64_t columns) {
  te::Program p;
  auto A = p.placeholder("A", {rows, columns}, DType::i32);
  auto B = p.compute("B", {rows, columns}, [&](auto i, auto j) { return A(i, j) + 1; });
  auto C = p.compute("C", {rows, columns}, [&](auto i, auto j) { return B(i, j) * 2; });
  return p.dag({A, C});
}

/// B[i] = sum over k of A[i, k], f32: stages 0 A, 1 B.
inline DagPtr row_sums(std::int64_t rows, std::int64_t columns) {
  te::Program p;
  auto a = p.placeholder("A", {rows, columns});
  auto k = p.reduce_axis("k", columns);
  auto b = p.compute("B", {rows}, [&](auto i) { return te::sum(a(i, k), {k}); });
  return p.dag({a, b});
}

/// S[c] = sum over r of A[r, c]: stages 0 A, 1 S.
inline DagPtr column_sums(std::int64_t rows, std::int64_t columns, DType type = DType::f32) {
  te::Program p;
  auto a = p.placeholder("A", {rows, columns}, type);
  auto r = p.reduce_axis("r", rows);
  auto s = p.compute("S", {columns}, [&](auto c) { return te::sum(a(r, c), {r}); });
  return p.dag({a, s});
}

/// The text after a line end, after checking that the program computes the right thing.
inline std::string checked_text(const State& state, const Target& target = small_target()) {
  const LoopProgram program = lowered(state, target);
  const std::string text = text_of(program);
  INFO(text);
  CHECK(wrong_with(program, *state.initial_dag()) == "");
  return "\n" + text;
}

}  // namespace tensorsmith::test
