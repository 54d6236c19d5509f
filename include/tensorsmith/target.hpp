// SPDX-License-Identifier: Apache-2.0
// What a schedule may know about the machine it is made for: plain data, no probing.
//
// Floor 1. Own design; HardwareParams and its defaults are the Ansor reference's, ch. 3.2.
// Not here: finding out what this machine is (host.hpp), timings, code generation.
// A quantity that is not known is an empty optional; it is never replaced by 1.
// Of GPUs, "sm_80" is a class of devices, "a100" a board, and "sim:a100" a board that is simulated;
// so is "sim:neoverse-n1", a processor that this machine is not.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/core_rates.hpp"
#include "tensorsmith/cpu_models.hpp"
#include "tensorsmith/gpu_devices.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith {

struct TensorIntrinsic;

enum class TargetKind : std::uint8_t { cpu, cuda };

inline std::string_view to_string(TargetKind kind) {
  return kind == TargetKind::cpu ? "cpu" : "cuda";
}

/// Cache sizes seen by one core. `l3_bytes` is the whole cache that one core can reach and
/// `l3_sharing_cores` the number of this machine's cores that share it.
struct CacheSizes {
  std::optional<std::int64_t> l1d_bytes;
  std::optional<std::int64_t> l2_bytes;
  std::optional<std::int64_t> l3_bytes;
  std::optional<std::int32_t> l3_sharing_cores;
  /// Lines of one set; not known where a cache is fully associative.
  std::optional<std::int32_t> l1d_ways, l2_ways, l3_ways;

  /// What one core may count on while the others work as well.
  std::optional<std::int64_t> l3_share_bytes() const {
    if (!l3_bytes || !l3_sharing_cores || *l3_sharing_cores < 1) {
      return std::nullopt;
    }
    return *l3_bytes / *l3_sharing_cores;
  }
  bool operator==(const CacheSizes&) const = default;
};

/// Why Target::from_name gave none.
struct UnknownTarget {
  std::string name;
};

struct Target {
  TargetKind kind = TargetKind::cpu;
  std::string name;  ///< as a person writes it: "x86-64-v4", "znver5", "host", "sm_90"
  Architecture architecture = Architecture::x86_64;  ///< of kind cpu
  IsaLevel isa = IsaLevel::unknown;  ///< highest level of which every feature is present
  std::string llvm_cpu;              ///< -mcpu; empty for CUDA
  std::string llvm_tune;             ///< the "tune-cpu" attribute; may be empty
  std::string llvm_features;         ///< "+fma,-prefer-256-bit", added to what llvm_cpu implies
  std::int32_t vector_bits = 0;      ///< widest floating-point vector registers
  std::int32_t num_vector_registers = 0;  ///< 32 with AVX-512VL, else 16
  bool has_fma = false;
  bool has_masks = false;      ///< AVX-512 opmask registers: a masked tail costs nothing
  bool has_bf16_dot = false;   ///< vdpbf16ps
  bool has_int8_dot = false;   ///< vpdpbusd (AVX512-VNNI or AVX-VNNI); on Arm sdot and udot
  bool has_mixed_dot = false;  ///< usdot of Arm
  CacheSizes caches;
  std::int32_t cache_line_bytes = 64;
  std::optional<std::int32_t> num_cores;      ///< physical cores a process may use
  std::optional<std::int32_t> fma_per_cycle;  ///< full-width vector FMA instructions per cycle
  std::optional<std::int32_t> fma_latency;    ///< cycles
  std::optional<std::int32_t> clock_mhz;      ///< nominal; of simulated processors
  std::optional<CoreRates> rates;             ///< measured on it (tune/calibration.hpp)
  std::optional<GpuLimits> gpu;               ///< set exactly for kind cuda
  bool is_simulated = false;                  ///< times come from a model, code is never run
  std::optional<std::int32_t> device;         ///< number of this host's GPU that code is run on
  /// The user's own (ir/tensor_intrinsic.hpp); they outlive the target.
  std::vector<const TensorIntrinsic*> intrinsics = {};

  /// Lanes of one vector register for elements of `element_bits`.
  std::int32_t vector_lanes(std::int32_t element_bits) const {
    return element_bits > 0 ? vector_bits / element_bits : 0;
  }

  static Target x86_64_v2();
  static Target x86_64_v3();
  static Target x86_64_v4();
  /// A CUDA device class from known_cuda_classes(), by 10 * major + minor.
  static Result<Target, UnknownTarget> cuda(std::int32_t compute_capability);
  /// A board of gpu_models.
  static Target cuda_board(const GpuModel& board);
  /// Any name of known_target_names(). "host" is not among them: finding out is not data.
  static Result<Target, UnknownTarget> from_name(std::string_view name);

  bool operator==(const Target&) const = default;
};

/// Every name that Target::from_name accepts, comma separated, for messages.
inline std::string known_target_names() {
  std::string names;
  for (const CpuModel& model : cpu_models) {
    names.append(names.empty() ? "" : ", ").append(model.name);
  }
  for (const ArmModel& model : arm_models) {
    names.append(", ").append(model.name);
    if (model.clock_mhz > 0) {
      names.append(", sim:").append(model.name);
    }
  }
  for (const CudaModel& model : cuda_models) {
    names.append(", sm_").append(std::to_string(model.compute_capability));
  }
  for (const char* prefix : {", ", ", sim:"}) {
    for (const GpuModel& board : gpu_models) {
      names.append(prefix).append(board.name);
    }
  }
  return names;
}

/// One sentence for a person.
inline std::string explain(const UnknownTarget& error) {
  return "unknown target \"" + error.name + "\"; known: " + known_target_names();
}

namespace detail {

inline std::optional<std::int32_t> known(std::int32_t value) {
  return value > 0 ? std::optional<std::int32_t>(value) : std::nullopt;
}
inline std::optional<std::int64_t> known_kib(std::int16_t value) {
  return value > 0 ? std::optional<std::int64_t>(std::int64_t{value} * 1024) : std::nullopt;
}

}  // namespace detail

inline Target make_target(const CpuModel& model) {
  Target target;
  target.name = std::string(model.name);
  target.isa = model.isa;
  target.llvm_cpu = target.name;
  target.vector_bits = model.vector_bits;
  target.has_masks = model.isa == IsaLevel::x86_64_v4;
  target.num_vector_registers = target.has_masks ? 32 : 16;
  // LLVM prefers 256-bit vectors on several AVX-512 models; the schedule decides here, not LLVM.
  target.llvm_features = target.has_masks ? "-prefer-256-bit" : "";
  target.has_fma = model.has_fma;
  target.has_bf16_dot = model.has_bf16_dot;
  target.has_int8_dot = model.has_int8_dot;
  target.caches.l1d_bytes = detail::known_kib(model.l1d_kib);
  target.caches.l2_bytes = detail::known_kib(model.l2_kib);
  target.fma_per_cycle = detail::known(model.fma_per_cycle);
  target.fma_latency = detail::known(model.fma_latency);
  return target;
}

inline Target make_target(const ArmModel& model) {
  Target target;
  target.name = std::string(model.name);
  target.architecture = Architecture::aarch64;
  target.llvm_cpu = std::string(model.llvm_cpu);
  target.vector_bits = 128;
  target.num_vector_registers = 32;
  target.has_fma = true;
  target.has_int8_dot = model.has_int8_dot;
  target.has_mixed_dot = model.has_mixed_dot;
  target.caches.l1d_bytes = detail::known_kib(model.l1d_kib);
  target.caches.l2_bytes = detail::known_kib(model.l2_kib);
  target.fma_per_cycle = detail::known(model.fma_per_cycle);
  target.fma_latency = detail::known(model.fma_latency);
  target.clock_mhz = detail::known(model.clock_mhz);
  return target;
}

inline const CpuModel* find_cpu_model(std::string_view name) {
  for (const CpuModel& model : cpu_models) {
    if (model.name == name) {
      return &model;
    }
  }
  return nullptr;
}

inline Target Target::x86_64_v2() { return make_target(*find_cpu_model("x86-64-v2")); }
inline Target Target::x86_64_v3() { return make_target(*find_cpu_model("x86-64-v3")); }
inline Target Target::x86_64_v4() { return make_target(*find_cpu_model("x86-64-v4")); }

inline Result<Target, UnknownTarget> Target::cuda(std::int32_t compute_capability) {
  const std::string name = "sm_" + std::to_string(compute_capability);
  for (const CudaModel& model : cuda_models) {
    if (model.compute_capability != compute_capability) {
      continue;
    }
    GpuLimits limits;
    limits.compute_capability = compute_capability;
    limits.max_threads_per_block = 1024;
    limits.warp_size = 32;
    limits.max_shared_memory_bytes = 48 * 1024;
    limits.max_shared_memory_optin_bytes = std::int64_t{model.shared_optin_kib} * 1024;
    limits.max_registers_per_thread = 255;
    limits.registers_per_sm = 65536;
    limits.max_threads_per_sm = model.max_threads_per_sm;
    limits.max_blocks_per_sm = model.max_blocks_per_sm;
    limits.shared_memory_per_sm_bytes = std::int64_t{model.shared_per_sm_kib} * 1024;
    limits.l1_and_shared_bytes = std::int64_t{model.l1_and_shared_kib} * 1024;
    limits.f32_fma_rate = model.f32_fma_rate;
    limits.f64_fma_rate = model.f64_fma_rate;
    limits.tensor_f16_fma_rate = model.tensor_f16_fma_rate;
    Target target;
    target.kind = TargetKind::cuda;
    target.name = name;
    target.vector_bits = 128;  // widest load and store of one thread
    target.cache_line_bytes = 128;
    target.has_fma = true;
    target.gpu = limits;
    return target;
  }
  return fail(UnknownTarget{name});
}

inline Target Target::cuda_board(const GpuModel& board) {
  Result<Target, UnknownTarget> known = cuda(board.compute_capability);
  TENSORSMITH_ASSERT(known.has_value(), "the class of every board is known");
  Target target = std::move(known).value();
  target.name = std::string(board.name);
  target.gpu->board = GpuBoard{board.num_sms, board.clock_mhz, board.dram_bytes_per_ns,
                               std::int64_t{board.l2_mib} * 1024 * 1024};
  return target;
}

inline Result<Target, UnknownTarget> Target::from_name(std::string_view name) {
  constexpr std::string_view simulated = "sim:";
  const bool is_simulated = name.starts_with(simulated);
  for (const GpuModel& board : gpu_models) {
    if (name.substr(is_simulated ? simulated.size() : 0) == board.name) {
      Target target = cuda_board(board);
      target.name = std::string(name);
      target.is_simulated = is_simulated;
      return target;
    }
  }
  if (const CpuModel* model = find_cpu_model(name)) {
    return make_target(*model);
  }
  for (const ArmModel& model : arm_models) {
    // Without a clock there is nothing to simulate.
    if (name.substr(is_simulated ? simulated.size() : 0) == model.name &&
        (!is_simulated || model.clock_mhz > 0)) {
      Target target = make_target(model);
      target.name = std::string(name);
      target.is_simulated = is_simulated;
      return target;
    }
  }
  for (const CudaModel& model : cuda_models) {
    if (name == "sm_" + std::to_string(model.compute_capability)) {
      return cuda(model.compute_capability);
    }
  }
  return fail(UnknownTarget{std::string(name)});
}

/// The eight integers of a v0.6 record, in record order. Ansor reference, ch. 3.2.
struct HardwareParams {
  std::int32_t num_cores = -1;  ///< -1: not stated
  std::int32_t vector_unit_bytes = 64;
  std::int32_t cache_line_bytes = 64;
  std::int32_t max_shared_memory_per_block = 0;
  std::int32_t max_local_memory_per_block = 0;
  std::int32_t max_threads_per_block = 0;
  std::int32_t max_vthread_extent = 0;
  std::int32_t warp_size = 0;

  std::array<std::int32_t, 8> to_array() const {
    return {num_cores,
            vector_unit_bytes,
            cache_line_bytes,
            max_shared_memory_per_block,
            max_local_memory_per_block,
            max_threads_per_block,
            max_vthread_extent,
            warp_size};
  }
  static HardwareParams from_array(const std::array<std::int32_t, 8>& v) {
    return HardwareParams{v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]};
  }
  bool operator==(const HardwareParams&) const = default;
};

/// The reference's defaults for a target: on CPUs 64-byte vectors and lines whatever the ISA, on
/// CUDA 16-byte vectors, unchecked local memory and a vthread extent of warp_size / 4.
inline HardwareParams hardware_params(const Target& target) {
  HardwareParams params;
  if (target.kind == TargetKind::cpu) {
    params.num_cores = target.num_cores.value_or(-1);
    return params;
  }
  TENSORSMITH_ASSERT(target.gpu.has_value(), "a CUDA target carries its limits");
  const GpuLimits& gpu = *target.gpu;
  params.vector_unit_bytes = 16;
  params.max_shared_memory_per_block = static_cast<std::int32_t>(gpu.max_shared_memory_bytes);
  params.max_local_memory_per_block = INT32_MAX;
  params.max_threads_per_block = gpu.max_threads_per_block;
  params.max_vthread_extent = gpu.warp_size / 4;
  params.warp_size = gpu.warp_size;
  return params;
}

}  // namespace tensorsmith
