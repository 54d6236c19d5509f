//   A: f32 [64, 16]
//   B: f32 [16, 32]
//   C: f32 [64, 32], written
// gemm_f32<<<[1, 2, 1], [8, 8, 1], 0>>>

extern "C" __global__ void __launch_bounds__(64)
gemm_f32(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C) {
  __shared__ __align__(16) float A_shared[288];
  __shared__ __align__(16) float B_shared[256];
  const int block_y = blockIdx.y;  // i_0, 2
  const int thread_y = threadIdx.y;  // i_1, 8
  const int thread_x = threadIdx.x;  // j_1, 8
  float C_local[16];
  #pragma unroll
  for (int i_2 = 0; i_2 < 4; ++i_2) {
    #pragma unroll
    for (int j_2 = 0; j_2 < 4; ++j_2) {
      C_local[4 * i_2 + j_2] = 0.0f;
    }
  }
  #pragma unroll 1
  for (int k_0 = 0; k_0 < 2; ++k_0) {
    __syncthreads();
    {
      const float4 A_v = *reinterpret_cast<const float4*>(A + 512 * block_y + 64 * thread_y + 16 * (thread_x / 2) + 8 * k_0 + 4 * (thread_x % 2));
      A_shared[144 * (thread_x % 2) + 4 * thread_y + (thread_x / 2)] = A_v.x;
      A_shared[144 * (thread_x % 2) + 4 * thread_y + (thread_x / 2) + 36] = A_v.y;
      A_shared[144 * (thread_x % 2) + 4 * thread_y + (thread_x / 2) + 72] = A_v.z;
      A_shared[144 * (thread_x % 2) + 4 * thread_y + (thread_x / 2) + 108] = A_v.w;
    }
    *reinterpret_cast<float4*>(B_shared + 32 * thread_y + 4 * thread_x) = *reinterpret_cast<const float4*>(B + 256 * k_0 + 32 * thread_y + 4 * thread_x);
    __syncthreads();
    #pragma unroll
    for (int k_1 = 0; k_1 < 8; ++k_1) {
      float A_local[4];
      float B_local[4];
      {
        const float4 A_shared_v = *reinterpret_cast<const float4*>(A_shared + 36 * k_1 + 4 * thread_y);
        A_local[0] = A_shared_v.x;
        A_local[1] = A_shared_v.y;
        A_local[2] = A_shared_v.z;
        A_local[3] = A_shared_v.w;
      }
      {
        const float4 B_shared_v = *reinterpret_cast<const float4*>(B_shared + 32 * k_1 + 4 * thread_x);
        B_local[0] = B_shared_v.x;
        B_local[1] = B_shared_v.y;
        B_local[2] = B_shared_v.z;
        B_local[3] = B_shared_v.w;
      }
      #pragma unroll
      for (int i_2 = 0; i_2 < 4; ++i_2) {
        #pragma unroll
        for (int j_2 = 0; j_2 < 4; ++j_2) {
          C_local[4 * i_2 + j_2] += A_local[i_2] * B_local[j_2];
        }
      }
    }
  }
  #pragma unroll
  for (int i_2 = 0; i_2 < 4; ++i_2) {
    *reinterpret_cast<float4*>(C + 1024 * block_y + 128 * thread_y + 32 * i_2 + 4 * thread_x) = make_float4(
            C_local[4 * i_2],
            C_local[4 * i_2 + 1],
            C_local[4 * i_2 + 2],
            C_local[4 * i_2 + 3]);
  }
}
