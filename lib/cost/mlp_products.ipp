// SPDX-License-Identifier: Apache-2.0
// The functions of Products, in Eigen; included by one source per vector width.
// Before it: TENSORSMITH_MLP_WIDTH, a word for the width. Eigen is renamed to Eigen_<width>, so
// that the linker never joins functions that were compiled for unlike processors; for the same
// reason nothing of the standard library is used here but types.
#pragma once

#define EIGEN_DONT_PARALLELIZE  // the sums must not depend on the number of threads
#define EIGEN_FAST_MATH 0  // roots of single elements and of vectors must be the same
#define TENSORSMITH_MLP_JOIN2(a, b) a##b
#define TENSORSMITH_MLP_JOIN(a, b) TENSORSMITH_MLP_JOIN2(a, b)
#define Eigen TENSORSMITH_MLP_JOIN(Eigen_, TENSORSMITH_MLP_WIDTH)
#include <Eigen/Core>

#include "mlp_products.hpp"

namespace tensorsmith::mlp_detail {
namespace {

using Size = Products::Size;
using ConstMatrix = Eigen::Map<const Eigen::MatrixXf>;
using MutableMatrix = Eigen::Map<Eigen::MatrixXf>;
using ConstArray = Eigen::Map<const Eigen::ArrayXf>;
using MutableArray = Eigen::Map<Eigen::ArrayXf>;

void set_ab(const float* a, const float* b, float* c, Size m, Size k, Size n) {
  MutableMatrix(c, m, n).noalias() = ConstMatrix(a, m, k) * ConstMatrix(b, k, n);
}
void set_abt(const float* a, const float* b, float* c, Size m, Size k, Size n) {
  MutableMatrix(c, m, n).noalias() = ConstMatrix(a, m, k) * ConstMatrix(b, n, k).transpose();
}
void add_atb(const float* a, const float* b, float* c, Size m, Size k, Size n) {
  MutableMatrix(c, m, n).noalias() += ConstMatrix(a, k, m).transpose() * ConstMatrix(b, k, n);
}

void adam(const AdamStep& step, float* values, const float* gradient, float* first, float* second,
          std::size_t size) {
  constexpr float tiny = 1e-8F;  // Adam, ICLR 2015
  const Size length = static_cast<Size>(size);
  MutableArray value(values, length), mean(first, length), square(second, length);
  const ConstArray slope(gradient, length);
  mean = step.first_decay * mean + (1.0F - step.first_decay) * slope;
  square = step.second_decay * square + (1.0F - step.second_decay) * slope.square();
  value -= step.learning_rate *
           ((mean * step.first_scale) / ((square * step.second_scale).sqrt() + tiny) +
            step.weight_decay * value);
}

constexpr Products table{&set_ab, &set_abt, &add_atb, &adam};

}  // namespace

const Products* TENSORSMITH_MLP_JOIN(products_, TENSORSMITH_MLP_WIDTH)() { return &table; }

}  // namespace tensorsmith::mlp_detail
