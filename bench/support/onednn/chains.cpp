// SPDX-License-Identifier: Apache-2.0
// Chains of primitives: what a library has for a fused chain is one call after the other, with the
// results in between in plain memory that stays in the caches if it fits.
#include <cmath>
#include <utility>

#include "bench/support/onednn/plan.hpp"

namespace tensorsmith::bench::onednn {
namespace {

/// `first`, and behind it `next`; `passed` is the memory between them.
Plan in_turn(Plan first, Plan next, const std::shared_ptr<AlignedBuffer>& passed) {
  first.info += ", " + next.info;
  first.next.push_back(std::move(next));
  first.passed = passed;
  return first;
}

}  // namespace

std::vector<Plan> gemm_layernorm_plans(const Engine& engine, const GemmShape& shape,
                                       const Buffers& buffers, PackingClass packing) {
  const PackingClass plain_results =
      packing == PackingClass::free_layout ? PackingClass::packed_weights : packing;
  const auto rows = std::make_shared<AlignedBuffer>(shape.batch * shape.m * shape.n);
  GemmShape product = shape;
  product.layernorm = false;
  Buffers of_product = buffers;
  of_product.output = rows->data();
  Buffers of_rows;
  of_rows.input = rows->data();
  of_rows.weights = buffers.gamma;
  of_rows.bias = buffers.beta;
  of_rows.output = buffers.output;
  const LayernormShape norm{shape.batch * shape.m, shape.n};
  std::vector<Plan> plans;
  for (const Plan& first : gemm_plans(engine, product, of_product, plain_results)) {
    for (const Plan& next : layernorm_plans(engine, norm, of_rows)) {
      plans.push_back(in_turn(first, next, rows));
    }
  }
  return plans;
}

std::vector<Plan> attention_plans(const Engine& engine, const AttentionShape& shape,
                                  const Buffers& buffers) {
  const auto scores = std::make_shared<AlignedBuffer>(shape.batch * shape.queries * shape.keys);
  GemmShape by_keys;
  by_keys.batch = shape.batch;
  by_keys.m = shape.queries;
  by_keys.n = shape.keys;
  by_keys.k = shape.width;
  by_keys.transpose_b = true;
  by_keys.scale = 1 / std::sqrt(static_cast<float>(shape.width));
  GemmShape by_values;
  by_values.batch = shape.batch;
  by_values.m = shape.queries;
  by_values.n = shape.width;
  by_values.k = shape.keys;
  Buffers of_keys = buffers, of_rows = buffers, of_values = buffers;
  of_keys.output = scores->data();
  of_rows.input = scores->data();
  of_rows.output = scores->data();
  of_values.input = scores->data();
  of_values.weights = buffers.values;
  const SoftmaxShape rows{shape.batch * shape.queries, shape.keys};
  std::vector<Plan> plans;
  for (const Plan& first : gemm_plans(engine, by_keys, of_keys, PackingClass::plain)) {
    for (const Plan& second : softmax_plans(engine, rows, of_rows)) {
      for (const Plan& third : gemm_plans(engine, by_values, of_values, PackingClass::plain)) {
        plans.push_back(in_turn(first, in_turn(second, third, scores), scores));
      }
    }
  }
  return plans;
}

}  // namespace tensorsmith::bench::onednn
