// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/sum_in_blocks.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "lower_fixtures.hpp"
#include "support/gpu_programs.hpp"
#include "unit/lower/shared_product.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// C[i, j] = sum over k of A[i, k] * B[k, j]: stages 0 A, 1 B, 2 C.
DagPtr deep_product(std::int64_t m, std::int64_t n, std::int64_t depth) {
  te::Program p;
  auto a = p.placeholder("A", {m, depth}), b = p.placeholder("B", {depth, n});
  auto k = p.reduce_axis("k", depth);
  auto c = p.compute("C", {m, n}, [&](auto i, auto j) { return te::sum(a(i, k) * b(k, j), {k}); });
  return p.dag({a, b, c});
}

/// Tiles of 4 x 8, `terms` terms from memory to memory, `unrolled` of them at a time.
State blocked_product(const DagPtr& dag, std::int64_t terms, std::int64_t unrolled = 1) {
  ScheduleBuilder s(dag);
  s.split(2, 0, {4});
  s.split(2, 2, {8});
  s.split(2, 4, {terms});
  s.reorder(2, {4, 0, 2, 5, 1, 3});
  if (unrolled > 1) {
    s.apply(PragmaStep{2, 3, "unroll_reduction$" + std::to_string(unrolled)});
  }
  s.annotate(2, 5, Annotation::vectorize);
  return s.state();
}

/// The largest error of any result where every input is 0.1f, in units of what is allowed
/// (lib/tune/error_twin.hpp): 4 eps (sqrt(n) + 1) of the sum of n magnitudes.
double error_of_alike_terms(const LoopProgram& program, const ComputeDag& dag, double terms) {
  std::vector<HostArray> arguments;
  EvalOptions options;
  double term = 1;
  for (TensorId id : dag.arguments()) {
    const TensorInfo& info = dag.tensor(id);
    arguments.emplace_back(info.dtype,
                           std::vector<std::int64_t>{info.shape.begin(), info.shape.end()});
    const bool is_input = dag.operation(info.operation).is_placeholder();
    options.is_output.push_back(!is_input);
    for (std::int64_t i = 0; is_input && i < arguments.back().num_elements(); ++i) {
      arguments.back().set_real(i, 0.1F);
    }
    term *= is_input ? static_cast<double>(0.1F) : 1;
  }
  REQUIRE(eval(program, arguments, options).has_value());
  double largest = 0;
  for (std::int64_t i = 0; i < arguments.back().num_elements(); ++i) {
    largest = std::fmax(largest, std::fabs(arguments.back().get_real(i) - terms * term));
  }
  return largest / (4 * 0x1.0p-23 * (std::sqrt(terms) + 1) * terms * term);
}

bool has_blocks(const LoopProgram& program) {
  return to_text(program).find(".acc.b: ") != std::string::npos;
}

}  // namespace

TEST_CASE("a long sum is a sum of blocks and of what is left over") {
  CHECK(is_golden(checked_text(State::initial(column_sums(6000, 8)))));
}

TEST_CASE("short sums, and those that do not round or hardly, are as they were") {
  CHECK_FALSE(has_blocks(lowered(State::initial(column_sums(256, 8)))));
  CHECK(has_blocks(lowered(State::initial(column_sums(257, 8)))));
  CHECK_FALSE(has_blocks(lowered(blocked_product(deep_product(8, 16, 2048), 2048))));
  CHECK(has_blocks(lowered(blocked_product(deep_product(8, 16, 2049), 2049))));
  CHECK(has_blocks(lowered(State::initial(column_sums(9000, 8, DType::f16)))));
  CHECK_FALSE(has_blocks(lowered(State::initial(column_sums(9000, 8, DType::i32)))));
  CHECK_FALSE(has_blocks(lowered(State::initial(column_sums(9000, 8, DType::f64)))));
}

TEST_CASE("sums of alike terms stay within their bound, and are right") {
  struct Case {
    State state;
    double terms;
  };
  const DagPtr product = deep_product(8, 16, 12000);
  const Case cases[] = {
      {State::initial(column_sums(100003, 8)), 100003},  // a prime
      {State::initial(column_sums(30000, 5)), 30000},    // columns of a tail
      {State::initial(row_sums(2, 400000)), 400000},
      {State::initial(row_sums(3, 300007)), 300007},
      {blocked_product(product, 12000), 12000},
      {blocked_product(product, 12000, 4), 12000},
      {blocked_product(product, 400), 12000},                      // resumed from memory 30 times
      {blocked_product(product, 3000), 12000},                     // blocks of what is resumed
      {blocked_product(deep_product(7, 13, 12007), 500), 12007}};  // tails in all directions
  for (const Case& c : cases) {
    const LoopProgram program = lowered(c.state);
    INFO(text_of(program));
    CHECK(has_blocks(program));
    CHECK(wrong_with(program, *c.state.initial_dag()) == "");
    CHECK(error_of_alike_terms(program, *c.state.initial_dag(), c.terms) <= 1);
  }
}

TEST_CASE("the bound is missed without blocks") {
  ScheduleBuilder s(column_sums(400009, 4));
  s.split(1, 1, {1});  // resumed from memory at every term
  s.reorder(1, {1, 0, 2});
  const LoopProgram program = lowered(s.state());
  REQUIRE_FALSE(has_blocks(program));
  CHECK(error_of_alike_terms(program, *s.state().initial_dag(), 400009) > 1);
}

TEST_CASE("what a sum that is resumed from memory adds on the way is added at once") {
  const DagPtr dag = deep_product(8, 16, 12000);
  for (const std::int64_t terms : {8, 16, 30, 250}) {
    const LoopProgram program = lowered(blocked_product(dag, terms));
    INFO(text_of(program));
    CHECK_FALSE(has_blocks(program));
    CHECK(wrong_with(program, *dag) == "");
    CHECK(error_of_alike_terms(program, *dag, 12000) <= 1);
  }
  CHECK(is_golden(checked_text(blocked_product(dag, 30))));
}

TEST_CASE("threads of a GPU sum in blocks, whatever they fetch ahead") {
  const DagPtr dag = deep_product(16, 16, 5000);
  for (const char* ahead : {"fetch_ahead$1", "fetch_ahead$3"}) {
    const State state = shared_product(dag, {4, 2, 8}, ahead);
    const LoopProgram program = lowered(state, gpu_target());
    INFO(text_of(program));
    CHECK(has_blocks(program));
    CHECK(KnownResults(*dag).wrong_with(program) == "");
    CHECK(error_of_alike_terms(program, *dag, 5000) <= 1);
  }
}

TEST_CASE("unrolled loops of a thread are blocks too, and shorter ones where terms are alike") {
  te::Program p;
  auto x = p.placeholder("X", {70, 60, 3});
  auto i = p.reduce_axis("i", 70), j = p.reduce_axis("j", 60);
  auto sums = p.compute("S", {3}, [&](auto c) { return te::sum(x(i, j, c), {i, j}); });
  struct Case {
    DagPtr dag;
    double terms;
  };
  const Case cases[] = {{p.dag({x, sums}), 4200},
                        {column_sums(300, 5), 300},
                        {column_sums(1024, 5), 1024},
                        {column_sums(5003, 5), 5003}};
  for (const Case& c : cases) {
    ScheduleBuilder s(c.dag);
    s.annotate(1, 0, Annotation::thread_x);
    s.apply(PragmaStep{1, 0, "auto_unroll_max_step$1024"});
    const LoopProgram program = lowered(s.state(), gpu_target());
    INFO(text_of(program));
    CHECK(has_blocks(program));
    CHECK(KnownResults(*c.dag).wrong_with(program) == "");
    CHECK(error_of_alike_terms(program, *c.dag, c.terms) <= 1);
  }
}

TEST_CASE("terms are alike unless both of two tensors change from one to the next") {
  const std::int64_t depth = 512;
  const auto blocks = [&](auto term) {
    te::Program p;
    auto a = p.placeholder("A", {8, depth}), b = p.placeholder("B", {depth});
    auto f = p.placeholder("F", {8});
    auto k = p.reduce_axis("k", depth);
    auto s = p.compute("S", {8}, [&](auto i) { return te::sum(term(a(i, k), b(k), f(i)), {k}); });
    ScheduleBuilder schedule(p.dag({a, b, f, s}));
    schedule.annotate(3, 0, Annotation::thread_x);
    return has_blocks(lowered(schedule.state(), gpu_target()));
  };
  CHECK_FALSE(blocks([](auto a, auto b, auto f) { return a * b + f; }));
  CHECK_FALSE(blocks([](auto a, auto b, auto f) { return (a - f) * b; }));
  CHECK(blocks([](auto a, auto b, auto f) { return a * f + b; }));
  CHECK(blocks([](auto a, auto b, auto f) { return (a - b) * (a - b) + f; }));
}

TEST_CASE("a copy is the tensor that it is a copy of: a tensor times itself stays alike") {
  const auto blocks = [](bool is_itself) {
    te::Program p;
    auto x = p.placeholder("X", {8, 512}), y = p.placeholder("Y", {8, 512});
    auto k = p.reduce_axis("k", 512);
    auto g = p.compute("G", {8, 8}, [&](auto i, auto j) {
      return te::sum(x(i, k) * (is_itself ? x(j, k) : y(j, k)), {k});
    });
    ScheduleBuilder s(is_itself ? p.dag({x, g}) : p.dag({x, y, g}));
    const std::int32_t copied = is_itself ? 0 : 1, reader = copied + 2;
    s.cache_read(copied, "lanes", {copied + 1});
    s.annotate(reader, 1, Annotation::vectorize);
    s.reorder(reader, {0, 2, 1});
    const LoopProgram program = lowered(s.state());
    INFO(text_of(program));
    CHECK(wrong_with(program, *s.state().initial_dag()) == "");
    return has_blocks(program);
  };
  CHECK(blocks(true));
  CHECK_FALSE(blocks(false));
}
