// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// The oracle chain for programs of several stages as users write them: eval(dag) ==
// eval(lower(state)) == compiled code, on random chains of products, windows and sums with
// elementwise stages in between, as the search draws them.
#include "tensorsmith/sketch/rules/inline_cheap.hpp"

#include "backend/codegen_fixture.hpp"
#include "support/dag_results.hpp"
#include "support/full_count.hpp"
#include "tensorsmith/ir/verify.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "tensorsmith/te/program.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// Values stay whole and small, so that sums are exact in f32.
class StageChain {
 public:
  explicit StageChain(CounterRng& rng)
      : rng_(rng), type_(rng.next_below(2) == 0 ? DType::i32 : DType::f32) {}

  Shared<const ComputeDag> make() {
    te::Tensor x = input({between(1, 19), between(3, 33)});
    std::vector<te::Tensor> outputs;
    const std::uint32_t count = between(1, 3);
    for (std::uint32_t s = 0; s < count; ++s) {
      x = elementwise(reduced(x));
      if (s + 1 < count && rng_.next_below(3) == 0) {  // a result that others read
        outputs.push_back(x);
      }
    }
    outputs.push_back(x);
    inputs_.insert(inputs_.end(), outputs.begin(), outputs.end());
    return p_.dag(inputs_);
  }

 private:
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + rng_.next_below(high - low + 1);
  }
  std::string name(const char* what) { return what + std::to_string(number_++); }
  te::Tensor input(const te::Shape& shape) {
    inputs_.push_back(p_.placeholder(name("A"), shape, type_));
    return inputs_.back();
  }

  te::Tensor reduced(const te::Tensor& x) {
    const std::int64_t rows = x.extent(0), columns = x.extent(1), width = between(3, 37);
    const te::ReduceAxis k = p_.reduce_axis(name("k"), columns), r = p_.reduce_axis(name("r"), 3);
    switch (rng_.next_below(6)) {
    case 0: {
      const te::Tensor w = input({columns, width});
      return p_.compute(name("P"), {rows, width},
                        [&](auto i, auto j) { return te::sum(x(i, k) * w(k, j), {k}); });
    }
    case 1: {
      const te::Tensor w = input({width, columns});
      return p_.compute(name("P"), {rows, width},
                        [&](auto i, auto j) { return te::sum(x(i, k) * w(j, k), {k}); });
    }
    case 2: {  // three factors
      const te::Tensor w = input({columns, width}), v = input({width});
      return p_.compute(name("P"), {rows, width},
                        [&](auto i, auto j) { return te::sum(x(i, k) * w(k, j) * v(j), {k}); });
    }
    case 3:  // with its own transpose
      return p_.compute(name("P"), {rows, rows},
                        [&](auto i, auto j) { return te::sum(x(i, k) * x(j, k), {k}); });
    case 4: {
      if (columns < 3) {
        return x;
      }
      return p_.compute(name("W"), {rows, columns - 2},
                        [&](auto i, auto j) { return te::max(x(i, j + r), {r}); });
    }
    default: {  // a product beside sums of the same rows
      const te::Tensor w = input({columns, width});
      const te::Tensor y = p_.compute(name("P"), {rows, width}, [&](auto i, auto j) {
        return te::sum(x(i, k) * w(k, j), {k});
      });
      const te::ReduceAxis l = p_.reduce_axis(name("l"), columns);
      const te::Tensor s =
          p_.compute(name("S"), {rows}, [&](auto i) { return te::sum(x(i, l), {l}); });
      return p_.compute(name("Z"), {rows, width}, [&](auto i, auto j) { return y(i, j) - s(i); });
    }
    }
  }

  te::Tensor elementwise(const te::Tensor& x) {
    const bool has_bias = rng_.next_below(2) == 0;
    const te::Tensor b = has_bias ? input({x.extent(1)}) : x;
    return p_.compute(name("E"), {x.extent(0), x.extent(1)}, [&](auto i, auto j) {
      const te::Expr sum = has_bias ? x(i, j) + b(j) : te::abs(x(i, j));
      return te::max(te::min(sum, 7), -7);
    });
  }

  CounterRng& rng_;
  const DType type_;
  te::Program p_;
  std::vector<te::Tensor> inputs_;
  int number_ = 0;
};

void check_chain(const LoopProgram& program, const ComputeDag& dag, bool with_machine_code) {
  REQUIRE(is_valid(verify(program)));
  std::vector<HostArray> arguments = whole_number_inputs(dag);
  const std::size_t num_inputs = arguments.size();
  const auto expected = eval_dag(dag, arguments);
  REQUIRE(expected);
  for (std::size_t i = num_inputs; i < dag.arguments().size(); ++i) {
    const TensorInfo& result = dag.tensor(dag.arguments()[i]);
    arguments.emplace_back(result.dtype,
                           std::vector<std::int64_t>(result.shape.begin(), result.shape.end()));
  }
  std::vector<HostArray> interpreted = arguments;
  REQUIRE(eval(program, interpreted));
  const auto is_right = [&](const std::vector<HostArray>& results) {
    bool equal = true;
    for (std::size_t i = num_inputs; i < results.size(); ++i) {
      equal = equal && results[i] == (*expected)[i - num_inputs];
    }
    return equal;
  };
  REQUIRE(is_right(interpreted));
  if (with_machine_code) {
    const auto compiled = run_compiled(program, arguments, host_target(), 2);
    REQUIRE(compiled);
    REQUIRE(is_right(*compiled));
  }
}

}  // namespace

TEST_CASE("oracle chain on random chains of stages: exact") {
  const std::uint32_t count = 8 + scaled(60);
  std::uint32_t number = 0, num_checked = 0, num_kept = 0;
  for (; goes_on(number, count, num_kept <= number / 4); ++number) {
    CounterRng rng(seed(), 91, number);
    const Shared<const ComputeDag> dag = StageChain(rng).make();
    SketchOptions options = native_cpu_sketch_options();
    options.hardware = hardware_params(host_target());
    options.hardware.num_cores = 1 + static_cast<std::int32_t>(number % 2);
    SpaceOptions native = native_space_options();
    native.hardware = options.hardware;
    const SearchSpace space(generate_sketches(dag, native_cpu_rules(), options), native);
    const State initial = State::initial(dag);
    const AccessAnalysis analysis(*dag);
    for (std::size_t s = 0; s < initial.num_stages(); ++s) {
      num_kept +=
          InlineCheap::keeps({initial, analysis, static_cast<std::int32_t>(s), options}) ? 1 : 0;
    }
    for (int draw = 0; draw < 4; ++draw) {
      const auto drawn = draw_candidate(space, NativeCpuPopulation{}, rng);
      if (!drawn || has_nested_parallel(drawn->state)) {
        continue;
      }
      INFO("seed " << seed() << ", number " << number << "\n" << state_text(drawn->state));
      const auto program = lower(drawn->state, host_target());
      if (!program) {
        continue;
      }
      ++num_checked;
      check_chain(*program, *dag, draw == 0);
    }
  }
  CHECK(num_checked > 2 * number);
  CHECK(num_kept > number / 4);
}
