// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/hard_fill.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "support/catch.hpp"

using namespace tensorsmith;

namespace {

MeasureTask task_of(DType dtype, std::int64_t rows, std::int64_t columns, bool is_main = true) {
  MeasureTask task;
  task.arguments.resize(1);
  task.arguments[0].dtype = dtype;
  task.arguments[0].num_elements = rows * columns;
  task.arguments[0].fill = default_fill(dtype);
  task.arguments[0].fill.row_elements = columns;
  task.arguments[0].fill.num_rows = rows;
  task.arguments[0].fill.is_main = is_main;
  return task;
}

template <class T>
std::vector<T> drawn(const MeasureTask& task, HardDraw draw, const RowSample& rows = {}) {
  std::vector<T> values(static_cast<std::size_t>(rows.elements_of(task.arguments[0].num_elements)));
  fill_hard_input(task, 0, draw, rows, std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace

TEST_CASE("finite rows are of sixteen kinds, special ones hold infinities and NaN") {
  const MeasureTask task = task_of(DType::f32, 32, 50);
  const std::vector<float> values = drawn<float>(task, HardDraw::finite);
  for (const std::size_t row : {0u, 16u}) {
    const auto [low, high] = std::minmax_element(values.begin() + static_cast<int>(row * 50),
                                                 values.begin() + static_cast<int>(row * 50 + 50));
    CHECK(*low == 5000);
    CHECK(*high == 5001);
  }
  CHECK(std::count(values.begin(), values.end(), -1e30F) > 100);  // masked rows, whole and in part
  CHECK(std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); }));
  CHECK(std::any_of(values.begin(), values.end(),
                    [](float x) { return x != 0 && !std::isnormal(x); }));
  const std::vector<float> special = drawn<float>(task, HardDraw::special);
  const auto count = [&](auto is) { return std::count_if(special.begin(), special.end(), is); };
  CHECK(count([](float x) { return std::isnan(x); }) == 2);
  CHECK(count([](float x) { return x > 1e38F; }) == 4);
  CHECK(count([](float x) { return x < -1e38F; }) > 100);
  CHECK(count([](float x) { return std::isfinite(x); }) > 1000);
}

TEST_CASE("rows of one element each are rows of another axis") {
  MeasureTask task = task_of(DType::f32, 40, 32);
  task.arguments[0].fill.row_elements = 1;  // [40, 32], kinds along the last axis
  task.arguments[0].fill.num_rows = 32;
  const std::vector<float> values = drawn<float>(task, HardDraw::finite);
  for (std::size_t i = 0; i < 40; ++i) {
    CHECK((values[i * 32] == 5000 || values[i * 32] == 5001));
    CHECK(values[i * 32 + 3] == 3);
    CHECK(values[i * 32 + 16 + 10] == 0);
  }
}

TEST_CASE("integers have their whole range, and its ends") {
  const std::vector<std::int8_t> values =
      drawn<std::int8_t>(task_of(DType::i8, 64, 100), HardDraw::finite);
  CHECK(std::set<std::int8_t>(values.begin(), values.end()).size() == 256);
  CHECK(std::count(values.begin(), values.end(), -128) > 300);
  CHECK(std::count(values.begin(), values.end(), 127) > 300);
}

TEST_CASE("other inputs than the main one stay near a constant and finite") {
  const MeasureTask task = task_of(DType::f32, 30, 20, false);
  for (const float x : drawn<float>(task, HardDraw::finite)) {
    CHECK((x >= 1 && x < 3.5F));
  }
  for (const float x : drawn<float>(task, HardDraw::special)) {
    CHECK((x >= -1 && x < 1));
  }
}

TEST_CASE("some rows are those of the whole") {
  const MeasureTask task = task_of(DType::f32, 301, 700);
  const std::vector<float> whole = drawn<float>(task, HardDraw::finite);
  const RowSample rows{700, 301, 3, 7, 40};
  const std::vector<float> some = drawn<float>(task, HardDraw::finite, rows);
  REQUIRE(some.size() == 40 * 700);
  for (std::size_t row = 0; row < 40; ++row) {
    CHECK(std::equal(some.begin() + static_cast<int>(row * 700),
                     some.begin() + static_cast<int>(row * 700 + 700),
                     whole.begin() + static_cast<int>((3 + 7 * row) * 700)));
  }
}

TEST_CASE("an input without rows is that of every draw") {
  MeasureTask task = task_of(DType::f32, 10, 10);
  task.arguments[0].fill.row_elements = 0;
  std::vector<float> plain(100);
  fill_input(task, 0, std::as_writable_bytes(std::span(plain)));
  CHECK(drawn<float>(task, HardDraw::finite) == plain);
  CHECK(drawn<float>(task, HardDraw::special) == plain);
}
