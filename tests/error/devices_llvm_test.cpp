// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json
// tensorsmith devices --calibrate: what is kept, what it says of itself, and what is refused.
#include "error/command_fixture.hpp"

using namespace tensorsmith::test;

TEST_CASE("devices --calibrate keeps rates, which devices --rates lists with where they are from") {
  CommandFolder folder;
  const CommandResult before = folder.run({"devices", "--rates", "--json"});
  REQUIRE(before.code == 0);
  const nlohmann::json assumed = before.json()["rates"];
  CHECK(assumed["file"].is_null());
  CHECK(assumed["numbers"].size() > 30);
  CHECK(assumed["fingerprint"].get<std::string>().size() == 16);
  const CommandResult made = folder.run({"devices", "--calibrate", "--seconds", "2", "--json"});
  CAPTURE(made.err);
  REQUIRE(made.code == 0);
  const nlohmann::json rates = made.json()["rates"];
  CHECK(std::filesystem::is_regular_file(rates["file"].get<std::string>()));
  CHECK(rates["machine"] == assumed["machine"]);
  CHECK(rates["num_programs"] >= 16);
  CHECK(rates["error_after"] <= rates["error_before"]);
  CHECK(rates["probes"]["ns_per_cycle"] > 0);
  const CommandResult after = folder.run({"devices", "--rates"});
  CHECK(after.code == 0);
  CHECK(after.out.find("rates of a core: fitted to ") != std::string::npos);
  CHECK(after.out.find("\n  streams ") != std::string::npos);
  // Other commands use them; a damaged file is no file.
  CHECK(folder.run({"tune", "gemm:64x64x64:f32", "--trials", "0", "--json"}).code == 0);
  std::ofstream(rates["file"].get<std::string>()) << "{";
  CHECK(folder.run({"devices", "--json"}).json()["rates"]["file"].is_null());
  CHECK(folder.run({"tune", "gemm:64x64x64:f32", "--trials", "0", "--json"}).code == 0);
}

TEST_CASE("a calibration without a folder, or of no time, is refused in one sentence") {
  CommandFolder folder;
  const CommandResult nowhere =
      folder.run({"devices", "--calibrate"}, "unset HOME XDG_CACHE_HOME;");
  CHECK(nowhere.code != 0);
  CHECK(nowhere.err.find("no folder to keep rates in") != std::string::npos);
  CHECK(folder.run({"devices", "--calibrate", "--seconds", "0"}).code == 2);
}
