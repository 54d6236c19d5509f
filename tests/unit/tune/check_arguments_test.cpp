// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Dags that no kernel can be made of are one sentence; all others are tuned.
#include <string>

#include "support/catch.hpp"
#include "tensorsmith/host.hpp"
#include "tensorsmith/te/program.hpp"
#include "tensorsmith/tune.hpp"

using namespace tensorsmith;

namespace {

TuneResult tuned(const Shared<const ComputeDag>& dag) {
  TuneTask task;
  task.dag = dag;
  task.target = host_target();
  TuneOptions options;
  options.budget = {0, 3};
  return tune(task, options);
}

std::string refusal(const Shared<const ComputeDag>& dag) {
  try {
    (void)tuned(dag);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("what the dag does not need is no matter, as an argument or not") {
  te::Program p;
  auto a = p.placeholder("A", {32}), b = p.placeholder("B", {1}), c = p.placeholder("C", {7});
  auto unused = p.compute("D", {32}, [&](auto i) { return a(i) - 1.0; });
  auto e = p.compute("E", {32}, [&](auto i) { return a(i) * 2.0; });
  auto f = p.compute("F", {32}, [&](auto i) { return e(i) + 1.0; });
  for (const auto& dag : {p.dag({a, f}), p.dag({b, a, f}), p.dag({a, f, c}), p.dag({a, e, f}),
                          p.dag({f, e, unused, a, b, c})}) {
    const TuneResult result = tuned(dag);
    CAPTURE(result.summary.first_failure);
    CHECK(result.summary.is_verified);
    CHECK(result.signature.parameters.size() == dag->arguments().size());
  }
}

TEST_CASE("extents of one, no inputs, no axes and several results") {
  te::Program p;
  auto a = p.placeholder("A", {1}), s = p.placeholder("S", {});
  auto k = p.reduce_axis("k", 1);
  auto one = p.compute("one", {1}, [&](auto) { return te::sum(a(k) * 1.0, {k}); });
  auto none = p.compute("none", {9}, [&](auto i) { return te::cast(DType::f32, i); });
  auto whole = p.compute("whole", {}, [&] { return te::sum(a(k) * 1.0, {k}); });
  auto from = p.compute("from", {8}, [&](auto i) { return s() + te::cast(DType::f32, i); });
  auto bits = p.compute("bits", {1}, [&](auto i) { return a(i) > 0.0; });
  for (const auto& dag : {p.dag({a, one}), p.dag({none}), p.dag({a, whole}), p.dag({s, from}),
                          p.dag({a, bits}), p.dag({a, one, bits, whole})}) {
    const TuneResult result = tuned(dag);
    CAPTURE(result.summary.first_failure);
    CHECK(result.summary.is_verified);
  }
}

TEST_CASE("a dag without a result, and one that reads what is no argument") {
  te::Program p;
  auto a = p.placeholder("A", {32}), b = p.placeholder("B", {32});
  auto c = p.compute("C", {32}, [&](auto i) { return a(i) * b(i); });
  CHECK(refusal(p.dag({a})) ==
        "tune: the dag computes nothing: its arguments are placeholders only");
  CHECK(refusal(p.dag({a, c})) == "tune: placeholder \"B\" is read, but it is no argument of the "
                                  "dag; name it in Program::dag");
}

TEST_CASE("rows that are looked up by i64, behind choices of every kind") {
  te::Program p;
  auto ids = p.placeholder("I", {40}, DType::i64);
  auto table = p.placeholder("T", {9, 16});
  auto line = p.placeholder("L", {9});
  const auto clipped = [&](auto i) { return te::max(te::min(ids(i), 8), 0); };
  auto a = p.compute("a", {40, 16}, [&](auto i, auto j) {
    return te::select(ids(i) >= 0, table(clipped(i), j), 0.0);
  });
  auto b = p.compute("b", {40, 16}, [&](auto i, auto j) {
    return te::if_then_else(ids(i) >= 0, table(ids(i), j), 0.0);
  });
  auto c = p.compute("c", {40, 16}, [&](auto i, auto j) {
    return table(te::select(ids(i) >= 0, ids(i), ids(i) + 8), j);
  });
  auto d = p.compute("d", {40}, [&](auto i) {
    return line(te::select(ids(i) >= 0, ids(i), te::cast(DType::i64, i) * 0));
  });
  auto e = p.compute("e", {9, 16}, [&](auto i, auto j) {
    auto row = te::cast(DType::i64, i);
    return table(te::if_then_else(row >= 5, row - 5, row), j);
  });
  for (const auto& dag : {p.dag({ids, table, a}), p.dag({ids, table, b}), p.dag({ids, table, c}),
                          p.dag({ids, line, d}), p.dag({table, e})}) {
    const TuneResult result = tuned(dag);
    CAPTURE(result.summary.first_failure);
    CHECK(result.summary.is_verified);
  }
}
