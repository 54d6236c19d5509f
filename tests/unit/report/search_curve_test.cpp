// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/report/search_curve.hpp"

#include "support/catch.hpp"

#include <cmath>
#include <vector>

#include "tensorsmith/support/rng.hpp"

namespace tensorsmith {

using test::Approx;

TEST_CASE("sign tests: worked values", "[report]") {
  CHECK(SignTest{0, 0, 3}.chance() == 1);
  CHECK(SignTest{5, 5, 0}.chance() == 1);
  CHECK(SignTest{10, 0, 0}.chance() == Approx(2.0 / 1024));
  CHECK(SignTest{0, 10, 0}.chance() == Approx(2.0 / 1024));
  CHECK(SignTest{9, 1, 7}.chance() == Approx(22.0 / 1024));
  CHECK(SignTest{700, 600, 0}.chance() == Approx(0.0061).epsilon(0.05));
  const SignTest test =
      SignTest::of(std::vector<double>{1, 2, 100, 0, 0}, std::vector<double>{2, 1, 100.5, 1, 0});
  CHECK(test.num_wins == 1);
  CHECK(test.num_losses == 2);
  CHECK(test.num_ties == 2);
}

TEST_CASE("sign tests of the same numbers in turn are each other's mirror", "[report]") {
  CounterRng rng(test::seed(), 0x7369676eU);
  for (int round = 0; round < 30; ++round) {
    std::vector<double> a, b;
    for (std::uint32_t i = 0; i < rng.next_below(40); ++i) {
      a.push_back(rng.next_double());
      b.push_back(rng.next_double());
    }
    const SignTest one = SignTest::of(a, b), other = SignTest::of(b, a);
    CHECK(one.num_wins == other.num_losses);
    CHECK(one.num_ties == other.num_ties);
    CHECK(one.chance() == Approx(other.chance()));
    CHECK(one.chance() <= 1);
    CHECK(one.chance() > 0);
    CHECK(one.num_wins + one.num_losses + one.num_ties == a.size());
  }
}

TEST_CASE("geometric means and curves", "[report]") {
  CHECK(geometric_mean(std::vector<double>{}) == 1);
  CHECK(geometric_mean(std::vector<double>{2, 8}) == Approx(4));
  const std::vector<SpentPoint> curve{{1, 0}, {2, 9}, {5, 4}, {9, 3}};
  CHECK(best_after(curve, 1.5) == 0);
  CHECK(best_after(curve, 5) == 4);
  CHECK(spent_until(curve, 4) == 5);
  CHECK(spent_until(curve, 3.5) == 9);
  CHECK(std::isinf(spent_until(curve, 2)));
}

TEST_CASE("a network is as far as equal parts of what is spent bring its tasks", "[report]") {
  const std::vector<SpentPoint> a{{1, 10}, {3, 6}, {8, 5}}, b{{2, 4}, {4, 3}};
  const std::vector<NetworkTask> tasks{{a, 10, 1}, {b, 5, 2}};
  CHECK(network_spent(tasks) == 15);
  CHECK(std::isinf(network_ns_after(tasks, 1)));  // nothing of b yet
  CHECK(network_ns_after(tasks, 2) == 18);
  CHECK(network_ns_after(tasks, 100) == 11);
  CHECK(network_spent_until(tasks, 18) == 4);
  CHECK(network_spent_until(tasks, 14) == 6);
  CHECK(network_spent_until(tasks, 11) == 8 + 5);  // b had ended
  CHECK(std::isinf(network_spent_until(tasks, 10.9)));
  // A method that finds the same in half the time needs half of it, whatever is wanted.
  CounterRng rng(test::seed(), 0x6e657477U);
  for (int round = 0; round < 20; ++round) {
    std::vector<SpentPoint> slow[3], fast[3];
    std::vector<NetworkTask> of_slow, of_fast;
    for (std::size_t t = 0; t < 3; ++t) {
      double spent = 0, best = 100;
      for (int i = 0; i < 5; ++i) {
        spent += 1 + rng.next_double();
        best *= 0.5 + 0.4 * rng.next_double();
        slow[t].push_back({spent, best});
        fast[t].push_back({spent / 2, best});
      }
      of_slow.push_back({slow[t], spent + 1, 1.0 + static_cast<double>(t)});
      of_fast.push_back({fast[t], (spent + 1) / 2, 1.0 + static_cast<double>(t)});
    }
    for (const double share : {1.0, 1.2, 2.0}) {
      const double wanted = share * network_ns_after(of_slow, math::infinity);
      CHECK(network_spent_until(of_fast, wanted) ==
            Approx(network_spent_until(of_slow, wanted) / 2));
    }
  }
}

}  // namespace tensorsmith
