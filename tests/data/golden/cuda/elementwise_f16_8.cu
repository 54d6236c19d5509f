//   x: f16 [512]
//   y: f16 [512], written
// elementwise_f16_8<<<[2, 1, 1], [32, 1, 1], 0>>>

struct __align__(16) ushort8 {
  unsigned short lane[8];
};

#ifndef TENSORSMITH_CUDA_SHIM
__device__ __forceinline__ float from_f16(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

// Rounds to nearest, halves to even.
__device__ __forceinline__ unsigned short to_f16(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#endif

extern "C" __global__ void __launch_bounds__(32)
elementwise_f16_8(const unsigned short* __restrict__ x, unsigned short* __restrict__ y) {
  const int block_x = blockIdx.x;  // i_0, 2
  const int thread_x = threadIdx.x;  // i_1, 32
  {
    const ushort8 x_v = *reinterpret_cast<const ushort8*>(x + 256 * block_x + 8 * thread_x);
    const ushort8 y_v = *reinterpret_cast<const ushort8*>(y + 256 * block_x + 8 * thread_x);
    *reinterpret_cast<ushort8*>(y + 256 * block_x + 8 * thread_x) = ushort8{{
            to_f16(from_f16(x_v.lane[0]) * from_f16(x_v.lane[0]) + from_f16(y_v.lane[0])),
            to_f16(from_f16(x_v.lane[1]) * from_f16(x_v.lane[1]) + from_f16(y_v.lane[1])),
            to_f16(from_f16(x_v.lane[2]) * from_f16(x_v.lane[2]) + from_f16(y_v.lane[2])),
            to_f16(from_f16(x_v.lane[3]) * from_f16(x_v.lane[3]) + from_f16(y_v.lane[3])),
            to_f16(from_f16(x_v.lane[4]) * from_f16(x_v.lane[4]) + from_f16(y_v.lane[4])),
            to_f16(from_f16(x_v.lane[5]) * from_f16(x_v.lane[5]) + from_f16(y_v.lane[5])),
            to_f16(from_f16(x_v.lane[6]) * from_f16(x_v.lane[6]) + from_f16(y_v.lane[6])),
            to_f16(from_f16(x_v.lane[7]) * from_f16(x_v.lane[7]) + from_f16(y_v.lane[7]))}};
  }
}
