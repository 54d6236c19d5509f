// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json
// tensorsmith export for a GPU that is not here: the text of the kernels.
#include "error/command_fixture.hpp"

using namespace tensorsmith::test;

TEST_CASE("a program for a GPU is exported as CUDA text") {
  CommandFolder folder;
  const std::vector<std::string> command = {"export",   "gemm:64x64x64:f32", "--target", "sm_80",
                                            "--output", folder.path("out"),  "--name",   "gemm64",
                                            "--untuned"};
  const std::string no_journal = "export XDG_CACHE_HOME=" + folder.path("cache") + ";";
  const CommandResult result = folder.run(command, no_journal);
  CAPTURE(result.out, result.err);
  CHECK(result.code == 0);
  CHECK(result.err.find("a program drawn from the GPU space") != std::string::npos);
  const std::string text = read_text(folder.path("out") + "/gemm64.cu");
  CHECK(text.find("// gemm:64x64x64:f32, target sm_80\n") == 0);
  CHECK(text.find("extern \"C\" __global__ void __launch_bounds__(") != std::string::npos);
  const CommandResult again = folder.run(command, no_journal);
  CHECK(again.code == 2);
  CHECK(again.err.find("exists; --force replaces it") != std::string::npos);
  for (const char* other : {"tune", "run"}) {
    const CommandResult refused = folder.run({other, "gemm:64x64x64:f32", "--target", "sm_80"});
    CAPTURE(other, refused.err);
    CHECK(refused.code == 2);
    CHECK(refused.err.find("GPU") != std::string::npos);
  }
}
