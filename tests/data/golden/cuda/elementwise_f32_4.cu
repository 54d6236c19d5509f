//   x: f32 [512]
//   y: f32 [512], written
// elementwise_f32_4<<<[4, 1, 1], [32, 1, 1], 0>>>

extern "C" __global__ void __launch_bounds__(32)
elementwise_f32_4(const float* __restrict__ x, float* __restrict__ y) {
  const int block_x = blockIdx.x;  // i_0, 4
  const int thread_x = threadIdx.x;  // i_1, 32
  {
    const float4 x_v = *reinterpret_cast<const float4*>(x + 128 * block_x + 4 * thread_x);
    const float4 y_v = *reinterpret_cast<const float4*>(y + 128 * block_x + 4 * thread_x);
    *reinterpret_cast<float4*>(y + 128 * block_x + 4 * thread_x) = make_float4(
            x_v.x * x_v.x + y_v.x,
            x_v.y * x_v.y + y_v.y,
            x_v.z * x_v.z + y_v.z,
            x_v.w * x_v.w + y_v.w);
  }
}
