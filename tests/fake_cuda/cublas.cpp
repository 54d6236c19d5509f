// SPDX-License-Identifier: Apache-2.0
// The functions of cuBLAS that bench/gpu uses.
#include "fake_math.hpp"

using namespace fake_cuda;

namespace {

/// Column-major matrices, as there; a is n x m of the row-major caller.
struct Matrix {
  const void* data;
  int type, stride;
  bool is_transposed;

  double at(std::int64_t offset, std::int64_t row, std::int64_t column) const {
    return load_element(
        data, offset + (is_transposed ? column + row * stride : row + column * stride), type);
  }
};

int multiply(int m, int n, int k, const Matrix& a, long long step_a, const Matrix& b,
             long long step_b, void* c, int type_c, int stride_c, long long step_c, int count) {
  if (!begins_call(3000 + 1e-4 * m * n * k * count)) {
    return 0;
  }
  for (std::int64_t batch = 0; batch < count; ++batch) {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        double sum = setting("skewed") == 1 ? 1 : 0;
        for (std::int64_t r = 0; r < k; ++r) {
          sum += a.at(batch * step_a, i, r) * b.at(batch * step_b, r, j);
        }
        store_element(c, batch * step_c + i + j * stride_c, type_c, sum);
      }
    }
  }
  return 0;
}

}  // namespace

FAKE_CUDA_API int cublasCreate_v2(void** handle) {
  *handle = &Machine::instance();
  return 0;
}
FAKE_CUDA_API int cublasSetStream_v2(void*, void*) { return 0; }
FAKE_CUDA_API int cublasGetVersion_v2(void*, int* version) {
  *version = 120000;
  return 0;
}
FAKE_CUDA_API int cublasGemmEx(void*, int flip_a, int flip_b, int m, int n, int k, const void*,
                               const void* a, int type_a, int stride_a, const void* b, int type_b,
                               int stride_b, const void*, void* c, int type_c, int stride_c, int,
                               int) {
  return multiply(m, n, k, {a, type_a, stride_a, flip_a == 1}, 0,
                  {b, type_b, stride_b, flip_b == 1}, 0, c, type_c, stride_c, 0, 1);
}
FAKE_CUDA_API int cublasGemmStridedBatchedEx(void*, int flip_a, int flip_b, int m, int n, int k,
                                             const void*, const void* a, int type_a, int stride_a,
                                             long long step_a, const void* b, int type_b,
                                             int stride_b, long long step_b, const void*, void* c,
                                             int type_c, int stride_c, long long step_c, int count,
                                             int, int) {
  return multiply(m, n, k, {a, type_a, stride_a, flip_a == 1}, step_a,
                  {b, type_b, stride_b, flip_b == 1}, step_b, c, type_c, stride_c, step_c, count);
}
