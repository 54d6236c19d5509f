//   x: f32 [3, 77]
//   y: f32 [3, 77], written
//   sum: f32 [3], workspace
// softmax_0<<<[3, 1, 1], [64, 1, 1], 0>>>
// softmax_1<<<[4, 1, 1], [64, 1, 1], 0>>>

extern "C" __global__ void __launch_bounds__(64)
softmax_0(const float* __restrict__ x, float* __restrict__ sum) {
  __shared__ __align__(16) float part[64];
  const int block_x = blockIdx.x;  // r, 3
  const int thread_x = threadIdx.x;  // t, 64
  float own;
  own = 0.0f;
  for (int c_0 = 0; c_0 < 2; ++c_0) {
    if (64 * c_0 + thread_x < 77) {
      own += expf(x[77 * block_x + 64 * c_0 + thread_x]);
    }
  }
  part[thread_x] = own;
  __syncthreads();
  if (thread_x < 32) {
    part[thread_x] += part[thread_x + 32];
  }
  __syncthreads();
  if (thread_x < 16) {
    part[thread_x] += part[thread_x + 16];
  }
  __syncthreads();
  if (thread_x < 8) {
    part[thread_x] += part[thread_x + 8];
  }
  __syncthreads();
  if (thread_x < 4) {
    part[thread_x] += part[thread_x + 4];
  }
  __syncthreads();
  if (thread_x < 2) {
    part[thread_x] += part[thread_x + 2];
  }
  __syncthreads();
  if (thread_x < 1) {
    part[thread_x] += part[thread_x + 1];
  }
  __syncthreads();
  if (thread_x == 0) {
    sum[block_x] = part[0];
  }
}

extern "C" __global__ void __launch_bounds__(64)
softmax_1(const float* __restrict__ x, float* __restrict__ y, const float* __restrict__ sum) {
  const int block_x = blockIdx.x;  // r_c_0, 4
  const int thread_x = threadIdx.x;  // r_c_1, 64
  if (64 * block_x + thread_x < 231) {
    y[64 * block_x + thread_x] = expf(x[64 * block_x + thread_x]) / sum[((64 * block_x + thread_x) / 77)];
  }
}
