// The functions of cuBLAS that bench/gpu uses: time passes, nothing is computed.
#include "fake_cuda.hpp"

using namespace fake_cuda;

FAKE_CUDA_API int cublasCreate_v2(void** handle) {
  *handle = &Machine::instance();
  return 0;
}
FAKE_CUDA_API int cublasSetStream_v2(void*, void*) { return 0; }
FAKE_CUDA_API int cublasGetVersion_v2(void*, int* version) {
  *version = 120000;
  return 0;
}
FAKE_CUDA_API int cublasGemmEx(void*, int, int, int m, int n, int k, const void*, const void*, int,
                               int, const void*, int, int, const void*, void*, int, int, int, int) {
  Machine::instance().clock_ns += 3000 + 1e-4 * m * n * k;
  return 0;
}
