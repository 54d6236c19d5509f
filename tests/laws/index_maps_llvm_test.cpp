// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// The oracle chain for index maps and stencils: eval(dag) == eval(lower(state)) == compiled code,
// on random maps with quotients and remainders, as the search draws them.
#include "tensorsmith/sketch/index_maps.hpp"

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

std::uint32_t among(CounterRng& rng, std::uint32_t low, std::uint32_t high) {
  return low + rng.next_below(high - low + 1);
}

/// Quotient and remainder, by either pair of operators: nothing is negative.
te::Expr quotient(CounterRng& rng, const te::Expr& a, std::int64_t b) {
  return b == 1 ? a : rng.next_below(2) == 0 ? te::floordiv(a, b) : a / b;
}
te::Expr remainder(CounterRng& rng, const te::Expr& a, std::int64_t b) {
  return rng.next_below(2) == 0 ? te::floormod(a, b) : a % b;
}

/// The digits of `flat` to the bases given, in another order: a position below their product.
te::Expr shuffled_digits(CounterRng& rng, const te::Expr& flat,
                         const std::vector<std::int64_t>& bases) {
  std::vector<te::Expr> digits;
  std::int64_t below = 1;
  for (std::int64_t base : bases) {
    digits.push_back(remainder(rng, quotient(rng, flat, below), base));
    below *= base;
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < bases.size(); ++i) {
    order.insert(order.begin() + rng.next_below(static_cast<std::uint32_t>(i) + 1), i);
  }
  te::Expr position = digits[order[0]];
  for (std::size_t i = 1; i < order.size(); ++i) {
    position = position * bases[order[i]] + digits[order[i]];
  }
  return position;
}

std::int64_t product_of(const std::vector<std::int64_t>& numbers) {
  std::int64_t product = 1;
  for (std::int64_t number : numbers) {
    product *= number;
  }
  return product;
}

te::Expr flat_index(const std::vector<te::Expr>& at, const std::vector<std::int64_t>& shape) {
  te::Expr flat = at[0];
  for (std::size_t d = 1; d < at.size(); ++d) {
    flat = flat * shape[d] + at[d];
  }
  return flat;
}

/// A bijection between two tensors of as many elements, or a part of one, perhaps with a copy
/// between, an element more of another place, or something computed of it.
Shared<const ComputeDag> random_map(CounterRng& rng, DType dtype) {
  const auto random_bases = [&] {
    std::vector<std::int64_t> bases(among(rng, 1, 4), 1);
    for (std::int64_t& base : bases) {
      base = among(rng, 1, bases.size() < 3 ? 24 : 7);
    }
    return bases;
  };
  const std::vector<std::int64_t> bases = random_bases();
  const std::int64_t count = product_of(bases);
  const auto random_shape = [&] {  // of that many elements
    std::vector<std::int64_t> shape{count};
    for (std::uint32_t cuts = rng.next_below(3); cuts > 0; --cuts) {
      const std::vector<std::int64_t> parts = divisors(shape.back());
      const std::int64_t part = parts[rng.next_below(static_cast<std::uint32_t>(parts.size()))];
      shape.back() /= part;
      shape.push_back(part);
    }
    return shape;
  };
  te::Program p;
  const std::vector<std::int64_t> source = random_shape();
  std::vector<std::int64_t> target = random_shape();
  if (target.size() == 1) {  // not all of it: digits need not divide
    target[0] -= rng.next_below(static_cast<std::uint32_t>(target[0] < 6 ? target[0] : 6));
  }
  te::Tensor a = p.placeholder("A", source, dtype);
  const te::Tensor input = a;
  const auto read = [&](const te::Tensor& tensor, te::Expr flat) {
    std::vector<te::Expr> index(tensor.rank(), flat);
    for (std::size_t d = tensor.rank(); d-- > 0;) {
      index[d] = d == 0 ? flat : remainder(rng, flat, tensor.extent(d));
      flat = quotient(rng, flat, tensor.extent(d));
    }
    return tensor.at(index);
  };
  const bool has_copy = rng.next_below(3) == 0;
  if (has_copy) {
    const std::vector<std::int64_t> between = random_shape();
    a = p.compute("T", between, [&](const std::vector<te::Expr>& at) {
      return read(input, shuffled_digits(rng, flat_index(at, between), bases));
    });
  }
  const std::uint32_t kind = rng.next_below(3);
  const te::Tensor out = p.compute("O", target, [&](const std::vector<te::Expr>& at) {
    const te::Expr flat = flat_index(at, target);
    const te::Expr value = read(a, shuffled_digits(rng, flat, bases));
    return kind == 0   ? value
           : kind == 1 ? value * 3 + 1
                       : value - read(a, shuffled_digits(rng, flat, bases));
  });
  return p.dag({input, out});
}

/// One stencil or two, one behind the other, of 1 or 2 axes, with or without a border.
Shared<const ComputeDag> random_stencil(CounterRng& rng, DType dtype) {
  te::Program p;
  const std::uint32_t rank = among(rng, 1, 2);
  const std::uint32_t num_stages = among(rng, 1, 2);
  const bool has_border = rng.next_below(2) == 0;
  std::vector<std::int64_t> shape;
  for (std::uint32_t d = 0; d < rank; ++d) {
    shape.push_back(among(rng, 5, rank == 1 ? 300 : 40));
  }
  const te::Tensor input = p.placeholder("A", shape, dtype);
  te::Tensor value = input;
  for (std::uint32_t stage = 0; stage < num_stages; ++stage) {
    const te::Tensor in = value;
    const std::vector<std::int64_t> whole = shape;
    for (std::int64_t& extent : shape) {
      extent -= has_border ? 0 : 2;
    }
    const auto num_taps = among(rng, 2, 5);
    value = p.compute(stage == 0 ? "B" : "C", shape, [&](const std::vector<te::Expr>& at) {
      te::Expr sum = te::Expr(0);
      te::Expr inside = at[0] >= 0;
      for (std::uint32_t tap = 0; tap < num_taps; ++tap) {
        std::vector<te::Expr> index = at;
        for (te::Expr& i : index) {
          i = i + (static_cast<std::int64_t>(rng.next_below(3)) - (has_border ? 1 : 0));
        }
        sum = tap == 0 ? in.at(index) : sum + in.at(index) * static_cast<std::int64_t>(tap);
      }
      for (std::size_t d = 0; d < at.size(); ++d) {
        inside = inside && at[d] >= 1 && at[d] < whole[d] - 1;
      }
      return has_border ? te::if_then_else(inside, sum, in.at(at)) : sum;
    });
  }
  return p.dag({input, value});
}

SearchSpace space_of(const Shared<const ComputeDag>& dag, const Target& target) {
  SketchOptions options = native_cpu_sketch_options();
  options.hardware = hardware_params(target);
  options.hardware.num_cores = 2;
  SpaceOptions native = native_space_options();
  native.hardware = options.hardware;
  native.min_streamed_bytes = 1;
  return SearchSpace(generate_sketches(dag, native_cpu_rules(), options), native);
}

void check_program(const LoopProgram& program, const ComputeDag& dag, bool with_machine_code) {
  REQUIRE(is_valid(verify(program)));
  const std::vector<HostArray> inputs = whole_number_inputs(dag);
  const auto expected = eval_dag(dag, inputs);
  REQUIRE(expected);
  std::vector<HostArray> arguments = inputs;
  const TensorInfo& result = dag.tensor(dag.arguments().back());
  arguments.emplace_back(result.dtype,
                         std::vector<std::int64_t>(result.shape.begin(), result.shape.end()));
  std::vector<HostArray> interpreted = arguments;
  REQUIRE(eval(program, interpreted));
  const bool is_interpreted_right = interpreted.back() == (*expected)[0];
  REQUIRE(is_interpreted_right);
  if (with_machine_code) {
    const auto compiled = run_compiled(program, arguments, host_target(), 2);
    REQUIRE(compiled);
    const bool is_compiled_right = compiled->back() == (*expected)[0];
    REQUIRE(is_compiled_right);
  }
}

template <class MakeDag>
void check_drawn(std::uint32_t stream, std::uint32_t count, const MakeDag& make_dag) {
  std::uint32_t number = 0, num_checked = 0, num_tiled = 0;
  for (; goes_on(number, count, num_tiled <= number); ++number) {
    CounterRng rng(seed(), stream, number);
    const DType dtype = rng.next_below(2) == 0 ? DType::i32 : DType::f32;
    const Shared<const ComputeDag> dag = make_dag(rng, dtype);
    const SearchSpace space = space_of(dag, host_target());
    for (int draw = 0; draw < 4; ++draw) {
      const auto drawn = draw_candidate(space, NativeCpuPopulation{}, rng);
      if (!drawn || has_nested_parallel(drawn->state)) {
        continue;
      }
      INFO("seed " << seed() << ", number " << number << "\n" << state_text(drawn->state));
      const auto program = lower(drawn->state, host_target());
      REQUIRE(program);
      ++num_checked;
      num_tiled +=
          is_tiled(drawn->state, static_cast<std::int32_t>(drawn->state.num_stages()) - 1) ? 1 : 0;
      check_program(*program, *dag, draw == 0);
    }
  }
  CHECK(num_checked > 3 * number);
  CHECK(num_tiled > number);
}

}  // namespace

TEST_CASE("oracle chain on random index maps: exact") {
  check_drawn(71, 8 + scaled(200), random_map);
}

TEST_CASE("oracle chain on random stencils: exact") {
  check_drawn(72, 8 + scaled(120), random_stencil);
}
