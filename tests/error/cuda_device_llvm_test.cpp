// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json llvm cuda
// A GPU on the command line, through a driver that is not there (tests/fake_cuda): devices, tune,
// run, explain; faults in the middle of a search; a machine without a GPU.
#include <sys/file.h>

#include "error/command_fixture.hpp"

using namespace tensorsmith::test;

namespace {

/// For CommandFolder::run: the command sees a GPU; `settings` as in tests/fake_cuda.
std::string with_gpu(const std::string& settings) {
  std::string shell = "export TENSORSMITH_LEASE_FOLDER=$PWD FAKE_CUDA=" + settings + ";";
  for (const char* name : {"LIBCUDA", "NVRTC", "LIBNVML"}) {
    shell += std::string(" export TENSORSMITH_") + name + "=" TENSORSMITH_FAKE_CUDA ";";
  }
  return shell;
}

const std::vector<std::string> small_search = {"--model", "random",
                                               "--param", "evolutionary_search_population=16",
                                               "--param", "sample_init_min_population=8"};

std::vector<std::string> command(std::vector<std::string> first) {
  first.insert(first.end(), small_search.begin(), small_search.end());
  return first;
}

}  // namespace

TEST_CASE("a machine with GPUs: devices, tune, run, explain") {
  CommandFolder folder;
  const nlohmann::json devices =
      folder.run({"devices", "--json"}, with_gpu("devices=2,driver=12080")).json();
  REQUIRE(devices["gpus"].size() == 2);
  CHECK(devices["gpus"][1]["target"] == "cuda:1");
  CHECK(devices["gpus"][1]["name"] == "h200");
  CHECK(devices["gpus"][1]["driver"] == "12.8");
  CHECK(folder.run({"devices"}, with_gpu("")).out.find("cuda:0: Fake H200, sm_90, 132 SMs") !=
        std::string::npos);

  const CommandResult tuned = folder.run(command({"tune", "gemm:16x32x16:f32", "--target", "cuda",
                                                  "--trials", "3", "--db", "db", "--json"}),
                                         with_gpu(""));
  INFO(tuned.err);
  REQUIRE(tuned.code == 0);
  CHECK(tuned.json()["verified"] == true);
  CHECK(tuned.json()["simulated"] == false);
  CHECK(tuned.json()["trials"] == 3);
  CHECK(tuned.json()["best_ns"] > 500);
  CHECK(folder.read("db").find("\"h200\"") != std::string::npos);
  CHECK(folder.read("db").find("Fake H200") != std::string::npos);
  const CommandResult ran = folder.run(
      {"run", "gemm:16x32x16:f32", "--target", "cuda", "--db", "db", "--json"}, with_gpu(""));
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  CHECK(ran.json()["verified"] == true);
  // The schedule can be looked at without the device.
  CHECK(folder.run({"explain", "gemm:16x32x16:f32", "--target", "h200", "--db", "db"}).code == 0);
}

TEST_CASE("a GPU that goes wrong in the middle of a search") {
  CommandFolder folder;
  // Kernels are counted, not run, so nothing is verified.
  const auto tuned = [&](const std::string& settings) {
    return folder.run(command({"tune", "gemm:64x64x64:f32", "--target", "sm_90a", "--trials", "16",
                               "--db", "db", "--json", "--unverified"}),
                      with_gpu("counted=1," + settings));
  };
  const CommandResult well = tuned("");
  INFO(well.err);
  REQUIRE(well.code == 0);
  CHECK(well.json()["trials"] == 16);
  CHECK(well.json()["failed"].empty());
  CHECK(tuned("").json()["best_ns"] == well.json()["best_ns"]);
  const nlohmann::json sticky = tuned("sticky=20").json();
  CHECK(sticky["failed"]["device_error"] >= 1);
  CHECK(sticky["trials"] == 16);
  CHECK(sticky["best_ns"] > 0);
  const CommandResult refused = tuned("refused_code=1");
  CHECK(refused.code == 1);
  CHECK(refused.err.find("load_error: loading the code: CUDA_ERROR_NO_BINARY_FOR_GPU") !=
        std::string::npos);
}

TEST_CASE("a machine without a GPU, or without what it takes") {
  CommandFolder folder;
  const std::vector<std::string> tune = {"tune", "gemm:8x8x8:f32", "--target", "cuda"};
  const std::string none = "export TENSORSMITH_LIBCUDA=/no/such/libcuda.so;";
  check_refusal(folder.run(tune, none), "there is no CUDA driver");
  check_refusal(folder.run({"run", "gemm:8x8x8:f32", "--target", "a100"}, none),
                "there is no CUDA driver");
  check_refusal(folder.run(tune, with_gpu("driver=10020")), "is of version 10.2, and 11.4");
  check_refusal(folder.run(tune, with_gpu("devices=-1")), "finds no NVIDIA GPU");
  check_refusal(folder.run(tune, with_gpu("") + " export TENSORSMITH_NVRTC=/no/such.so;"),
                "NVRTC cannot be opened at");
  const CommandResult devices = folder.run({"devices"}, none);
  CHECK(devices.code == 0);
  CHECK(devices.out.find("cuda: no (there is no CUDA driver") != std::string::npos);
}

TEST_CASE("two tuners do not share a GPU unknowingly") {
  CommandFolder folder;
  const std::string lock = folder.path("tensorsmith-GPU-fafafafa-fafa-fafa-fafa-fafafafafa00.lock");
  write_text(lock, "4711");
  const int file = ::open(lock.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(file, LOCK_EX | LOCK_NB) == 0);
  const std::vector<std::string> tune = command(
      {"tune", "gemm:64x64x64:f32", "--target", "cuda", "--trials", "1", "--db", "db", "--quiet"});
  check_refusal(folder.run(tune, with_gpu("counted=1")),
                "Fake H200 is measured on by another tuner (process 4711): wait until");
  const std::string shares = " export TENSORSMITH_SHARE_GPU=1;";
  CHECK(folder
            .run(command({"tune", "gemm:64x64x64:f32", "--target", "cuda", "--trials", "1", "--db",
                          "db", "--quiet", "--unverified"}),
                 with_gpu("counted=1") + shares)
            .code == 0);
  ::close(file);
}

TEST_CASE("a GPU that is there: tune, verify, run", "[gpu]") {
  CommandFolder folder;
  const nlohmann::json devices = folder.run({"devices", "--json"}).json();
  if (devices["gpus"].empty()) {
    skip("no NVIDIA GPU on this machine");
    return;
  }
  for (const char* workload : {"gemm:256x256x256:f32", "softmax:64x256"}) {
    INFO(workload);
    const CommandResult tuned = folder.run(
        command({"tune", workload, "--target", "cuda", "--trials", "16", "--db", "db", "--json"}));
    INFO(tuned.err);
    REQUIRE(tuned.code == 0);
    CHECK(tuned.json()["verified"] == true);
    CHECK_FALSE(tuned.json()["failed"].contains("wrong_result"));
    const CommandResult ran =
        folder.run({"run", workload, "--target", "cuda", "--db", "db", "--json"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK(ran.json()["verified"] == true);
  }
}
