// SPDX-License-Identifier: Apache-2.0
// Compiled for AVX-512 where the compiler can (lib/CMakeLists.txt).
#if defined(__AVX512F__)
#define TENSORSMITH_MLP_WIDTH avx512
#include "mlp_products.ipp"
#else
#include "mlp_products.hpp"

namespace tensorsmith::mlp_detail {

const Products* products_avx512() { return nullptr; }

}  // namespace tensorsmith::mlp_detail
#endif
