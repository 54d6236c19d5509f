// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json llvm
// A simulated GPU on the command line: tune, explain, export; what is refused.
#include "error/command_fixture.hpp"
#include "tensorsmith/gpu_devices.hpp"

using namespace tensorsmith::test;

TEST_CASE("tune, explain and export for a board that is not there") {
  CommandFolder folder;
  const CommandResult tuned =
      folder.run({"tune", "gemm:128x128x128:f32", "--target", "sim:a100", "--trials", "16", "--db",
                  "db", "--model", "random", "--param", "evolutionary_search_population=32",
                  "--fault", "hang=0.3", "--fault", "throttling=0.3", "--json"});
  REQUIRE(tuned.code == 0);
  CHECK(tuned.json()["simulated"] == true);
  CHECK(tuned.json()["verified"] == false);
  CHECK(tuned.json()["trials"] == 16);
  CHECK(tuned.json()["failed"]["run_timeout"] > 0);
  CHECK(tuned.json()["repeated"] > 0);
  const CommandResult explained =
      folder.run({"explain", "gemm:128x128x128:f32", "--target", "sim:a100", "--db", "db"});
  CHECK(explained.code == 0);
  CHECK(explained.out.find("bound by") != std::string::npos);
  CHECK(explained.out.find("block_x") != std::string::npos);
  const CommandResult exported = folder.run({"export", "gemm:128x128x128:f32", "--target",
                                             "sim:a100", "--db", "db", "--name", "gemm128"});
  CHECK(exported.code == 0);
  CHECK(folder.read("gemm128.cu").find("__global__") != std::string::npos);
  // The records are those of that target alone.
  CHECK(folder.run({"explain", "gemm:128x128x128:f32", "--target", "sim:t4", "--db", "db"}).code ==
        2);
}

TEST_CASE("what a simulated board cannot do is refused with what to do instead") {
  CommandFolder folder;
  const auto refused = [&](const std::vector<std::string>& arguments, const char* sentence) {
    check_refused(folder.run(arguments), sentence);
  };
  const std::string gemm = "gemm:8x8x8:f32";
  refused({"run", gemm, "--target", "sim:a100"}, "nothing can be run");
  refused({"tune", gemm, "--target", "a100"}, "sim:a100 simulates it");
  refused({"tune", gemm, "--target", "sim:a1000"}, "sim:h200");
  CHECK(folder.run({"tune", gemm, "--target", "sim:a100", "--trials", "0"}).code == 0);
  refused({"tune", gemm, "--fault", "hang=0.1"}, "--fault is for simulated targets");
  refused({"tune", gemm, "--target", "sim:a100", "--fault", "luck=0.1"}, "unknown fault \"luck\"");
  refused({"tune", gemm, "--target", "sim:a100", "--fault", "hang"}, "expected NAME=VALUE");
  refused({"tune", gemm, "--target", "sim:a100", "--fault", "hang=2"}, "a number from 0 to 1");
  refused({"tune", gemm, "--target", "sim:a100", "--fault", "hang=0.6", "--fault", "crash=0.6"},
          "more than 1");
  refused({"export", gemm, "--target", "sim:a100", "--db", "none"}, "there is no journal");
}

TEST_CASE("devices lists the simulated boards and says that they are") {
  CommandFolder folder;
  const CommandResult devices = folder.run({"devices"});
  CHECK(devices.out.find("nothing is run") != std::string::npos);
  CHECK(devices.out.find("sim:h200: H200") != std::string::npos);
  CHECK(folder.run({"devices", "--json"}).json()["simulated"].size() ==
        tensorsmith::gpu_models.size());
}
