// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json llvm
// A processor that is not here on the command line: tune, explain, export; what is refused.
#include "error/command_fixture.hpp"
#include "tensorsmith/cpu_models.hpp"

using namespace tensorsmith::test;

TEST_CASE("tune, explain and export for a processor that is not there") {
  CommandFolder folder;
  const std::string target = "sim:neoverse-n1", gemm = "gemm:64x64x64:f32";
  const CommandResult tuned =
      folder.run({"tune", gemm, "--target", target, "--trials", "16", "--db", "db", "--json"});
  REQUIRE(tuned.code == 0);
  CHECK(tuned.json()["simulated"] == true);
  CHECK(tuned.json()["verified"] == false);
  CHECK(tuned.json()["trials"] == 16);
  const CommandResult explained = folder.run({"explain", gemm, "--target", target, "--db", "db"});
  CHECK(explained.code == 0);
  CHECK(explained.out.find("predicted by the model") != std::string::npos);
  const CommandResult exported =
      folder.run({"export", gemm, "--target", target, "--db", "db", "--name", "gemm64"});
  CHECK(exported.code == 0);
  CHECK(exported.out.find("aarch64-linux-gnu-g++") != std::string::npos);
  CHECK(exported.out.find("-mcpu=neoverse-n1") != std::string::npos);
  const std::string text = folder.read("gemm64.cpp");
  CHECK(text.find("defined(__AARCH64EL__)") != std::string::npos);
  CHECK(text.find("fmla") != std::string::npos);
  CHECK(text.find("defined(__x86_64__)") == std::string::npos);
  // The records are those of that target alone.
  CHECK(folder.run({"explain", gemm, "--target", "sim:cortex-a72", "--db", "db"}).code == 2);
  check_refused(folder.run({"export", gemm, "--target", "neoverse-n1", "--db", "db"}),
                "--target sim:neoverse-n1 has some");
  CHECK(folder.run({"tune", gemm, "--target", "sim:apple-m1", "--trials", "0"}).code == 0);
}

TEST_CASE("what a processor that is not there cannot do is refused with what to do instead") {
  CommandFolder folder;
  const auto refused = [&](const std::vector<std::string>& arguments, const char* sentence) {
    check_refused(folder.run(arguments), sentence);
  };
  const std::string gemm = "gemm:8x8x8:f32";
  refused({"run", gemm, "--target", "sim:neoverse-n1"}, "nothing can be run");
  refused({"tune", gemm, "--target", "sim:armv8-a"}, "sim:cortex-a72");
  refused({"tune", gemm, "--target", "sim:znver4"}, "unknown target");
#if defined(__x86_64__)
  refused({"tune", gemm, "--target", "neoverse-n1"}, "sim:neoverse-n1 tunes");
  refused({"tune", gemm, "--target", "armv8-a"}, "cannot run code for armv8-a");
#endif
}

TEST_CASE("devices lists the simulated processors") {
  CommandFolder folder;
  const CommandResult devices = folder.run({"devices"});
  CHECK(devices.out.find("sim:neoverse-v1: aarch64") != std::string::npos);
  std::size_t num_with_clock = 0;
  for (const tensorsmith::ArmModel& model : tensorsmith::arm_models) {
    num_with_clock += model.clock_mhz > 0 ? 1 : 0;
  }
  CHECK(folder.run({"devices", "--json"}).json()["simulated_cpus"].size() == num_with_clock);
}
