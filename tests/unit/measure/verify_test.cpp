// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/verify.hpp"

#include "support/catch.hpp"

#include <cstring>
#include <limits>

#include "tensorsmith/measure/narrow_float.hpp"

using namespace tensorsmith;

namespace {

template <class T>
std::vector<std::byte> bytes_of_values(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!values.empty()) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
  }
  return bytes;
}

KernelArgument output(DType dtype, std::size_t count) {
  KernelArgument argument;
  argument.name = "C";
  argument.dtype = dtype;
  argument.reference_dtype = dtype;
  argument.num_elements = static_cast<std::int64_t>(count);
  argument.is_output = true;
  argument.tolerance.kind = OutputTolerance::Kind::bounded;
  return argument;
}

template <class T>
Verdict compare(const KernelArgument& argument, const std::vector<T>& wanted,
                const std::vector<T>& got) {
  const auto reference = bytes_of_values(wanted);
  return verify_output(argument, reference, rms_of(reference, argument.dtype),
                       bytes_of_values(got));
}

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("the bound has an absolute, a relative and a common part") {
  KernelArgument argument = output(DType::f32, 2);
  argument.tolerance.absolute = 0.5;
  CHECK(compare<float>(argument, {1, 2}, {1.5F, 1.5F}).status == MeasureStatus::ok);
  CHECK(compare<float>(argument, {1, 2}, {1.51F, 2}).status == MeasureStatus::wrong_result);
  argument.tolerance = {OutputTolerance::Kind::bounded, 0, 0.01, 0};
  CHECK(compare<float>(argument, {100, -100}, {100.9F, -100.9F}).status == MeasureStatus::ok);
  CHECK(compare<float>(argument, {100, 1}, {100, 1.02F}).status == MeasureStatus::wrong_result);
  argument.tolerance = {OutputTolerance::Kind::bounded, 0, 0, 0.1};  // rms of {3, 4} is 3.54
  CHECK(compare<float>(argument, {3, 4}, {3.35F, 4}).status == MeasureStatus::ok);
  CHECK(compare<float>(argument, {3, 4}, {3.36F, 4}).status == MeasureStatus::wrong_result);
}

TEST_CASE("exact tolerance means equal values") {
  KernelArgument argument = output(DType::f32, 1);
  argument.tolerance.kind = OutputTolerance::Kind::exact;
  argument.tolerance.absolute = 1;
  CHECK(compare<float>(argument, {1}, {1}).status == MeasureStatus::ok);
  CHECK(compare<float>(argument, {1}, {1.0000001F}).status == MeasureStatus::wrong_result);
}

TEST_CASE("few rounded integers may be their neighbours, none may be another number") {
  KernelArgument argument = output(DType::u8, 256);
  argument.tolerance = tolerance_for_rounded();
  const std::vector<std::uint8_t> wanted(256, 100);
  const auto with = [&](std::size_t count, std::uint8_t value) {
    std::vector<std::uint8_t> got = wanted;
    std::fill_n(got.begin() + 3, count, value);
    return compare(argument, wanted, got);
  };
  CHECK(with(5, 101).status == MeasureStatus::ok);
  CHECK(with(5, 99).status == MeasureStatus::ok);
  CHECK(with(6, 99).status == MeasureStatus::wrong_result);  // 1 + 256 / 64 may
  CHECK(with(6, 99).message.find("6 of 256") != std::string::npos);
  CHECK(with(1, 102).status == MeasureStatus::wrong_result);
  CHECK(with(1, 98).status == MeasureStatus::wrong_result);
  argument.dtype = DType::i8;
  argument.num_elements = 3;
  CHECK(compare<std::int8_t>(argument, {-1, 0, 127}, {0, 0, 127}).status == MeasureStatus::ok);
  CHECK(compare<std::int8_t>(argument, {-1, 0, 127}, {-1, 0, -128}).status ==
        MeasureStatus::wrong_result);
  argument.tolerance = OutputTolerance{};
  CHECK(compare<std::int8_t>(argument, {-1, 0, 127}, {0, 0, 127}).status ==
        MeasureStatus::wrong_result);
}

TEST_CASE("NaN and infinity must be where the reference has them") {
  KernelArgument argument = output(DType::f32, 3);
  argument.tolerance = {OutputTolerance::Kind::bounded, 10, 10, 10};
  const std::vector<float> wanted = {1, infinity, nan_value};
  CHECK(compare<float>(argument, wanted, {1, infinity, nan_value}).status == MeasureStatus::ok);
  CHECK(compare<float>(argument, wanted, {nan_value, infinity, nan_value}).status ==
        MeasureStatus::nan_result);
  CHECK(compare<float>(argument, wanted, {1, -infinity, nan_value}).status ==
        MeasureStatus::wrong_result);
  CHECK(compare<float>(argument, wanted, {1, 1, nan_value}).status == MeasureStatus::wrong_result);
  CHECK(compare<float>(argument, wanted, {1, infinity, 1}).status == MeasureStatus::wrong_result);
  CHECK(compare<float>(argument, wanted, {infinity, infinity, nan_value}).status ==
        MeasureStatus::wrong_result);
}

TEST_CASE("one wrong element among many is found and named") {
  const std::size_t count = 5000;
  KernelArgument argument = output(DType::f64, count);
  const std::vector<double> wanted(count, 1.0);
  for (const std::size_t at : {std::size_t{0}, std::size_t{1023}, std::size_t{1024}, count - 1}) {
    std::vector<double> got = wanted;
    got[at] = 2;
    const Verdict verdict = compare(argument, wanted, got);
    CHECK(verdict.status == MeasureStatus::wrong_result);
    CHECK(verdict.message.find("1 of 5000 elements are wrong") != std::string::npos);
    CHECK(verdict.message.find("first at " + std::to_string(at) + ": got 2, expected 1") !=
          std::string::npos);
  }
}

TEST_CASE("a float output may have a reference in f64") {
  KernelArgument argument = output(DType::f16, 2);
  argument.reference_dtype = DType::f64;
  argument.tolerance.relative = 0x1.0p-10;
  const auto reference = bytes_of_values<double>({1.0 / 3, 1000.25});
  CHECK(rms_of(reference, DType::f64) == test::Approx(707.28).epsilon(1e-4));
  const auto right =
      bytes_of_values<std::uint16_t>({f16_from_float(1.0F / 3), f16_from_float(1000.25F)});
  CHECK(verify_output(argument, reference, 0, right).status == MeasureStatus::ok);
  const auto wrong = bytes_of_values<std::uint16_t>({f16_from_float(0.335F), 0x63D1});
  CHECK(verify_output(argument, reference, 0, wrong).status == MeasureStatus::wrong_result);
}

TEST_CASE("an element that stays poisoned never passes, whatever its type") {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32,
                            DType::i8, DType::u8, DType::boolean}) {
    CAPTURE(name_of(dtype));
    KernelArgument argument = output(dtype, 256);
    argument.tolerance = {OutputTolerance::Kind::bounded, 1e30, 1e30, 0};
    std::vector<std::byte> reference(static_cast<std::size_t>(argument.num_bytes()));
    for (std::size_t i = 0; i < reference.size(); ++i) {
      reference[i] = static_cast<std::byte>(is_float(dtype) ? 0 : i);
    }
    std::vector<std::byte> got(reference.size());
    poison_output(argument, reference, got);
    const Verdict verdict = verify_output(argument, reference, 0, got);
    CHECK(verdict.status == MeasureStatus::wrong_result);
    CHECK(verdict.message.find("256 of 256") != std::string::npos);
    CHECK(verify_output(argument, reference, 0, reference).status == MeasureStatus::ok);
    if (is_float(dtype)) {
      CHECK(verdict.message.find("256 never written") != std::string::npos);
    } else if (dtype != DType::boolean) {
      argument.tolerance = tolerance_for_rounded();
      poison_output(argument, reference, got);
      const Verdict rounded = verify_output(argument, reference, 0, got);
      CHECK(rounded.message.find("256 of 256") != std::string::npos);
    }
  }
  std::vector<std::byte> unreferenced(4);
  poison_output(output(DType::i32, 1), {}, unreferenced);
  CHECK(unreferenced[0] == std::byte{0xA5});
}

TEST_CASE("empty outputs are right") {
  CHECK(compare<float>(output(DType::f32, 0), {}, {}).status == MeasureStatus::ok);
  CHECK(compare<std::int32_t>(output(DType::i32, 0), {}, {}).status == MeasureStatus::ok);
}

TEST_CASE("an element within its own bound is right, whatever the tolerance says") {
  KernelArgument argument = output(DType::f32, 3);
  argument.reference_dtype = DType::f64;
  argument.tolerance.absolute = 0.125;
  argument.has_bounds = true;
  CHECK(check_task({{argument}, 1, 1}).empty());
  const std::vector<std::byte> reference =
      bytes_of_values<double>({1, 2, 3, 0.5, 0, 1e300});  // values, then bounds
  CHECK(values_of(argument, reference).size() == 3 * sizeof(double));
  const auto status_of = [&](const std::vector<float>& got) {
    return verify_output(argument, reference, 1, bytes_of_values(got)).status;
  };
  CHECK(status_of({1.5F, 2.125F, 3.125F}) == MeasureStatus::ok);
  CHECK(status_of({1.5625F, 2, 3}) == MeasureStatus::wrong_result);
  CHECK(status_of({1, 2.25F, 3}) == MeasureStatus::wrong_result);
  CHECK(status_of({1, 2, 3.25F}) == MeasureStatus::wrong_result);  // no bound is known of it
  CHECK(status_of({nan_value, 2, 3}) == MeasureStatus::nan_result);
  std::vector<std::byte> unwritten(3 * sizeof(float));
  poison_output(argument, reference, unwritten);
  CHECK(verify_output(argument, reference, 1, unwritten).status != MeasureStatus::ok);
  argument.dtype = argument.reference_dtype = DType::i32;
  CHECK_FALSE(check_task({{argument}, 1, 1}).empty());
}
