// SPDX-License-Identifier: Apache-2.0
// A program of somebody else without tensorsmith: calls what embed.cpp or lowered.cpp exported.
#include <cstdio>
#include <vector>

extern "C" void my_gemm(const float* a, const float* b, float* c);

int main() {
  const std::vector<float> a(6 * 8, 2), b(8 * 20, 3);
  std::vector<float> c(6 * 20);
  my_gemm(a.data(), b.data(), c.data());
  const bool is_right = c == std::vector<float>(6 * 20, 48);
  std::puts(is_right ? "right" : "wrong");
  return is_right ? 0 : 1;
}
