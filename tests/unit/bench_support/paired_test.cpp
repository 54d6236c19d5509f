// SPDX-License-Identifier: Apache-2.0
#include "bench/support/paired.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace tensorsmith::bench;
using tensorsmith::test::Approx;

namespace {

/// A clock that moves only when a contestant says so.
struct FakeClock {
  double* now;
  double operator()() const { return *now; }
};

}  // namespace

TEST_CASE("percentiles interpolate", "[paired]") {
  CHECK(percentile({3, 1, 2}, 0) == 1);
  CHECK(percentile({3, 1, 2}, 1) == 3);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == Approx(2.5));
  CHECK(percentile({0, 10}, 0.1) == Approx(1));
  CHECK(median({7}) == 7);
  CHECK_THROWS_AS(median({}), tensorsmith::test::AssertionFailed);
  CHECK_THROWS_AS(percentile({1}, 1.5), tensorsmith::test::AssertionFailed);
}

TEST_CASE("contestants alternate and short calls are repeated", "[paired]") {
  double now = 0;
  std::vector<char> order;
  PairOptions options;
  options.pairs = 30;
  options.warm_up = 2;
  options.min_sample_ns = 1000;
  const auto ours = [&] {
    now += 400;
    order.push_back('A');
  };
  const auto peer = [&] {
    now += 2500;
    order.push_back('B');
  };
  const PairedResult result = measure_pairs(ours, peer, options, FakeClock{&now});
  CHECK(result.pairs == 30);
  CHECK(result.ours.calls_per_sample == 3);
  CHECK(result.peer.calls_per_sample == 1);
  CHECK(result.ours.median_ns == Approx(400));
  CHECK(result.peer.median_ns == Approx(2500));
  CHECK(result.ratio == Approx(6.25));
  CHECK(result.ratio_p10 == Approx(6.25));
  CHECK(result.ratio_p90 == Approx(6.25));
  // 4 calls of each before (2 to warm up, 2 to estimate), then A A A B per round.
  REQUIRE(order.size() == 8 + 30 * 4);
  for (std::size_t i = 8; i < order.size(); ++i) {
    CHECK(order[i] == (i % 4 == 3 ? 'B' : 'A'));
  }
}

TEST_CASE("a drift that hits both cancels in the ratios", "[paired]") {
  double now = 0;
  double slowness = 1;
  PairOptions options;
  options.warm_up = 0;
  options.min_sample_ns = 1;
  const auto ours = [&] {
    slowness *= 1.05;
    now += 1000 * slowness;
  };
  const auto peer = [&] { now += 2000 * slowness; };
  const PairedResult result = measure_pairs(ours, peer, options, FakeClock{&now});
  CHECK(result.ratio == Approx(2));
  CHECK(result.ratio_p90 - result.ratio_p10 == Approx(0).margin(1e-9));
  CHECK(result.ours.sample_ns.back() > 3 * result.ours.sample_ns.front());
  CHECK(result.ours.slow_samples > 0);
}

TEST_CASE("rare stolen slices move neither the median nor the ratio", "[paired]") {
  double now = 0;
  int calls = 0;
  PairOptions options;
  options.min_sample_ns = 1;
  const auto ours = [&] { now += ++calls % 10 == 0 ? 7'000'000 : 1000; };
  const auto peer = [&] { now += 1500; };
  const PairedResult result = measure_pairs(ours, peer, options, FakeClock{&now});
  CHECK(result.ours.median_ns == Approx(1000));
  CHECK(result.ratio == Approx(1.5));
  CHECK(result.ours.slow_samples == 3);
  CHECK(result.peer.slow_samples == 0);
}

TEST_CASE("several contestants compare with the first", "[paired]") {
  double now = 0;
  PairOptions options;
  options.min_sample_ns = 1;
  const auto times = measure_interleaved(
      {[&] { now += 100; }, [&] { now += 50; }, [&] { now += 300; }}, options, FakeClock{&now});
  REQUIRE(times.size() == 3);
  CHECK(times[0].ratio == Approx(1));
  CHECK(times[1].ratio == Approx(0.5));
  CHECK(times[2].ratio == Approx(3));
}

TEST_CASE("cold samples are single calls after the eviction", "[paired]") {
  double now = 0;
  int evictions = 0;
  int calls = 0;
  PairOptions options;
  options.pairs = 5;
  options.warm_up = 1;
  options.before_sample = [&] { ++evictions; };
  const auto times = measure_interleaved({[&] { ++calls, now += 10; }}, options, FakeClock{&now});
  CHECK(times[0].calls_per_sample == 1);
  CHECK(evictions == 5);
  CHECK(calls == 6);
}

TEST_CASE("the time limit stops early, but not before five rounds", "[paired]") {
  double now = 0;
  PairOptions options;
  options.pairs = 100;
  options.min_sample_ns = 1;
  options.max_total_ns = 1;
  CHECK(measure_pairs([&] { now += 10; }, [&] { now += 10; }, options, FakeClock{&now}).pairs == 5);
}

TEST_CASE("every sample may begin with a pause and untimed calls", "[paired]") {
  double now = 0;
  std::string order;
  PairOptions options;
  options.pairs = 2;
  options.warm_up = 0;
  options.min_sample_ns = 1;
  options.warm_calls = 1;
  options.before_turn = [&] { order += '.', now += 1e6; };
  const auto times =
      measure_interleaved({[&] { order += 'A', now += 10; }, [&] { order += 'B', now += 20; }},
                          options, FakeClock{&now});
  CHECK(order == "AABB.AA.BB.AA.BB");
  CHECK(times[0].median_ns == Approx(10));
  CHECK(times[1].ratio == Approx(2));

  order.clear();
  options.pairs = 1;
  options.warm_ns = 35;  // counted from the end of the pause
  (void)measure_interleaved({[&] { order += 'A', now += 10; }, [&] { order += 'B', now += 20; }},
                            options, FakeClock{&now});
  CHECK(order == "AABB.AAAAA.BBB");
}

TEST_CASE("a measurement can be stopped after any round", "[paired]") {
  double now = 0;
  int rounds = 0;
  PairOptions options;
  options.min_sample_ns = 1;
  options.is_stopped = [&] { return ++rounds == 3; };
  CHECK(measure_pairs([&] { now += 10; }, [&] { now += 10; }, options, FakeClock{&now}).pairs == 3);
}
