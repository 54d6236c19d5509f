// SPDX-License-Identifier: Apache-2.0
// Options of workload strings beyond sizes, types and epilogues: how they read, and their way back.
#include "tensorsmith/ops/workload_items.hpp"

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"

using namespace tensorsmith;

namespace {

template <class Params>
Params parsed_as(const std::string& text) {
  const auto parsed = ops::parse_workload(text);
  INFO(text << ": " << (parsed ? "" : parsed.error()));
  REQUIRE(parsed.has_value());
  CHECK(parsed->name == text);
  return std::get<Params>(parsed->params);
}

}  // namespace

TEST_CASE("options of workload strings", "[ops]") {
  const auto conv = parsed_as<ops::ConvParams>(
      "conv2d:n=1,h=9,w=8,ci=4,co=6,k=3,s=1,p=1,pe=2x0,bias,batchnorm,relu");
  CHECK(conv.batch_norm);
  CHECK(conv.pad_after(0) == 2);
  CHECK(conv.pad_after(1) == 0);
  CHECK(conv.out_spatial(0) == 10);
  CHECK(conv.out_spatial(1) == 7);
  const auto up = parsed_as<ops::ConvParams>(
      "conv3d_transpose:n=1,d=2,h=3,w=4,ci=4,co=6,k=3,s=2,p=1,pe=1x1x0,op=1x0x1");
  CHECK(up.output_padding == std::array<std::int64_t, 3>{1, 0, 1});
  const auto behind = parsed_as<ops::ConvParams>(
      "conv2d:n=1,h=9,w=8,ci=4,co=6,k=3,s=1,p=0,avg_pool=3,pool_s=2,pool_p=1,pool_pe=0,pool_ceil,"
      "pool_count_include_pad=0");
  CHECK(behind.pool.ceil_mode);
  CHECK_FALSE(behind.pool.counts_padding);
  CHECK(behind.pool.pad_end == std::array<std::int64_t, 2>{0, 0});
  const auto deep = parsed_as<ops::ConvParams>(
      "conv2d:n=1,h=9,w=8,ci=4,co=6,k=1,s=1,p=0,depthwise=3,dw_s=2,dw_p=1,dw_pe=0x1");
  CHECK(deep.behind.pad_end == std::array<std::int64_t, 2>{0, 1});
  const auto pool = parsed_as<ops::PoolParams>(
      "avg_pool:n=1,c=3,h=8,w=9,k=3,s=2,p=1,pe=2,ceil,count_include_pad=0,layout=nchw");
  CHECK(pool.ceil_mode);
  CHECK_FALSE(pool.counts_padding);
  CHECK(parsed_as<ops::RowParams>("argmin:3x4:i8,last").is_last);
  CHECK(parsed_as<ops::RowParams>("reduce_var:3x4:f16,unbiased").is_unbiased);
  CHECK(parsed_as<ops::RowParams>("softmax:3x40,online=8,transposed").is_transposed);
  CHECK(parsed_as<ops::GemmParams>("bmm:2x3x4x5:f32,ta,tb,tc,relu").transpose_c);
  CHECK(
      parsed_as<ops::BatchNormParams>("batchnorm:n=2,c=3,h=4,w=5,layout=nchw,dtype=f16,relu").relu);
  const auto gather = parsed_as<ops::GatherParams>("gather:4x5x6:bf16,indices=i64");
  CHECK(gather.count == 4);
  CHECK(gather.rows == 5);
  CHECK(gather.columns == 6);
  CHECK(gather.indices == DType::i64);
  CHECK(parsed_as<ops::PointwiseParams>("pointwise:4x5x6:i64,add,perm=2x0x1").permutation ==
        std::vector<std::int64_t>{2, 0, 1});
}

TEST_CASE("options that say nothing new are left out", "[ops]") {
  const std::pair<const char*, const char*> cases[] = {
      {"conv2d:h=9,w=8,ci=4,co=6,k=3,p=1,pe=1", "conv2d:n=1,h=9,w=8,ci=4,co=6,k=3,s=1,p=1"},
      {"conv2d_transpose:h=9,w=8,ci=4,co=6,k=3,op=0",
       "conv2d_transpose:n=1,h=9,w=8,ci=4,co=6,k=3,s=1,p=0"},
      {"avg_pool:c=3,h=8,w=9,k=3,p=1,pe=1x1,count_include_pad=1",
       "avg_pool:n=1,c=3,h=8,w=9,k=3,s=1,p=1"},
      {"gather:4x5x6,indices=i32", "gather:4x5x6:f32"}};
  for (const auto& [text, name] : cases) {
    const auto parsed = ops::parse_workload(text);
    INFO(text);
    REQUIRE(parsed.has_value());
    CHECK(parsed->name == name);
  }
}

TEST_CASE("wrong options get one sentence", "[ops]") {
  const std::pair<const char*, const char*> cases[] = {
      {"conv2d:h=9,w=9,ci=1,co=1,k=3,op=1", "output padding) of transposed convolutions only"},
      {"conv2d_transpose:h=9,w=9,ci=1,co=1,k=3,s=2,op=2", "less than stride or dilation, got 2"},
      {"conv2d:h=9,w=9,ci=1,co=1,k=3,pe=1x2x3", "expected one number or 2 for pe"},
      {"conv2d:h=9,w=9,ci=1,co=1,k=3,dtype=i8,batchnorm", "a float type with batchnorm, got i8"},
      {"conv2d:h=9,w=9,ci=1,co=1,k=3,pool_ceil", "got \"pool_ceil\""},
      {"conv2d:h=9,w=9,ci=1,co=1,k=3,batchnorm,depthwise=3", "no pooling, batchnorm, add"},
      {"max_pool:c=3,h=8,w=9,k=3,pe=3", "padding that is less than the kernel, got 3"},
      {"max_pool:c=3,h=8,w=9,k=3,count_include_pad=0", "count_include_pad= of averages only"},
      {"avg_pool:c=3,h=8,w=9,k=3,count_include_pad=2", "expected count_include_pad=0 or"},
      {"global_avg_pool:c=3,h=8,w=9,ceil", "got \"ceil\""},
      {"argmax:3x4,first", "expected last, nan=propagate, got \"first\""},
      {"argmax:3x4,last,last", "expected every flag once"},
      {"reduce_sum:3x4,transposed", "expected nothing behind the type, got \"transposed\""},
      {"reduce_var:3x1,unbiased", "2 and more columns to be unbiased, got 1 column"},
      {"reduce_mean:3x4:i8", "expected a float type, got i8"},
      {"gather:4x5", "expected NxRxC as in gather:"},
      {"gather:4x5x6,indices=u8", "expected indices=i32 or indices=i64 once"},
      {"gather:4x5x6,indices=i32,indices=i64", "expected indices=i32 or indices=i64 once"},
      {"gather:4x5x6,indices=i64,indices=i64", "expected indices=i32 or indices=i64 once"},
      {"batchnorm:c=3,h=4", "expected \"w=\""},
      {"batchnorm:c=3,h=4,w=4,gelu", "got \"gelu\""},
      {"batchnorm:c=3,h=4,w=4,dtype=i8", "expected a float type, got i8"},
      {"pointwise:3x4,perm=0x0", "every axis from 0 to 1 once in perm="},
      {"pointwise:3x4,perm=1", "every axis from 0 to 1 once in perm="},
      {"pointwise:3x4,perm=1x0,relu", "got \"perm=1x0\""},
      {"pointwise:3x4:i8,div", "expected a float type, got i8"},
      {"gemm:3x4x5,tc,tc", "expected every flag once"},
      {"gemm:3x4x5,tc,layernorm", "rows of the result as they are with layernorm"},
  };
  for (const auto& [text, reason] : cases) {
    const auto parsed = ops::parse_workload(text);
    INFO(text << ": " << (parsed ? "(none)" : parsed.error()));
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().rfind("workload \"" + std::string(text) + "\": ", 0) == 0);
    CHECK(parsed.error().find(reason) != std::string::npos);
    CHECK(parsed.error().find('\n') == std::string::npos);
  }
}
