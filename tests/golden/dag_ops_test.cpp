// SPDX-License-Identifier: Apache-2.0
// Operators of ops/ that the Ansor reference has as well: the same text, hash, key and FLOPs.
#include "support/golden_tasks.hpp"
#include "support/unstable_programs.hpp"

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/te/flop.hpp"
#include "tensorsmith/te/workload_key.hpp"

using namespace tensorsmith;

namespace {

void check_same(const std::string& task, const ComputeDag& dag) {
  const test::Json& facts = test::own_golden_task(task).facts;
  CHECK(te::dag_text(dag) == facts["dag_text"]);
  CHECK(te::workload_key(dag) == facts["workload_key"]);
  CHECK(te::count_flop(dag) == facts["flop_ct"].get<double>());
  for (std::size_t i = 0; i < dag.operations().size(); ++i) {
    CHECK(dag.operation(i).attrs == test::own_golden_task(task).dag->operation(i).attrs);
  }
}

void check_same(const std::string& task, const std::string& workload) {
  const auto made = ops::parse_workload(workload);
  INFO(workload);
  REQUIRE(made.has_value());
  check_same(task, *made->dag);
}

}  // namespace

TEST_CASE("gemm is the reference's matmul", "[golden][ops]") {
  check_same("matmul_512x512x512", "gemm:512x512x512:f32");
  check_same("matmul_8x8x512", "gemm:8x8x512:f32");
  check_same("matmul_4x8x512", "gemm:4x8x512:f32");
  check_same("matmul_bias_relu_128x3072x768", "gemm:128x3072x768:f32,bias,relu");
  check_same("batch_matmul_nt_12x128x128x64", "bmm:12x128x128x64:f32,tb");
}

TEST_CASE("convolutions are the reference's", "[golden][ops]") {
  check_same("conv2d_nhwc_bias_relu_1x56x56x64_64_3x3",
             "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,bias,relu");
  check_same("conv2d_nhwc_layoutfree_1x14x14x32_64_3x3",
             "conv2d:n=1,h=14,w=14,ci=32,co=64,k=3,s=1,p=1,layout=free,bias,relu");
  check_same("conv2d_nchw_1x3x224x224_64_7x7_s2",
             "conv2d:n=1,h=224,w=224,ci=3,co=64,k=7,s=2,p=3,layout=nchw");
  check_same("depthwise_nhwc_1x56x56x144_3x3", "depthwise:n=1,h=56,w=56,c=144,k=3,s=1,p=1");
  check_same("conv3d_ndhwc_1x16x28x28x8_16_3x3x3",
             "conv3d:n=1,d=16,h=28,w=28,ci=8,co=16,k=3,s=1,p=1");
  check_same("deconv_nhwc_1x4x4x512_256_k4_s2",
             "conv2d_transpose:n=1,h=4,w=4,ci=512,co=256,k=4,s=2,p=1");
}

TEST_CASE("pools, rows and chains are the reference's", "[golden][ops]") {
  check_same("maxpool_nhwc_1x28x28x32_2x2_p1", "max_pool:n=1,c=32,h=28,w=28,k=2,s=1,p=1");
  check_same("softmax_1024x1000", "softmax:1024x1000");
  check_same("min_10x1024", "reduce_min:10x1024");
  // The reference's variance cancels; ops/layernorm.hpp has another form.
  check_same("layernorm_1000x1000", *test::one_pass_layernorm(1000, 1000));
  ops::PointwiseParams chain;
  chain.shape = {512, 512};
  chain.chain = {ops::PointwiseOp::add, ops::PointwiseOp::relu};
  CHECK(te::workload_key(*ops::pointwise(chain).dag) ==
        test::own_golden_task("add_relu_512x512").facts["workload_key"]);
}
