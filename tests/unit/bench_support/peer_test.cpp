// SPDX-License-Identifier: Apache-2.0
// requires: llvm
#include "bench/support/peer.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/aligned_buffer.hpp"
#include "bench/support/reference.hpp"
#include "support/catch.hpp"

using namespace tensorsmith::bench;

namespace {

/// Numbers that an operand of this type can have.
void make_whole(AlignedBuffer& numbers, Element type) {
  for (std::int64_t i = 0; i < numbers.size() && type != Element::f32; ++i) {
    numbers[i] = std::floor(8 * numbers[i]) + (type == Element::u8 ? 8.0F : 0.0F);
  }
}

/// Runs a problem in every class and compares with the naive loops. Returns how many classes the
/// peer supports.
int check_problem(Peer& peer, const Problem& problem, const std::string& name) {
  const ProblemSizes sizes = sizes_of(problem);
  AlignedBuffer input(sizes.input), weights(sizes.weights), bias(sizes.bias), output(sizes.output);
  AlignedBuffer residual(sizes.residual);
  input.fill_random(tensorsmith::test::seed());
  weights.fill_random(tensorsmith::test::seed() + 1);
  bias.fill_random(tensorsmith::test::seed() + 2);
  residual.fill_random(tensorsmith::test::seed() + 3);
  AlignedBuffer gamma(sizes.gamma), beta(sizes.beta), values(sizes.values);
  gamma.fill_random(tensorsmith::test::seed() + 4);
  beta.fill_random(tensorsmith::test::seed() + 5);
  values.fill_random(tensorsmith::test::seed() + 6);
  make_whole(input, sizes.types.input);
  make_whole(weights, sizes.types.weights);
  AlignedBuffer scales(sizes.scales), zero_point(sizes.zero_point);
  scales.fill_random(tensorsmith::test::seed() + 7);
  for (std::int64_t i = 0; i < scales.size(); ++i) {
    scales[i] = (scales[i] + 1) / 16;
  }
  zero_point.fill(3);
  AlignedBuffer next_weights(sizes.next_weights), next_bias(sizes.next_bias);
  next_weights.fill_random(tensorsmith::test::seed() + 8);
  next_bias.fill_random(tensorsmith::test::seed() + 9);
  std::vector<AlignedBuffer> operands;
  for (const std::int64_t size : sizes.operands) {
    operands.emplace_back(size);
    operands.back().fill_random(tensorsmith::test::seed() + 10 + operands.size());
  }
  Buffers buffers{input.data(),    weights.data(),    bias.data(),         output.data(),
                  residual.data(), gamma.data(),      beta.data(),         values.data(),
                  scales.data(),   zero_point.data(), next_weights.data(), next_bias.data()};
  for (const AlignedBuffer& operand : operands) {
    buffers.operands.push_back(operand.data());
  }
  int supported = 0;
  for (const PackingClass packing :
       {PackingClass::plain, PackingClass::packed_weights, PackingClass::free_layout}) {
    INFO(peer.name() << " " << name << " class " << class_letter(packing));
    const Prepared prepared = peer.prepare(problem, buffers, packing, 1);
    if (!prepared.ok) {
      CHECK_FALSE(prepared.reason.empty());
      continue;
    }
    ++supported;
    CHECK_FALSE(peer.impl_info().empty());
    output.fill(-1e30F);  // prepare ran its candidates: start again from poison
    peer.rewind();
    peer.run();
    peer.write_output();
    const VerifyResult result = verify(problem, buffers, output.data());
    CHECK(result.checked == sizes.output);
    INFO(peer.impl_info() << ": " << result.message);
    CHECK(result.ok);
  }
  return supported;
}

std::vector<GemmShape> gemm_shapes() {
  std::vector<GemmShape> shapes;
  for (int variant = 0; variant < 10; ++variant) {
    GemmShape s;
    s.batch = variant % 2 == 0 ? 1 : 3;
    s.m = 17;
    s.n = 13;
    s.k = 31;
    s.transpose_a = (variant & 2) != 0;
    s.transpose_b = (variant & 4) != 0;
    s.bias = variant == 1 || variant == 4 || variant == 6;
    s.add = variant >= 6;
    s.activation = variant == 4 || variant == 8 ? Activation::relu : Activation::none;
    s.layernorm = variant == 3 || variant >= 7;
    s.scale = variant == 5 ? 0.5F : 1;
    shapes.push_back(s);
  }
  return shapes;
}

/// Sums of bytes, as they are and requantized.
std::vector<std::pair<std::string, Problem>> byte_problems() {
  std::vector<std::pair<std::string, Problem>> problems;
  GemmShape gemm;
  gemm.m = 17;
  gemm.n = 35;
  gemm.k = 31;
  gemm.types = {Element::u8, Element::i8, Element::i32};
  problems.emplace_back("gemm of bytes", gemm);
  gemm.types.output = Element::u8;
  problems.emplace_back("requantized gemm", gemm);
  gemm.activation = Activation::relu;
  gemm.batch = 3;
  gemm.types.output = Element::i8;
  problems.emplace_back("requantized batch", gemm);
  ConvShape conv;
  conv.n = 2;
  conv.ci = 5;
  conv.co = 19;
  conv.spatial = {9, 7, 1};
  conv.kernel = {3, 3, 1};
  conv.pad = {1, 1, 0};
  conv.layout = ActivationLayout::nhwc;
  conv.weights = WeightLayout::spatial_io;
  conv.types = {Element::u8, Element::i8, Element::u8};
  problems.emplace_back("requantized convolution", conv);
  conv.types.output = Element::i32;
  conv.stride = {2, 1, 1};
  problems.emplace_back("convolution of bytes", conv);
  return problems;
}

std::vector<ConvShape> conv_shapes() {
  std::vector<ConvShape> shapes;
  ConvShape s;
  s.n = 2;
  s.ci = 5;
  s.co = 7;
  s.spatial = {9, 7, 1};
  s.kernel = {3, 3, 1};
  s.pad = {1, 1, 0};
  shapes.push_back(s);
  s.stride = {2, 1, 1};
  s.bias = true;
  s.activation = Activation::relu;
  shapes.push_back(s);
  s.add = true;
  shapes.push_back(s);
  s.layout = ActivationLayout::nhwc;
  shapes.push_back(s);
  s.weights = WeightLayout::spatial_io;
  shapes.push_back(s);
  s.add = false;
  shapes.push_back(s);
  s.dilation = {2, 1, 1};
  s.stride = {1, 1, 1};
  s.pad = {2, 1, 0};
  shapes.push_back(s);

  ConvShape grouped;
  grouped.ci = 6;
  grouped.co = 9;
  grouped.groups = 3;
  grouped.spatial = {6, 5, 1};
  grouped.kernel = {2, 3, 1};
  shapes.push_back(grouped);
  grouped.layout = ActivationLayout::nhwc;
  grouped.weights = WeightLayout::spatial_io;
  shapes.push_back(grouped);

  ConvShape depthwise;
  depthwise.ci = depthwise.co = depthwise.groups = 19;
  depthwise.spatial = {7, 7, 1};
  depthwise.kernel = {3, 3, 1};
  depthwise.pad = {1, 1, 0};
  shapes.push_back(depthwise);
  depthwise.layout = ActivationLayout::nhwc;
  shapes.push_back(depthwise);

  ConvShape one;
  one.rank = 1;
  one.ci = 3;
  one.co = 17;
  one.spatial = {23, 1, 1};
  one.kernel = {5, 1, 1};
  one.pad = {2, 0, 0};
  shapes.push_back(one);

  ConvShape three;
  three.rank = 3;
  three.ci = 3;
  three.co = 5;
  three.spatial = {4, 7, 5};
  three.kernel = {3, 3, 3};
  three.stride = {1, 2, 1};
  three.pad = {1, 1, 1};
  shapes.push_back(three);
  three.layout = ActivationLayout::nhwc;
  shapes.push_back(three);

  ConvShape transposed;
  transposed.transposed = true;
  transposed.ci = 6;
  transposed.co = 5;
  transposed.spatial = {4, 3, 1};
  transposed.kernel = {4, 4, 1};
  transposed.stride = {2, 2, 1};
  transposed.pad = {1, 1, 0};
  transposed.weights = WeightLayout::io_spatial;
  shapes.push_back(transposed);
  transposed.layout = ActivationLayout::nhwc;
  transposed.bias = true;
  shapes.push_back(transposed);
  transposed.groups = 1;
  transposed.weights = WeightLayout::oi_spatial;
  shapes.push_back(transposed);
  return shapes;
}

std::vector<std::pair<std::string, Problem>> row_problems() {
  PoolShape max;
  max.n = 2;
  max.c = 5;
  max.spatial = {9, 7};
  max.kernel = {3, 2};
  max.stride = {2, 2};
  max.pad = {1, 0};
  PoolShape average = max;
  average.kind = PoolKind::average;
  average.layout = ActivationLayout::nhwc;
  ConvPoolShape behind;
  behind.conv.n = max.n;
  behind.conv.ci = 3;
  behind.conv.co = 17;
  behind.conv.spatial = {9, 8, 1};
  behind.conv.kernel = {3, 3, 1};
  behind.conv.pad = {1, 1, 0};
  behind.conv.bias = true;
  behind.conv.activation = Activation::relu;
  behind.pool = max;
  behind.pool.c = 17;
  behind.pool.spatial = {9, 8};
  ConvPoolShape last = behind;
  last.conv.layout = last.pool.layout = ActivationLayout::nhwc;
  last.conv.weights = WeightLayout::spatial_io;
  last.pool.kind = PoolKind::average;
  ConvDepthwiseShape two;
  two.conv = behind.conv;
  two.conv.co = 32;
  two.conv.kernel = {1, 1, 1};
  two.conv.pad = {0, 0, 0};
  two.depthwise = two.conv;
  two.depthwise.ci = two.depthwise.groups = 32;
  two.depthwise.kernel = {3, 3, 1};
  two.depthwise.stride = {2, 2, 1};
  two.depthwise.pad = {1, 1, 0};
  ConvDepthwiseShape two_last = two;
  for (ConvShape* conv : {&two_last.conv, &two_last.depthwise}) {
    conv->layout = ActivationLayout::nhwc;
    conv->weights = WeightLayout::spatial_io;
    conv->bias = false;
    conv->co = 17;
  }
  two_last.depthwise.ci = two_last.depthwise.groups = 17;
  two_last.depthwise.stride = {1, 1, 1};
  PoolShape global;
  global.kind = PoolKind::average;
  global.c = 37;
  global.spatial = global.kernel = {7, 7};
  return {{"softmax", SoftmaxShape{5, 37}},
          {"log-softmax", SoftmaxShape{5, 37, true}},
          {"layernorm", LayernormShape{3, 41}},
          {"sum", ReduceShape{ReduceKind::sum, 7, 53}},
          {"max", ReduceShape{ReduceKind::max, 7, 53}},
          {"mean", ReduceShape{ReduceKind::mean, 7, 53}},
          {"attention", AttentionShape{3, 7, 19, 5}},
          {"batch norm, residual, relu", PointwiseShape{13,
                                                        37,
                                                        {{PointwiseOp::mul, Broadcast::per_column},
                                                         {PointwiseOp::add, Broadcast::per_column},
                                                         {PointwiseOp::add},
                                                         {PointwiseOp::relu}}}},
          {"batch norm of rows, relu", PointwiseShape{13,
                                                      37,
                                                      {{PointwiseOp::mul, Broadcast::per_row},
                                                       {PointwiseOp::add, Broadcast::per_row},
                                                       {PointwiseOp::relu}}}},
          {"bias, gelu",
           PointwiseShape{5, 70, {{PointwiseOp::add, Broadcast::per_column}, {PointwiseOp::gelu}}}},
          {"gate", PointwiseShape{7, 19, {{PointwiseOp::sigmoid}, {PointwiseOp::mul}}}},
          {"long chain", PointwiseShape{9,
                                        33,
                                        {{PointwiseOp::tanh},
                                         {PointwiseOp::sub, Broadcast::per_row},
                                         {PointwiseOp::max, Broadcast::per_column},
                                         {PointwiseOp::min},
                                         {PointwiseOp::exp},
                                         {PointwiseOp::add}}}},
          {"division", PointwiseShape{9, 33, {{PointwiseOp::exp}, {PointwiseOp::div}}}},
          {"convolution and max pool", behind},
          {"convolution and average pool", last},
          {"convolution and depthwise", two},
          {"convolution and depthwise, channels last", two_last},
          {"max pool", max},
          {"average pool", average},
          {"global average pool", global}};
}

}  // namespace

TEST_CASE("every peer is there or says why not", "[peer]") {
  const std::vector<FoundPeer> peers = make_peers();
  REQUIRE(peers.size() >= 3);
  for (const FoundPeer& found : peers) {
    CHECK_FALSE(found.name.empty());
    CHECK((found.peer != nullptr) == found.reason.empty());
    if (found.peer) {
      CHECK(found.peer->name() == found.name);
      CHECK_FALSE(found.peer->library_version().empty());
    } else {
      WARN("skipped " << found.name << ": " << found.reason);
    }
  }
}

static bool is_missing(const FoundPeer& found) {
  if (!found.peer) {
    WARN("skipped " << found.name << ": " << found.reason);
    CHECK_FALSE(found.reason.empty());
  }
  return !found.peer;
}

TEST_CASE("oneDNN, in every version found, computes what the naive loops compute", "[peer]") {
  for (FoundPeer& found : make_onednn_peers()) {
    INFO(found.name);
    if (is_missing(found)) {
      continue;
    }
    int number = 0;
    for (GemmShape shape : gemm_shapes()) {
      CHECK(check_problem(*found.peer, shape, "gemm " + std::to_string(number++)) == 3);
    }
    GemmShape gelu;
    gelu.m = 5;
    gelu.n = 33;
    gelu.k = 9;
    gelu.bias = true;
    gelu.activation = Activation::gelu;
    CHECK(check_problem(*found.peer, gelu, "gelu") == 3);
    for (const auto& [name, problem] : byte_problems()) {
      CHECK(check_problem(*found.peer, problem, name) == 3);
    }
    number = 0;
    for (const ConvShape& shape : conv_shapes()) {
      CHECK(check_problem(*found.peer, shape, "conv " + std::to_string(number++)) == 3);
    }
    for (const auto& [name, problem] : row_problems()) {
      CHECK(check_problem(*found.peer, problem, name) == 3);
    }
  }
}

TEST_CASE("OpenBLAS and BLIS compute what the naive loops compute", "[peer]") {
  FoundPeer both[] = {make_openblas_peer(), make_blis_peer()};
  for (FoundPeer& found : both) {
    INFO(found.name);
    if (is_missing(found)) {
      continue;
    }
    int number = 0;
    for (const GemmShape& shape : gemm_shapes()) {
      CHECK(check_problem(*found.peer, shape, "gemm " + std::to_string(number++)) == 1);
      CHECK(found.peer->impl_info().find("core=") != std::string::npos);
    }
    for (const auto& [name, problem] : row_problems()) {
      const bool is_sum = name == "sum" || name == "mean";
      CHECK(check_problem(*found.peer, problem, name) == (is_sum ? 1 : 0));
    }
    CHECK(check_problem(*found.peer, conv_shapes().front(), "conv") == 0);
  }
}

TEST_CASE("libxsmm computes what the naive loops compute", "[peer]") {
  FoundPeer found = make_xsmm_peer();
  if (is_missing(found)) {
    return;
  }
  GemmShape shape = gemm_shapes().front();
  CHECK(check_problem(*found.peer, shape, "plain") == 1);
  shape.batch = 3;
  CHECK(check_problem(*found.peer, shape, "batch") == 1);
  shape.bias = true;
  CHECK(check_problem(*found.peer, shape, "bias") == 0);
  CHECK(check_problem(*found.peer, conv_shapes().front(), "conv") == 0);
}
