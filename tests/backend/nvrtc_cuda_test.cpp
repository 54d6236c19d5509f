// SPDX-License-Identifier: Apache-2.0
// CUDA text through NVRTC: no GPU is needed, and without NVRTC these tests are skipped.
#include "tensorsmith/codegen/nvrtc.hpp"

#include <filesystem>
#include <fstream>

#include "backend/cpp_source_fixture.hpp"
#include "backend/gpu_programs.hpp"
#include "backend/lane_sums.hpp"
#include "backend/nvrtc_texts.hpp"
#include "cuda/compile_cache.hpp"
#include "tensorsmith/codegen/cuda_source.hpp"
#include "tensorsmith/lower/lower.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

constexpr std::int32_t capabilities[] = {75, 80, 89, 90};

/// Null, and the test skipped, where there is no NVRTC.
const NvrtcCompiler* nvrtc() {
  static const auto opened = NvrtcCompiler::open();
  if (!opened) {
    skip(opened.error());
    return nullptr;
  }
  return &opened.value();
}

CudaSource source_of(const LoopProgram& program, const Target& target) {
  const auto source = cuda_source(program, target);
  INFO((source ? "" : source.error()));
  REQUIRE(source.has_value());
  return *source;
}

Cubin compiled(const NvrtcCompiler& compiler, const std::string& text, std::int32_t capability) {
  const auto cubin = compiler.compile({text, nvrtc_architecture(*Target::cuda(capability)->gpu)});
  INFO(text << (cubin ? "" : cubin.error()));
  REQUIRE(cubin.has_value());
  return *cubin;
}

/// Needs more registers than 1024 threads may have.
constexpr const char* spilling_text = R"(
extern "C" __global__ void __launch_bounds__(1024) spill(const float* A, float* C) {
  float a[160];
#pragma unroll
  for (int i = 0; i < 160; ++i) a[i] = A[threadIdx.x + i * 1024];
#pragma unroll
  for (int i = 0; i < 160; ++i) a[i] = a[i] * a[(i * 37 + 5) % 160] + 1.0f;
#pragma unroll
  for (int i = 0; i < 160; ++i) C[threadIdx.x + i * 1024] = a[i] * a[(i * 31 + 7) % 160];
}
)";

}  // namespace

TEST_CASE("every kind of CUDA text compiles for four architectures", "[nvrtc]") {
  const NvrtcCompiler* const compiler = nvrtc();
  if (compiler == nullptr) {
    return;
  }
  std::vector<GpuCase> cases;
  for (const DType type : all_dtypes) {
    cases.push_back(reverse_case(type, 2, 64, 32));
    if (type != DType::boolean) {
      cases.push_back(elementwise_case(type, 500, 16, 16 / bytes_of(type)));
      cases.push_back(calls_case(type));
    }
  }
  for (const auto& [type, sum] : {std::pair{DType::f32, DType::f32},
                                  {DType::f64, DType::f64},
                                  {DType::f16, DType::f32},
                                  {DType::bf16, DType::f32},
                                  {DType::i8, DType::i32}}) {
    cases.push_back(gemm_case(type, sum, 64, 32, 16));
    cases.push_back(gemm_case(type, sum, 37, 41, 19));
  }
  cases.push_back(softmax_case(3, 77, 64));
  cases.push_back(reverse_case(DType::f64, 2, 8192, 128));
  std::vector<CudaSource> sources;
  std::vector<GpuLimits> limits;
  for (const std::int32_t capability : capabilities) {
    const Target target = *Target::cuda(capability);
    for (const GpuCase& example : cases) {
      sources.push_back(source_of(example.program, target));
      limits.push_back(*target.gpu);
    }
  }
  std::vector<NvrtcJob> jobs;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    jobs.push_back({sources[i].text, nvrtc_architecture(limits[i])});
  }
  const auto cubins = compiler->compile_all(jobs);
  REQUIRE(cubins.size() == sources.size());
  for (std::size_t i = 0; i < cubins.size(); ++i) {
    INFO(cases[i % cases.size()].name << "\n" << sources[i].text);
    INFO((cubins[i] ? "" : cubins[i].error()));
    REQUIRE(cubins[i].has_value());
    const auto& kernels = cubins[i]->kernels;
    REQUIRE(kernels.size() == sources[i].launches.size());
    for (const CudaLaunch& launch : sources[i].launches) {
      const CubinKernel* const kernel =
          find_item(kernels, [&](const CubinKernel& k) { return k.name == launch.kernel; });
      REQUIRE(kernel != nullptr);
      CHECK(kernel->num_registers >= 8);
      CHECK(kernel->spill_bytes == 0);
      CHECK(kernel->stack_bytes == 0);
      CHECK(kernel->shared_bytes == launch.static_shared_bytes);
      const auto checked = check_kernel(*kernel, launch, limits[i]);
      CHECK((checked.has_value() || launch.dynamic_shared_bytes > 0));
    }
  }
}

TEST_CASE("reductions from lane to lane compile for four architectures", "[nvrtc]") {
  const NvrtcCompiler* const compiler = nvrtc();
  if (compiler == nullptr) {
    return;
  }
  for (const LaneSum& sum : lane_sums()) {
    INFO(sum.name);
    for (const std::int32_t capability : capabilities) {
      const Target target = Target::cuda(capability).value();
      const auto program = lower(sum.state, target);
      REQUIRE(program.has_value());
      check_compiled(*compiler, source_of(*program, target), *target.gpu);
    }
  }
}

TEST_CASE("registers, stack and spills: the cubin and the log agree", "[nvrtc]") {
  const NvrtcCompiler* const compiler = nvrtc();
  if (compiler == nullptr) {
    return;
  }
  for (const std::int32_t capability : capabilities) {
    const Cubin cubin = compiled(*compiler, spilling_text, capability);
    INFO("sm_" << capability << "\n" << cubin.log);
    REQUIRE(cubin.kernels.size() == 1);
    const CubinKernel& kernel = cubin.kernels[0];
    CHECK(kernel.name == "spill");
    CHECK(cubin.log.find("Used " + std::to_string(kernel.num_registers) + " registers") !=
          std::string::npos);
    CHECK(cubin.log.find(std::to_string(kernel.stack_bytes) + " bytes stack frame, " +
                         std::to_string(kernel.spill_bytes) + " bytes spill stores") !=
          std::string::npos);
    CHECK(kernel.spill_bytes > 0);
    // Without a log the stack stands for what was spilled.
    const auto alone = read_cubin(cubin.code, "");
    REQUIRE(alone.has_value());
    CHECK((*alone)[0].num_registers == kernel.num_registers);
    CHECK((*alone)[0].spill_bytes == kernel.stack_bytes);
    CudaLaunch launch;
    launch.kernel = "spill";
    launch.block = {1024, 1, 1};
    CHECK(check_kernel(kernel, launch, *Target::cuda(capability)->gpu).has_value());
  }
}

TEST_CASE("a text that does not compile: the compiler's words", "[nvrtc]") {
  const NvrtcCompiler* const compiler = nvrtc();
  if (compiler == nullptr) {
    return;
  }
  const auto bad =
      compiler->compile({"extern \"C\" __global__ void k(float* x) { y = 1; }", "sm_80"});
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.error().find("identifier \"y\" is undefined") != std::string::npos);
  const auto unknown = compiler->compile({"extern \"C\" __global__ void k() {}", "sm_7"});
  REQUIRE_FALSE(unknown.has_value());
  CHECK(unknown.error().find("NVRTC: ") == 0);
}

TEST_CASE("compiled code is kept, and compiled anew where it is damaged", "[nvrtc]") {
  if (nvrtc() == nullptr) {
    return;
  }
  const TemporaryFolder folder;
  const std::string cache = (folder.path() / "cache").string();
  const std::string text =
      source_of(elementwise_case(DType::f32, 512, 32, 4).program, *Target::cuda(80)).text;
  const auto files = [&] {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(cache)) {
      if (entry.is_regular_file()) {
        found.push_back(entry.path());
      }
    }
    return found;
  };
  // A compiler of its own each time, as in another process.
  const auto compile = [&](std::int32_t capability, std::int64_t expected_hits) {
    NvrtcCompiler compiler = *NvrtcCompiler::open();
    REQUIRE(compiler.use_cache(cache).has_value());
    const Cubin cubin = compiled(compiler, text, capability);
    CHECK(compiler.num_cache_hits() == expected_hits);
    return cubin;
  };
  const Cubin first = compile(80, 0), again = compile(80, 1);
  CHECK(again.code == first.code);
  CHECK(again.log == first.log);
  CHECK(again.kernels == first.kernels);
  CHECK(compile(75, 0).code != first.code);  // other options are another entry
  REQUIRE(files().size() == 2);
  for (const auto& file : files()) {
    std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  }
  CHECK(compile(80, 0).code == first.code);
  compile(80, 1);
  for (const auto& file : files()) {
    std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(500).put('!');
  }
  CHECK(compile(80, 0).code == first.code);
  compile(80, 1);
}

TEST_CASE("the cache of compiled code gives way to what is newer", "[cuda_cache]") {
  using cuda::CachedCubin;
  using cuda::CompileCache;
  const TemporaryFolder folder;
  const auto opened = CompileCache::open(folder.path().string(), 1 << 20);
  REQUIRE(opened.has_value());
  const auto key = [](int i) { return CompileCache::key("text " + std::to_string(i), "-o", "12"); };
  for (int i = 0; i < 8; ++i) {
    opened->add(key(i), {std::string(1000, static_cast<char>('a' + i)), "log"});
    const auto path = folder.path() / key(i).substr(0, 2) / (key(i).substr(2) + ".cubin");
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() -
                                               std::chrono::hours(10 - i));
  }
  REQUIRE(opened->find(key(0)).has_value());  // used: no longer the oldest
  CHECK(opened->find(key(0))->code == std::string(1000, 'a'));
  CHECK(opened->find(key(0))->log == "log");
  CHECK_FALSE(opened->find(key(9)).has_value());
  const auto smaller = CompileCache::open(folder.path().string(), 8000);
  REQUIRE(smaller.has_value());
  CHECK(smaller->find(key(0)).has_value());
  CHECK_FALSE(smaller->find(key(1)).has_value());
  CHECK(smaller->find(key(7)).has_value());
  CHECK(CompileCache::key("a", "b", "c") != CompileCache::key("a", "c", "b"));
  CHECK_FALSE(CompileCache::open("/proc/no/such/folder", 1).has_value());
}

TEST_CASE("no NVRTC where one is named: a sentence that says so", "[nvrtc_absent][error]") {
  const auto absent = NvrtcCompiler::open("/no/such/libnvrtc.so.12");
  REQUIRE_FALSE(absent.has_value());
  CHECK(absent.error().find("NVRTC cannot be opened at \"/no/such/libnvrtc.so.12\": ") == 0);
  const TemporaryFolder folder;
  CHECK(NvrtcCompiler::open(folder.path().string()).error().find("no libnvrtc.so in ") !=
        std::string::npos);
  CHECK(NvrtcCompiler::open("libm.so.6").error() ==
        "libm.so.6 is no NVRTC of version 11.2 or newer");
}

TEST_CASE("what is no cubin is refused", "[nvrtc_absent][error]") {
  CHECK(read_cubin("", "").error() == "not a cubin");
  CHECK(read_cubin(std::string(200, 'x'), "").error() == "not a cubin");
  std::string elf("\177ELF\2", 5);
  elf.resize(64, '\0');
  elf[18] = static_cast<char>(190);
  elf[0x28] = 100;  // a section table behind the end
  elf[0x3c] = 3;
  CHECK(read_cubin(elf, "").error() == "a damaged cubin, or one without kernels");
}

TEST_CASE("compiled kernels beyond a device's limits are refused", "[nvrtc_absent]") {
  const GpuLimits limits = *Target::cuda(80)->gpu;
  CudaLaunch launch;
  launch.kernel = "k";
  launch.block = {256, 1, 1};
  CubinKernel kernel{"k", 128, 0, 0, 4096};
  CHECK(check_kernel(kernel, launch, limits).has_value());
  launch.block = {512, 1, 1};
  CHECK(check_kernel(kernel, launch, limits).has_value());
  launch.block = {544, 1, 1};
  CHECK(check_kernel(kernel, launch, limits).error() ==
        "kernel k needs 69632 registers in a block, the device has at most 65536");
  launch.block = {32, 1, 1};
  kernel.num_registers = 256;
  CHECK(check_kernel(kernel, launch, limits).error() ==
        "kernel k needs 256 registers per thread, the device has at most 255");
  kernel.num_registers = 32;
  kernel.shared_bytes = 50000;
  CHECK(check_kernel(kernel, launch, limits).error() ==
        "kernel k needs 50000 bytes of shared memory in a block, the device has at most 49152");
  launch.block = {2048, 1, 1};
  CHECK(check_kernel(kernel, launch, limits).error() ==
        "kernel k needs 2048 threads of a block along x, the device has at most 1024");
}
