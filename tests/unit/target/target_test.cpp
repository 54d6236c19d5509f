// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/target.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("every known name gives a target of that name", "[target]") {
  for (const CpuModel& model : cpu_models) {
    const auto target = Target::from_name(model.name);
    INFO(model.name);
    REQUIRE(target.has_value());
    CHECK(target->name == model.name);
    CHECK(target->llvm_cpu == model.name);
    CHECK(target->kind == TargetKind::cpu);
    CHECK_FALSE(target->gpu.has_value());
    // Registers, masks and width follow from the level.
    CHECK(target->has_masks == (target->isa == IsaLevel::x86_64_v4));
    CHECK(target->num_vector_registers == (target->has_masks ? 32 : 16));
    CHECK((target->vector_bits == 512) == target->has_masks);
    CHECK(known_target_names().find(std::string(model.name)) != std::string::npos);
    if (target->isa >= IsaLevel::x86_64_v3) {
      CHECK(target->has_fma);
    }
  }
  for (const CudaModel& model : cuda_models) {
    const auto target = Target::from_name("sm_" + std::to_string(model.compute_capability));
    REQUIRE(target.has_value());
    CHECK(target->kind == TargetKind::cuda);
    REQUIRE(target->gpu.has_value());
    CHECK(target->gpu->compute_capability == model.compute_capability);
    CHECK(target->gpu->max_shared_memory_optin_bytes >= target->gpu->max_shared_memory_bytes);
    CHECK(target->gpu->shared_memory_per_sm_bytes >= target->gpu->max_shared_memory_optin_bytes);
    CHECK(target->gpu->l1_and_shared_bytes > target->gpu->shared_memory_per_sm_bytes);
    CHECK(target->gpu->max_blocks_per_sm >= 16);
    CHECK_FALSE(target->gpu->board.has_value());
    CHECK_FALSE(target->is_simulated);
  }
}

TEST_CASE("a board is its class with its own numbers; sim: in front makes it a simulated one",
          "[target]") {
  for (const GpuModel& model : gpu_models) {
    INFO(model.name);
    const auto board = Target::from_name(model.name);
    REQUIRE(board.has_value());
    REQUIRE(board->gpu.has_value());
    REQUIRE(board->gpu->board.has_value());
    CHECK(board->name == model.name);
    CHECK(board->gpu->compute_capability == model.compute_capability);
    CHECK(board->gpu->board->num_sms == model.num_sms);
    CHECK_FALSE(board->is_simulated);
    const std::string name = "sim:" + std::string(model.name);
    auto simulated = Target::from_name(name);
    REQUIRE(simulated.has_value());
    CHECK(simulated->is_simulated);
    CHECK(simulated->name == name);
    CHECK(known_target_names().find(name) != std::string::npos);
    CHECK(hardware_params(*simulated) == hardware_params(*board));
    simulated->name = board->name;
    simulated->is_simulated = false;
    CHECK(*simulated == *board);
  }
  // The makers' figures in TFLOP/s, f32 and dense f16 on tensor cores, follow from the rows.
  const auto tera = [](const char* name, bool is_tensor) {
    const Target target = *Target::from_name(name);
    const GpuLimits& limits = *target.gpu;
    const double rate = is_tensor ? limits.tensor_f16_fma_rate : limits.f32_fma_rate;
    return 2e-6 * rate * limits.board->num_sms * limits.board->clock_mhz;
  };
  const auto is_near = [](double value, double stated) {
    return value > 0.99 * stated && value < 1.01 * stated;
  };
  CHECK(is_near(tera("t4", false), 8.1));
  CHECK(is_near(tera("t4", true), 65));
  CHECK(is_near(tera("a100", false), 19.5));
  CHECK(is_near(tera("a100", true), 312));
  CHECK(is_near(tera("l4", true), 121));
  CHECK(is_near(tera("rtx4090", false), 82.6));
  CHECK(is_near(tera("orin", false), 5.3));
  CHECK(is_near(tera("h200", true), 989));
  CHECK_FALSE(Target::from_name("sim:sm_80").has_value());
  CHECK_FALSE(Target::from_name("sim:").has_value());
}

TEST_CASE("64-bit Arm: 32 registers of 128 bits; sim: in front is a processor that is elsewhere",
          "[target]") {
  for (const ArmModel& model : arm_models) {
    INFO(model.name);
    const auto target = Target::from_name(model.name);
    REQUIRE(target.has_value());
    CHECK(target->kind == TargetKind::cpu);
    CHECK(target->architecture == Architecture::aarch64);
    CHECK(target->isa == IsaLevel::unknown);
    CHECK(target->vector_lanes(32) == 4);
    CHECK(target->num_vector_registers == 32);
    CHECK(target->has_fma);
    CHECK_FALSE(target->has_masks);
    CHECK_FALSE(target->is_simulated);
    CHECK((!model.has_mixed_dot || model.has_int8_dot));  // FEAT_I8MM comes with dot products
    const std::string name = "sim:" + std::string(model.name);
    auto simulated = Target::from_name(name);
    // Without a clock there are no times.
    REQUIRE(simulated.has_value() == target->clock_mhz.has_value());
    CHECK((known_target_names().find(name) != std::string::npos) == simulated.has_value());
    if (simulated) {
      CHECK(simulated->is_simulated);
      CHECK(simulated->name == name);
      CHECK(simulated->caches.l1d_bytes.has_value());
      CHECK(simulated->fma_per_cycle.has_value());
      simulated->name = target->name;
      simulated->is_simulated = false;
      CHECK(*simulated == *target);
    }
  }
  CHECK(Target::from_name("znver4")->architecture == Architecture::x86_64);
  CHECK_FALSE(Target::from_name("sim:znver4").has_value());
  CHECK_FALSE(Target::from_name("sim:armv8-a").has_value());
}

TEST_CASE("an unknown name is an error that lists the known ones", "[target]") {
  for (const char* name : {"", "host", "x86-64-v5", "X86-64-V4", "znver", "sm_91", "sm_"}) {
    const auto target = Target::from_name(name);
    INFO(name);
    REQUIRE_FALSE(target.has_value());
    CHECK(target.error().name == name);
    const std::string text = explain(target.error());
    CHECK(text.find(std::string("\"") + name + "\"") != std::string::npos);
    CHECK(text.find("x86-64-v3, x86-64-v4") != std::string::npos);
  }
  CHECK_FALSE(Target::cuda(12).has_value());
}

TEST_CASE("the levels", "[target]") {
  CHECK(Target::x86_64_v2().vector_lanes(32) == 4);
  CHECK_FALSE(Target::x86_64_v2().has_fma);
  CHECK(Target::x86_64_v3().vector_lanes(32) == 8);
  CHECK(Target::x86_64_v4().vector_lanes(32) == 16);
  CHECK(Target::x86_64_v4().vector_lanes(64) == 8);
  CHECK(Target::x86_64_v4().vector_lanes(0) == 0);
  CHECK(Target::x86_64_v4().llvm_features == "-prefer-256-bit");
  CHECK(Target::x86_64_v3() == *Target::from_name("x86-64-v3"));
  CHECK_FALSE(Target::x86_64_v3() == Target::x86_64_v4());
  CHECK(to_string(IsaLevel::unknown) == "unknown");
}

TEST_CASE("unknown quantities stay unknown", "[target]") {
  const Target level = Target::x86_64_v4();
  CHECK_FALSE(level.num_cores.has_value());
  CHECK_FALSE(level.caches.l1d_bytes.has_value());
  CHECK_FALSE(level.caches.l2_bytes.has_value());
  CHECK_FALSE(level.caches.l3_share_bytes().has_value());
  CHECK_FALSE(level.fma_per_cycle.has_value());
  const auto zen4 = Target::from_name("znver4");
  REQUIRE(zen4.has_value());
  CHECK(zen4->caches.l2_bytes == 1024 * 1024);
  CHECK_FALSE(zen4->caches.l3_bytes.has_value());

  CacheSizes caches;
  caches.l3_bytes = 32 << 20;
  CHECK_FALSE(caches.l3_share_bytes().has_value());
  caches.l3_sharing_cores = 8;
  CHECK(caches.l3_share_bytes() == 4 << 20);
}

// Ansor reference, ch. 3.2.
TEST_CASE("hardware parameters in record order", "[target]") {
  Target cpu = Target::x86_64_v3();
  cpu.num_cores = 16;
  CHECK(hardware_params(cpu).to_array() == std::array<int, 8>{16, 64, 64, 0, 0, 0, 0, 0});
  CHECK(hardware_params(Target::x86_64_v2()).to_array() ==
        std::array<int, 8>{-1, 64, 64, 0, 0, 0, 0, 0});
  const auto cuda = Target::cuda(90);
  REQUIRE(cuda.has_value());
  CHECK(hardware_params(*cuda).to_array() ==
        std::array<int, 8>{-1, 16, 64, 49152, 2147483647, 1024, 8, 32});
  const std::array<int, 8> counted{1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(HardwareParams::from_array(counted).to_array() == counted);
  CHECK(HardwareParams::from_array(counted).warp_size == 8);
}
