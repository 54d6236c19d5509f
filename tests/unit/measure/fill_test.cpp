// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/fill.hpp"

#include "support/catch.hpp"

#include <algorithm>

using namespace tensorsmith;

namespace {

MeasureTask task_of(DType dtype, std::int64_t count) {
  MeasureTask task;
  task.input_seed = 5;
  task.arguments.resize(2);
  for (KernelArgument& argument : task.arguments) {
    argument.dtype = dtype;
    argument.num_elements = count;
    argument.fill = default_fill(dtype);
  }
  return task;
}

std::vector<std::byte> filled(const MeasureTask& task, std::size_t index) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(task.arguments[index].num_bytes()));
  fill_input(task, index, bytes);
  return bytes;
}

double value_at(const std::vector<std::byte>& bytes, DType dtype, std::size_t i) {
  const auto read = [&bytes, i](auto zero) {
    std::memcpy(&zero, bytes.data() + i * sizeof(zero), sizeof(zero));
    return zero;
  };
  switch (dtype) {
  case DType::f64:
    return read(0.0);
  case DType::f32:
    return static_cast<double>(read(0.0F));
  case DType::f16:
    return static_cast<double>(float_from_f16(read(std::uint16_t{0})));
  case DType::bf16:
    return static_cast<double>(float_from_bf16(read(std::uint16_t{0})));
  case DType::i64:
    return static_cast<double>(read(std::int64_t{0}));
  case DType::i32:
    return read(std::int32_t{0});
  case DType::i8:
    return read(std::int8_t{0});
  default:
    return read(std::uint8_t{0});
  }
}

}  // namespace

TEST_CASE("inputs of every type lie in their range and use it") {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32,
                            DType::i8, DType::u8, DType::boolean}) {
    CAPTURE(name_of(dtype));
    const MeasureTask task = task_of(dtype, 2000);
    const InputFill& range = task.arguments[0].fill;
    const auto bytes = filled(task, 0);
    double low = range.high;
    double high = range.low;
    for (std::size_t i = 0; i < 2000; ++i) {
      low = std::min(low, value_at(bytes, dtype, i));
      high = std::max(high, value_at(bytes, dtype, i));
    }
    CHECK(low >= range.low);
    CHECK(high <= range.high);
    CHECK(low <= range.low + 0.02);
    CHECK(high >= range.high - 0.02);
  }
}

TEST_CASE("inputs depend on the seed and the argument, and on nothing else") {
  MeasureTask task = task_of(DType::f32, 100);
  const auto first = filled(task, 0);
  CHECK(filled(task, 0) == first);
  CHECK(filled(task, 1) != first);
  task.arguments[1].num_elements = 7;
  CHECK(filled(task, 0) == first);
  task.input_seed = 6;
  CHECK(filled(task, 0) != first);
  // The generator is part of the records' meaning: these values must never change.
  CHECK(value_at(first, DType::f32, 0) == 0x1.105dap-1);
  CHECK(value_at(first, DType::f32, 1) == -0x1.b89ebcp-1);
  const auto integers = filled(task_of(DType::i32, 2), 0);
  CHECK(value_at(integers, DType::i32, 0) == 5);
  CHECK(value_at(integers, DType::i32, 1) == -7);
}

TEST_CASE("large inputs repeat a prime number of values") {
  const auto bytes = filled(task_of(DType::f32, 200'000), 0);
  const auto first = filled(task_of(DType::f32, 65'521), 0);
  REQUIRE(bytes.size() == 4 * 200'000);
  bool is_periodic = true;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    is_periodic = is_periodic && bytes[i] == first[i % first.size()];
  }
  CHECK(is_periodic);
  for (const std::size_t stride : {1, 2, 64, 4096, 65'520, 65'536}) {
    CAPTURE(stride);
    CHECK(value_at(bytes, DType::f32, 7 + stride) != value_at(bytes, DType::f32, 7));
  }
}

TEST_CASE("given bytes are used as they are") {
  MeasureTask task = task_of(DType::i32, 2);
  task.arguments[0].fill.bytes.assign(8, std::byte{3});
  CHECK(filled(task, 0) == std::vector<std::byte>(8, std::byte{3}));
  task.arguments[1].num_elements = 0;
  CHECK(filled(task, 1).empty());
}

TEST_CASE("rows of an input are what they are in the whole") {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::u8}) {
    for (const RowSample& rows :
         {RowSample{}, RowSample{1, 600, 4, 7, 86}, RowSample{300, 40, 0, 3, 14},
          RowSample{100'000, 2, 1, 1, 1}, RowSample{1, 200'000, 199'999, 1, 1}}) {
      const auto width = static_cast<std::size_t>(bytes_of(dtype));
      MeasureTask task = task_of(dtype, rows.extent == 600 ? 600 * 400 : 12'000 * 50 / 3);
      task.arguments[0].num_elements += rows.extent == 40 ? 40'000 : 0;
      const std::int64_t count = task.arguments[0].num_elements;
      CAPTURE(name_of(dtype), rows.extent, count);
      REQUIRE(rows.fits(count));
      const auto whole = filled(task, 0);
      std::vector<std::byte> some(static_cast<std::size_t>(rows.elements_of(count)) * width);
      fill_input_rows(task, 0, rows, some);
      std::vector<std::byte> expected;
      each_sampled_run(rows, count, [&](std::int64_t first, std::int64_t, std::int64_t n) {
        const auto at = whole.begin() + first * static_cast<std::ptrdiff_t>(width);
        expected.insert(expected.end(), at, at + n * static_cast<std::ptrdiff_t>(width));
      });
      CHECK(some == expected);
    }
  }
  MeasureTask given = task_of(DType::i32, 6);
  given.arguments[0].fill.bytes.resize(24);
  given.arguments[0].fill.bytes[12] = std::byte{9};
  std::vector<std::byte> row(8);
  fill_input_rows(given, 0, {1, 3, 0, 1, 1}, row);
  CHECK(row[4] == std::byte{9});
}

TEST_CASE("a sample that a tensor does not have is seen") {
  CHECK(RowSample{2, 3, 0, 2, 2}.fits(12));
  for (const RowSample& rows :
       {RowSample{-1, 3, 0, 1, 1}, RowSample{2, 0, 0, 1, 1}, RowSample{2, 3, 3, 1, 1},
        RowSample{2, 3, -1, 1, 1}, RowSample{2, 3, 0, 0, 1}, RowSample{2, 3, 0, 1, 0},
        RowSample{2, 3, 0, 2, 3}, RowSample{2, 3, 1, INT64_MAX, 2}, RowSample{5, 3, 0, 1, 1},
        RowSample{INT64_MAX, INT64_MAX, 0, 1, 1}}) {
    CAPTURE(rows.inner, rows.extent, rows.first, rows.stride, rows.count);
    CHECK_FALSE(rows.fits(12));
  }
}
