// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/emit_exchange.hpp"

#include "row_sums.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("threads reduce their parts, then halves of what they found") {
  CHECK(is_golden(exchange_text(row_sum_state(11, 6))));
}

TEST_CASE("two results at once: all new values come from the old ones") {
  ScheduleBuilder s(two_output_dag(4, 10));
  s.annotate(1, 0, Annotation::block_x);
  s.annotate(1, 1, Annotation::thread_x);
  s.annotate(2, 0, Annotation::thread_x);
  const std::string text = exchange_text(s.state());
  CHECK(text.find("S.new0[0] = S.red0[tx] + S.red0[tx + 4]") != std::string::npos);
  CHECK(text.find("S.red1[tx] = S.new1[0]") != std::string::npos);
}

TEST_CASE("rows of threads reduce beside each other") {
  ScheduleBuilder s(sum_dag(12));
  s.annotate(1, 0, Annotation::thread_y);
  s.annotate(1, 1, Annotation::thread_x);
  const std::string text = exchange_text(s.state());
  CHECK(text.find("S.red: i32[3, 12] shared") != std::string::npos);
  CHECK(text.find("S.red[ty, tx] = S.red[ty, tx] + S.red[ty, tx + 4]") != std::string::npos);
}

TEST_CASE("a thread axis cannot be row and column at once") {
  ScheduleBuilder s(sum_dag(8));
  s.annotate(1, 0, Annotation::thread_x);
  s.annotate(1, 1, Annotation::thread_x);
  const auto program = lower(s.state(), gpu_target());
  REQUIRE(!program);
  CHECK(program.error() == LowerError{LowerErrorCode::illegal_binding, 1});
}
