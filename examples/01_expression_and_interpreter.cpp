// SPDX-License-Identifier: Apache-2.0
// Lesson 1: write a computation, look at it, run it with the interpreter.
//
// The interpreter is the oracle of everything that follows: it evaluates the formulas point by
// point, exactly as they are written.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tensorsmith/te/dag_text.hpp"
#include "tensorsmith/te/eval_dag.hpp"
#include "tensorsmith/te/flop.hpp"
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
  const std::int64_t m = 3, n = 5, length = 4;

  // relu(A * B + bias), written as three stages.
  te::Program program;
  const te::Tensor a = program.placeholder("A", {m, length}, ts::DType::i32);
  const te::Tensor b = program.placeholder("B", {length, n}, ts::DType::i32);
  const te::Tensor bias = program.placeholder("bias", {n}, ts::DType::i32);
  const te::ReduceAxis k = program.reduce_axis("k", length);
  const te::Tensor product = program.compute(
      "C", {m, n}, [&](te::Expr i, te::Expr j) { return te::sum(a(i, k) * b(k, j), {k}); });
  const te::Tensor out = program.compute(
      "out", {m, n}, [&](te::Expr i, te::Expr j) { return te::max(product(i, j) + bias(j), 0); });
  const auto dag = program.dag({a, b, bias, out});  // the order of the kernel's arguments

  std::printf("%s\n", te::dag_text(*dag).c_str());
  std::printf("floating-point and integer operations: %.0f\n", te::count_flop(*dag));

  // Inputs, in the order of the placeholders among the arguments.
  std::vector<ts::HostArray> inputs{ts::HostArray(ts::DType::i32, {m, length}),
                                    ts::HostArray(ts::DType::i32, {length, n}),
                                    ts::HostArray(ts::DType::i32, {n})};
  for (ts::HostArray& input : inputs) {
    for (std::int64_t at = 0; at < input.num_elements(); ++at) {
      input.set_int(at, (at * 7) % 11 - 5);
    }
  }
  const auto outputs = ts::eval_dag(*dag, inputs);
  require(outputs.has_value(), "the interpreter runs the program");
  require(outputs->size() == 1, "one output");

  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      std::int64_t want = inputs[2].get_int(j);
      for (std::int64_t t = 0; t < length; ++t) {
        want += inputs[0].get_int(i * length + t) * inputs[1].get_int(t * n + j);
      }
      want = std::max<std::int64_t>(want, 0);
      const std::int64_t got = (*outputs)[0].get_int(i * n + j);
      std::printf("%5lld", static_cast<long long>(got));
      require(got == want, "the interpreter agrees with plain loops");
    }
    std::printf("\n");
  }

  // Misuse says which argument, what was expected and what came.
  bool was_refused = false;
  try {
    program.compute("wrong", {m}, [&](te::Expr i) { return a(i); });
  } catch (const ts::Error& error) {
    std::printf("refused: %s\n", error.what());
    was_refused = true;
  }
  require(was_refused, "a read with too few indices is refused");
}
