// SPDX-License-Identifier: Apache-2.0
#include "mlp_products.hpp"

namespace tensorsmith::mlp_detail {
namespace {

const Products* widest() {
#if defined(__x86_64__)
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  if (has_avx512 && products_avx512() != nullptr) {
    return products_avx512();
  }
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx2 && products_avx2() != nullptr) {
    return products_avx2();
  }
#endif
  return products_base();
}

}  // namespace

const Products& products() {
  static const Products* const chosen = widest();
  return *chosen;
}

}  // namespace tensorsmith::mlp_detail
