// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/emit_vectors.hpp"

#include "lower_fixtures.hpp"
#include "support/gpu_programs.hpp"
#include "tensorsmith/ops/workload.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// Of the schedule's program, whose results are right.
std::string checked_text(const ScheduleBuilder& s) {
  const LoopProgram program = lowered(s.state(), gpu_target());
  const std::string text = text_of(program);
  INFO(text);
  CHECK(KnownResults(*s.state().initial_dag()).wrong_with(program) == "");
  return text;
}

/// copy_dag(8, columns), fused, `lanes` elements per step of a thread.
std::string copy_text(std::int64_t columns, std::int64_t lanes) {
  ScheduleBuilder s(copy_dag(8, columns));
  s.fuse(1, {0, 1});
  s.split(1, 0, {4, lanes});
  s.annotate(1, 0, Annotation::block_x);
  s.annotate(1, 1, Annotation::thread_x);
  s.annotate(1, 2, Annotation::vectorize);
  return checked_text(s);
}

}  // namespace

TEST_CASE("consecutive, aligned elements are a vector, in fused loops too") {
  CHECK(copy_text(16, 4).find("in 4 vectorized") != std::string::npos);
  CHECK(copy_text(16, 2).find("in 2 vectorized") != std::string::npos);
  CHECK(copy_text(12, 4).find("in 4 vectorized") != std::string::npos);
}

TEST_CASE("no vector: across rows, longer than 16 bytes, with elements left over") {
  for (const std::string& text : {copy_text(6, 4), copy_text(16, 8), copy_text(15, 2)}) {
    CHECK(text.find("vectorized") == std::string::npos);
    CHECK(text.find("unrolled") != std::string::npos);
  }
}

TEST_CASE("vectors inside of a loop that is none are looked at as well") {
  ScheduleBuilder s(copy_dag(3, 6));
  s.annotate(1, 0, Annotation::vectorize);
  s.annotate(1, 1, Annotation::vectorize);
  CHECK(checked_text(s).find("vectorized") == std::string::npos);
}

namespace {

/// A sum of rows, a block of 4 threads per row, `lanes` terms unrolled.
std::string row_sum_text(const char* workload, std::int64_t lanes) {
  ScheduleBuilder s(ops::parse_workload(workload)->dag);
  const auto stage = static_cast<std::int32_t>(s.state().num_stages()) - 1;
  s.split(stage, 1, {4, lanes});
  s.annotate(stage, 0, Annotation::block_x);
  s.annotate(stage, 2, Annotation::thread_x);
  s.annotate(stage, 3, Annotation::unroll);
  return checked_text(s);
}

}  // namespace

TEST_CASE("terms that are unrolled are loaded as a vector and added up in their order") {
  const std::string text = row_sum_text("reduce_sum:3x32:i32", 4);
  INFO(text);
  CHECK(text.find("vectorized:\n") != std::string::npos);
  CHECK(text.find("A.lanes[") != std::string::npos);
  CHECK(text.find("B.acc[0] = B.acc[0] + A.lanes[k.2]") != std::string::npos);
  // 40 is no multiple of 16, but of 4: the vectors behind the end have one condition.
  const std::string odd = row_sum_text("reduce_sum:3x40:i32", 4);
  INFO(odd);
  CHECK(odd.find("vectorized:\n") != std::string::npos);
  CHECK(odd.find("if ") < odd.find("A.lanes["));
}

TEST_CASE(
    "no vectors of terms: rows of odd length, 16 bytes exceeded, lanes that are no power of 2") {
  for (const std::string& text :
       {row_sum_text("reduce_sum:3x37:i32", 4), row_sum_text("reduce_sum:3x64:i32", 8),
        row_sum_text("reduce_sum:3x36:i32", 3)}) {
    INFO(text);
    CHECK(text.find("vectorized") == std::string::npos);
    CHECK(text.find("A.lanes") == std::string::npos);
  }
  CHECK(row_sum_text("reduce_sum:3x64:i8", 8).find("in 8 vectorized") != std::string::npos);
}
