//   x: f64 [2, 8192]
//   y: f64 [2, 8192], written
// reverse_f64<<<[2, 1, 1], [128, 1, 1], 65536>>>

#ifndef TENSORSMITH_CUDA_SHIM
__device__ __forceinline__ unsigned char* dynamic_shared() {
  extern __shared__ __align__(1024) unsigned char dynamic_shared_memory[];
  return dynamic_shared_memory;
}
#endif

extern "C" __global__ void __launch_bounds__(128)
reverse_f64(const double* __restrict__ x, double* __restrict__ y) {
  double* const all = reinterpret_cast<double*>(dynamic_shared() + 0);
  const int block_x = blockIdx.x;  // o, 2
  const int thread_x = threadIdx.x;  // t, 128
  for (int i = 0; i < 64; ++i) {
    all[128 * i + thread_x] = x[8192 * block_x + 128 * i + thread_x];
  }
  __syncthreads();
  for (int i = 0; i < 64; ++i) {
    y[8192 * block_x + 128 * i + thread_x] = all[-128 * i - thread_x + 8191];
  }
}
