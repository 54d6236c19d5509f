// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json
// Every form of workload tunes, and the tuner stays small.
#include "error/command_fixture.hpp"
#include "support/full_count.hpp"

using namespace tensorsmith::test;

namespace {

void check_tunes(CommandFolder& folder, const std::string& workload, const char* trials) {
  CAPTURE(workload);
  const CommandResult result =
      folder.run({"tune", workload, "--trials", trials, "--db", "j", "--json", "--quiet"});
  CAPTURE(result.out, result.err, result.signal);
  CHECK(result.code == 0);
  const nlohmann::json json = result.json();
  REQUIRE(json.is_object());
  CHECK(json["workload"] == workload);
  CHECK(json["verified"] == true);
  CHECK(json["best_ns"] > 0);
  CHECK(json["trials"] >= 1);
  // A slow candidate may run out of time; no other failure is one of the machine's.
  for (const auto& [reason, count] : json["failed"].items()) {
    CHECK(reason == "run_timeout");
  }
}

}  // namespace

TEST_CASE("every example of the grammar parses and tunes") {
  CommandFolder folder;
  const nlohmann::json list = folder.run({"tune", "--list", "--json"}).json();
  REQUIRE(list["workloads"].size() >= 28);
  const std::string text = folder.run({"tune", "--list"}).out;
  for (const nlohmann::json& line : list["workloads"]) {
    const std::string example = line["example"].get<std::string>();
    CHECK(text.find(example) != std::string::npos);
    check_tunes(folder, example, "2");
  }
}

TEST_CASE("every class of operator, option and type tunes") {
  CommandFolder folder;
  const char* const trials = full_count(3, 6) == 6 ? "6" : "3";
  for (const char* workload : {"gemm:12x20x28:f32",
                               "gemm:12x20x28:f32,ta",
                               "gemm:12x20x28:f32,tb",
                               "gemm:13x19x29:f32,ta,tb,bias,relu",
                               "gemm:12x20x28:f32,bias,gelu",
                               "gemm:13x20x28:f32,bias,add,relu",
                               "gemm:12x20x28:f32,packed",
                               "gemm:12x20x28:f64",
                               "gemm:12x20x28:f16",
                               "gemm:12x20x28:bf16",
                               "gemm:12x20x28:i32",
                               "gemm:12x20x28:i8",
                               "gemm:13x20x28:u8,weights=i8,bias,relu,requant=u8",
                               "bmm:2x7x19x13:i8,tb,requant=i8,packed",
                               "conv2d:n=1,h=7,w=9,ci=6,co=18,k=3,s=1,p=1,dtype=u8,weights=i8,"
                               "requant=u8",
                               "gemm:12x20x28:u8",
                               "gemm:12x20x28:i64",
                               "gemm:1x1x1:f32",
                               "bmm:3x12x8x16:f32",
                               "bmm:3x12x8x16:f32,tb,relu",
                               "gemm:13x20x28:f32,bias,add,layernorm",
                               "bmm:2x12x20x7:f64,tb,layernorm",
                               "attention:2x13x11x6",
                               "attention:2x8x16x16:f16",
                               "conv1d:n=1,w=17,ci=4,co=8,k=3,s=2,p=1",
                               "conv2d:n=1,h=9,w=9,ci=4,co=8,k=3,s=1,p=1",
                               "conv2d:n=1,h=9,w=9,ci=4,co=8,k=3,s=2,p=1,layout=nchw",
                               "conv2d:n=1,h=9,w=9,ci=4,co=8,k=3,s=1,p=1,layout=free,bias,relu",
                               "conv2d:n=1,h=9,w=9,ci=4,co=8,k=3,s=1,p=1,bias,add,relu",
                               "conv2d:n=1,h=9,w=9,ci=4,co=8,k=3,s=1,p=1,packed",
                               "conv2d:n=1,h=9,w=9,ci=4,co=8,k=3,s=1,p=1,d=2,groups=2",
                               "conv2d:n=1,h=9,w=9,ci=4,co=8,k=3x5,s=1,p=1x2,dtype=f16",
                               "conv3d:n=1,d=4,h=5,w=6,ci=3,co=4,k=3,s=1,p=1",
                               "conv1d_transpose:n=1,w=9,ci=4,co=4,k=4,s=2,p=1",
                               "conv2d_transpose:n=1,h=4,w=4,ci=4,co=4,k=4,s=2,p=1",
                               "conv3d_transpose:n=1,d=3,h=3,w=3,ci=2,co=2,k=4,s=2,p=1",
                               "depthwise:n=1,h=9,w=9,c=8,k=3,s=1,p=1",
                               "depthwise:n=1,h=9,w=9,c=8,k=3,s=1,p=1,layout=nchw",
                               "depthwise:n=1,h=9,w=9,c=8,k=3,s=2,p=1,layout=free",
                               "max_pool:n=1,c=8,h=9,w=9,k=3,s=2,p=1",
                               "max_pool:n=1,c=8,h=9,w=9,k=3,s=2,p=1,layout=nchw",
                               "avg_pool:n=1,c=8,h=9,w=9,k=3,s=1,p=1",
                               "global_avg_pool:n=1,c=16,h=7,w=7",
                               "global_avg_pool:n=1,c=16,h=7,w=7,layout=nchw",
                               "softmax:8x33",
                               "log_softmax:7x33",
                               "log_softmax:5x19:f64",
                               "softmax:5x99,online=32",
                               "log_softmax:3x64:bf16,online=16",
                               "layernorm:8x33",
                               "rmsnorm:7x33",
                               "rmsnorm:5x19:bf16",
                               "reduce_sum:8x33",
                               "reduce_sum:8x33:i32",
                               "reduce_prod:8x9",
                               "reduce_max:8x33",
                               "reduce_min:1x33",
                               "argmax:7x33",
                               "argmax:5x70:i8",
                               "argmax:3x1",
                               "pointwise:13x33:f32,mul_per_column,add_per_column,add,relu",
                               "pointwise:5x7x9:f32,sub,div_per_row,max_per_column,tanh",
                               "pointwise:70:f64,sigmoid,mul_per_row,min,exp",
                               "gemm:13x20x28:f32,tc,bias,add,relu",
                               "bmm:2x7x19x13:i8,tb,tc,requant=i8",
                               "conv2d:n=1,h=7,w=9,ci=4,co=8,k=3,s=2,p=1x0,pe=0x2",
                               "conv2d:n=1,h=7,w=9,ci=4,co=8,k=3,s=1,p=1,batchnorm,add,relu",
                               "conv2d:n=1,h=9,w=9,ci=4,co=8,k=3,s=1,p=1,pe=2,winograd=2",
                               "conv2d:n=1,h=9,w=9,ci=4,co=8,k=3,s=1,p=1,relu,max_pool=3,"
                               "pool_s=2,pool_pe=1,pool_ceil",
                               "conv2d:n=1,h=9,w=9,ci=4,co=8,k=3,s=1,p=1,avg_pool=3,pool_s=2,"
                               "pool_p=1,pool_count_include_pad=0",
                               "conv2d:n=1,h=9,w=9,ci=4,co=8,k=1,s=1,p=0,depthwise=3,dw_p=1,"
                               "dw_pe=0",
                               "conv2d_transpose:n=1,h=4,w=5,ci=4,co=4,k=3,s=2,p=1,op=1x0",
                               "conv2d_transpose:n=1,h=4,w=5,ci=4,co=4,k=3,s=2,p=1,pe=0x2",
                               "max_pool:n=1,c=8,h=8,w=9,k=3,s=2,p=1,pe=0,ceil",
                               "avg_pool:n=1,c=8,h=8,w=9,k=3,s=2,p=1,count_include_pad=0",
                               "avg_pool:n=1,c=8,h=8,w=9,k=3,s=2,p=1,ceil,layout=nchw",
                               "batchnorm:n=2,c=18,h=5,w=7",
                               "batchnorm:n=2,c=5,h=9,w=7,layout=nchw,dtype=f16,relu",
                               "softmax:8x33,transposed",
                               "layernorm:8x33,transposed",
                               "argmax:7x33,last",
                               "argmin:7x33",
                               "argmin:5x70:u8,last",
                               "reduce_mean:8x33",
                               "reduce_mean:8x33:bf16",
                               "reduce_var:8x33",
                               "reduce_var:7x40:f16,unbiased",
                               "gather:19x7x33:f32",
                               "gather:19x300x33:f16,indices=i64",
                               "gather:5x7x3:i8,indices=i64",
                               "pointwise:13x33:i8,add,mul_per_column,max,relu",
                               "pointwise:13x33:i32,sub_per_row,min,mul",
                               "pointwise:13x33:u8,add,mul",
                               "pointwise:13x33:i64,add,mul",
                               "pointwise:13x33:f32,perm=1x0",
                               "pointwise:3x5x7x4:f32,add_per_column,relu,perm=0x3x1x2"}) {
    check_tunes(folder, workload, trials);
  }
  const CommandResult threads = folder.run({"tune", "gemm:64x64x64:f32", "--threads", "2",
                                            "--trials", "6", "--db", "j", "--json", "--quiet"});
  CHECK(threads.code == 0);
  CHECK(threads.json()["verified"] == true);
}

TEST_CASE("instant mode compiles one verified kernel and writes one record") {
  CommandFolder folder;
  for (const char* workload : {"gemm:37x29x41:f32,bias,relu", "bmm:3x16x16x16:f32", "softmax:8x33",
                               "conv2d:n=1,h=9,w=9,ci=4,co=8,k=3,s=1,p=1,layout=free",
                               "depthwise:n=1,h=9,w=9,c=8,k=3,s=1,p=1", "attention:2x13x16x8",
                               "gemm:13x20x28:f32,bias,add,layernorm"}) {
    check_tunes(folder, workload, "0");
    const nlohmann::json run = folder.run({"run", workload, "--db", "j", "--json"}).json();
    REQUIRE(run.is_object());
  }
  CHECK(lines_of(folder.read("j")).size() == 7);
  const CommandResult text = folder.run({"tune", "softmax:8x33", "--trials", "0", "--db", "j"});
  CHECK(text.code == 0);
  CHECK(text.out.find("instant: ") != std::string::npos);
  CHECK(text.out.find("verified") != std::string::npos);
}

TEST_CASE("the tuner and its worker stay small") {
#if defined(TENSORSMITH_HAS_SANITIZER)
  skip("sanitizers keep freed memory, so sizes mean nothing");
  return;
#endif
  CommandFolder folder;
  const CommandResult result = folder.run(
      {"tune", "gemm:512x512x512:f32", "--trials", "80", "--db", "j", "--json", "--quiet"});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(result.peak_bytes > 0);
  CHECK(result.peak_bytes <= 300'000'000);
}
