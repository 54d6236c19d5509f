// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/task.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

namespace {

MeasureTask good_task() {
  MeasureTask task;
  task.arguments.resize(2);
  task.arguments[0].name = "A";
  task.arguments[0].num_elements = 3;
  task.arguments[1].name = "B";
  task.arguments[1].dtype = DType::f64;
  task.arguments[1].num_elements = 2;
  task.arguments[1].is_output = true;
  task.arguments[1].reference_dtype = DType::f64;
  task.arguments[1].reference.resize(16);
  return task;
}

}  // namespace

TEST_CASE("a task knows its size") {
  const MeasureTask task = good_task();
  CHECK(task.num_bytes() == 28);
  CHECK(check_task(task).empty());
}

TEST_CASE("what is wrong with a task is said with the argument's name") {
  MeasureTask task = good_task();
  task.num_threads = 0;
  CHECK(check_task(task) == "number of threads must be in 1..1024, is 0");
  task = good_task();
  task.arguments.clear();
  CHECK(check_task(task) == "the task has no arguments");
  task = good_task();
  task.arguments[0].num_elements = -1;
  CHECK(check_task(task) == "argument 'A': number of elements is -1");
  task = good_task();
  task.arguments[0].fill.bytes.resize(11);
  CHECK(check_task(task) == "argument 'A': input data has 11 bytes, expected 12");
  task = good_task();
  task.arguments[0].fill.low = 2;
  CHECK(check_task(task) == "argument 'A': empty fill range");
  task = good_task();
  task.arguments[1].reference.resize(15);
  CHECK(check_task(task) == "argument 'B': reference has 15 bytes, expected 16");
  task = good_task();
  task.arguments[1].reference_dtype = DType::f32;
  CHECK(check_task(task) == "argument 'B': the reference must be of the output's type or f64");
  task = good_task();
  task.arguments[1].reference_rows = {1, 2, 1, 1, 1};
  CHECK(check_task(task) == "argument 'B': reference has 16 bytes, expected 8");
  task.arguments[1].reference_rows.count = 2;
  CHECK(check_task(task) == "argument 'B': the rows of its reference are none of its rows");
  task = good_task();
  task.arguments[1].dtype = DType::i32;
  CHECK_FALSE(check_task(task).empty());
}
