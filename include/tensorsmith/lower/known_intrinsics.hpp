// SPDX-License-Identifier: Apache-2.0
// The tensor intrinsics that every target may have, and those of one target.
//
// Floor 4. Sources: Intel 64 Software Developer's Manual, vol. 2 (VDPBF16PS, VPDPBUSD, PMADDWD,
// TDPBF16PS, TDPBSSD); Arm Architecture Reference Manual (SDOT, UDOT, USDOT); NVIDIA, PTX ISA
// (mma). Not here: what a description means (ir/tensor_intrinsic.hpp).
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "tensorsmith/ir/tensor_intrinsic.hpp"
#include "tensorsmith/sched/hint_list.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

namespace detail {

/// Whether LLVM may use a feature of x86: one that the target names, or that its processor has.
inline bool has_feature(const Target& target, std::string_view name, bool of_processor) {
  bool has_it = of_processor;
  for (std::string_view rest = target.llvm_features; !rest.empty();) {  // the last one counts
    const std::size_t end = rest.find(',');
    const std::string_view word = rest.substr(0, end);
    if (word.size() > 1 && word.substr(1) == name) {
      has_it = word[0] == '+';
    }
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return has_it;
}
inline bool has_tile_feature(const Target& target, std::string_view name) {
  bool of_processor = false;
  for (std::string_view cpu : {"sapphirerapids", "emeraldrapids", "graniterapids"}) {
    of_processor = of_processor || target.llvm_cpu == cpu;
  }
  return target.kind == TargetKind::cpu && has_feature(target, "amx-tile", of_processor) &&
         has_feature(target, name, of_processor);
}
inline bool has_bf16_tiles(const Target& target) { return has_tile_feature(target, "amx-bf16"); }
/// Which came a generation later.
inline bool has_f16_tiles(const Target& target) {
  const bool of_processor = target.llvm_cpu == "graniterapids";
  return has_bf16_tiles(target) && has_feature(target, "amx-fp16", of_processor);
}
inline bool has_int8_tiles(const Target& target) { return has_tile_feature(target, "amx-int8"); }
inline bool has_bf16_dot(const Target& target) { return target.has_bf16_dot; }
inline bool is_arm(const Target& target) {
  return target.kind == TargetKind::cpu && target.architecture == Architecture::aarch64;
}
inline bool has_arm_dot(const Target& target) { return is_arm(target) && target.has_int8_dot; }
inline bool has_arm_mixed_dot(const Target& target) {
  return is_arm(target) && target.has_mixed_dot;
}
/// AVX512-VNNI: the forms of AVX-VNNI have other encodings and no masks.
inline bool has_int8_dot(const Target& target) { return target.has_int8_dot && target.has_masks; }
/// PMADDWD, where nothing multiplies bytes: its vectors of 256 bits are AVX2's.
inline bool has_int16_dot(const Target& target) {
  return target.kind == TargetKind::cpu && !is_arm(target) && !has_int8_dot(target) &&
         (target.isa >= IsaLevel::x86_64_v3 || target.vector_bits == 128);
}

}  // namespace detail

/// Two products of bf16 per lane. Products are exact in f32; the two sums are rounded to nearest
/// even, denormal numbers count as 0.
inline constexpr TensorIntrinsic vdpbf16ps{.name = "vdpbf16ps",
                                           .a = DType::bf16,
                                           .b = DType::bf16,
                                           .accumulator = DType::f32,
                                           .k = 2,
                                           .dots = {{{16, "llvm.x86.avx512bf16.dpbf16ps.512"},
                                                     {8, "llvm.x86.avx512bf16.dpbf16ps.256"},
                                                     {4, "llvm.x86.avx512bf16.dpbf16ps.128"}}},
                                           .is_available = detail::has_bf16_dot};

inline constexpr std::array<LlvmDot, 3> vpdpbusd_forms{{{16, "llvm.x86.avx512.vpdpbusd.512"},
                                                        {8, "llvm.x86.avx512.vpdpbusd.256"},
                                                        {4, "llvm.x86.avx512.vpdpbusd.128"}}};

/// Four products of an unsigned and a signed byte per lane, exact.
inline constexpr TensorIntrinsic vpdpbusd{.name = "vpdpbusd",
                                          .a = DType::u8,
                                          .b = DType::i8,
                                          .accumulator = DType::i32,
                                          .k = 4,
                                          .dots = vpdpbusd_forms,
                                          .is_available = detail::has_int8_dot};

/// The same instruction on two signed operands: (a + 128) * b, and 128 * sum(b) is taken off.
inline constexpr TensorIntrinsic vpdpbusd_signed{.name = "vpdpbusd_signed",
                                                 .a = DType::i8,
                                                 .b = DType::i8,
                                                 .accumulator = DType::i32,
                                                 .k = 4,
                                                 .a_offset = 128,
                                                 .dots = vpdpbusd_forms,
                                                 .is_available = detail::has_int8_dot};

/// Two products of 16 bits per lane, exact; bytes of either sign are extended first. PMADDUBSW
/// takes bytes as they are, but its sums of two products saturate: 255 * 127 + 255 * 127 is not
/// there.
inline constexpr TensorIntrinsic vpmaddwd{.name = "vpmaddwd",
                                          .a = DType::i16,
                                          .b = DType::i16,
                                          .accumulator = DType::i32,
                                          .k = 2,
                                          .widens = true,
                                          .dots = {{{16, "llvm.x86.avx512.pmaddw.d.512"},
                                                    {8, "llvm.x86.avx2.pmadd.wd"},
                                                    {4, "llvm.x86.sse2.pmadd.wd"}}},
                                          .is_available = detail::has_int16_dot};

namespace detail {

/// SDOT, UDOT and USDOT of Arm: four products of bytes per lane, exact.
constexpr TensorIntrinsic arm_dot_of(std::string_view name, DType a, DType b,
                                     std::string_view function,
                                     bool (*is_available)(const Target&)) {
  return {.name = name,
          .a = a,
          .b = b,
          .accumulator = DType::i32,
          .k = 4,
          .dots = {{{4, function}}},
          .is_available = is_available};
}

}  // namespace detail

inline constexpr TensorIntrinsic sdot =
    detail::arm_dot_of("sdot", DType::i8, DType::i8, "llvm.aarch64.neon.sdot", detail::has_arm_dot);
inline constexpr TensorIntrinsic udot =
    detail::arm_dot_of("udot", DType::u8, DType::u8, "llvm.aarch64.neon.udot", detail::has_arm_dot);
inline constexpr TensorIntrinsic usdot = detail::arm_dot_of(
    "usdot", DType::u8, DType::i8, "llvm.aarch64.neon.usdot", detail::has_arm_mixed_dot);

namespace detail {

/// AMX: 16 x 16 sums of as many products as 64 bytes hold of one operand.
constexpr TensorIntrinsic amx_of(std::string_view name, DType a, DType b, DType accumulator,
                                 std::string_view dot, bool (*is_available)(const Target&)) {
  return {.name = name,
          .a = a,
          .b = b,
          .accumulator = accumulator,
          .m = 16,
          .n = 16,
          .k = 64 / bytes_of(a),
          .tile = {.configure = "llvm.x86.ldtilecfg",
                   .release = "llvm.x86.tilerelease",
                   .zero = "llvm.x86.tilezero",
                   .load = "llvm.x86.tileloadd64",
                   .store = "llvm.x86.tilestored64",
                   .dot = dot},
          .is_available = is_available};
}

}  // namespace detail

/// The even terms of a sum and the odd ones are added up by themselves, each sum is rounded to
/// nearest even, denormal numbers count as 0.
inline constexpr TensorIntrinsic tdpbf16ps =
    detail::amx_of("tdpbf16ps", DType::bf16, DType::bf16, DType::f32, "llvm.x86.tdpbf16ps",
                   detail::has_bf16_tiles);
/// The same of f16, whose denormal numbers count.
inline constexpr TensorIntrinsic tdpfp16ps = detail::amx_of(
    "tdpfp16ps", DType::f16, DType::f16, DType::f32, "llvm.x86.tdpfp16ps", detail::has_f16_tiles);
/// Of bytes, exact.
inline constexpr TensorIntrinsic tdpbssd = detail::amx_of(
    "tdpbssd", DType::i8, DType::i8, DType::i32, "llvm.x86.tdpbssd", detail::has_int8_tiles);
inline constexpr TensorIntrinsic tdpbusd = detail::amx_of(
    "tdpbusd", DType::u8, DType::i8, DType::i32, "llvm.x86.tdpbusd", detail::has_int8_tiles);

namespace detail {

inline bool has_sm80_mma(const Target& target) {
  return target.gpu && target.gpu->compute_capability >= 80;
}
constexpr TensorIntrinsic mma_of(std::string_view name, DType type, DType accumulator,
                                 std::int32_t k, std::string_view ptx) {
  return {.name = name,
          .a = type,
          .b = type,
          .accumulator = accumulator,
          .m = 16,
          .n = 8,
          .k = k,
          .ptx = ptx,
          .is_available = has_sm80_mma};
}
/// Of class 9.0 alone: later ones have other instructions in their place.
inline bool has_wgmma(const Target& target) {
  return target.gpu && target.gpu->compute_capability == 90;
}
/// `ptx`: types of the result and of both factors, which have 2 bytes and may lie either way.
constexpr TensorIntrinsic wgmma_of(std::string_view name, DType type, std::int32_t k,
                                   std::string_view ptx) {
  return {.name = name,
          .a = type,
          .b = type,
          .accumulator = DType::f32,
          .m = 64,
          .n = 64,
          .k = k,
          .warps = 4,
          .ptx = ptx,
          .is_available = has_wgmma};
}

}  // namespace detail

// Products of f16 and bf16 are exact in f32; the order and the roundings of their sum are the
// device's own. tf32 takes 10 bits of each factor's fraction: for schedules that ask for it.
// wgmma multiplies 64 rows by 8 to 256 columns; here 64, and code generation joins neighbours.
inline constexpr TensorIntrinsic wgmma_k16_f16 =
    detail::wgmma_of("wgmma_k16_f16", DType::f16, 16, "f32.f16.f16");
inline constexpr TensorIntrinsic wgmma_k16_bf16 =
    detail::wgmma_of("wgmma_k16_bf16", DType::bf16, 16, "f32.bf16.bf16");
inline constexpr TensorIntrinsic mma_m16n8k16_f16 =
    detail::mma_of("mma_m16n8k16_f16", DType::f16, DType::f32, 16,
                   "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
inline constexpr TensorIntrinsic mma_m16n8k16_bf16 =
    detail::mma_of("mma_m16n8k16_bf16", DType::bf16, DType::f32, 16,
                   "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
inline constexpr TensorIntrinsic mma_m16n8k8_tf32 =
    detail::mma_of("mma_m16n8k8_tf32", DType::f32, DType::f32, 8,
                   "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32");
inline constexpr TensorIntrinsic mma_m16n8k32_s8 =
    detail::mma_of("mma_m16n8k32_s8", DType::i8, DType::i32, 32,
                   "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32");

inline constexpr const TensorIntrinsic* known_intrinsics[] = {&tdpbf16ps,
                                                              &tdpfp16ps,
                                                              &tdpbssd,
                                                              &tdpbusd,
                                                              &vdpbf16ps,
                                                              &vpdpbusd,
                                                              &vpdpbusd_signed,
                                                              &vpmaddwd,
                                                              &sdot,
                                                              &udot,
                                                              &usdot,
                                                              &wgmma_k16_f16,
                                                              &wgmma_k16_bf16,
                                                              &mma_m16n8k16_f16,
                                                              &mma_m16n8k16_bf16,
                                                              &mma_m16n8k8_tf32,
                                                              &mma_m16n8k32_s8};

/// What code for the target may use: the user's own first, then the known ones, of which those that
/// compute more at a time come first.
inline std::vector<const TensorIntrinsic*> intrinsics_of(const Target& target) {
  std::vector<const TensorIntrinsic*> found;
  const auto add = [&](const TensorIntrinsic* intrinsic) {
    const bool is_for_gpu = !intrinsic->ptx.empty();
    if (is_for_gpu == (target.kind == TargetKind::cuda) && intrinsic->is_available != nullptr &&
        intrinsic->is_available(target)) {
      found.push_back(intrinsic);
    }
  };
  for (const TensorIntrinsic* intrinsic : target.intrinsics) {
    add(intrinsic);
  }
  for (const TensorIntrinsic* intrinsic : known_intrinsics) {
    add(intrinsic);
  }
  return found;
}

/// nullptr if the target has none of that name.
inline const TensorIntrinsic* find_intrinsic(const Target& target, std::string_view name) {
  if (name.empty()) {
    return nullptr;
  }
  for (const TensorIntrinsic* intrinsic : intrinsics_of(target)) {
    if (intrinsic->name == name) {
      return intrinsic;
    }
  }
  return nullptr;
}
/// The one that a stage asks for; nullptr if it asks for none either.
inline const TensorIntrinsic* find_intrinsic(const Target& target, const HintList& of_stage) {
  return of_stage.empty() ? nullptr
                          : find_intrinsic(target, of_stage.get<hints::Tensorize>().intrinsic);
}

}  // namespace tensorsmith
