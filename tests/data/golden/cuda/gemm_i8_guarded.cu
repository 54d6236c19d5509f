//   A: i8 [37, 19]
//   B: i8 [19, 41]
//   C: i32 [37, 41], written
// gemm_i8_guarded<<<[2, 2, 1], [8, 8, 1], 0>>>

// Modulo 2^bits.
template <class T>
__device__ __forceinline__ T wrap_add(T a, T b) {
  return static_cast<T>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
}

// Modulo 2^bits.
template <class T>
__device__ __forceinline__ T wrap_mul(T a, T b) {
  return static_cast<T>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
}

extern "C" __global__ void __launch_bounds__(64)
gemm_i8_guarded(const signed char* __restrict__ A, const signed char* __restrict__ B, int* __restrict__ C) {
  __shared__ __align__(16) signed char A_shared[288];
  __shared__ __align__(16) signed char B_shared[256];
  const int block_y = blockIdx.y;  // i_0, 2
  const int block_x = blockIdx.x;  // j_0, 2
  const int thread_y = threadIdx.y;  // i_1, 8
  const int thread_x = threadIdx.x;  // j_1, 8
  int C_local[16];
  #pragma unroll
  for (int i_2 = 0; i_2 < 4; ++i_2) {
    #pragma unroll
    for (int j_2 = 0; j_2 < 4; ++j_2) {
      C_local[4 * i_2 + j_2] = 0;
    }
  }
  #pragma unroll 1
  for (int k_0 = 0; k_0 < 3; ++k_0) {
    __syncthreads();
    A_shared[144 * (thread_x % 2) + 4 * thread_y + (thread_x / 2)] = 32 * block_y + 4 * thread_y + (thread_x / 2) < 37 && 8 * k_0 + 4 * (thread_x % 2) < 19 ? A[608 * block_y + 76 * thread_y + 19 * (thread_x / 2) + 8 * k_0 + 4 * (thread_x % 2)] : 0;
    A_shared[144 * (thread_x % 2) + 4 * thread_y + (thread_x / 2) + 36] = 32 * block_y + 4 * thread_y + (thread_x / 2) < 37 && 8 * k_0 + 4 * (thread_x % 2) + 1 < 19 ? A[608 * block_y + 76 * thread_y + 19 * (thread_x / 2) + 8 * k_0 + 4 * (thread_x % 2) + 1] : 0;
    A_shared[144 * (thread_x % 2) + 4 * thread_y + (thread_x / 2) + 72] = 32 * block_y + 4 * thread_y + (thread_x / 2) < 37 && 8 * k_0 + 4 * (thread_x % 2) + 2 < 19 ? A[608 * block_y + 76 * thread_y + 19 * (thread_x / 2) + 8 * k_0 + 4 * (thread_x % 2) + 2] : 0;
    A_shared[144 * (thread_x % 2) + 4 * thread_y + (thread_x / 2) + 108] = 32 * block_y + 4 * thread_y + (thread_x / 2) < 37 && 8 * k_0 + 4 * (thread_x % 2) + 3 < 19 ? A[608 * block_y + 76 * thread_y + 19 * (thread_x / 2) + 8 * k_0 + 4 * (thread_x % 2) + 3] : 0;
    *reinterpret_cast<char4*>(B_shared + 32 * thread_y + 4 * thread_x) = make_char4(
            8 * k_0 + thread_y + (thread_x / 8) < 19 && 32 * block_x + 4 * (thread_x % 8) < 41 ? B[328 * k_0 + 41 * thread_y + 41 * (thread_x / 8) + 32 * block_x + 4 * (thread_x % 8)] : 0,
            8 * k_0 + thread_y + (thread_x / 8) < 19 && 32 * block_x + 4 * (thread_x % 8) + 1 < 41 ? B[328 * k_0 + 41 * thread_y + 41 * (thread_x / 8) + 32 * block_x + 4 * (thread_x % 8) + 1] : 0,
            8 * k_0 + thread_y + (thread_x / 8) < 19 && 32 * block_x + 4 * (thread_x % 8) + 2 < 41 ? B[328 * k_0 + 41 * thread_y + 41 * (thread_x / 8) + 32 * block_x + 4 * (thread_x % 8) + 2] : 0,
            8 * k_0 + thread_y + (thread_x / 8) < 19 && 32 * block_x + 4 * (thread_x % 8) + 3 < 41 ? B[328 * k_0 + 41 * thread_y + 41 * (thread_x / 8) + 32 * block_x + 4 * (thread_x % 8) + 3] : 0);
    __syncthreads();
    #pragma unroll
    for (int k_1 = 0; k_1 < 8; ++k_1) {
      signed char A_local[4];
      signed char B_local[4];
      {
        const char4 A_shared_v = *reinterpret_cast<const char4*>(A_shared + 36 * k_1 + 4 * thread_y);
        A_local[0] = A_shared_v.x;
        A_local[1] = A_shared_v.y;
        A_local[2] = A_shared_v.z;
        A_local[3] = A_shared_v.w;
      }
      {
        const char4 B_shared_v = *reinterpret_cast<const char4*>(B_shared + 32 * k_1 + 4 * thread_x);
        B_local[0] = B_shared_v.x;
        B_local[1] = B_shared_v.y;
        B_local[2] = B_shared_v.z;
        B_local[3] = B_shared_v.w;
      }
      #pragma unroll
      for (int i_2 = 0; i_2 < 4; ++i_2) {
        #pragma unroll
        for (int j_2 = 0; j_2 < 4; ++j_2) {
          C_local[4 * i_2 + j_2] = wrap_add<int>(C_local[4 * i_2 + j_2], wrap_mul<int>(static_cast<int>(A_local[i_2]), static_cast<int>(B_local[j_2])));
        }
      }
    }
  }
  #pragma unroll
  for (int i_2 = 0; i_2 < 4; ++i_2) {
    #pragma unroll
    for (int j_2 = 0; j_2 < 4; ++j_2) {
      if (32 * block_y + 4 * thread_y + i_2 < 37 && 32 * block_x + 4 * thread_x + j_2 < 41) {
        C[1312 * block_y + 164 * thread_y + 41 * i_2 + 32 * block_x + 4 * thread_x + j_2] = C_local[4 * i_2 + j_2];
      }
    }
  }
}
