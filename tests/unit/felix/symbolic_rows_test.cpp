// SPDX-License-Identifier: Apache-2.0
// Features of a symbolic product: exact and smooth ones at the specification's point (C7), slopes
// at random points (C21), and limits (C9).
#include "tensorsmith/felix/symbolic_rows.hpp"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/symbolic_product.hpp"
#include "tensorsmith/felix/smooth.hpp"
#include "tensorsmith/felix/tape.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::felix::test {

using tensorsmith::test::SymbolicProduct;

namespace {

/// The specification's point: M 64, N 128, K 32, tiles (2, 4, 2, 2), (1, 16, 2, 2), (2, 4), lanes
/// of the copies 4 and 2. By symbol of the pool.
std::vector<double> values_by_name(const FormulaPool& pool) {
  const int lengths[3][4] = {{2, 4, 2, 2}, {1, 16, 2, 2}, {2, 4, 0, 0}};
  std::vector<double> at;
  for (std::uint32_t i = 0; i < pool.num_symbols(); ++i) {
    const std::string& name = pool.name_of_symbol(i);
    const bool is_length = name.rfind("sp_", 0) == 0;
    at.push_back(name == "M"        ? 64
                 : name == "N"      ? 128
                 : name == "K"      ? 32
                 : name == "sp_3_0" ? 4
                 : name == "sp_4_0" ? 2
                 : is_length        ? lengths[name[3] - '0'][name[5] - '0']
                                    : 0);
  }
  return at;
}

/// Feature `name` of the row of `buffer` at the point.
double feature_of(FormulaPool& pool, const SymbolicProduct& product, const SymbolicRows& rows,
                  const std::string& buffer, const std::string& name) {
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    if (product.nest.buffers[rows.tensors[r].value].name != buffer) {
      continue;
    }
    for (std::size_t f = 0; f < felix_length; ++f) {
      if (felix_name(f) == name) {
        return evaluate(pool, rows.rows[r][f], values_by_name(pool));
      }
    }
  }
  FAIL("no " << name << " of " << buffer);
  return 0;
}

}  // namespace

TEST_CASE("features of a symbolic product are those of the specification", "[felix]") {
  FormulaPool pool;
  const SymbolicProduct product(pool);
  const SymbolicRows rows = symbolic_rows(pool, product.nest);
  const std::pair<const char*, double> of_product[] = {
      {"float_addsub", 12.476653},  {"float_mul", 12.476653},   {"outer_prod", 12.476653},
      {"blockIdx_x_len", 1.609438}, {"vthread_len", 1.098612},  {"threadIdx_x_len", 4.174387},
      {"parallel_num", 1.386294},   {"parallel_len", 4.174387}, {"parallel_prod", 6.240276},
      {"num_loops", 2.397895}};
  for (const auto& [name, value] : of_product) {
    INFO(name);
    CHECK(feature_of(pool, product, rows, "C.local", name) == Approx(value).margin(1e-6));
  }
  // Of the copy of A, whose threads are a loop beside those of the block: C8 has its outer_prod.
  CHECK(feature_of(pool, product, rows, "A.shared", "parallel_num") ==
        Approx(1.609438).margin(1e-6));
  CHECK(feature_of(pool, product, rows, "A.shared", "vec_len") == Approx(1.098612).margin(1e-6));
  CHECK(feature_of(pool, product, rows, "A.shared", "outer_prod") ==
        Approx(13.169798).margin(1e-6));
}

TEST_CASE("slopes of smooth features are those of central differences", "[felix]") {
  FormulaPool pool;
  const SymbolicProduct product(pool);
  const SymbolicRows rows = symbolic_rows(pool, product.nest);
  std::vector<FormulaId> roots;
  for (const std::vector<FormulaId>& row : rows.rows) {
    roots.insert(roots.end(), row.begin(), row.end());
  }
  roots = Smoother(pool, Smoothing::repaired).smooth(roots);
  std::vector<TapeInput> inputs;
  for (std::uint32_t i = 0; i < pool.num_symbols(); ++i) {
    const std::string name(pool.name_of_symbol(i));
    inputs.push_back({pool.symbol(name, pool.kind_of_symbol(i)), name.rfind("sp_", 0) == 0});
  }
  const Tape tape(pool, roots, inputs);
  CounterRng rng(21);
  Tape::Workspace space;
  std::size_t compared = 0;
  for (int trial = 0; trial < 4; ++trial) {
    std::vector<double> at;
    for (const TapeInput& input : inputs) {
      at.push_back(input.is_log2                       ? 0.2 + 2.5 * rng.next_double()
                   : input.symbol == temperature(pool) ? 0.4
                                                       : 512);
    }
    std::vector<double> weights, found(roots.size()), gradient(at.size());
    for (std::size_t r = 0; r < roots.size(); ++r) {
      weights.push_back(rng.next_double() - 0.5);
    }
    const auto value = [&](const std::vector<double>& point) {
      tape.forward(point, 1, space, found);
      double sum = 0;
      for (std::size_t r = 0; r < roots.size(); ++r) {
        sum += weights[r] * found[r];
      }
      return sum;
    };
    const double here = value(at);
    tape.backward(weights, space, gradient);
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (!inputs[i].is_log2) {
        continue;
      }
      const auto moved = [&](double by) {
        std::vector<double> other = at;
        other[i] += by;
        return value(other);
      };
      const double step = 1e-4;
      const double ahead = (moved(step) - here) / step, behind = (here - moved(-step)) / step;
      if (math::fabs(ahead - behind) < 1e-2 * (1 + math::fabs(ahead))) {
        CHECK(gradient[i] == Approx((ahead + behind) / 2).epsilon(1e-3).margin(1e-3));
        ++compared;
      }
    }
  }
  CHECK(compared > 20);
}

TEST_CASE("limits of a symbolic product are those of the specification", "[felix]") {
  FormulaPool pool;
  const SymbolicProduct product(pool);
  const SymbolicLimits limits = symbolic_rows(pool, product.nest).limits;
  const std::vector<double> at = values_by_name(pool);
  CHECK(evaluate(pool, limits.threads, at) == 64);
  CHECK(evaluate(pool, limits.vthreads, at) == 2);
  CHECK(evaluate(pool, limits.shared_bytes, at) == 3072);
  CHECK(evaluate(pool, limits.local_bytes, at) == 64);
  CHECK(evaluate(pool, limits.vector_lengths, at) == std::vector<double>{2, 4});
}

}  // namespace tensorsmith::felix::test
