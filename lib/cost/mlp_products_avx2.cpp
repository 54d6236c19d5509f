// SPDX-License-Identifier: Apache-2.0
// Compiled for AVX2 with FMA where the compiler can (lib/CMakeLists.txt).
#if defined(__AVX2__)
#define TENSORSMITH_MLP_WIDTH avx2
#include "mlp_products.ipp"
#else
#include "mlp_products.hpp"

namespace tensorsmith::mlp_detail {

const Products* products_avx2() { return nullptr; }

}  // namespace tensorsmith::mlp_detail
#endif
