// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ops/definition.hpp"

#include "tensorsmith/ops/workload.hpp"
#include "unit/ops/naive.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("a definition and its workload have the same arguments and, in f64, the same result",
          "[ops]") {
  for (const char* text :
       {"softmax:5x17:f64", "softmax:5x17:f64,online=4", "log_softmax:5x17:f64",
        "log_softmax:5x17:f64,online=17", "layernorm:5x17:f64", "rmsnorm:5x17:f64",
        "attention:2x5x7x3:f64", "gemm:5x7x3:f64,ta,bias,add,relu,layernorm",
        "bmm:2x5x7x3:f64,tb,layernorm", "gemm:5x7x3:f64,bias,gelu,layernorm",
        "conv2d:n=1,h=6,w=6,ci=2,co=3,k=3,s=1,p=1,winograd=2,dtype=f64,bias"}) {
    INFO(text);
    const auto workload = ops::parse_workload(text);
    REQUIRE(workload.has_value());
    ops::Workload defined = *workload;
    defined.dag = ops::definition_of(*workload);
    CHECK(defined.dag != workload->dag);
    REQUIRE(defined.dag->arguments().size() == workload->dag->arguments().size());
    for (std::size_t i = 0; i < defined.dag->arguments().size(); ++i) {
      const TensorInfo& a = defined.dag->tensor(defined.dag->arguments()[i]);
      const TensorInfo& b = workload->dag->tensor(workload->dag->arguments()[i]);
      CHECK(a.dtype == b.dtype);
      CHECK(a.shape == b.shape);
    }
    check_equal(run(*workload).output, run(defined).output, 1e-12);
  }
}

TEST_CASE("a sum of products and single operations are their own definition", "[ops]") {
  for (const char* text : {"gemm:5x7x3:f16,bias,gelu", "reduce_sum:5x7", "argmax:5x7:i8",
                           "conv2d:n=1,h=6,w=6,ci=2,co=3,k=3", "pointwise:5x7:f16,exp,exp"}) {
    const auto workload = ops::parse_workload(text);
    REQUIRE(workload.has_value());
    CHECK(ops::definition_of(*workload) == workload->dag);
  }
}
