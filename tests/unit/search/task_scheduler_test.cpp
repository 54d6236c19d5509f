// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/task_scheduler.hpp"

#include <algorithm>

#include "support/catch.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith {
namespace {

/// Rounds per task when `times(task, round)` are the best times after each of `count` rounds of one
/// trial.
template <class Times>
std::vector<std::int64_t> run(TaskScheduler& scheduler, int count, const Times& times) {
  for (int i = 0; i < count; ++i) {
    const auto task = scheduler.next();
    if (!task) {
      break;
    }
    scheduler.record(*task, times(*task, scheduler.rounds(*task) + 1), 1);
  }
  std::vector<std::int64_t> rounds;
  for (std::size_t i = 0; i < scheduler.num_tasks(); ++i) {
    rounds.push_back(scheduler.rounds(i));
  }
  return rounds;
}

std::vector<ScheduledTask> equal_tasks(std::size_t count) {
  return std::vector<ScheduledTask>(count, ScheduledTask{1e9, 1, ""});
}

constexpr auto constant = [](std::size_t, std::int64_t) { return 1e-3; };

}  // namespace

TEST_CASE("conformance 11.7: round robin, three tasks, six trials: two each") {
  TaskSchedulerOptions options;
  options.strategy = TaskStrategy::round_robin;
  TaskScheduler scheduler(equal_tasks(3), options);
  CHECK(run(scheduler, 6, constant) == std::vector<std::int64_t>{2, 2, 2});
}

TEST_CASE(
    "conformance 11.7: gradient with an objective of one task only, five trials: four and one") {
  TaskSchedulerOptions options;
  options.objective = [](std::span<const double> times) { return 1e5 * times[0]; };
  TaskScheduler scheduler(equal_tasks(2), options);
  const auto times = [](std::size_t task, std::int64_t) { return task == 0 ? 100.0 : 1e-8; };
  CHECK(run(scheduler, 5, times) == std::vector<std::int64_t>{4, 1});
}

TEST_CASE("conformance 11.7: the worked gradients") {
  TaskScheduler scheduler(equal_tasks(2), {});
  const double first[] = {5, 4, 3.5, 3.4};  // ms
  for (double time : first) {
    scheduler.record(0, time, 64);
  }
  scheduler.record(1, 2.0, 64);
  CHECK(scheduler.gradient(0) == Approx(-0.7867).epsilon(1e-4));
  CHECK(scheduler.gradient(1) == Approx(-1.6).epsilon(1e-6));
  CHECK(scheduler.next() == 1);
}

TEST_CASE("Pruner's worked gradient: weight 2, five rounds, 1.6 three rounds ago, now 1.0") {
  TaskScheduler scheduler({ScheduledTask{1e9, 2, ""}}, {});
  for (const double time : {1.9, 1.6, 1.3, 1.1, 1.0}) {
    scheduler.record(0, time, 10);
  }
  CHECK(scheduler.gradient(0) == Approx(-0.4).epsilon(1e-6));
}

TEST_CASE("fastest: those near the least time take turns, the others get one round") {
  TaskSchedulerOptions options;
  options.strategy = TaskStrategy::fastest;
  TaskScheduler scheduler(equal_tasks(4), options);
  const auto times = [](std::size_t task, std::int64_t round) {
    const double first[] = {1.2e-3, 2e-3, 1e-3, 1.3e-3};  // 1.25 times the least are near
    return task == 2 && round > 2 ? 0.5e-3 : first[task];
  };
  CHECK(run(scheduler, 8, times) == std::vector<std::int64_t>{3, 1, 3, 1});
  CHECK(scheduler.objective() == 0.5e-3);
  CHECK(run(scheduler, 4, times) == std::vector<std::int64_t>{3, 1, 7, 1});
  scheduler.record(2, 0.5e-3, 0);  // nothing more is found
  CHECK_FALSE(scheduler.next());
}

TEST_CASE("weights: a task called more often gets more rounds") {
  TaskScheduler scheduler({{1e9, 1, ""}, {1e9, 10, ""}}, {});
  const auto times = [](std::size_t, std::int64_t round) {
    return 1e-3 / static_cast<double>(round);
  };
  const auto rounds = run(scheduler, 20, times);
  CHECK(rounds[1] > 2 * rounds[0]);
  CHECK(rounds[0] >= 1);
  CHECK(scheduler.objective() ==
        Approx(scheduler.best_seconds(0) + 10 * scheduler.best_seconds(1)));
}

TEST_CASE("a task without a valid program, or without programs, is given up") {
  TaskScheduler scheduler(equal_tasks(3), {});
  const auto times = [](std::size_t task, std::int64_t) {
    return task == 1 ? TaskScheduler::no_time : 1e-3;
  };
  const auto rounds = run(scheduler, 12, times);
  CHECK(rounds[1] == 1);
  CHECK(scheduler.is_dead(1));
  CHECK(rounds[0] + rounds[2] == 11);
  scheduler.record(0, 1e-3, 0);
  CHECK(scheduler.is_dead(0));
  scheduler.record(2, 1e-3, 0);
  CHECK_FALSE(scheduler.next());
}

TEST_CASE("early stopping of one task, and of all") {
  TaskSchedulerOptions options;
  options.round_size = 1;
  options.task_early_stopping = 3;
  TaskScheduler one(equal_tasks(2), options);
  const auto times = [](std::size_t task, std::int64_t round) {
    return task == 0 ? 1e-3 : 1e-3 / static_cast<double>(round);
  };
  CHECK(run(one, 30, times)[0] <= 5);
  CHECK(one.is_dead(0));
  CHECK_FALSE(one.is_dead(1));

  options.task_early_stopping = 0;
  options.early_stopping = 4;
  TaskScheduler all(equal_tasks(2), options);
  const auto rounds = run(all, 30, constant);
  CHECK(rounds[0] + rounds[1] == 2 + 4);  // the last improvement was the second round
}

TEST_CASE("a similar task's speed limits what is expected of a fast one") {
  std::vector<ScheduledTask> tasks = {{1e9, 1, "conv_43"}, {1e9, 1, "conv_43"}, {1e9, 1, ""}};
  TaskScheduler scheduler(tasks, {});
  scheduler.record(0, 1e-3, 64);
  scheduler.record(1, 8e-3, 64);
  scheduler.record(2, 8e-3, 64);
  // Of task 1 at most 2 * 1 ms is expected to be left, of task 2 nothing (t - t / 1).
  CHECK(scheduler.gradient(1) == Approx(-0.8 * 8e-3));
  for (int round = 0; round < 3; ++round) {
    scheduler.record(1, 8e-3, 64);
    scheduler.record(2, 8e-3, 64);
  }
  CHECK(scheduler.gradient(1) == Approx(-0.8 * 6e-3));  // 8 - 2
  CHECK(scheduler.gradient(2) == Approx(-0.8 * 2e-3));  // 8 - 8 / 4
  // After more than 5 rounds over those of the others it is no longer thought to be similar.
  for (int round = 4; round < 8; ++round) {
    scheduler.record(1, 8e-3, 64);
  }
  CHECK(scheduler.gradient(1) == Approx(-0.8 * 1e-3));  // 8 - 7
}

TEST_CASE("tags of workloads come from their operations") {
  CHECK(similarity_tag(*test::matmul_dag(8, 8, 8), 1024).empty());
  te::Program p;
  auto a = p.placeholder("A", {8});
  te::ComputeOptions options;
  options.attrs.task_scheduler_tag = "row";
  auto b = p.compute(
      "B", {8}, [&](auto i) { return a(i) + 1.0; }, options);
  const auto dag = p.dag({a, b});
  CHECK(similarity_tag(*dag, 0) == "row_0");
  CHECK(similarity_tag(*dag, 1e9) == "row_43");
  CHECK(similarity_tag(*dag, 1.1e9) == "row_43");
}

TEST_CASE("a scheduler that is told the rounds of an earlier one decides as that did") {
  // Ten tasks: some alike, one that never works, most soon at their best; draws among equals too.
  std::vector<ScheduledTask> tasks;
  for (int i = 0; i < 10; ++i) {
    tasks.push_back({1e9 + 1e7 * i, 1.0 + i % 3, i % 4 == 0 ? "conv_43" : ""});
  }
  const auto seconds = [](std::size_t task, std::int64_t round) {
    const std::int64_t steps = round < static_cast<std::int64_t>(task) ? round : 3;
    return task == 7 ? TaskScheduler::no_time : 1e-3 / static_cast<double>(steps);
  };
  for (const TaskStrategy strategy :
       {TaskStrategy::gradient, TaskStrategy::round_robin, TaskStrategy::fastest}) {
    CAPTURE(static_cast<int>(strategy));
    TaskSchedulerOptions options;
    options.strategy = strategy;
    options.round_size = 4;
    options.task_early_stopping = 12;
    options.early_stopping = 60;
    TaskScheduler whole(tasks, options);
    std::vector<std::size_t> order;
    while (const auto task = whole.next()) {
      order.push_back(*task);
      whole.record(*task, seconds(*task, whole.rounds(*task) + 1), 4);
      REQUIRE(order.size() < 1000);
    }
    // The fastest leaves those that are behind after one round.
    REQUIRE(order.size() > (strategy == TaskStrategy::fastest ? 15U : 20U));
    CHECK(whole.is_dead(7));
    for (std::size_t ended = 0; ended <= order.size(); ++ended) {
      // The first rounds as the records of a journal say them, then its own.
      TaskScheduler again(tasks, options);
      std::vector<std::size_t> same;
      for (auto task = again.next(); task; task = again.next()) {
        const std::size_t chosen = same.size() < ended ? order[same.size()] : *task;
        CHECK(chosen == *task);
        same.push_back(chosen);
        again.record(chosen, seconds(chosen, again.rounds(chosen) + 1), 4);
      }
      REQUIRE(same == order);
      CHECK(again.trials() == whole.trials());
      CHECK(again.objective() == whole.objective());
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        CHECK(again.is_dead(i) == whole.is_dead(i));
        CHECK(again.rounds(i) == whole.rounds(i));
        CHECK(again.gradient(i) == whole.gradient(i));
      }
    }
  }
}

TEST_CASE("the same seed draws the same among equals") {
  const auto order = [](std::uint64_t seed) {
    TaskSchedulerOptions options;
    options.seed = seed;
    TaskScheduler scheduler(equal_tasks(4), options);
    std::vector<std::size_t> chosen;
    for (int i = 0; i < 4; ++i) {
      scheduler.record(*scheduler.next(), 1e-3, 1);
    }
    for (int i = 0; i < 8; ++i) {
      chosen.push_back(scheduler.next().value());
    }
    return chosen;
  };
  CHECK(order(1) == order(1));
  CHECK(order(1) != order(2));
}

}  // namespace tensorsmith
