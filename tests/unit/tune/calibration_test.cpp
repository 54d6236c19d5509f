// SPDX-License-Identifier: Apache-2.0
// requires: json
#include "tensorsmith/tune/calibration.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "tensorsmith/cost/draft_rates.hpp"
#include "tensorsmith/host.hpp"

using namespace tensorsmith;

namespace {

MachineRates some_rates() {
  MachineRates made;
  made.machine = machine_name(host_target());
  made.rates = detail::draft_rates(host_target());
  made.rates.bytes_per_cycle = {31, 17.25, 6.125};
  made.rates.tracked = 12;
  made.fitted = {"bytes_per_cycle_l1", "bytes_per_cycle_l2", "bytes_per_cycle_l3", "tracked"};
  made.num_programs = 77;
  made.error_before = 0.25;
  made.error_after = 0.125;
  made.seconds = 0.5;
  return made;
}

std::string written(const test::TemporaryFolder& folder, const std::string& text) {
  const std::string path = folder.path() / "rates.json";
  std::ofstream(path) << text;
  return path;
}

}  // namespace

TEST_CASE("rates are kept and read back, fitted ones alone") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "deep/rates.json";
  const MachineRates made = some_rates();
  REQUIRE(write_rates(path, made).has_value());
  const auto back = read_rates(path, host_target());
  CAPTURE(back ? "" : back.error());
  REQUIRE(back.has_value());
  CHECK(back->rates == made.rates);
  CHECK(back->fitted == made.fitted);
  CHECK(back->machine == made.machine);
  CHECK(back->num_programs == made.num_programs);
  CHECK(back->error_before == made.error_before);
  CHECK(back->error_after == made.error_after);
  CHECK(back->seconds == made.seconds);
  CHECK_FALSE(write_rates("/dev/null/rates.json", made).has_value());
}

TEST_CASE("a file of rates that is none, or of another machine, is refused in one sentence") {
  const test::TemporaryFolder folder;
  const std::string name = machine_name(host_target());
  const auto refusal = [&](const std::string& path) {
    const auto read = read_rates(path, host_target());
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().find('\n') == std::string::npos);
    return read.error();
  };
  const auto with = [&](const std::string& machine, const std::string& rates) {
    return written(folder, R"({"v": "tensorsmith-rates-2", "machine": ")" + machine +
                               R"(", "rates": )" + rates + "}");
  };
  CHECK(refusal(folder.path() / "missing").find("no file of rates") != std::string::npos);
  CHECK(refusal("/dev/zero").find("no file of rates") != std::string::npos);
  REQUIRE(::mkfifo((folder.path() / "fifo").c_str(), 0600) == 0);
  CHECK(refusal(folder.path() / "fifo").find("no file of rates") != std::string::npos);
  for (const char* text : {"", "{", "[]", "12", R"({"v": 1})", R"({"v": "tensorsmith-rates-2"})",
                           R"({"v": "tensorsmith-rates-9", "machine": "x", "rates": {}})",
                           R"({"v": "tensorsmith-rates-1", "machine": "x", "rates": {}})",
                           R"({"v": "tensorsmith-rates-2", "machine": "x", "rates": 3})"}) {
    CAPTURE(text);
    CHECK(refusal(written(folder, text)).find("no file of rates") != std::string::npos);
  }
  CHECK(refusal(written(folder, std::string(100'000, ' '))).find("no file") != std::string::npos);
  CHECK(refusal(with("another", "{}")).find("another machine") != std::string::npos);
  for (const char* rates : {R"({"hidden": -1})", R"({"hidden": "x"})", R"({"latency_l1": 1e300})",
                            R"({"bytes_per_cycle_l2": 0})", R"({"streams": null})"}) {
    CAPTURE(rates);
    CHECK(refusal(with(name, rates)).find("the rate ") != std::string::npos);
  }
  CHECK(read_rates(with(name, R"({"loop_end": 0, "of_later": 3})"), host_target()).has_value());
}

TEST_CASE("the host has the rates that were kept for it") {
  const test::TemporaryFolder folder;
  ::setenv("XDG_CACHE_HOME", (folder.path() / "cache").c_str(), 1);
  CHECK_FALSE(with_kept_rates(host_target()).rates.has_value());
  const MachineRates made = some_rates();
  REQUIRE(write_rates(rates_file(host_target()), made).has_value());
  const Target calibrated = with_kept_rates(host_target());
  REQUIRE(calibrated.rates.has_value());
  CHECK(detail::draft_rates(calibrated) == made.rates);
  std::ofstream(rates_file(host_target())) << "damaged";
  CHECK_FALSE(with_kept_rates(host_target()).rates.has_value());
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  CHECK(rates_file(host_target()).empty());
  CHECK_FALSE(with_kept_rates(host_target()).rates.has_value());
}

TEST_CASE("a calibration that is interrupted gives no rates") {
  const auto none = calibrate_machine(host_target(), 60, [] { return true; });
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().find("interrupted") != std::string::npos);
}
