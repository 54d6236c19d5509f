// SPDX-License-Identifier: Apache-2.0
// Values of inputs that a task names: given, drawn from a range, generated, and what is refused.
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/measure/fill.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/te/program.hpp"
#include "tensorsmith/tune/measure_task.hpp"
#include "tune/task_inputs.hpp"

using namespace tensorsmith;

namespace {

/// out[i] = table[idx[i] + 1, 0] * scale[i]: a table of 9 rows, so indices from -1 to 7.
Shared<const ComputeDag> lookup() {
  te::Program p;
  auto idx = p.placeholder("idx", {5}, DType::i32);
  auto table = p.placeholder("table", {9, 2});
  auto scale = p.placeholder("scale", {5});
  auto out = p.compute("out", {5}, [&](auto i) { return table(idx(i) + 1, 0) * scale(i); });
  return p.dag({idx, table, scale, out});
}

template <class T>
std::vector<T> input_of(const std::vector<TaskInput>& inputs, std::size_t place) {
  const auto dag = lookup();
  MeasureTask task = make_measure_task(*dag, 1, 1);
  give_inputs(task, *dag, inputs);
  std::vector<std::byte> bytes(static_cast<std::size_t>(task.arguments[place].num_bytes()));
  fill_input(task, place, bytes);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::string refusal_of(const TaskInput& input) {
  const auto dag = lookup();
  MeasureTask task = make_measure_task(*dag, 1, 1);
  try {
    give_inputs(task, *dag, {input});
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("indices are drawn from all that are legal, unless the task says otherwise") {
  const auto dag = lookup();
  const MeasureTask drawn = make_measure_task(*dag, 1, 1);
  CHECK(drawn.arguments[0].fill.low == -1);
  CHECK(drawn.arguments[0].fill.high == 7);
  CHECK(input_of<std::int32_t>({TaskInput::range("idx", 3, 3)}, 0) ==
        std::vector<std::int32_t>(5, 3));
  for (const float value : input_of<float>({TaskInput::range("scale", 10, 11)}, 2)) {
    CHECK(value >= 10);
    CHECK(value < 11);
  }
}

TEST_CASE("given and generated values are what is measured with") {
  const std::vector<std::int32_t> indices = {-1, 7, 0, 0, 3};
  CHECK(input_of<std::int32_t>({TaskInput::data("idx", indices)}, 0) == indices);
  const auto generated =
      TaskInput::generated<float>("scale", [](std::size_t i) { return 2 * static_cast<float>(i); });
  CHECK(input_of<float>({TaskInput::data("idx", indices), generated}, 2) ==
        std::vector<float>{0, 2, 4, 6, 8});
}

TEST_CASE("what a task cannot be given is refused by the input's name") {
  const std::array<std::int32_t, 5> outside = {0, 1, 8, 2, -2};
  CHECK(refusal_of(TaskInput::data("idx", outside)) ==
        "tune: input \"idx\": element 2 is 8, but it is an index into dimension 0 of \"table\", "
        "which "
        "has 9 elements, so -1 .. 7 are legal");
  CHECK(
      refusal_of(TaskInput::range("idx", -2, 3)).find("the least value of its range is -2, but") !=
      std::string::npos);
  CHECK(refusal_of(TaskInput::range("idx", 0, 8)).find("the greatest value of its range is 8") !=
        std::string::npos);
  CHECK(refusal_of(TaskInput::range("idx", 0.5, 1)).find("whole numbers of type i32") !=
        std::string::npos);
  CHECK(refusal_of(TaskInput::range("scale", 1, 0)).find("the lower one first") !=
        std::string::npos);
  CHECK(refusal_of(TaskInput::data("scale", std::vector<double>(5))) ==
        "tune: input \"scale\": expected 5 elements of f32 (20 bytes, 4 each), got 40 bytes");
  CHECK(refusal_of(TaskInput::range("out", 0, 1)) ==
        "tune: input \"out\": the task has no input of that name; it has idx, table, scale");
  CHECK(refusal_of(TaskInput::range("scale", 0, 1)) == "accepted");
}
