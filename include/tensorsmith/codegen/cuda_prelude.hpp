// SPDX-License-Identifier: Apache-2.0
// The helper functions of CUDA text: each is printed only where it is used.
//
// Floor 5. Own design; semantics as in ir/expr.hpp. NVRTC has no header at hand, so nothing is
// included. What is not C++ (inline PTX, dynamic shared memory) stands between
// `#ifndef TENSORSMITH_CUDA_SHIM` and `#endif`: whoever compiles the text for a processor without
// PTX defines the macro and brings these functions along (tests/support/cuda_shim.hpp does).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tensorsmith {

struct CudaHelper {
  std::string_view name;  ///< what to look for in the text that uses it
  std::string_view text;
  bool is_device_only = false;
  std::int32_t first_capability = 0;  ///< the earlier entry of the same name serves those before
};

// In the order of printing: a helper uses only those before it.
inline constexpr CudaHelper cuda_helpers[] = {
    {"floor_div(", R"(// Rounds towards minus infinity.
template <class A, class B>
__device__ __forceinline__ A floor_div(A a, B b) {
  return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
}
)"},
    {"floor_mod(", R"(// The remainder that belongs to floor_div: it has the sign of b.
template <class A, class B>
__device__ __forceinline__ A floor_mod(A a, B b) {
  const A r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}
)"},
    {"swizzled<",
     R"(// Pieces of a line of eight change places, in a way of its own in each of eight lines.
template <int piece, class T>
__device__ __forceinline__ T swizzled(T at) {
  return at ^ at / (8 * piece) % 8 * piece;
}
)"},
    {"float_floor_mod<", R"(template <class T>
__device__ __forceinline__ T float_floor_mod(T a, T b) {
  return a - floor(a / b) * b;
}
)"},
    {"min_of<", R"(template <class T>
__device__ __forceinline__ T min_of(T a, T b) {
  return a < b ? a : b;
}
)"},
    {"max_of<", R"(template <class T>
__device__ __forceinline__ T max_of(T a, T b) {
  return a > b ? a : b;
}
)"},
    {"abs_of<", R"(template <class T>
__device__ __forceinline__ T abs_of(T a) {
  return a < 0 ? static_cast<T>(0ull - static_cast<unsigned long long>(a)) : a;
}
)"},
    {"sigmoid_of(", R"(// 1 / (1 + exp(-a)) with an exponential that cannot overflow.
__device__ __forceinline__ float sigmoid_of(float a) {
  const float e = expf(-fabsf(a));
  return (a < 0 ? e : 1.0f) / (1.0f + e);
}
__device__ __forceinline__ double sigmoid_of(double a) {
  const double e = exp(-fabs(a));
  return (a < 0 ? e : 1.0) / (1.0 + e);
}
)"},
    {"wrap_add<", R"(// Modulo 2^bits.
template <class T>
__device__ __forceinline__ T wrap_add(T a, T b) {
  return static_cast<T>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
}
)"},
    {"wrap_sub<", R"(// Modulo 2^bits.
template <class T>
__device__ __forceinline__ T wrap_sub(T a, T b) {
  return static_cast<T>(static_cast<unsigned long long>(a) - static_cast<unsigned long long>(b));
}
)"},
    {"wrap_mul<", R"(// Modulo 2^bits.
template <class T>
__device__ __forceinline__ T wrap_mul(T a, T b) {
  return static_cast<T>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
}
)"},
    {"present_lanes(", R"(// The lanes of the thread's warp that the block has.
__device__ __forceinline__ unsigned present_lanes() {
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned left = blockDim.x * blockDim.y * blockDim.z - thread / 32 * 32;
  return left >= 32 ? 0xffffffffu : 0xffffffffu >> (32 - left);
}
)"},
    {"from_bf16(", R"(__device__ __forceinline__ float from_bf16(unsigned short bits) {
  return __uint_as_float(static_cast<unsigned>(bits) << 16);
}
)"},
    {"to_bf16(", R"(// Rounds to nearest, halves to even.
__device__ __forceinline__ unsigned short to_bf16(float value) {
  const unsigned bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return static_cast<unsigned short>((bits >> 16) | 0x40u);
  }
  return static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
)",
     true},
    {"to_bf16(", R"(// Rounds to nearest, halves to even.
__device__ __forceinline__ unsigned short to_bf16(float value) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
)",
     true, 80},
    {"from_f16(", R"(__device__ __forceinline__ float from_f16(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
)",
     true},
    {"to_f16(", R"(// Rounds to nearest, halves to even.
__device__ __forceinline__ unsigned short to_f16(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
)",
     true},
    {"publish_copies(",
     R"(// What the thread has written to shared memory is there for wgmma behind the next barrier.
__device__ __forceinline__ void publish_copies() {
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}
)",
     true},
    {"shared_matrix<",
     R"(// Lines of 128 bytes, swizzled, for wgmma: bytes from 64 columns to the next 64, and between eights
// of lines.
template <int columns, int lines>
__device__ __forceinline__ unsigned long long shared_matrix(const void* first) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(first));
  return (at & 0x3FFFFu) >> 4 | static_cast<unsigned long long>(columns >> 4) << 16 |
         static_cast<unsigned long long>(lines >> 4) << 32 | 1ull << 62;
}
)",
     true},
    {"begin_products(", R"(__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}
)",
     true},
    {"finish_products(", R"(// Waits for all of the warps' products.
__device__ __forceinline__ void finish_products() {
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" : : : "memory");
}
)",
     true},
    {"word_at(", R"(// The elements of one register that lie together.
template <class T>
__device__ __forceinline__ unsigned word_at(const T* p) {
  return *reinterpret_cast<const unsigned*>(p);
}
)",
     true},
    {"gathered_word(", R"(// The elements of one register, `step` apart.
template <class T>
__device__ __forceinline__ unsigned gathered_word(const T* p, int step) {
  unsigned word = 0;
#pragma unroll
  for (int i = 0; i < 4 / static_cast<int>(sizeof(T)); ++i) {
    if (sizeof(T) == 4) {
      word = *reinterpret_cast<const unsigned*>(p);
    } else if (sizeof(T) == 2) {
      word |= static_cast<unsigned>(reinterpret_cast<const unsigned short*>(p)[i * step]) << 16 * i;
    } else {
      word |= static_cast<unsigned>(reinterpret_cast<const unsigned char*>(p)[i * step]) << 8 * i;
    }
  }
  return word;
}
)",
     true},
    {"load_matrices(",
     R"(// Four or two squares of 8 rows of 16 bytes; a lane brings the address of a row.
__device__ __forceinline__ void load_matrices(unsigned (&words)[4], const void* row) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(at)
               : "memory");
}
__device__ __forceinline__ void load_matrices(unsigned (&words)[2], const void* row) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(words[0]), "=r"(words[1])
               : "r"(at)
               : "memory");
}
)",
     true},
    {"load_transposed_matrices(",
     R"(// Two squares of 8 rows of 8 numbers, rows and columns exchanged.
__device__ __forceinline__ void load_transposed_matrices(unsigned (&words)[2], const void* row) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(words[0]), "=r"(words[1])
               : "r"(at)
               : "memory");
}
)",
     true},
    {"copy_async(", R"(// 4, 8 or 16 bytes from global to shared memory, in the background.
template <class T>
__device__ __forceinline__ void copy_async(T* to, const T* from) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if (sizeof(T) == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(at), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                 :
                 : "r"(at), "l"(from), "n"(sizeof(T) == 16 ? 4 : sizeof(T))
                 : "memory");
  }
}
)",
     true},
    {"copy_async_or_zero(", R"(// The same where `is_inside`; else zeros, and nothing is read.
template <class T>
__device__ __forceinline__ void copy_async_or_zero(T* to, const T* from, bool is_inside) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int bytes = is_inside ? static_cast<int>(sizeof(T)) : 0;
  if (sizeof(T) == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(at), "l"(from), "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;"
                 :
                 : "r"(at), "l"(from), "r"(bytes), "n"(sizeof(T) == 16 ? 4 : sizeof(T))
                 : "memory");
  }
}
)",
     true},
    {"finish_copies<", R"(// Waits for the thread's copies, but for those since its last calls.
template <int calls>
__device__ __forceinline__ void finish_copies() {
  asm volatile("cp.async.commit_group;\ncp.async.wait_group %0;" : : "n"(calls) : "memory");
}
)",
     true},
    {"dynamic_shared(", R"(__device__ __forceinline__ unsigned char* dynamic_shared() {
  extern __shared__ __align__(1024) unsigned char dynamic_shared_memory[];
  return dynamic_shared_memory;
}
)",
     true}};

/// The helpers that `text` uses, for a device of this compute capability (10 * major + minor).
inline std::string cuda_helpers_for(std::string_view text, std::int32_t compute_capability) {
  std::string plain, device;
  constexpr std::size_t count = sizeof(cuda_helpers) / sizeof(cuda_helpers[0]);
  for (std::size_t i = 0; i < count; ++i) {
    const CudaHelper& helper = cuda_helpers[i];
    const bool has_better = i + 1 < count && cuda_helpers[i + 1].name == helper.name &&
                            cuda_helpers[i + 1].first_capability <= compute_capability;
    if (text.find(helper.name) == std::string_view::npos || has_better ||
        helper.first_capability > compute_capability) {
      continue;
    }
    std::string& part = helper.is_device_only ? device : plain;
    part += helper.text;
    part += '\n';
  }
  if (!device.empty()) {
    device.pop_back();
    device = "#ifndef TENSORSMITH_CUDA_SHIM\n" + device + "#endif\n\n";
  }
  return plain + device;
}

}  // namespace tensorsmith
