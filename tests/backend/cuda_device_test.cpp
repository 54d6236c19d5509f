// SPDX-License-Identifier: Apache-2.0
// requires: cuda
// GPUs through a driver that is not there (tests/fake_cuda): list, allocate, run, time, and every
// fault that a driver can show.
#include <cstdlib>

#include "backend/cpp_source_fixture.hpp"
#include "backend/cuda_shim_fixture.hpp"
#include "backend/gpu_programs.hpp"
#include "tensorsmith/codegen/nvrtc.hpp"
#include "tensorsmith/cuda/device.hpp"
#include "tensorsmith/cuda/device_lease.hpp"
#include "tensorsmith/measure/worker_measurer.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// The libraries of this process and of the workers that it starts are the fake ones.
class FakeGpu {
 public:
  explicit FakeGpu(const char* settings = "") {
    for (const char* name : names) {
      ::setenv(name, TENSORSMITH_FAKE_CUDA, 1);
    }
    ::setenv("TENSORSMITH_LEASE_FOLDER", folder_.path().c_str(), 1);
    ::setenv("FAKE_CUDA", settings, 1);
  }
  ~FakeGpu() {
    for (const char* name : names) {
      ::unsetenv(name);
    }
    ::unsetenv("TENSORSMITH_LEASE_FOLDER");
    ::unsetenv("FAKE_CUDA");
  }
  FakeGpu(const FakeGpu&) = delete;
  FakeGpu& operator=(const FakeGpu&) = delete;

 private:
  static constexpr const char* names[] = {"TENSORSMITH_LIBCUDA", "TENSORSMITH_NVRTC",
                                          "TENSORSMITH_LIBNVML"};
  TemporaryFolder folder_;
};

/// A compiled program, the task that measures it, and what it must compute. Made once.
struct FakeCandidate {
  MeasureTask task;
  std::vector<std::byte> object;

  CompiledCandidate compiled() const {
    CompiledCandidate candidate;
    candidate.object = object;
    candidate.entry = "kernel";
    return candidate;
  }
};

FakeCandidate make_fake_candidate() {
  FakeCandidate made;
  const GpuCase example = reverse_case(DType::f32, 2, 64, 32);
  const Target target = *Target::cuda(90);
  const auto source = cuda_source(example.program, target);
  REQUIRE(source.has_value());
  const auto compiler = NvrtcCompiler::open();
  REQUIRE(compiler.has_value());
  const auto cubin = compiler->compile({source->text, nvrtc_architecture(*target.gpu)});
  INFO((cubin ? "" : cubin.error()));
  REQUIRE(cubin.has_value());
  made.object = cuda::encode_object(*source, cubin->code);
  const std::vector<HostArray> arrays = arrays_for(example.program);
  std::vector<HostArray> results = arrays;
  REQUIRE(eval(example.program, results).has_value());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    KernelArgument argument;
    argument.name = "a" + std::to_string(i);
    argument.dtype = arrays[i].dtype;
    argument.num_elements = arrays[i].num_elements();
    argument.is_output = source->buffers[i].is_written;
    (argument.is_output ? argument.reference : argument.fill.bytes) =
        argument.is_output ? results[i].data : arrays[i].data;
    argument.reference_dtype = argument.dtype;
    made.task.arguments.push_back(std::move(argument));
  }
  made.task.device = 0;
  return made;
}

const FakeCandidate& fake_candidate() {
  static const FakeCandidate made = make_fake_candidate();
  return made;
}

std::vector<MeasureResult> measured(const FakeCandidate& candidate, std::size_t count) {
  WorkerMeasurer measurer;
  const auto prepared = measurer.prepare(candidate.task);
  INFO((prepared ? "" : prepared.error().message));
  REQUIRE(prepared.has_value());
  const std::vector<CompiledCandidate> all(count, candidate.compiled());
  MeasureContext context;
  context.racing.first_timeout_ns = 500'000'000;
  context.racing.timeout_floor_ns = 500'000'000;
  return measurer.measure(all, context);
}

}  // namespace

TEST_CASE("devices of a machine: what they are, and targets by name", "[cuda_device]") {
  const FakeGpu gpu("devices=2,driver=12040");
  const auto devices = list_cuda_devices();
  REQUIRE(devices.has_value());
  REQUIRE(devices->size() == 2);
  const CudaDevice& device = (*devices)[1];
  CHECK(device.name == "Fake H200");
  CHECK(device.uuid == "GPU-fafafafa-fafa-fafa-fafa-fafafafafa01");
  CHECK(device.compute_capability == 90);
  CHECK(device.driver == "12.4");
  CHECK(device.memory_bytes == std::int64_t{1} << 30);
  CHECK(device.board.num_sms == 132);
  CHECK(device.board.dram_bytes_per_ns > 4900);
  for (const char* name : {"cuda", "cuda:0", "h200"}) {
    const auto target = cuda_device_target(name);
    REQUIRE(target.has_value());
    CHECK(target->name == "h200");
    CHECK(target->device == 0);
    CHECK(target->gpu->board->num_sms == 132);
    CHECK(is_cuda_device_name(name));
  }
  CHECK(cuda_device_target("cuda:1")->device == 1);
  CHECK(cuda_device_target("sm_90a")->name == "sm_90");
  CHECK(cuda_device_target("a100").error().find("sim:a100 simulates it") != std::string::npos);
  CHECK(cuda_device_target("cuda:7").error().find("cuda:1 is Fake H200") != std::string::npos);
  CHECK_FALSE(is_cuda_device_name("sim:a100"));
  CHECK_FALSE(is_cuda_device_name("host"));
}

TEST_CASE("no driver, an old one, no device: one sentence each", "[cuda_device][error]") {
  {
    const FakeGpu gpu("driver=10020");
    CHECK(list_cuda_devices().error().find("is of version 10.2, and 11.4") != std::string::npos);
  }
  {
    const FakeGpu gpu("devices=-1");
    CHECK(list_cuda_devices().error().find("finds no NVIDIA GPU") != std::string::npos);
  }
  const FakeGpu gpu;
  ::setenv("TENSORSMITH_LIBCUDA", "/no/such/libcuda.so", 1);
  CHECK(list_cuda_devices().error().find("there is no CUDA driver") == 0);
  CHECK(cuda_device_target("cuda").error().find("needs an NVIDIA GPU") != std::string::npos);
  ::setenv("TENSORSMITH_LIBCUDA", "libm.so.6", 1);
  CHECK(list_cuda_devices().error().find("has no function cuInit") != std::string::npos);
}

TEST_CASE("memory of a device has bands that show a write outside", "[cuda_device]") {
  const FakeGpu gpu("memory_mb=1");
  const auto device = cuda::Device::open(0);
  REQUIRE(device.has_value());
  cuda::DeviceBuffer buffer, large;
  REQUIRE(buffer.create(**device, 1000) == 0);
  bool is_intact = false;
  REQUIRE(buffer.check_bands(is_intact) == 0);
  CHECK(is_intact);
  const unsigned char byte = 1;
  REQUIRE((*device)->driver().to_device(buffer.data() + 1000, &byte, 1) == 0);
  REQUIRE(buffer.check_bands(is_intact) == 0);
  CHECK_FALSE(is_intact);
  REQUIRE(buffer.mark_bands() == 0);
  REQUIRE(buffer.check_bands(is_intact) == 0);
  CHECK(is_intact);
  CHECK(large.create(**device, 2 << 20) == cuda::out_of_memory);
  CHECK((*device)->clocks().read().sm_mhz == 1980);
  CHECK(cuda::Device::open(3).error() == "there is no GPU number 3 here");
}

TEST_CASE("a device is leased by one at a time", "[cuda_device]") {
  const FakeGpu gpu;
  cuda::DeviceLease mine, theirs;
  CHECK(mine.take("GPU-1", "Fake") == "");
  const std::string refusal = theirs.take("GPU-1", "Fake");
  CHECK(refusal.find("Fake is measured on by another tuner (process ") == 0);
  CHECK(theirs.take("GPU-2", "Fake") == "");
  ::setenv("TENSORSMITH_SHARE_GPU", "1", 1);
  CHECK(theirs.take("GPU-1", "Fake") == "");
  ::unsetenv("TENSORSMITH_SHARE_GPU");
  mine.release();
  CHECK(theirs.take("GPU-1", "Fake") == "");
}

TEST_CASE("a candidate's bytes: what does not fit together is refused", "[cuda_device]") {
  CudaSource source;
  source.launches.emplace_back();
  source.launches[0].kernel = "k";
  source.launches[0].buffers = {0};
  source.buffers.push_back({"A", DType::f32, 64, 0, 0, true});
  const std::vector<std::byte> good = cuda::encode_object(source, "code");
  const auto decoded = cuda::decode_object(good);
  REQUIRE(decoded.has_value());
  CHECK(decoded->code == "code");
  CHECK(decoded->launches[0].kernel == "k");
  for (std::size_t size = 0; size < good.size(); size += 7) {
    CHECK_FALSE(cuda::decode_object(std::span(good).first(size)).has_value());
  }
  source.launches[0].buffers = {1};
  CHECK_FALSE(cuda::decode_object(cuda::encode_object(source, "code")).has_value());
  source.launches[0].buffers = {0};
  source.buffers[0].argument = -1;
  CHECK_FALSE(cuda::decode_object(cuda::encode_object(source, "code")).has_value());
}

TEST_CASE("a candidate is run, verified, timed and ranked in a worker", "[cuda_device]") {
  const FakeGpu gpu("throttled=1");
  const FakeCandidate& candidate = fake_candidate();
  WorkerMeasurer measurer;
  const auto prepared = measurer.prepare(candidate.task);
  INFO((prepared ? "" : prepared.error().message));
  REQUIRE(prepared.has_value());
  const std::vector<CompiledCandidate> two(2, candidate.compiled());
  MeasureContext context;
  const std::vector<MeasureResult> results = measurer.measure(two, context);
  for (const MeasureResult& result : results) {
    INFO(name_of(result.status) << ": " << result.message);
    REQUIRE(result.is_ok());
    CHECK(result.is_verified);
    CHECK(result.stage == RaceStage::full);
    CHECK(result.min_ns > 500);
    CHECK(result.min_ns < 2500);  // the time of a launch is that of a graph's node
  }
  CHECK(results[0].message.find("measured again: heat or power") == 0);
  CHECK(results[1].message.empty());
  RankingPolicy policy;
  policy.budget_ns = 1'000'000;
  policy.min_rounds = 8;
  for (const bool is_cold : {false, true}) {
    policy.is_cold_cache = is_cold;
    const RankingResult ranking = measurer.final_ranking(two, policy);
    REQUIRE(ranking.winner == 0);
    CHECK(ranking.results[1].is_verified);
    CHECK(ranking.results[0].samples_ns.size() >= 8);
  }
}

TEST_CASE("a GPU's context that is gone costs a worker, not the search", "[cuda_device]") {
  const FakeGpu gpu("sticky=3");  // of every worker; a candidate launches twice, then by graphs
  const FakeCandidate& candidate = fake_candidate();
  const std::vector<MeasureResult> results = measured(candidate, 5);
  std::size_t num_ok = 0, num_lost = 0;
  for (const MeasureResult& result : results) {
    INFO(name_of(result.status) << ": " << result.message);
    num_ok += result.is_ok() ? 1 : 0;
    num_lost += result.status == MeasureStatus::device_error ? 1 : 0;
    CHECK((result.is_ok() || result.message.find("an illegal address (CUDA error 700)") == 0));
  }
  CHECK(num_ok >= 2);
  CHECK(num_lost >= 2);
  CHECK(num_ok + num_lost == 5);
}

TEST_CASE("a kernel that hangs is killed at its deadline", "[cuda_device]") {
  const FakeGpu gpu("hang=1");
  const std::vector<MeasureResult> results = measured(fake_candidate(), 1);
  CHECK(results[0].status == MeasureStatus::run_timeout);
}

TEST_CASE("wrong results, writes outside, code and memory that are refused", "[cuda_device]") {
  const auto outcome = [](const char* settings) {
    const FakeGpu gpu(settings);
    return measured(fake_candidate(), 2);
  };
  std::vector<MeasureResult> results = outcome("wrong=1");
  CHECK(results[0].status == MeasureStatus::wrong_result);  // never written
  CHECK(results[1].is_ok());
  results = outcome("outside=1");
  CHECK(results[0].status == MeasureStatus::out_of_bounds);
  CHECK(results[0].message.find("around argument") != std::string::npos);
  CHECK(results[1].is_ok());
  results = outcome("refused_code=1");
  CHECK(results[0].status == MeasureStatus::load_error);
  CHECK(results[0].message == "loading the code: CUDA_ERROR_NO_BINARY_FOR_GPU (209)");
  const FakeGpu gpu("memory_mb=1");
  FakeCandidate large = fake_candidate();
  large.task.arguments[0].num_elements = 1 << 20;
  large.task.arguments[0].fill.bytes.clear();
  WorkerMeasurer measurer;
  const auto prepared = measurer.prepare(large.task);
  REQUIRE_FALSE(prepared.has_value());
  CHECK(prepared.error().message.find("Fake H200 has no room for argument 'a0'") == 0);
}
