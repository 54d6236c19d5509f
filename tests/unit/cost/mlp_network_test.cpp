// SPDX-License-Identifier: Apache-2.0
// requires: mlp
#include "lib/cost/mlp_network.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensorsmith/support/rng.hpp"

using namespace tensorsmith;
using namespace tensorsmith::mlp_detail;

namespace {

RowBatch random_batch(std::uint64_t seed) {
  CounterRng rng(seed, 5);
  RowBatch batch;
  batch.first_row = {0, 1, 4, 6};
  batch.inputs.resize(static_cast<Eigen::Index>(feature_length), 6);
  for (Eigen::Index i = 0; i < batch.inputs.size(); ++i) {
    batch.inputs.data()[i] = static_cast<float>(2.0 * rng.next_double() - 1.0);
  }
  return batch;
}

}  // namespace

TEST_CASE("network: 242,433 parameters at TenSet's width and input", "[cost]") {
  // TenSet's input has 174 numbers, 10 more than a feature row.
  CHECK(MlpNetwork(256).parameters().size() + 10 * 256 == 242433);
}

TEST_CASE("network: backward is the slope of forward", "[cost]") {
  MlpNetwork network(8);
  network.initialize(test::seed());
  const RowBatch batch = random_batch(test::seed());
  Vector weights(3), scores;
  weights << 1.0F, -0.5F, 0.25F;
  network.forward(batch, scores);
  network.backward(batch, weights);
  const std::vector<float> gradient(network.gradient().begin(), network.gradient().end());
  std::size_t num_compared = 0;
  for (std::size_t i = 0; i < gradient.size(); i += 7) {
    constexpr float step = 1.0F / 256;
    const float value = network.parameters()[i];
    Vector up, down;
    network.parameters()[i] = value + step;
    network.forward(batch, up);
    network.parameters()[i] = value - step;
    network.forward(batch, down);
    network.parameters()[i] = value;
    const double right = (up - scores).dot(weights) / step;
    const double left = (scores - down).dot(weights) / step;
    if (std::abs(right - left) < 1e-2) {  // no rectifier switched in between
      CHECK(gradient[i] == test::Approx(0.5 * (left + right)).margin(5e-3));
      ++num_compared;
    }
  }
  CHECK(num_compared > gradient.size() / 7 / 2);
}

TEST_CASE("network: encode and decode give what forward gives", "[cost]") {
  MlpNetwork network(16);
  network.initialize(3);
  const RowBatch batch = random_batch(3);
  Vector expected, scores;
  network.forward(batch, expected);
  Matrix hidden, encoded, sums = Matrix::Zero(16, 3);
  network.encode(batch.inputs, hidden, encoded);
  for (std::size_t p = 0; p < 3; ++p) {
    for (std::uint32_t r = batch.first_row[p]; r < batch.first_row[p + 1]; ++r) {
      sums.col(static_cast<Eigen::Index>(p)) += encoded.col(r);
    }
  }
  network.decode(sums, hidden, scores);
  for (Eigen::Index p = 0; p < 3; ++p) {
    CHECK(scores[p] == test::Approx(expected[p]).epsilon(1e-4));
  }
}

TEST_CASE("network: a step follows the gradient, a broken gradient changes nothing", "[cost]") {
  MlpNetwork network(8);
  network.initialize(1);
  const RowBatch batch = random_batch(1);
  Vector before, after, up = Vector::Constant(3, -1.0F);
  network.forward(batch, before);
  network.backward(batch, up);
  network.step(1e-3F, 0.0F, 5.0F);
  network.forward(batch, after);
  CHECK(after.sum() > before.sum());
  const std::vector<float> kept(network.parameters().begin(), network.parameters().end());
  network.backward(batch, Vector::Constant(3, std::numeric_limits<float>::quiet_NaN()));
  network.step(1e-3F, 0.0F, 5.0F);
  CHECK(std::equal(kept.begin(), kept.end(), network.parameters().begin()));
}
