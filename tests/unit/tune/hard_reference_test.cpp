// References of hard inputs: right programs are within their bounds, unstable ones are not.
#include <cmath>
#include <cstring>
#include <string>

#include "support/catch.hpp"
#include "support/unstable_programs.hpp"
#include "tensorsmith/measure/hard_fill.hpp"
#include "tensorsmith/measure/verify.hpp"
#include "tensorsmith/ops/definition.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/te/eval_dag.hpp"
#include "tensorsmith/tune/measure_task.hpp"
#include "tune/error_twin.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

MeasureTask hard_task(const Shared<const ComputeDag>& definition, const ComputeDag& program) {
  MeasureTask task = make_measure_task(program, 1, 1, definition.get());
  REQUIRE(add_reference(task, definition, {}));
  add_hard_references(task, definition, program, {}, 1e9);
  REQUIRE(check_task(task).empty());
  return task;
}

ops::Workload workload_of(const std::string& text) {
  INFO(text);
  const auto workload = ops::parse_workload(text);
  REQUIRE(workload.has_value());
  return *workload;
}

/// What the program, computed in the types that it is written in, gives for a draw; "" if it is
/// right.
std::string fault_of(const MeasureTask& task, const ComputeDag& program,
                     const HardReference& hard) {
  std::vector<HostArray> inputs;
  for (std::size_t i = 0; i + 1 < task.arguments.size(); ++i) {
    const TensorInfo& tensor = program.tensor(program.arguments()[i]);
    HostArray input(tensor.dtype, {tensor.shape.begin(), tensor.shape.end()});
    fill_hard_input(task, i, hard.draw, {}, input.data);
    inputs.push_back(std::move(input));
  }
  const auto outputs = eval_dag(program, inputs);
  REQUIRE(outputs.has_value());
  return verify_hard_output(task.arguments.back(), hard.rows, hard.values, hard.bounds,
                            outputs->front().data)
      .message;
}
/// Of all draws.
std::string fault_of(const MeasureTask& task, const ComputeDag& program) {
  for (const HardReference& hard : task.arguments.back().hard) {
    if (const std::string fault = fault_of(task, program, hard); !fault.empty()) {
      return std::to_string(static_cast<int>(hard.draw)) + ": " + fault;
    }
  }
  return "";
}

double share_of(const HardReference& hard) {
  const JudgedShare share = judged_share(hard);
  return share.all == 0 ? 1 : static_cast<double>(share.judged) / static_cast<double>(share.all);
}

}  // namespace

TEST_CASE("every named workload of every float type is right for hard inputs as it is written") {
  for (const char* form : {"gemm:33x20x24:?",
                           "gemm:33x20x24:?,ta,tb,bias,gelu",
                           "bmm:3x17x12x8:?,tb,relu",
                           "gemm:33x40x24:?,bias,add,layernorm",
                           "attention:2x33x16x8:?",
                           "conv1d:n=2,w=33,ci=4,co=8,k=3,s=2,p=1,dtype=?",
                           "conv2d:n=1,h=9,w=9,ci=4,co=8,k=3,s=1,p=1,dtype=?,bias,relu",
                           "conv2d_transpose:n=1,h=6,w=6,ci=4,co=8,k=4,s=2,p=1,dtype=?",
                           "depthwise:n=1,h=9,w=9,c=8,k=3,s=1,p=1,dtype=?",
                           "max_pool:n=1,c=8,h=9,w=9,k=3,s=2,p=1,dtype=?",
                           "avg_pool:n=1,c=8,h=9,w=9,k=3,s=2,p=1,dtype=?",
                           "global_avg_pool:n=33,c=16,h=3,w=3,dtype=?",
                           "softmax:33x200:?",
                           "softmax:33x200:?,online=64",
                           "softmax:33x128:?,online=32",
                           "log_softmax:33x200:?",
                           "log_softmax:33x200:?,online=64",
                           "layernorm:33x200:?",
                           "layernorm:17x1000:?",
                           "rmsnorm:33x200:?",
                           "reduce_sum:33x200:?",
                           "reduce_prod:33x20:?",
                           "reduce_max:33x200:?",
                           "reduce_min:33x200:?",
                           "argmax:33x200:?",
                           "pointwise:33x20:?,mul_per_column,add_per_column,add,relu",
                           "pointwise:33x20:?,exp,exp",
                           "pointwise:33x20:?,gelu,sub,tanh",
                           "pointwise:33x20:?,sigmoid,div,max_per_row"}) {
    for (const char* type : {"f64", "f32", "f16", "bf16"}) {
      std::string text = form;
      text.replace(text.find('?'), 1, type);
      CAPTURE(text);
      const ops::Workload workload = workload_of(text);
      const MeasureTask task = hard_task(ops::definition_of(workload), *workload.dag);
      REQUIRE(task.arguments.back().hard.size() == num_hard_draws);
      CHECK(fault_of(task, *workload.dag) == "");
      for (const HardReference& hard : task.arguments.back().hard) {
        CAPTURE(static_cast<int>(hard.draw));
        CHECK(share_of(hard) >= 0.3);
      }
    }
  }
}

TEST_CASE("every named workload of integers is right for whole ranges") {
  for (const char* text :
       {"gemm:17x20x24:i8", "gemm:17x20x24:u8,weights=i8", "gemm:17x20x24:u8,weights=i8,requant=u8",
        "gemm:17x20x24:i8,bias,requant=i8", "gemm:9x8x24:i32", "gemm:9x8x24:i64",
        "conv2d:n=1,h=7,w=9,ci=6,co=8,k=3,s=1,p=1,dtype=u8,weights=i8,requant=u8",
        "max_pool:n=1,c=8,h=9,w=9,k=3,s=2,p=1,dtype=i8", "reduce_sum:17x200:i8",
        "reduce_sum:17x20:i64", "reduce_prod:17x20:i32", "reduce_max:17x20:u8",
        "reduce_min:17x20:i32", "argmax:17x70:i8"}) {
    CAPTURE(text);
    const ops::Workload workload = workload_of(text);
    const MeasureTask task = hard_task(ops::definition_of(workload), *workload.dag);
    REQUIRE(task.arguments.back().hard.size() == 1);
    CHECK(fault_of(task, *workload.dag) == "");
  }
}

TEST_CASE("a variance by E[x^2] - E[x]^2 is found wrong, also behind a product") {
  const ops::Workload rows = workload_of("layernorm:33x256:f32");
  const auto unstable = one_pass_layernorm(33, 256);
  const MeasureTask task = hard_task(ops::definition_of(rows), *unstable);
  CHECK(fault_of(task, *rows.dag) == "");
  CHECK(fault_of(task, *unstable).find("elements are wrong") != std::string::npos);

  const ops::Workload behind = workload_of("gemm:33x256x16:f32,layernorm");
  const auto product = one_pass_layernorm(33, 256, 16);
  const MeasureTask product_task = hard_task(ops::definition_of(behind), *product);
  CHECK(fault_of(product_task, *behind.dag) == "");
  CHECK(fault_of(product_task, *product).find("elements are wrong") != std::string::npos);
}

TEST_CASE("sums in 16 bits are found wrong") {
  for (const DType type : {DType::f16, DType::bf16}) {
    const std::string name(name_of(type));
    CAPTURE(name);
    const ops::Workload soft = workload_of("softmax:33x256:" + name);
    const auto narrow = narrow_softmax(33, 256, type);
    const MeasureTask task = hard_task(ops::definition_of(soft), *narrow);
    CHECK(fault_of(task, *soft.dag) == "");
    CHECK(fault_of(task, *narrow).find("elements are wrong") != std::string::npos);

    const ops::Workload chain = workload_of("pointwise:33x64:" + name + ",exp,exp");
    const auto rounded = rounded_exponentials(33, 64, type);
    const MeasureTask chain_task = hard_task(ops::definition_of(chain), *rounded);
    CHECK(fault_of(chain_task, *chain.dag) == "");
    CHECK(fault_of(chain_task, *rounded).find("elements are wrong") != std::string::npos);
  }
}

TEST_CASE("a maximum that begins with a finite number is found wrong") {
  const auto infinite = maximum_from(-INFINITY, 33, 40);
  const auto finite = maximum_from(-3.4028234663852886e38, 33, 40);
  const MeasureTask task = hard_task(infinite, *finite);
  CHECK(fault_of(task, *infinite) == "");
  CHECK(fault_of(task, *finite).find("infinities and NaN") == std::string::npos);
  CHECK(fault_of(task, *finite).find("got -3.40282347e+38, expected -inf") != std::string::npos);
}

TEST_CASE("an online softmax whose blocks are joined by one number is found wrong") {
  const ops::Workload rows = workload_of("softmax:33x200:f32,online=50");
  const auto joined = softmax_of_joined_blocks(33, 200, 50);
  const MeasureTask task = hard_task(ops::definition_of(rows), *joined);
  CHECK(fault_of(task, *rows.dag) == "");
  CHECK(fault_of(task, *joined).find("elements are wrong") != std::string::npos);
}

TEST_CASE("programs whose results a right kernel need not give have no hard references") {
  const ops::Workload winograd = workload_of("conv2d:n=1,h=9,w=9,ci=4,co=8,k=3,s=1,p=1,winograd=2");
  CHECK(hard_task(ops::definition_of(winograd), *winograd.dag).arguments.back().hard.empty());
  te::Program p;
  const auto a = p.placeholder("A", {8, 8});
  const auto out = p.compute(
      "B", {8, 8}, [&](auto i, auto j) { return te::cast(DType::i32, te::round(a(i, j) * 3.7)); });
  const auto dag = p.dag({a, out});
  CHECK(hard_task(dag, *dag).arguments.back().hard.empty());
}

TEST_CASE("random programs in f32 are within the bounds of their twins") {
  std::size_t num_compared = 0, num_judged = 0;
  for (std::uint32_t number = 0; number < scaled(150); ++number) {
    const auto dag = random_float_program(seed(), number);
    const MeasureTask task = hard_task(dag, *dag);
    REQUIRE(task.arguments.back().hard.size() == num_hard_draws);
    INFO("seed " << seed() << ", number " << number);
    CHECK(fault_of(task, *dag) == "");
    const JudgedShare share = judged_share(task.arguments.back().hard[0]);
    num_compared += static_cast<std::size_t>(share.all);
    num_judged += static_cast<std::size_t>(share.judged);
  }
  CHECK(num_judged * 3 > num_compared);
}
