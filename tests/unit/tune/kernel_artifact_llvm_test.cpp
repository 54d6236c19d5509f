// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/kernel_artifact.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/tune.hpp"

using namespace tensorsmith;

namespace {

TuneResult tuned_at_once(const std::string& workload) {
  TuneTask task;
  task.dag = ops::parse_workload(workload)->dag;
  task.target = host_target();
  task.workload = workload;
  TuneOptions options;
  options.budget = {0, 0};
  return tune(task, options);
}

/// c = a b of 8 x 8 with a[i][k] = i + k, b[k][j] = k - j.
std::vector<float> product_by(const Kernel& kernel) {
  std::vector<float> a(64), b(64), c(64, -1.0F);
  for (int i = 0; i < 64; ++i) {
    a[static_cast<std::size_t>(i)] = static_cast<float>(i / 8 + i % 8);
    b[static_cast<std::size_t>(i)] = static_cast<float>(i / 8 - i % 8);
  }
  kernel(a, b, c);
  return c;
}
std::vector<float> expected_product() {
  std::vector<float> c(64);
  for (int i = 0; i < 64; ++i) {
    for (int k = 0; k < 8; ++k) {
      c[static_cast<std::size_t>(i)] += static_cast<float>((i / 8 + k) * (k - i % 8));
    }
  }
  return c;
}

}  // namespace

TEST_CASE("kernel artifact: what is saved computes the same in another place") {
  const TuneResult result = tuned_at_once("gemm:8x8x8:f32");
  const KernelArtifact artifact = result.artifact();
  CHECK(artifact.workload == "gemm:8x8x8:f32");
  CHECK(artifact.target == "host");
  const std::string path =
      (std::filesystem::temp_directory_path() / "tensorsmith_artifact_test.tsk").string();
  REQUIRE(save_artifact(artifact, path));
  const Result<KernelArtifact, std::string> loaded = load_artifact(path);
  std::filesystem::remove(path);
  REQUIRE(loaded);
  CHECK(artifact_bytes(*loaded) == artifact_bytes(artifact));
  CHECK(loaded->signature.parameters.size() == 3);
  CHECK(loaded->signature.parameters[2].is_output);
  CHECK(product_by(kernel_of(*loaded)) == expected_product());
}

TEST_CASE("kernel artifact: kernels of one runtime share threads and the largest workspace") {
  const KernelArtifact small = tuned_at_once("gemm:8x8x8:f32").artifact();
  const KernelArtifact large = tuned_at_once("gemm:96x256x256:f32").artifact();
  const Runtime runtime(2);
  const Kernel a = kernel_of(small, runtime);
  const std::size_t before = runtime.workspace_bytes();
  const Kernel b = kernel_of(large, runtime);
  CHECK(runtime.workspace_bytes() >= before);
  CHECK(a.num_threads() == 2);
  CHECK(product_by(a) == expected_product());
  const std::vector<float> ones(96 * 256, 1.0F), twos(256 * 256, 2.0F);
  std::vector<float> c(96 * 256);
  b(ones, twos, c);
  CHECK(c == std::vector<float>(96 * 256, 512.0F));
  CHECK(product_by(a) == expected_product());
  CHECK_THROWS_AS(Runtime(0), Error);
}

TEST_CASE("kernel artifact: damaged files and code for other processors are refused") {
  KernelArtifact artifact = tuned_at_once("gemm:8x8x8:f32").artifact();
  const std::string bytes = artifact_bytes(artifact);
  for (std::size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 200) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    CHECK_FALSE(artifact_from_bytes(damaged));
    CHECK_FALSE(artifact_from_bytes(std::string_view(bytes).substr(0, at)));
  }
  CHECK_FALSE(artifact_from_bytes(bytes + "x"));
  CHECK(artifact_from_bytes("hello").error() == "this is no kernel of tensorsmith");
  CHECK(load_artifact("/no/such/file").error().find("/no/such/file") != std::string::npos);

  CHECK(refusal_of(artifact).empty());
  artifact.features += ",+quantum";
  CHECK(refusal_of(artifact).find("with quantum, which this one does not have") !=
        std::string::npos);
  CHECK_THROWS_AS(kernel_of(artifact), Error);
  artifact.cpu = "pdp11";
  CHECK(refusal_of(artifact).find("unknown target \"pdp11\"") != std::string::npos);
}
