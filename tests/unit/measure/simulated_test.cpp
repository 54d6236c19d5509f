// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/simulated.hpp"

#include "support/catch.hpp"

#include <map>
#include <type_traits>

using namespace tensorsmith;

namespace {

std::vector<CompiledCandidate> candidates(std::size_t count) {
  std::vector<CompiledCandidate> list(count);
  for (std::size_t i = 0; i < count; ++i) {
    list[i].id = 1000 + i;
  }
  return list;
}

double latency(const CompiledCandidate& candidate) {
  return 1e5 * (1 + static_cast<double>(candidate.id % 10));
}

SimulatedDevice faulty() {
  SimulatedDevice device;
  device.faults.load_error = 0.05;
  device.faults.hang = 0.05;
  device.faults.crash = 0.1;
  device.faults.out_of_bounds = 0.05;
  device.faults.wrong_result = 0.1;
  device.faults.nan_result = 0.05;
  device.faults.worker_lost = 0.05;
  return device;
}

}  // namespace

TEST_CASE("the same seed and candidates give the same results, in any order") {
  SimulatedMeasurer a(&latency, faulty());
  SimulatedMeasurer b(&latency, faulty());
  auto list = candidates(50);
  MeasureContext context;
  context.racing.full_calls = 6;
  const auto forward = a.measure(list, context);
  for (std::size_t i = list.size(); i-- > 0;) {
    const MeasureResult alone = b.measure(std::span(&list[i], 1), context)[0];
    CHECK(alone.status == forward[i].status);
    if (alone.is_ok() && forward[i].stage == RaceStage::full) {
      CHECK(alone.samples_ns == forward[i].samples_ns);
    }
  }
  SimulatedDevice other = faulty();
  other.seed = 2;
  SimulatedMeasurer c(&latency, other);
  std::size_t num_equal = 0;
  const auto different = c.measure(list, context);
  for (std::size_t i = 0; i < list.size(); ++i) {
    num_equal += different[i].samples_ns == forward[i].samples_ns && forward[i].is_ok() ? 1U : 0U;
  }
  CHECK(num_equal == 0);
}

TEST_CASE("faults come as often as asked for, each with its status") {
  SimulatedMeasurer device(&latency, faulty());
  std::map<MeasureStatus, int> counts;
  for (const MeasureResult& result : device.measure(candidates(4000), {})) {
    ++counts[result.status];
    CHECK(result.is_ok() == result.message.empty());
    CHECK(result.is_ok() == (result.min_ns > 0));
  }
  CHECK(counts.size() == 8);
  CHECK(counts[MeasureStatus::crashed] == test::Approx(400).margin(80));
  CHECK(counts[MeasureStatus::run_timeout] == test::Approx(200).margin(60));
  CHECK(counts[MeasureStatus::ok] == test::Approx(2200).margin(160));
}

TEST_CASE("what only a GPU does wrong: a sticky error, no memory left, a lower clock") {
  SimulatedDevice gpu;
  gpu.hiccups = 0;
  gpu.faults.sticky_error = 0.1;
  gpu.faults.out_of_memory = 0.2;
  gpu.faults.throttling = 0.3;
  SimulatedMeasurer device(&latency, gpu), sound(&latency);
  std::map<MeasureStatus, int> counts;
  int num_repeated = 0;
  const auto list = candidates(2000);
  const auto results = device.measure(list, {});
  for (std::size_t i = 0; i < results.size(); ++i) {
    const MeasureResult& result = results[i];
    ++counts[result.status];
    if (result.is_ok() && !result.message.empty()) {
      ++num_repeated;
      CHECK(result.message == "simulated: throttling; measured again");
      // The time is that of the full clock.
      CHECK(result.min_ns < 1.2 * latency(list[i]));
      CHECK(static_cast<double>(result.wall_ns) > 10 * latency(list[i]));
    }
    if (result.status == MeasureStatus::device_error) {
      CHECK(result.message == "simulated: sticky_error");
    }
  }
  CHECK(counts.size() == 3);
  CHECK(counts[MeasureStatus::device_error] == test::Approx(200).margin(60));
  CHECK(counts[MeasureStatus::out_of_memory] == test::Approx(400).margin(80));
  CHECK(num_repeated == test::Approx(600).margin(100));
}

TEST_CASE("noise is around the latency, races and deadlines apply") {
  SimulatedDevice quiet;
  quiet.noise = 0.01;
  quiet.hiccups = 0;
  SimulatedMeasurer device([](const CompiledCandidate& c) { return static_cast<double>(c.id); },
                           quiet);
  std::vector<CompiledCandidate> list(4);
  list[0].id = 100'000;
  list[1].id = 200'000;
  list[2].id = 900'000;
  list[3].id = 90'000'000;
  const auto results = device.measure(list, {});
  CHECK(results[0].median_ns == test::Approx(1e5).epsilon(0.02));
  CHECK(results[0].stage == RaceStage::full);
  CHECK(results[1].stage == RaceStage::single);
  CHECK(results[2].stage == RaceStage::warm_up);
  CHECK(results[3].status == MeasureStatus::run_timeout);
  const RankingResult ranking = device.final_ranking(list, {});
  CHECK(ranking.winner == 0);
  CHECK(device.calibrate()->peak_gflops_f32 == 100);
}

TEST_CASE("stop, time limit and reports work as on a real device") {
  SimulatedMeasurer device(&latency);
  CHECK(device.prepare({}).has_value() == false);
  const auto list = candidates(20);
  bool stop = false;
  MeasureContext context;
  context.is_stopped = [&stop] { return stop; };
  std::vector<std::size_t> seen;
  context.on_result = [&](std::size_t index, const MeasureResult&) {
    seen.push_back(index);
    stop = stop || index == 4;
  };
  const auto results = device.measure(list, context);
  CHECK(seen.size() == 20);
  CHECK(results[4].is_ok());
  for (std::size_t i = 5; i < 20; ++i) {
    CHECK(results[i].status == MeasureStatus::cancelled);
  }
}

// Real seconds and virtual ones do not mix.
static_assert(!std::is_convertible_v<double, VirtualSeconds>);
static_assert(!std::is_convertible_v<VirtualSeconds, double>);

TEST_CASE("virtual costs of candidates that ran, failed and hung", "[measure]") {
  const VirtualCost cost{1, 2, 4, 2};
  MeasureResult result;
  result.status = MeasureStatus::ok;
  result.median_ns = 1e6;
  CHECK(cost.of(result).count() == test::Approx(7));
  result.median_ns = 3e9;  // two calls take longer than the least time
  CHECK(cost.of(result).count() == test::Approx(9));
  result.status = MeasureStatus::compile_error;
  CHECK(cost.of(result).count() == test::Approx(1));
  result.status = MeasureStatus::run_timeout;
  result.wall_ns = 10'000'000'000;
  CHECK(cost.of(result).count() == test::Approx(13));
  CHECK(VirtualSeconds(1) + VirtualSeconds(2) == VirtualSeconds(3));
  CHECK(VirtualSeconds() < VirtualSeconds(1));
}
