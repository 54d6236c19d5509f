// SPDX-License-Identifier: Apache-2.0
#include "bench/support/problem.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "bench/support/aligned_buffer.hpp"
#include "bench/support/reference.hpp"
#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/te/eval_dag.hpp"

using namespace tensorsmith;
using namespace tensorsmith::bench;

namespace {

/// What the program of a workload computes, by the interpreter, against the naive reference of its
/// problem on the same memory.
VerifyResult interpreted(const ops::Workload& workload, const Problem& problem) {
  const ComputeDag& dag = *workload.dag;
  std::vector<HostArray> arrays;
  std::vector<bench::AlignedBuffer> storage;
  for (std::size_t i = 0; i + 1 < dag.arguments().size(); ++i) {
    const TensorInfo& info = dag.tensor(dag.arguments()[i]);
    HostArray array(info.dtype, {info.shape.begin(), info.shape.end()});
    storage.emplace_back(array.num_elements());
    storage.back().fill_random(i + 1);
    for (std::int64_t e = 0; e < array.num_elements(); ++e) {
      if (is_integer(info.dtype)) {
        storage.back()[e] = std::floor(8 * storage.back()[e]) + (info.dtype == DType::u8 ? 8 : 0);
      }
      array.set_real(e, double{storage.back()[e]});
      storage.back()[e] = static_cast<float>(array.get_real(e));  // rounded to its type
    }
    arrays.push_back(std::move(array));
  }
  const auto outputs = eval_dag(dag, arrays);
  REQUIRE(outputs.has_value());
  const HostArray& output = outputs->front();
  bench::AlignedBuffer result(output.num_elements());
  for (std::int64_t e = 0; e < output.num_elements(); ++e) {
    result[e] = static_cast<float>(output.get_real(e));
  }
  REQUIRE(sizes_of(problem).output == output.num_elements());
  std::vector<float*> inputs;
  for (bench::AlignedBuffer& buffer : storage) {
    inputs.push_back(buffer.data());
  }
  return verify(problem, buffers_of(sizes_of(problem), inputs, nullptr), result.data());
}

}  // namespace

TEST_CASE("a workload and its problem mean the same numbers", "[problem]") {
  const std::string text = GENERATE(
      as<std::string>{}, "gemm:5x7x3:f32", "gemm:5x7x3:f32,ta", "gemm:5x7x3:f32,tb",
      "gemm:5x7x3:f32,ta,tb,bias,relu", "gemm:4x6x9:f32,bias,gelu", "gemm:5x7x3:f32,add,relu",
      "gemm:5x7x3:f32,bias,add,layernorm", "bmm:2x5x9x4:f32,tb,layernorm", "attention:2x5x7x4",
      "bmm:2x4x5x6:f32,bias,add", "bmm:3x4x5x6:f32", "bmm:2x4x5x6:f32,ta,tb",
      "gemm:5x7x9:u8,weights=i8,requant=u8", "gemm:5x7x9:i8,tb", "gemm:5x7x9:bf16,relu",
      "conv2d:n=1,h=7,w=6,ci=3,co=5,k=3,p=1,dtype=bf16",
      "bmm:2x4x5x6:i8,weights=u8,relu,requant=i8",
      "conv2d:n=1,h=7,w=6,ci=3,co=5,k=3,p=1,dtype=u8,weights=i8,requant=u8",
      "conv2d:n=2,h=7,w=6,ci=4,co=6,k=3,s=2,groups=2,layout=nchw,dtype=u8,weights=i8,requant=i8",
      "conv1d:n=2,w=11,ci=3,co=4,k=3,s=2,p=1", "conv2d:n=2,h=7,w=5,ci=3,co=4,k=3x2,s=2x1,p=1x0",
      "conv2d:n=2,h=7,w=5,ci=3,co=4,k=3x2,s=2x1,p=1x0,layout=nchw",
      "conv2d:n=1,h=7,w=6,ci=3,co=5,k=3,s=1,p=1,layout=free",
      "conv2d:n=2,h=7,w=6,ci=3,co=5,k=3,s=2,p=1,bias,add,relu",
      "conv2d:n=1,h=7,w=6,ci=3,co=5,k=3,s=1,p=1,layout=nchw,add",
      "conv2d:n=1,h=7,w=6,ci=3,co=5,k=3,s=1,p=1,winograd=2,bias",
      "conv2d:n=1,h=9,w=9,ci=4,co=6,k=3,s=1,p=2,d=2,groups=2,bias,relu",
      "conv2d:n=1,h=9,w=9,ci=4,co=6,k=3,s=1,p=2,d=2,groups=2,layout=nchw",
      "conv3d:n=1,d=4,h=5,w=6,ci=2,co=3,k=2x3x1,s=1x2x1,p=0x1x0",
      "conv3d:n=1,d=4,h=5,w=6,ci=2,co=3,k=2x3x1,layout=nchw,bias,gelu",
      "conv1d_transpose:n=2,w=5,ci=3,co=4,k=4,s=2,p=1",
      "conv2d_transpose:n=1,h=4,w=3,ci=3,co=2,k=4x3,s=2x1,p=1",
      "conv2d_transpose:n=1,h=4,w=3,ci=4,co=6,k=4x3,s=2x1,p=1,groups=2,layout=nchw",
      "conv3d_transpose:n=1,d=2,h=3,w=2,ci=2,co=3,k=2,s=2", "depthwise:n=2,h=7,w=6,c=5,k=3,s=2,p=1",
      "depthwise:n=1,h=7,w=6,c=5,k=3,p=1,layout=nchw", "max_pool:n=1,c=3,h=7,w=6,k=3,s=2,p=1",
      "conv2d:n=2,h=7,w=6,ci=3,co=5,k=3,p=1,bias,relu,max_pool=3,pool_s=2,pool_p=1",
      "conv2d:n=1,h=7,w=6,ci=3,co=5,k=3,layout=nchw,avg_pool=2",
      "conv2d:n=2,h=7,w=6,ci=3,co=5,k=1,bias,relu,depthwise=3,dw_s=2x1,dw_p=1",
      "conv2d:n=1,h=7,w=6,ci=3,co=5,k=3,layout=nchw,gelu,depthwise=2x3,dw_p=0x1",
      "avg_pool:n=1,c=3,h=6,w=6,k=2,s=2,layout=nchw", "avg_pool:n=2,c=3,h=7,w=6,k=3,s=2,p=1",
      "global_avg_pool:n=2,c=5,h=4,w=3", "global_avg_pool:n=2,c=5,h=4,w=3,layout=nchw",
      "softmax:4x9", "log_softmax:4x9", "layernorm:4x9", "reduce_sum:5x8", "reduce_max:5x8",
      "pointwise:6x9:f32,mul_per_column,add_per_column,add,relu",
      "pointwise:2x3x5,sub_per_row,tanh", "pointwise:37,sigmoid,mul,max,min_per_row,exp",
      "pointwise:6x9,add_per_column,gelu,sub,div_per_row");
  INFO(text);
  const Result<ops::Workload, std::string> workload = ops::parse_workload(text);
  REQUIRE(workload.has_value());
  const std::optional<Problem> problem = problem_of(*workload);
  REQUIRE(problem.has_value());
  const VerifyResult check = interpreted(*workload, *problem);
  INFO(check.message);
  CHECK(check.ok);
  CHECK(check.checked == check.total);
  CHECK(sizes_of(*problem).reduction_length == workload->reduction_length);
}

TEST_CASE("a problem with other sizes or layouts is noticed", "[problem]") {
  const auto workload = ops::parse_workload("conv2d:n=1,h=6,w=6,ci=4,co=4,k=3,p=1");
  REQUIRE(workload.has_value());
  ConvShape shape = std::get<ConvShape>(*problem_of(*workload));
  CHECK(interpreted(*workload, shape).ok);
  SECTION("weights") { shape.weights = WeightLayout::oi_spatial; }
  SECTION("activations") { shape.layout = ActivationLayout::nchw; }
  SECTION("transposed") { shape.transposed = true; }
  CHECK_FALSE(interpreted(*workload, shape).ok);
}

TEST_CASE("what no library understands is no problem", "[problem]") {
  for (const char* text : {"gemm:8x8x8:i8,bias", "gemm:8x8x8:bf16,add", "gemm:8x8x8:f64",
                           "reduce_prod:4x4", "pointwise:4x4:f64,relu", "rmsnorm:4x4", "argmax:4x4",
                           "softmax:4x4:f16", "conv2d:n=1,h=6,w=6,ci=4,co=4,k=3,dtype=f16"}) {
    INFO(text);
    const auto workload = ops::parse_workload(text);
    REQUIRE(workload.has_value());
    CHECK_FALSE(problem_of(*workload).has_value());
  }
}

TEST_CASE("the operations in padding are known: they bound no time", "[problem]") {
  ConvShape conv;
  conv.rank = 2;
  conv.ci = 4;
  conv.co = 8;
  conv.spatial = {7, 14, 1};
  conv.kernel = {3, 3, 1};
  conv.pad = {1, 1, 0};
  const ProblemSizes sizes = sizes_of(Problem{conv});
  CHECK(sizes.flop == test::Approx(2.0 * 7 * 14 * 9 * 4 * 8));
  CHECK(sizes.least_flop == test::Approx(sizes.flop * 19.0 * 40.0 / (21.0 * 42.0)));
  conv.pad = {0, 0, 0};
  CHECK(sizes_of(Problem{conv}).least_flop == sizes_of(Problem{conv}).flop);
  conv.rounding = 31;
  CHECK(4 * sizes_of(Problem{conv}).least_flop == test::Approx(sizes_of(Problem{conv}).flop));
}
