// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json cuda
// tensorsmith export for a GPU that is not here: NVRTC compiles the text, and the check program
// runs on the processor, against headers that stand for CUDA's (tests/support/cuda_runtime).
#include "error/command_fixture.hpp"
#include "tensorsmith/codegen/nvrtc.hpp"

using namespace tensorsmith::test;

namespace {

/// Compiles what was exported and runs it: the exit code, 100 if it does not compile. The reference
/// has nothing to do with CUDA.
int run_cuda_check(const CommandFolder& folder) {
  const std::string support = TENSORSMITH_SOURCE_DIR "/tests/support";
  const std::string command =
      "cd '" + folder.path("out") +
      "' && { g++ -std=c++17 -O1 -Wall -Wextra -Werror -c *_reference.cpp -o reference.o && "
      "g++ -std=c++17 -O1 -Wall -Wextra -Werror -Wno-clobbered -Wno-unknown-pragmas "
      "-Wno-maybe-uninitialized -Wno-uninitialized -Wno-unused-function -I " +
      support + "/cuda_runtime -include " + support +
      "/cuda_shim.hpp -x c++ *.cu *_check.cpp -x none reference.o -o check || exit 100; } "
      ">../compiled 2>&1 && ./check >../checked 2>&1";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string architecture_in(const std::string& text) {
  const std::string mark = "-arch=";
  const std::size_t at = text.find(mark) + mark.size();
  return text.substr(at, text.find_first_of(" \n", at) - at);
}

void check_with_nvrtc(const std::string& text) {
  static const auto compiler = tensorsmith::NvrtcCompiler::open();
  if (!compiler) {
    skip(compiler.error());
    return;
  }
  const auto cubin = compiler->compile({text, architecture_in(text)});
  INFO((cubin ? "" : cubin.error()) << text);
  CHECK(cubin.has_value());
}

}  // namespace

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
  CHECK(result.out.find("check: nvcc -std=c++17 -O2 -arch=sm_80 gemm64*.cu gemm64*.cpp -o "
                        "gemm64_check && ./gemm64_check\n") != std::string::npos);
  const std::string text = read_text(folder.path("out") + "/gemm64.cu");
  CHECK(text.find("// gemm:64x64x64:f32, target sm_80\n// nvcc -std=c++17 -arch=sm_80\n") == 0);
  CHECK(text.find("extern \"C\" __global__ void __launch_bounds__(") != std::string::npos);
  const std::string header = read_text(folder.path("out") + "/gemm64.hpp");
  CHECK(header.find(
            "extern \"C\" cudaError_t gemm64_launch(const float* A, const float* B, float* C, "
            "void* workspace, cudaStream_t stream);\n") != std::string::npos);
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

TEST_CASE("what is exported in CUDA compiles, launches its kernels and passes its check") {
  bool has_workspace = false, asks_for_memory = false;
  for (const auto& [workload, target] : std::initializer_list<std::pair<const char*, const char*>>{
           {"gemm:33x20x70", "sim:a100"},
           {"gemm:8x8x2048", "sim:a100"},
           {"gemm:32x48x64:f16,bias,relu", "sim:a100"},
           {"gemm:64x64x64:bf16", "sim:h100"},
           {"gemm:256x256x1024:f16", "sim:orin"},
           {"gemm:32x40x64:i8", "sim:rtx3080"},
           {"gemm:17x24x40:f64", "sim:h200"},
           {"gemm:256x256x256", "sim:h100"},
           {"softmax:5x200", "sim:a100"},
           {"layernorm:6x70:f16", "sim:t4"},
           {"conv2d:n=1,h=9,w=9,ci=6,co=10,k=3,s=1,p=1", "sim:a100"},
           {"gather:5x9x12:f32,indices=i64", "sim:a100"},
           {"gemm:64x64x128,packed", "sim:a100"},
           {"argmax:7x30", "sim:a100"}}) {
    CommandFolder folder;
    const CommandResult tuned =
        folder.run({"tune", workload, "--target", target, "--trials", "8", "--db", "journal"});
    const CommandResult exported =
        folder.run({"export", workload, "--target", target, "--db", "journal", "--output",
                    folder.path("out"), "--name", "it"});
    CAPTURE(workload, target, tuned.err, exported.out, exported.err);
    REQUIRE(tuned.code == 0);
    REQUIRE(exported.code == 0);
    const std::string text = read_text(folder.path("out") + "/it.cu");
    check_with_nvrtc(text);
    has_workspace = has_workspace || text.find("(void)workspace") == std::string::npos;
    asks_for_memory = asks_for_memory || text.find("cudaFuncSetAttribute") != std::string::npos;
    const int code = run_cuda_check(folder);
    CAPTURE(folder.read("compiled"), text);
    CHECK(code == 0);
    CHECK(folder.read("checked") == "ok\n");
  }
  CHECK(has_workspace);
  CHECK(asks_for_memory);
}

TEST_CASE("a kernel for a GPU has no machine code to leave out") {
  CommandFolder folder;
  check_refused(folder.run({"export", "gemm:6x20x8", "--target", "sm_80", "--untuned", "--portable",
                            "--output", folder.path("out")}),
                "--portable");
}

TEST_CASE("the check of CUDA text finds a wrong kernel and a launch that fails") {
  CommandFolder folder;
  const CommandResult exported =
      folder.run({"export", "gemm:6x20x8", "--target", "sm_80", "--untuned", "--output",
                  folder.path("out"), "--name", "it"});
  REQUIRE(exported.code == 0);
  const std::string path = folder.path("out") + "/it.cu", text = read_text(path);
  const std::size_t stream = text.rfind(", stream)");
  REQUIRE(stream != std::string::npos);
  const std::size_t bytes = text.rfind(", ", stream - 1) + 2;
  std::string changed = text;
  changed.replace(bytes, stream - bytes, "50000");  // as CUDA, nobody has asked for them
  write_text(path, changed);
  CHECK(run_cuda_check(folder) == 2);
  CHECK(folder.read("checked").find("CUDA: invalid argument") != std::string::npos);
  changed = text;
  changed.insert(changed.rfind("  return cudaSuccess;"), "  C[119] = C[119] + 1;\n");
  write_text(path, changed);
  CHECK(run_cuda_check(folder) == 1);
  CHECK(folder.read("checked").find("1 wrong elements") != std::string::npos);
}
