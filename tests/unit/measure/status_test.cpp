// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/status.hpp"

#include "support/catch.hpp"

#include <set>
#include <string>

using namespace tensorsmith;

TEST_CASE("every status has a name of its own that reads back") {
  std::set<std::string> names;
  for (std::size_t i = 0; i < num_measure_statuses; ++i) {
    const MeasureStatus status = static_cast<MeasureStatus>(i);
    names.insert(std::string(name_of(status)));
    const auto back = measure_status_from_name(name_of(status));
    REQUIRE(back.has_value());
    CHECK(*back == status);
  }
  CHECK(names.size() == num_measure_statuses);
  CHECK(num_measure_statuses == static_cast<std::size_t>(MeasureStatus::unknown_error) + 1);
  CHECK_FALSE(measure_status_from_name("fine").has_value());
}

TEST_CASE("the reference's error codes are those of its table") {
  // Ansor reference, ch. 3.4.
  CHECK(ansor_error_no(MeasureStatus::ok) == 0);
  CHECK(ansor_error_no(MeasureStatus::instantiation_error) == 1);
  CHECK(ansor_error_no(MeasureStatus::compile_error) == 2);
  CHECK(ansor_error_no(MeasureStatus::load_error) == 3);
  CHECK(ansor_error_no(MeasureStatus::crashed) == 4);
  CHECK(ansor_error_no(MeasureStatus::out_of_bounds) == 4);
  CHECK(ansor_error_no(MeasureStatus::worker_lost) == 4);
  CHECK(ansor_error_no(MeasureStatus::device_error) == 4);
  CHECK(ansor_error_no(MeasureStatus::out_of_memory) == 4);
  CHECK(ansor_error_no(MeasureStatus::wrong_result) == 5);
  CHECK(ansor_error_no(MeasureStatus::nan_result) == 5);
  CHECK(ansor_error_no(MeasureStatus::build_timeout) == 6);
  CHECK(ansor_error_no(MeasureStatus::run_timeout) == 7);
  CHECK(ansor_error_no(MeasureStatus::cancelled) == 8);
  CHECK(ansor_error_no(MeasureStatus::unknown_error) == 8);
  for (std::int32_t code = 0; code <= 8; ++code) {
    CHECK(ansor_error_no(measure_status_from_ansor(code)) == code);
  }
  CHECK(measure_status_from_ansor(-1) == MeasureStatus::unknown_error);
  CHECK(measure_status_from_ansor(9) == MeasureStatus::unknown_error);
}

TEST_CASE("faults of the machine are not the candidate's") {
  CHECK(is_candidate_fault(MeasureStatus::crashed));
  CHECK(is_candidate_fault(MeasureStatus::run_timeout));
  CHECK(is_candidate_fault(MeasureStatus::device_error));
  CHECK(is_candidate_fault(MeasureStatus::out_of_memory));
  CHECK_FALSE(is_candidate_fault(MeasureStatus::ok));
  CHECK_FALSE(is_candidate_fault(MeasureStatus::worker_lost));
  CHECK_FALSE(is_candidate_fault(MeasureStatus::cancelled));
}
