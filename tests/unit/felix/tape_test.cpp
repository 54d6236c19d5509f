// SPDX-License-Identifier: Apache-2.0
// Tapes against exact evaluation and central differences, on random formulas and batches.
#include "tensorsmith/felix/tape.hpp"

#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/felix/formula_text.hpp"
#include "tensorsmith/felix/smooth.hpp"
#include "unit/felix/random_formulas.hpp"

namespace tensorsmith::felix::test {

using tensorsmith::test::RandomFormulas;

namespace {

std::vector<TapeInput> all_symbols(FormulaPool& pool, bool is_log2) {
  std::vector<TapeInput> inputs;
  for (std::uint32_t i = 0; i < pool.num_symbols(); ++i) {
    inputs.push_back(
        {pool.symbol(std::string(pool.name_of_symbol(i)), pool.kind_of_symbol(i)), is_log2});
  }
  return inputs;
}

/// Runs one point.
double value_at(const Tape& tape, const std::vector<double>& at, Tape::Workspace& space) {
  std::vector<double> found(tape.num_roots());
  tape.forward(at, 1, space, found);
  double sum = 0;
  for (std::size_t r = 0; r < found.size(); ++r) {
    sum += static_cast<double>(r + 1) * found[r];
  }
  return sum;
}

/// Slopes of value_at, by the tape and by differences; false if the point is at a kink.
bool check_slopes(const Tape& tape, const std::vector<double>& at) {
  Tape::Workspace space;
  std::vector<double> weights(tape.num_roots()), gradient(at.size());
  value_at(tape, at, space);
  for (std::size_t r = 0; r < weights.size(); ++r) {
    weights[r] = static_cast<double>(r + 1);
  }
  tape.backward(weights, space, gradient);
  bool is_smooth = true;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double step = 1e-5;
    const auto moved = [&](double by) {
      std::vector<double> other = at;
      other[i] += by;
      return value_at(tape, other, space);
    };
    const double here = moved(0);
    const double ahead = (moved(step) - here) / step, behind = (here - moved(-step)) / step;
    const double slope = (ahead + behind) / 2;
    const double size = math::fmax(math::fabs(slope), math::fabs(here) + 1);
    if (math::fabs(ahead - behind) > 1e-2 * size) {
      is_smooth = false;
      continue;
    }
    CHECK(gradient[i] == Approx(slope).epsilon(1e-3).margin(1e-4 * size));
  }
  return is_smooth;
}

}  // namespace

TEST_CASE("a tape has the exact values of its formulas, in batches", "[felix]") {
  CounterRng rng(31);
  for (int i = 0; i < 40; ++i) {
    FormulaPool pool;
    RandomFormulas draw(pool, rng, 4);
    const std::vector<FormulaId> roots{draw.number(4), draw.condition(3), draw.whole(3)};
    const Tape tape(pool, roots, all_symbols(pool, false));
    const std::size_t batch = 1 + rng.next_below(7);
    std::vector<double> inputs(4 * batch), found(3 * batch);
    std::vector<std::vector<double>> points;
    for (std::size_t p = 0; p < batch; ++p) {
      points.push_back(draw.values(9));
      for (std::size_t v = 0; v < 4; ++v) {
        inputs[v * batch + p] = points[p][v];
      }
    }
    Tape::Workspace space;
    tape.forward(inputs, batch, space, found);
    for (std::size_t p = 0; p < batch; ++p) {
      const std::vector<double> expected = evaluate(pool, roots, points[p]);
      for (std::size_t r = 0; r < 3; ++r) {
        CHECK(found[r * batch + p] == Approx(expected[r]).epsilon(1e-12).margin(1e-12));
      }
    }
  }
}

TEST_CASE("slopes of tapes are those of central differences", "[felix]") {
  CounterRng rng(32);
  int smooth_points = 0;
  for (int i = 0; i < 200; ++i) {
    FormulaPool pool;
    RandomFormulas draw(pool, rng, 3);
    FormulaId root = draw.number(4);
    if (i % 2 == 1) {
      root = Smoother(pool, Smoothing::repaired)
                 .smooth(pool.make(Op::select, draw.condition(2), root, draw.positive(3)));
    }
    const FormulaId tau = temperature(pool);
    std::vector<TapeInput> inputs = all_symbols(pool, i % 4 < 2);
    const Tape tape(pool, {root, pool.make(Op::mul, tau, draw.leaf())}, inputs);
    std::vector<double> at;
    for (const TapeInput& input : inputs) {
      at.push_back(input.symbol == tau ? (input.is_log2 ? -1.0 : 0.5)
                                       : (input.is_log2 ? 0 : 1) + 2.5 * rng.next_double());
    }
    INFO(text_of(pool, root));
    smooth_points += check_slopes(tape, at) ? 1 : 0;
  }
  CHECK(smooth_points > 150);
}

TEST_CASE("every operator that has a slope gives it", "[felix]") {
  for (const char* text :
       {"(+ a b)", "(- a b)", "(* a b)", "(/ a b)", "(min a b)", "(max a b)", "(pow a b)",
        "(log a)", "(logk a b)", "(exp a)", "(select (< a 100) b a)", "(sigmoid (- a b))",
        "(hump (- a b))", "(soft_min a b t)", "(soft_max a b t)", "(* a a)", "(soft_min a a t)",
        "(soft_max a b 0.01)"}) {
    INFO(text);
    FormulaPool pool;
    const FormulaId root = *read_formula(pool, text);
    const Tape tape(pool, {root}, all_symbols(pool, false));
    const std::vector<double> all{1.7, 2.9, 0.6};
    CHECK(check_slopes(tape, {all.begin(), all.begin() + static_cast<int>(tape.num_inputs())}));
  }
}

TEST_CASE("slopes of points of a batch do not mix", "[felix]") {
  CounterRng rng(33);
  FormulaPool pool;
  RandomFormulas draw(pool, rng, 3);
  const std::vector<FormulaId> roots{draw.number(4), draw.positive(4)};
  const Tape tape(pool, roots, all_symbols(pool, true));
  const std::size_t batch = 5;
  std::vector<double> inputs(3 * batch), found(2 * batch), slopes(2 * batch), all(3 * batch);
  for (double& value : inputs) {
    value = 3 * rng.next_double();
  }
  for (double& slope : slopes) {
    slope = rng.next_double() - 0.5;
  }
  Tape::Workspace space;
  tape.forward(inputs, batch, space, found);
  tape.backward(slopes, space, all);
  for (std::size_t p = 0; p < batch; ++p) {
    std::vector<double> one(3), values(2), weights{slopes[p], slopes[batch + p]}, gradient(3);
    for (std::size_t v = 0; v < 3; ++v) {
      one[v] = inputs[v * batch + p];
    }
    tape.forward(one, 1, space, values);
    tape.backward(weights, space, gradient);
    for (std::size_t v = 0; v < 3; ++v) {
      CHECK(gradient[v] == all[v * batch + p]);
    }
  }
}

}  // namespace tensorsmith::felix::test
