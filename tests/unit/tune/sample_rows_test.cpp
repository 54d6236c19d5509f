// SPDX-License-Identifier: Apache-2.0
#include "tune/sample_rows.hpp"

#include <cstring>

#include "support/catch.hpp"
#include "tensorsmith/measure/task.hpp"
#include "tensorsmith/measure/verify.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/te/program.hpp"
#include "tensorsmith/te/tensor_size.hpp"
#include "tensorsmith/tune/measure_task.hpp"

using namespace tensorsmith;

namespace {

Shared<const ComputeDag> dag_of(const char* text) {
  const auto workload = ops::parse_workload(text);
  REQUIRE(workload);
  return workload->dag;
}

const KernelArgument& output_of(const MeasureTask& task) {
  const KernelArgument* output = nullptr;
  for (const KernelArgument& argument : task.arguments) {
    output = argument.is_output ? &argument : output;
  }
  REQUIRE(output != nullptr);
  return *output;
}

double element(const std::vector<std::byte>& bytes, std::size_t i) {
  double value = 0;
  std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
  return value;
}

}  // namespace

TEST_CASE("a reference of some rows has the whole one's values there, and none elsewhere") {
  struct Row {
    const char* workload;
    double most_points;
  };
  const Row rows[] = {
      {"gemm:33x20x40", 6000},
      {"gemm:33x20x40,bias,add,relu", 6000},
      {"gemm:20x48x40,layernorm", 12000},
      {"bmm:5x17x12x8:f64,tb", 3000},
      {"softmax:40x30", 1500},
      {"conv2d:n=1,h=9,w=9,ci=3,co=24,k=3,p=1,bias,relu,layout=free", 12000},
      {"conv2d:n=1,h=27,w=7,ci=4,co=6,k=3,p=1,layout=nhwc", 10000},
      {"attention:2x24x24x8", 8000},
  };
  for (const Row& row : rows) {
    CAPTURE(row.workload);
    const auto dag = dag_of(row.workload);
    MeasureTask whole = make_measure_task(*dag, 1, 7), some = make_measure_task(*dag, 1, 7);
    CHECK(*add_reference(whole, dag, {}) == 1.0);
    // With bounds an element takes as long as four without.
    const double points = output_of(whole).has_bounds ? row.most_points / 4 : row.most_points;
    const auto sampled = sample_rows(*dag, points);
    REQUIRE(sampled);
    const RowSample& rows = sampled->arguments.back();
    CHECK(rows.stride % 2 == 1);
    CHECK(rows.first + (rows.count - 1) * rows.stride == rows.extent - 1);
    const auto share = add_reference(some, dag, {}, row.most_points);
    REQUIRE(share);
    CHECK(*share == double(rows.count) / double(rows.extent));
    CHECK(*share < 0.5);
    CHECK(check_task(some).empty());
    const std::vector<std::byte>&all = output_of(whole).reference, &few = output_of(some).reference;
    REQUIRE(few.size() == std::size_t(*share * double(all.size()) + 0.5));
    std::int64_t num_equal = 0, next = 0;
    each_sampled_run(output_of(some).reference_rows, output_of(some).num_elements,
                     [&](std::int64_t first, std::int64_t in_sample, std::int64_t count) {
                       CHECK(in_sample == next);
                       next += count;
                       for (std::int64_t e = 0; e < count; ++e) {
                         num_equal += element(all, std::size_t(first + e)) ==
                                      element(few, std::size_t(in_sample + e));
                       }
                     });
    CHECK(num_equal == output_of(some).value_bytes() / std::int64_t(sizeof(double)));
  }
}

TEST_CASE("integers are compared row by row too") {
  for (const char* workload : {"gemm:41x16x16:i32", "gemm:41x16x16:u8,weights=i8",
                               "argmax:64x40:f32", "pointwise:50x20:i64,add,mul"}) {
    CAPTURE(workload);
    const auto dag = dag_of(workload);
    MeasureTask whole = make_measure_task(*dag, 1, 1), some = make_measure_task(*dag, 1, 1);
    REQUIRE(*add_reference(whole, dag, {}) == 1.0);
    const auto share = add_reference(some, dag, {}, 300);
    REQUIRE(share);
    REQUIRE(*share < 0.5);
    CHECK(check_task(some).empty());
    const KernelArgument &all = output_of(whole), &few = output_of(some);
    const auto width = std::size_t(bytes_of(all.dtype));
    CHECK(few.reference == gather_rows(few.reference_rows, few.num_elements, width, all.reference));

    std::vector<std::byte> output(all.reference.size());
    poison_output(few, few.reference, output);
    CHECK(verify_output(few, few.reference, 0, output).status == MeasureStatus::wrong_result);
    CHECK(verify_output(few, few.reference, 0, all.reference).status == MeasureStatus::ok);
    // An element of the last row, which is always looked at.
    output = all.reference;
    output.back() ^= std::byte{0x40};
    CHECK(verify_output(few, few.reference, 0, output).status == MeasureStatus::wrong_result);
    // Rows that nobody compares have to be written, where that can be seen.
    output = all.reference;
    const RowSample& rows = few.reference_rows;
    const std::int64_t between = rows.first + rows.stride - 1;
    const auto row_bytes = std::size_t(rows.inner) * width;
    std::fill_n(output.begin() + std::ptrdiff_t(std::size_t(between) * row_bytes),
                std::ptrdiff_t(row_bytes), std::byte{0xA5});
    const bool is_seen = width >= 4 && rows.inner > 1;
    CHECK((verify_output(few, few.reference, 0, output).status == MeasureStatus::ok) == !is_seen);
  }
}

TEST_CASE("operands that are read row by row shrink with the result") {
  const auto dag = dag_of("gemm:33x20x40,bias");
  const auto sampled = sample_rows(*dag, 6000);
  REQUIRE(sampled);
  std::size_t num_restricted = 0;
  for (std::size_t i = 0; i < dag->arguments().size(); ++i) {
    const TensorInfo& tensor = dag->tensor(dag->arguments()[i]);
    const std::int64_t kept = sampled->arguments[i].elements_of(num_elements(tensor));
    CHECK(kept == num_elements(sampled->dag->tensor(sampled->dag->arguments()[i])));
    num_restricted += kept < num_elements(tensor);
  }
  CHECK(num_restricted >= 2);  // the result and one operand
}

TEST_CASE("what is small or has several results keeps its whole reference") {
  CHECK_FALSE(sample_rows(*dag_of("gemm:8x8x8"), 0));
  CHECK_FALSE(sample_rows(*dag_of("gemm:8x8x8"), 8 * 8 * 8));
  CHECK(sample_rows(*dag_of("gemm:8x8x8"), 100));
  te::Program p;
  auto a = p.placeholder("A", {64, 64}, DType::f32);
  auto b = p.compute("B", {64, 64}, [&](auto i, auto j) { return a(i, j) * 2.0F; });
  auto c = p.compute("C", {64, 64}, [&](auto i, auto j) { return b(i, j) + 1.0F; });
  CHECK_FALSE(sample_rows(*p.dag({a, b, c}), 100));
}

TEST_CASE("a stage that is read beside its own row stays whole") {
  te::Program p;
  auto a = p.placeholder("A", {66, 8}, DType::f32);
  auto b = p.compute("B", {66, 8}, [&](auto i, auto j) { return a(i, j) * 2.0F; });
  auto c = p.compute("C", {64, 8}, [&](auto i, auto j) { return b(i, j) + b(i + 2, j); });
  const auto dag = p.dag({a, c});
  const auto sampled = sample_rows(*dag, 500);
  REQUIRE(sampled);
  CHECK(sampled->arguments.back().inner == 1);  // along the columns both stages shrink
  const auto tall = sample_rows(*p.dag({a, c}), 900);
  REQUIRE(tall);
  CHECK(tall->dag->operation(1).axes[0].extent == 66);
}

TEST_CASE("any value passes where there is no reference, but one must be written") {
  KernelArgument output;
  output.name = "C";
  output.num_elements = 3;
  output.is_output = true;
  output.reference_dtype = DType::f64;
  output.reference_rows = {1, 3, 1, 2, 1};
  output.tolerance = tolerance_for(DType::f32, DType::f32, 10);
  std::vector<std::byte> reference(sizeof(double));
  const double two = 2;
  std::memcpy(reference.data(), &two, sizeof(two));
  std::vector<std::byte> bytes(3 * sizeof(float));
  const auto verdict = [&](float value, std::size_t at) {
    std::memcpy(bytes.data() + at * sizeof(float), &value, sizeof(value));
    return verify_output(output, reference, 1, bytes);
  };
  poison_output(output, reference, bytes);
  CHECK(verify_output(output, reference, 1, bytes).message.find("first at 0: never written") !=
        std::string::npos);
  CHECK(verdict(2.0F, 1).message.find("2 never written") != std::string::npos);
  CHECK(verdict(-1e30F, 0).message.find("1 never written") != std::string::npos);
  CHECK(verdict(7.0F, 2).status == MeasureStatus::ok);
  CHECK(verdict(3.0F, 1).message.find("first at 1: got 3, expected 2") != std::string::npos);
}
