// SPDX-License-Identifier: Apache-2.0
// Lesson 20: each form of the language of computations (docs/te.md), run by the interpreter.
// links: core
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

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

/// The result of a program with one input of floats.
static std::vector<double> run(const te::Program& p, const te::Tensor& input,
                               const std::vector<te::Tensor>& outputs,
                               const std::vector<double>& values) {
  std::vector<te::Tensor> arguments = {input};
  arguments.insert(arguments.end(), outputs.begin(), outputs.end());
  ts::HostArray array(input.dtype(), input.shape());
  for (std::size_t i = 0; i < values.size(); ++i) {
    array.set_real(static_cast<std::int64_t>(i), values[i]);
  }
  const auto results = ts::eval_dag(*p.dag(arguments), {array});
  require(results.has_value(), "the interpreter runs the program");
  std::vector<double> all;
  for (const ts::HostArray& result : *results) {
    for (std::int64_t i = 0; i < result.num_elements(); ++i) {
      all.push_back(ts::is_float(result.dtype) ? result.get_real(i)
                                               : static_cast<double>(result.get_int(i)));
    }
  }
  return all;
}

int main() {
  {  // Functions, literals, stages.
    te::Program p;
    auto x = p.placeholder("X", {4});
    auto h = p.compute("H", {4}, [&](auto i) { return x(i) * 0.5 + 1; });
    auto y = p.compute("Y", {4}, [&](auto i) { return te::max(te::tanh(h(i)), 0); });
    const auto result = run(p, x, {y}, {0, 2, -2, -4});
    require(std::fabs(result[1] - std::tanh(2.0)) < 1e-6 && result[3] == 0, "functions");
  }
  {  // A read that must stay in bounds: only the arm that is taken is evaluated.
    te::Program p;
    auto x = p.placeholder("X", {4});
    auto y = p.compute("padded", {6},
                       [&](auto i) { return te::if_then_else(i >= 1 && i < 5, x(i - 1), 0.0f); });
    require(run(p, x, {y}, {1, 2, 3, 4}) == std::vector<double>{0, 1, 2, 3, 4, 0}, "padding");
  }
  {  // Both arms are evaluated: vectors need no branch.
    te::Program p;
    auto x = p.placeholder("X", {3});
    auto y =
        p.compute("leaky", {3}, [&](auto i) { return te::select(x(i) > 0, x(i), 0.25 * x(i)); });
    require(run(p, x, {y}, {4, -4, 0}) == std::vector<double>{4, -1, 0}, "select");
  }
  {  // Types meet only by a cast; the sum is computed in the type of its terms.
    te::Program p;
    auto x = p.placeholder("X", {4}, ts::DType::f16);
    auto k = p.reduce_axis("k", 4);
    auto total =
        p.compute("total", {1}, [&](auto) { return te::sum(te::cast(ts::DType::f32, x(k)), {k}); });
    auto mean =
        p.compute("mean", {1}, [&](auto i) { return te::cast(ts::DType::f16, total(i) / 4); });
    require(run(p, x, {mean}, {1, 2, 3, 4}) == std::vector<double>{2.5}, "cast");
  }
  {  // A reduction with two results: the greatest element and where it is.
    te::Program p;
    auto x = p.placeholder("X", {5});
    auto k = p.reduce_axis("k", 5);
    const auto best = p.combiner(
        {ts::DType::i32, ts::DType::f32}, {-1, -INFINITY}, [](const auto& l, const auto& r) {
          return std::vector<te::Expr>{te::select(l[1] >= r[1], l[0], r[0]), te::max(l[1], r[1])};
        });
    auto found = p.compute_all("found", {1}, [&](auto) {
      return te::reduce(best, {k, x(k)}, {k});
    });
    require(run(p, x, {found[0], found[1]}, {3, 9, 2, 9, 1}) == std::vector<double>{1, 9},
            "a reduction of one's own");
  }
  {  // Any rank: one vector of indices.
    te::Program p;
    auto x = p.placeholder("X", {2, 3});
    auto y = p.compute("transposed", {3, 2}, [&](const std::vector<te::Expr>& at) {
      return x.at({at[1], at[0]});
    });
    require(run(p, x, {y}, {1, 2, 3, 4, 5, 6}) == std::vector<double>{1, 4, 2, 5, 3, 6}, "rank");
  }
  {  // What is wrong is refused where it is written.
    te::Program p;
    auto x = p.placeholder("X", {4});
    auto k = p.reduce_axis("k", 4);
    std::string sentence;
    try {
      p.compute("Y", {1}, [&](auto) { return 2 * te::sum(x(k), {k}); });
    } catch (const ts::Error& error) {
      sentence = error.what();
    }
    std::printf("refused: %s\n", sentence.c_str());
    require(sentence.find("a reduction only at the root of a body") != std::string::npos,
            "refusal");
  }
  std::puts("every form gave what it says");
}
