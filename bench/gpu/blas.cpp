// SPDX-License-Identifier: Apache-2.0
#include "blas.hpp"

#include <array>
#include <cstdlib>
#include <cstring>

#include "tensorsmith/cuda/shared_library.hpp"

namespace tensorsmith::bench {
namespace {

using cuda::find_function;
using cuda::Status;

/// Of cudaDataType_t; -1: these libraries have no products of that type.
int data_type(DType type) {
  switch (type) {
  case DType::f32:
    return 0;
  case DType::f64:
    return 1;
  case DType::f16:
    return 2;
  case DType::i8:
    return 3;
  case DType::i32:
    return 10;
  case DType::bf16:
    return 14;
  default:
    return -1;
  }
}
/// Of cublasComputeType_t: what a sum is kept in, and in f32 whether factors may be rounded.
int compute_type(const GpuProduct& product) {
  return product.output == DType::f64   ? 70
         : product.output == DType::i32 ? 72
         : product.is_tf32              ? 77
                                        : 68;
}
int scale_type(DType output) { return output == DType::f64 ? 1 : output == DType::i32 ? 10 : 0; }

/// One and zero of the type that sums are kept in.
struct Scales {
  alignas(8) std::array<unsigned char, 8> one{}, zero{};
};
Scales scales_of(DType output) {
  Scales scales;
  const float one_f32 = 1;
  const double one_f64 = 1;
  const std::int32_t one_i32 = 1;
  if (output == DType::f64) {
    std::memcpy(scales.one.data(), &one_f64, sizeof(one_f64));
  } else if (output == DType::i32) {
    std::memcpy(scales.one.data(), &one_i32, sizeof(one_i32));
  } else {
    std::memcpy(scales.one.data(), &one_f32, sizeof(one_f32));
  }
  return scales;
}

void* open_one_of(const char* variable, const std::string& stem, std::string& problem) {
  if (const char* named = std::getenv(variable); named != nullptr && *named != 0) {
    return cuda::open_library(named, problem);
  }
  void* handle = nullptr;
  for (const char* version : {".so.13", ".so.12", ".so.11"}) {
    handle = handle != nullptr ? handle : cuda::open_library(stem + version, problem);
  }
  if (handle == nullptr) {
    problem =
        stem + " of CUDA 13, 12 or 11 was not found; install the CUDA toolkit, or set " + variable;
  }
  return handle;
}

bool has_types(const GpuProduct& product, GpuPeer& peer) {
  if (data_type(product.input) < 0 || data_type(product.output) < 0) {
    peer.absent = "it has no products of " + std::string(name_of(product.input));
  }
  return peer.absent.empty();
}

}  // namespace

GpuPeer open_cublas(const cuda::Device& device, const GpuProduct& product) {
  GpuPeer peer;
  peer.name = "cublas";
  void* const library = open_one_of("TENSORSMITH_LIBCUBLAS", "libcublas", peer.absent);
  int (*create)(void**) = nullptr;
  int (*set_stream)(void*, cuda::Stream) = nullptr;
  int (*get_version)(void*, int*) = nullptr;
  int (*multiply)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*,
                  int, int, const void*, void*, int, int, int, int) = nullptr;
  int (*multiply_all)(void*, int, int, int, int, int, const void*, const void*, int, int, long long,
                      const void*, int, int, long long, const void*, void*, int, int, long long,
                      int, int, int) = nullptr;
  if (library == nullptr || !has_types(product, peer)) {
    return peer;
  }
  peer.absent.clear();
  void* handle = nullptr;
  if (!find_function(library, "cublasCreate_v2", create) ||
      !find_function(library, "cublasSetStream_v2", set_stream) ||
      !find_function(library, "cublasGetVersion_v2", get_version) ||
      !find_function(library, "cublasGemmEx", multiply) ||
      !find_function(library, "cublasGemmStridedBatchedEx", multiply_all) || create(&handle) != 0 ||
      set_stream(handle, device.stream()) != 0) {
    peer.absent = "cuBLAS was found, but cannot be used";
    return peer;
  }
  int version = 0;
  get_version(handle, &version);
  peer.version = std::to_string(version);
  peer.output = product.c;
  // Of column-major libraries the transposed product is wanted: B first.
  peer.enqueue = [=, scales = scales_of(product.output)] {
    const auto size = [](std::int64_t n) { return static_cast<int>(n); };
    const int m = size(product.m), n = size(product.n), k = size(product.k);
    const int input = data_type(product.input), output = data_type(product.output);
    const int flip_a = product.transpose_a ? 1 : 0, flip_b = product.transpose_b ? 1 : 0;
    const int row_a = flip_a == 1 ? m : k, row_b = flip_b == 1 ? k : n;
    void* const result = pointer_of(product.c);
    return product.batch == 1
               ? multiply(handle, flip_b, flip_a, n, m, k, scales.one.data(), pointer_of(product.b),
                          input, row_b, pointer_of(product.a), input, row_a, scales.zero.data(),
                          result, output, n, compute_type(product), -1)
               : multiply_all(handle, flip_b, flip_a, n, m, k, scales.one.data(),
                              pointer_of(product.b), input, row_b, product.k * product.n,
                              pointer_of(product.a), input, row_a, product.m * product.k,
                              scales.zero.data(), result, output, n, product.m * product.n,
                              size(product.batch), compute_type(product), -1);
  };
  return peer;
}

GpuPeer open_cublas_lt(cuda::Device& device, const GpuProduct& product) {
  constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
  constexpr int max_workspace_attribute = 1;
  struct Heuristic {
    std::uint64_t algorithm[8];
    std::size_t workspace;
    int state;
    float waves;
    int reserved[4];
  };
  GpuPeer peer;
  peer.name = "cublasLt";
  void* const library = open_one_of("TENSORSMITH_LIBCUBLASLT", "libcublasLt", peer.absent);
  if (library == nullptr || !has_types(product, peer)) {
    return peer;
  }
  peer.absent.clear();
  int (*create)(void**) = nullptr;
  std::size_t (*get_version)() = nullptr;
  int (*create_product)(void**, int, int) = nullptr;
  int (*create_layout)(void**, int, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
  int (*create_preference)(void**) = nullptr;
  int (*set_preference)(void*, int, const void*, std::size_t) = nullptr;
  int (*choose)(void*, void*, void*, void*, void*, void*, void*, int, Heuristic*, int*) = nullptr;
  int (*multiply)(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                  const void*, void*, void*, void*, const void*, void*, std::size_t, cuda::Stream) =
      nullptr;
  const bool is_whole =
      find_function(library, "cublasLtCreate", create) &&
      find_function(library, "cublasLtGetVersion", get_version) &&
      find_function(library, "cublasLtMatmulDescCreate", create_product) &&
      find_function(library, "cublasLtMatrixLayoutCreate", create_layout) &&
      find_function(library, "cublasLtMatmulPreferenceCreate", create_preference) &&
      find_function(library, "cublasLtMatmulPreferenceSetAttribute", set_preference) &&
      find_function(library, "cublasLtMatmulAlgoGetHeuristic", choose) &&
      find_function(library, "cublasLtMatmul", multiply);
  void *handle = nullptr, *form = nullptr, *a = nullptr, *b = nullptr, *c = nullptr,
       *preference = nullptr;
  const auto size = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const int input = data_type(product.input), output = data_type(product.output);
  Heuristic chosen{};
  int count = 0;
  cuda::DevicePointer workspace = 0;
  const bool is_ready =
      is_whole && create(&handle) == 0 &&
      create_product(&form, compute_type(product), scale_type(product.output)) == 0 &&
      create_layout(&b, input, size(product.n), size(product.k), product.n) == 0 &&
      create_layout(&a, input, size(product.k), size(product.m), product.k) == 0 &&
      create_layout(&c, output, size(product.n), size(product.m), product.n) == 0 &&
      create_preference(&preference) == 0 &&
      set_preference(preference, max_workspace_attribute, &workspace_bytes,
                     sizeof(workspace_bytes)) == 0 &&
      choose(handle, form, b, a, c, c, preference, 1, &chosen, &count) == 0 && count == 1 &&
      device.driver().allocate(&workspace, workspace_bytes) == 0;
  if (!is_ready) {
    peer.absent = "cuBLASLt was found, but has nothing for this product";
    return peer;
  }
  peer.version = std::to_string(get_version());
  peer.output = product.c;
  peer.enqueue = [=, scales = scales_of(product.output), stream = device.stream()] {
    void* const result = pointer_of(product.c);
    return multiply(handle, form, scales.one.data(), pointer_of(product.b), b,
                    pointer_of(product.a), a, scales.zero.data(), result, c, result, c,
                    chosen.algorithm, const_cast<void*>(pointer_of(workspace)), workspace_bytes,
                    stream);
  };
  return peer;
}

}  // namespace tensorsmith::bench
