// SPDX-License-Identifier: Apache-2.0
// The dear arithmetic of the MLP cost model, with the widest vectors that this processor has.
//
// Internal to lib/cost. One source (mlp_products.ipp, Eigen) is compiled once per vector width;
// products() chooses on first use. Scores of two machines of unlike width differ by rounding.
// All matrices are column-major f32 without gaps.
#pragma once

#include <cstddef>

namespace tensorsmith::mlp_detail {

/// One step of AdamW (ICLR 2019): the scales undo the bias of the moments.
struct AdamStep {
  float first_decay, second_decay;
  float first_scale, second_scale;
  float learning_rate, weight_decay;
};

struct Products {
  using Size = std::ptrdiff_t;
  /// c[m, n] = a[m, k] b[k, n]
  void (*set_ab)(const float* a, const float* b, float* c, Size m, Size k, Size n);
  /// c[m, n] = a[m, k] b[n, k]^T
  void (*set_abt)(const float* a, const float* b, float* c, Size m, Size k, Size n);
  /// c[m, n] += a[k, m]^T b[k, n]
  void (*add_atb)(const float* a, const float* b, float* c, Size m, Size k, Size n);
  /// Updates `values` and the two moments by the gradient; all of length `size`.
  void (*adam)(const AdamStep& step, float* values, const float* gradient, float* first,
               float* second, std::size_t size);
};

const Products& products();

/// One per vector width: what every processor has, AVX2 with FMA, AVX-512. The wider ones are null
/// where the compiler does not know them.
const Products* products_base();
const Products* products_avx2();
const Products* products_avx512();

}  // namespace tensorsmith::mlp_detail
