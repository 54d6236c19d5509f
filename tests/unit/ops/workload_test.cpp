// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/ops/workload_grammar.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

namespace {

std::string error_of(const std::string& text) {
  const auto parsed = ops::parse_workload(text);
  return parsed ? "(none)" : parsed.error();
}
template <class Params>
Params params_of(const std::string& text) {
  const auto parsed = ops::parse_workload(text);
  INFO(text << ": " << (parsed ? "" : parsed.error()));
  REQUIRE(parsed.has_value());
  return std::get<Params>(parsed->params);
}

}  // namespace

TEST_CASE("the example of every grammar line parses and is canonical", "[ops]") {
  for (const ops::GrammarLine& line : ops::workload_grammar) {
    const auto parsed = ops::parse_workload(line.example);
    INFO(line.example << ": " << (parsed ? "" : parsed.error()));
    REQUIRE(parsed.has_value());
    CHECK(parsed->kind == line.name);
    CHECK(parsed->nominal_flop > 0);
    CHECK(std::string(line.form).rfind(line.name, 0) == 0);
    const auto again = ops::parse_workload(parsed->name);
    REQUIRE(again.has_value());
    CHECK(again->name == parsed->name);
  }
}

TEST_CASE("gemm strings", "[ops]") {
  const auto p = params_of<ops::GemmParams>("gemm:3x5x7:bf16,ta,tb,bias,add,gelu,packed");
  CHECK(p.m == 3);
  CHECK(p.n == 5);
  CHECK(p.k == 7);
  CHECK_FALSE(p.is_batched);
  CHECK(p.transpose_a);
  CHECK(p.transpose_b);
  CHECK(p.bias);
  CHECK(p.add);
  CHECK(p.activation == ops::Activation::gelu);
  CHECK(p.dtype == DType::bf16);
  CHECK(p.packing == ops::PackingClass::packed_weights);
  const auto b = params_of<ops::GemmParams>("bmm:2x3x5x7:f32");
  CHECK(b.is_batched);
  CHECK(b.batch == 2);
  CHECK(b.k == 7);
  CHECK(ops::parse_workload("gemm:3x5x7")->name == "gemm:3x5x7:f32");
  CHECK(ops::parse_workload("gemm:3x5x7:f32,relu,add,bias,tb,ta")->name ==
        "gemm:3x5x7:f32,ta,tb,bias,add,relu");
  const auto norm = ops::parse_workload("gemm:3x5x7:f32,packed,layernorm,bias");
  REQUIRE(norm.has_value());
  CHECK(norm->name == "gemm:3x5x7:f32,bias,layernorm,packed");
  CHECK(std::get<ops::GemmParams>(norm->params).layernorm);
}

TEST_CASE("attention strings", "[ops]") {
  const auto p = params_of<ops::AttentionParams>("attention:2x3x5x7:f16");
  CHECK(p.batch == 2);
  CHECK(p.queries == 3);
  CHECK(p.keys == 5);
  CHECK(p.width == 7);
  CHECK(p.dtype == DType::f16);
  CHECK(ops::parse_workload("attention:2x3x5x7:f32")->name == "attention:2x3x5x7");
}

TEST_CASE("convolution strings", "[ops]") {
  const auto p = params_of<ops::ConvParams>(
      "conv2d:n=2,h=9,w=8,ci=4,co=6,k=3x2,s=2,p=1x0,d=2x1,groups=2,layout=nchw,dtype=f64,bias,"
      "add,relu");
  CHECK(p.rank == 2);
  CHECK(p.n == 2);
  CHECK(p.spatial == std::array<std::int64_t, 3>{9, 8, 1});
  CHECK(p.kernel == std::array<std::int64_t, 3>{3, 2, 1});
  CHECK(p.stride == std::array<std::int64_t, 3>{2, 2, 1});
  CHECK(p.pad == std::array<std::int64_t, 3>{1, 0, 0});
  CHECK(p.dilation == std::array<std::int64_t, 3>{2, 1, 1});
  CHECK(p.groups == 2);
  CHECK(p.layout == ops::Layout::nchw);
  CHECK(p.dtype == DType::f64);
  CHECK(p.bias);
  CHECK(p.add);
  CHECK(p.activation == ops::Activation::relu);
  CHECK(p.packing == ops::PackingClass::plain);

  const auto free = ops::parse_workload("conv2d:h=9,w=8,ci=4,co=6,k=3,layout=free");
  REQUIRE(free.has_value());
  CHECK(free->packing == ops::PackingClass::free_layout);
  CHECK(ops::letter_of(free->packing) == 'c');
  CHECK(free->name == "conv2d:n=1,h=9,w=8,ci=4,co=6,k=3,s=1,p=0,layout=free");
  const auto tiles = ops::parse_workload("conv2d:h=9,w=8,ci=4,co=6,k=3,layout=free,winograd=4");
  REQUIRE(tiles);
  CHECK(tiles->name == "conv2d:n=1,h=9,w=8,ci=4,co=6,k=3,s=1,p=0,winograd=4,layout=free");
  CHECK(std::get<ops::ConvParams>(free->params).layout == ops::Layout::nhwc);

  const auto deep = params_of<ops::ConvParams>("conv3d:d=5,h=6,w=7,ci=2,co=3,k=3,dil=2");
  CHECK(deep.spatial == std::array<std::int64_t, 3>{5, 6, 7});
  CHECK(deep.dilation == std::array<std::int64_t, 3>{2, 2, 2});
  const auto up = params_of<ops::ConvParams>("conv2d_transpose:h=4,w=4,ci=8,co=4,k=4,s=2,p=1");
  CHECK(up.transposed);
  CHECK(up.out_spatial(0) == 8);
  const auto deeply = params_of<ops::ConvParams>("depthwise:h=6,w=6,c=5,k=3");
  CHECK(deeply.depthwise);
  CHECK(deeply.groups == 5);
  CHECK(deeply.co == 5);
}

TEST_CASE("strings of convolutions with a pooling behind them", "[ops]") {
  const auto p = params_of<ops::ConvParams>(
      "conv2d:h=9,w=8,ci=4,co=6,k=3,layout=nchw,bias,relu,max_pool=3x2,pool_s=2,pool_p=1x0");
  REQUIRE(p.has_pool);
  CHECK(p.pool.kind == ops::PoolKind::max);
  CHECK(p.pool.kernel == std::array<std::int64_t, 2>{3, 2});
  CHECK(p.pool.stride == std::array<std::int64_t, 2>{2, 2});
  CHECK(p.pool.pad == std::array<std::int64_t, 2>{1, 0});
  CHECK_FALSE(params_of<ops::ConvParams>("conv2d:h=9,w=8,ci=4,co=6,k=3").has_pool);
  for (const char* text :
       {"conv2d:n=1,h=9,w=8,ci=4,co=6,k=3,s=1,p=0,bias,relu,max_pool=2",
        "conv2d:n=2,h=9,w=8,ci=4,co=6,k=3,s=1,p=1,layout=free,avg_pool=3,pool_s=2,pool_p=1",
        "conv2d:n=1,h=9,w=8,ci=4,co=6,k=3,s=1,p=1,layout=nchw,packed,max_pool=2x3,pool_p=0x1",
        "conv2d_transpose:n=1,h=4,w=4,ci=4,co=6,k=3,s=2,p=1,max_pool=2",
        "depthwise:n=1,h=9,w=8,c=5,k=3,s=1,p=0,relu,max_pool=2,pool_s=1"}) {
    INFO(text);
    const auto workload = ops::parse_workload(text);
    REQUIRE(workload.has_value());
    CHECK(workload->name == text);
  }
  const auto whole = ops::parse_workload("conv2d:h=9,w=8,ci=4,co=6,k=3,max_pool=2,pool_s=2x2");
  REQUIRE(whole.has_value());
  CHECK(whole->name == "conv2d:n=1,h=9,w=8,ci=4,co=6,k=3,s=1,p=0,max_pool=2");
}

TEST_CASE("strings of convolutions with a depthwise one behind them", "[ops]") {
  const auto p = params_of<ops::ConvParams>(
      "conv2d:h=9,w=8,ci=4,co=6,k=1,layout=free,bias,relu,depthwise=3x2,dw_s=2,dw_p=1x0");
  REQUIRE(p.has_depthwise);
  CHECK(p.behind.kernel == std::array<std::int64_t, 2>{3, 2});
  CHECK(p.behind.stride == std::array<std::int64_t, 2>{2, 2});
  CHECK(p.behind.pad == std::array<std::int64_t, 2>{1, 0});
  CHECK_FALSE(params_of<ops::ConvParams>("conv2d:h=9,w=8,ci=4,co=6,k=3").has_depthwise);
  for (const char* text :
       {"conv2d:n=1,h=9,w=8,ci=4,co=6,k=1,s=1,p=0,layout=free,bias,relu,depthwise=3,dw_p=1",
        "conv2d:n=2,h=9,w=8,ci=4,co=6,k=3,s=1,p=1,layout=nchw,packed,depthwise=3x5,dw_s=2x1",
        "conv2d_transpose:n=1,h=4,w=4,ci=4,co=6,k=3,s=2,p=1,depthwise=2,dw_s=2,dw_p=1",
        "depthwise:n=1,h=9,w=8,c=5,k=3,s=1,p=0,gelu,depthwise=3"}) {
    INFO(text);
    const auto workload = ops::parse_workload(text);
    REQUIRE(workload.has_value());
    CHECK(workload->name == text);
  }
  const auto stated =
      ops::parse_workload("conv2d:h=9,w=8,ci=4,co=6,k=1,depthwise=3x3,dw_s=1,dw_p=1x1");
  REQUIRE(stated.has_value());
  CHECK(stated->name == "conv2d:n=1,h=9,w=8,ci=4,co=6,k=1,s=1,p=0,depthwise=3,dw_p=1");
}

TEST_CASE("pool and row strings", "[ops]") {
  const auto p = params_of<ops::PoolParams>("max_pool:c=3,h=8,w=9,k=3x2,s=2,p=1,layout=nchw");
  CHECK(p.kind == ops::PoolKind::max);
  CHECK(p.kernel == std::array<std::int64_t, 2>{3, 2});
  CHECK(p.layout == ops::Layout::nchw);
  CHECK(params_of<ops::PoolParams>("global_avg_pool:n=1,c=4,h=7,w=7").is_global);
  const auto r = params_of<ops::RowParams>("reduce_sum:3x4:f64");
  CHECK(r.kind == ops::RowKind::sum);
  CHECK(r.columns == 4);
  CHECK(r.dtype == DType::f64);
  CHECK(params_of<ops::RowParams>("log_softmax:3x4").kind == ops::RowKind::log_softmax);
  const auto online = params_of<ops::RowParams>("log_softmax:3x40:f16,online=16");
  CHECK(online.online == 16);
  CHECK(online.dtype == DType::f16);
  CHECK(ops::canonical_text(online) == "log_softmax:3x40:f16,online=16");
  CHECK(params_of<ops::RowParams>("rmsnorm:3x4").kind == ops::RowKind::rmsnorm);
  CHECK(params_of<ops::RowParams>("argmax:3x4:i8").kind == ops::RowKind::argmax);
}

TEST_CASE("strings of chains of pointwise operations", "[ops]") {
  using Op = ops::PointwiseOp;
  using ops::Broadcast;
  const auto p =
      params_of<ops::PointwiseParams>("pointwise:3x5x2:f64,mul_per_column,sub,max_per_row,exp");
  CHECK(p.shape == te::Shape{3, 5, 2});
  CHECK(p.dtype == DType::f64);
  REQUIRE(p.chain.size() == 4);
  CHECK(p.chain[0].op == Op::mul);
  CHECK(p.chain[0].broadcast == Broadcast::per_column);
  CHECK(p.chain[1].op == Op::sub);
  CHECK(p.chain[1].broadcast == Broadcast::none);
  CHECK(p.chain[2].op == Op::max);
  CHECK(p.chain[2].broadcast == Broadcast::per_row);
  CHECK(p.chain[3].op == Op::exp);
  CHECK(ops::parse_workload("pointwise:7,relu")->name == "pointwise:7:f32,relu");
  for (const char* op : {"add", "sub", "mul", "div", "max", "min"}) {
    for (const char* broadcast : {"", "_per_column", "_per_row"}) {
      const std::string text = "pointwise:4x3:f32," + std::string(op) + broadcast;
      CHECK(ops::parse_workload(text)->name == text);
    }
  }
  const std::string text = "pointwise:4x3:f16,relu,gelu,sigmoid,tanh,exp,relu";
  CHECK(ops::parse_workload(text)->name == text);
}

TEST_CASE("every wrong workload string gets one sentence", "[ops]") {
  const std::pair<const char*, const char*> cases[] = {
      {"", "expected one of gemm, bmm"},
      {"gem:1x1x1", "got \"gem\""},
      {"pointwise", "expected sizes after \"pointwise:\""},
      {"pointwise:3x4", "expected at least one operation, got none"},
      {"pointwise:3x4:add", "got \"add\""},
      {"pointwise:3x0,relu", "expected a positive whole number for D2, got 0"},
      {"pointwise:3xx4,relu", "expected a positive whole number for D2, got nothing"},
      {"pointwise:1x1x1x1x1x1x1x1x1,relu", "expected 1 to 8 dimensions, got 9"},
      {"pointwise:3x4:i32,exp", "expected a float type, got i32"},
      {"pointwise:3x4:f32,", "expected steps out of relu, gelu, sigmoid, tanh, exp and add, sub"},
      {"pointwise:3x4:f32,bias", "with _per_column or _per_row, got \"bias\""},
      {"pointwise:3x4:f32,relu_per_row", "got \"relu_per_row\""},
      {"pointwise:3x4:f32,add_per_plane", "got \"add_per_plane\""},
      {"pointwise:2147483647x2147483647,relu", "fewer than 2^60 elements"},
      {"gemm", "expected sizes after \"gemm:\""},
      {"gemm:", "expected sizes after \"gemm:\""},
      {"gemm:3x4", "expected MxNxK as in gemm:512x512x512:f32, got \"3x4\""},
      {"gemm:3x4x5x6", "expected MxNxK"},
      {"bmm:3x4x5", "expected BxMxNxK"},
      {"gemm:3x4x", "expected a positive whole number for K, got nothing"},
      {"gemm:3x4x0", "expected a positive whole number for K, got 0"},
      {"gemm:3x-4x5", "expected a positive whole number for N, got \"-4\""},
      {"gemm:3x4x5.0", "got \"5.0\""},
      {"gemm:3xabcx5", "got \"abc\""},
      {"gemm: 3x4x5", "got \" 3\""},
      {"gemm:99999999999999999999x1x1", "expected at most 2147483647 for M"},
      {"gemm:2147483647x2147483647x1", "fewer than 2^60 elements"},
      {"gemm:2147483647x1x2147483647", "fewer than 2^60 elements"},
      {"gemm:3x4x5:f31", "got \"f31\""},
      {"gemm:3x4x5:bool", "got \"bool\""},
      {"gemm:3x4x5:f32:f32", "a colon and one type"},
      {"gemm:3x4x5:f32,fast", "expected flags out of ta, tb, tc, weights=, bias, add, relu, gelu"},
      {"gemm:3x4x5:f32,", "got \"\""},
      {"gemm:3x4x5:f32,ta,ta", "expected every flag once"},
      {"gemm:3x4x5:f32,relu,gelu", "at most one of relu and gelu"},
      {"gemm:3x4x5:i8,gelu", "expected a float type with gelu, got i8"},
      {"gemm:3x4x5:i8,layernorm", "expected a float type with layernorm, got i8"},
      {"gemm:3x4x5,layernorm,layernorm", "expected every flag once"},
      {"conv2d:h=3,w=3,ci=1,co=1,k=1,layernorm", "got \"layernorm\""},
      {"gemm:3x4x5,requant=u8", "expected operands of i8 or u8 with requant=, got f32"},
      {"gemm:3x4x5:i8,requant=i32", "expected requant=i8 or requant=u8, got \"requant=i32\""},
      {"gemm:3x4x5:i8,requant", "got \"requant\""},
      {"gemm:3x4x5:i8,weights=u8,weights=u8", "expected every flag once, got \"weights=\" twice"},
      {"gemm:3x4x5:bf16,weights=i8", "expected operands of i8 or u8 with weights=, got bf16"},
      {"conv2d:h=3,w=3,ci=1,co=1,k=1,requant=u8", "operands of i8 or u8 with requant=, got f32"},
      {"attention:3x4x5", "expected BxMxNxD as in attention:12x128x128x64, got \"3x4x5\""},
      {"attention:3x4x0x5", "expected a positive whole number for N, got 0"},
      {"attention:3x4x5x6:i8", "expected a float type, got i8"},
      {"attention:3x4x5x6,packed", "for D, got \"6,packed\""},
      {"conv2d:h=3,w=3,ci=1,co=1", "expected \"k=\" as in conv2d:"},
      {"conv2d:w=3,ci=1,co=1,k=1", "expected \"h=\""},
      {"conv2d:h,w=3,ci=1,co=1,k=1", "expected \"h=\""},
      {"conv2d:h=,w=3,ci=1,co=1,k=1", "for h, got nothing"},
      {"conv2d:h=x,w=3,ci=1,co=1,k=1", "for h, got \"x\""},
      {"conv2d:h=3,w=3,ci=1,co=1,k=0", "for k, got 0"},
      {"conv2d:h=3,w=3,ci=1,co=1,k=1,p=-1", "a whole number of at least 0 for p"},
      {"conv2d:h=3,w=3,ci=1,co=1,k=1x2x3", "expected one number or 2 for k"},
      {"conv2d:h=3,w=3,ci=1,co=1,k=4", "kernel larger than the padded input along h"},
      {"conv2d:h=3,w=3,ci=1,co=1,k=3,d=2", "kernel larger than the padded input along h"},
      {"conv2d_transpose:h=1,w=1,ci=1,co=1,k=2,p=1", "padding larger than the output along h"},
      {"conv2d:h=3,w=3,ci=4,co=3,k=1,groups=2", "expected groups that divide ci and co, got 2"},
      {"conv2d:h=3,w=3,ci=1,co=1,k=1,layout=hwcn", "expected layout=nchw, nhwc or free"},
      {"conv2d:h=3,w=3,ci=1,co=1,k=1,layout=free,packed", "at most one of packed and layout=free"},
      {"conv2d:h=3,w=3,ci=1,co=1,k=1,h=3", "expected every key once, got \"h\" twice"},
      {"conv2d:h=3,w=3,ci=1,co=1,k=1,d=1,dil=1", "expected the dilation once"},
      {"conv2d:h=3,w=3,ci=1,co=1,k=1,bias,bias", "expected every key once, got \"bias\" twice"},
      {"conv2d:h=3,w=3,ci=1,co=1,k=1,speed=9", "got \"speed=9\""},
      {"conv2d:h=3,w=3,ci=1,co=1,k=1,bias=1", "got \"bias=1\""},
      {"conv2d:h=9,w=9,ci=1,co=1,k=3,winograd=3",
       "expected Winograd tiles of 2 or 4 outputs, got 3"},
      {"conv2d:h=9,w=9,ci=1,co=1,k=5,winograd=2",
       "expected a kernel of 3 x 3, stride and dilation 1"},
      {"conv2d:h=9,w=9,ci=1,co=1,k=3,winograd=2,dtype=i8", "f32 or f64 with Winograd's filtering"},
      {"conv2d:h=2147483647,w=1,ci=1,co=1,k=1,p=2147483647", "an extent between 1 and"},
      {"depthwise:h=3,w=3,c=4,k=1,co=4", "got \"co=4\""},
      {"conv2d:h=9,w=9,ci=1,co=1,k=1,max_pool", "got \"max_pool\""},
      {"conv2d:h=9,w=9,ci=1,co=1,k=1,pool_s=2", "got \"pool_s=2\""},
      {"conv2d:h=9,w=9,ci=1,co=1,k=1,max_pool=0", "a positive whole number for max_pool, got 0"},
      {"conv2d:h=9,w=9,ci=1,co=1,k=1,max_pool=2,avg_pool=2", "at most one of max_pool="},
      {"conv2d:h=9,w=9,ci=1,co=1,k=1,max_pool=2,pool_p=2",
       "padding that is less than the kernel, got 2"},
      {"conv2d:h=9,w=9,ci=1,co=1,k=3,avg_pool=8", "an output that is not empty"},
      {"conv2d:h=9,w=9,ci=1,co=1,k=1,dtype=i8,avg_pool=2", "a float one for averages"},
      {"conv1d:w=9,ci=1,co=1,k=1,max_pool=2", "convolutions of h and w with max_pool="},
      {"conv2d:h=9,w=9,ci=1,co=1,k=1,depthwise", "got \"depthwise\""},
      {"conv2d:h=9,w=9,ci=1,co=1,k=1,dw_p=1", "got \"dw_p=1\""},
      {"conv2d:h=9,w=9,ci=1,co=1,k=1,depthwise=3,dw_s=0",
       "a positive whole number for dw_s, got 0"},
      {"conv2d:h=9,w=9,ci=1,co=1,k=1,depthwise=3,max_pool=2",
       "no pooling, batchnorm, add or requant= with depthwise="},
      {"conv2d:h=9,w=9,ci=1,co=1,k=1,add,depthwise=3", "no pooling, batchnorm, add or requant="},
      {"conv2d:h=9,w=9,ci=1,co=1,k=3,depthwise=8", "a depthwise kernel larger than its padded"},
      {"conv1d:w=9,ci=1,co=1,k=1,depthwise=2", "convolutions of h and w with depthwise="},
      {"max_pool:c=1,h=3,w=3,k=2,p=2", "padding that is less than the kernel, got 2"},
      {"max_pool:c=1,h=3,w=3,k=4", "an output that is not empty"},
      {"max_pool:c=1,h=3,w=3,k=2,layout=free", "expected layout=nchw or nhwc"},
      {"avg_pool:c=1,h=3,w=3,k=2,dtype=i32", "a float one for averages"},
      {"global_avg_pool:c=1,h=3", "expected \"w=\""},
      {"softmax:3", "expected RxC as in softmax:512x1000, got \"3\""},
      {"softmax:3x4:i32", "expected a float type, got i32"},
      {"softmax:3x4,online=5", "expected blocks of 1 to 4 columns, got 5"},
      {"softmax:3x4,online=0",
       "expected a positive whole number for the columns of a block, got 0"},
      {"softmax:3x4,online=2,online=2", "expected online=B once, transposed, got \"online=2\""},
      {"softmax:3x4,offline=2", "expected online=B once, transposed, got \"offline=2\""},
      {"layernorm:3x4,online=2", "expected transposed, got \"online=2\""},
      {"log_softmax:3x4:i8", "expected a float type, got i8"},
      {"rmsnorm:3x", "expected a positive whole number for C, got nothing"},
      {"argmax:3", "expected RxC as in argmax:512x1000, got \"3\""},
      {"reduce_sum:3x4:bool", "got \"bool\""},
  };
  for (const auto& [text, reason] : cases) {
    const std::string error = error_of(text);
    INFO(text << " -> " << error);
    CHECK(error.rfind("workload \"" + std::string(text) + "\": ", 0) == 0);
    CHECK(error.find(reason) != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
  }
}
