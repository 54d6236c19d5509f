// SPDX-License-Identifier: Apache-2.0
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

/// `why_not`: what is said of a task without hard references; null: it has some.
MeasureTask hard_task(const Shared<const ComputeDag>& definition,
                      const Shared<const ComputeDag>& program, std::string* why_not = nullptr) {
  MeasureTask task = make_measure_task(*program, 1, 1, definition.get());
  REQUIRE(add_reference(task, definition, {}));
  const std::string said = add_hard_references(task, definition, program, {}, 1e9);
  REQUIRE(check_task(task).empty());
  INFO(said);
  REQUIRE(said.empty() == (why_not == nullptr));
  if (why_not != nullptr) {
    *why_not = said;
  }
  return task;
}

ops::Workload workload_of(const std::string& text) {
  INFO(text);
  const auto workload = ops::parse_workload(text);
  REQUIRE(workload.has_value());
  return *workload;
}

/// What the program, computed in the types that it is written in, gives for all draws; "" if it is
/// right.
std::string fault_of(const MeasureTask& task, const ComputeDag& program) {
  for (std::size_t number = 0; number < task.arguments.back().hard.size(); ++number) {
    std::vector<HostArray> inputs;
    for (std::size_t i = 0; i < task.arguments.size() && !task.arguments[i].is_output; ++i) {
      const TensorInfo& tensor = program.tensor(program.arguments()[i]);
      HostArray input(tensor.dtype, {tensor.shape.begin(), tensor.shape.end()});
      fill_hard_input(task, i, task.arguments.back().hard[number].draw, {}, input.data);
      inputs.push_back(std::move(input));
    }
    const auto outputs = eval_dag(program, inputs);
    REQUIRE(outputs.has_value());
    for (std::size_t k = 0; k < outputs->size(); ++k) {
      const KernelArgument& result = task.arguments[inputs.size() + k];
      const HardReference& hard = result.hard[number];
      const std::string fault =
          verify_hard_output(result, hard.rows, hard.values, hard.bounds, (*outputs)[k].data)
              .message;
      if (!fault.empty()) {
        return std::to_string(number) + ": " + fault;
      }
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
      const MeasureTask task = hard_task(ops::definition_of(workload), workload.dag);
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
    const MeasureTask task = hard_task(ops::definition_of(workload), workload.dag);
    REQUIRE(task.arguments.back().hard.size() == 1);
    CHECK(fault_of(task, *workload.dag) == "");
  }
}

TEST_CASE("a variance by E[x^2] - E[x]^2 is found wrong, also behind a product") {
  const ops::Workload rows = workload_of("layernorm:33x256:f32");
  const auto unstable = one_pass_layernorm(33, 256);
  const MeasureTask task = hard_task(ops::definition_of(rows), unstable);
  CHECK(fault_of(task, *rows.dag) == "");
  CHECK(fault_of(task, *unstable).find("elements are wrong") != std::string::npos);

  const ops::Workload behind = workload_of("gemm:33x256x16:f32,layernorm");
  const auto product = one_pass_layernorm(33, 256, 16);
  const MeasureTask product_task = hard_task(ops::definition_of(behind), product);
  CHECK(fault_of(product_task, *behind.dag) == "");
  CHECK(fault_of(product_task, *product).find("elements are wrong") != std::string::npos);
}

TEST_CASE("sums in 16 bits are found wrong") {
  for (const DType type : {DType::f16, DType::bf16}) {
    const std::string name(name_of(type));
    CAPTURE(name);
    const ops::Workload soft = workload_of("softmax:33x256:" + name);
    const auto narrow = narrow_softmax(33, 256, type);
    const MeasureTask task = hard_task(ops::definition_of(soft), narrow);
    CHECK(fault_of(task, *soft.dag) == "");
    CHECK(fault_of(task, *narrow).find("elements are wrong") != std::string::npos);

    const ops::Workload chain = workload_of("pointwise:33x64:" + name + ",exp,exp");
    const auto rounded = rounded_exponentials(33, 64, type);
    const MeasureTask chain_task = hard_task(ops::definition_of(chain), rounded);
    CHECK(fault_of(chain_task, *chain.dag) == "");
    CHECK(fault_of(chain_task, *rounded).find("elements are wrong") != std::string::npos);
  }
}

TEST_CASE("a maximum that begins with a finite number is found wrong") {
  const auto infinite = maximum_from(-INFINITY, 33, 40);
  const auto finite = maximum_from(-3.4028234663852886e38, 33, 40);
  const MeasureTask task = hard_task(infinite, finite);
  CHECK(fault_of(task, *infinite) == "");
  CHECK(fault_of(task, *finite).find("infinities and NaN") == std::string::npos);
  CHECK(fault_of(task, *finite).find("got -3.40282347e+38, expected -inf") != std::string::npos);
}

TEST_CASE("an online softmax whose blocks are joined by one number is found wrong") {
  const ops::Workload rows = workload_of("softmax:33x200:f32,online=50");
  const auto joined = softmax_of_joined_blocks(33, 200, 50);
  const MeasureTask task = hard_task(ops::definition_of(rows), joined);
  CHECK(fault_of(task, *rows.dag) == "");
  CHECK(fault_of(task, *joined).find("elements are wrong") != std::string::npos);
}

TEST_CASE("programs whose results a right kernel need not give say so") {
  const auto reason = [](const auto& formula) {
    te::Program p;
    const auto a = p.placeholder("A", {8, 8});
    const auto out = p.compute("B", {8, 8}, [&](auto i, auto j) { return formula(a(i, j)); });
    const auto dag = p.dag({a, out});
    std::string why_not;
    const MeasureTask task = hard_task(dag, dag, &why_not);
    CHECK(task.arguments.back().hard.empty());
    return why_not;
  };
  CHECK(reason([](auto x) {
          return te::cast(DType::i32, te::round(x * 3.7));
        }).find("not defined") != std::string::npos);
  CHECK(reason([](auto x) { return te::cast(DType::i32, x); }).find("not defined") !=
        std::string::npos);
  CHECK(reason([](auto x) {
          return te::cast(DType::f32, te::cast(DType::i8, te::min(x, 100.0))) + x;
        }).find("not defined") != std::string::npos);
  // Beyond the work that is allowed, and with no axis whose rows stand for themselves.
  te::Program p;
  const auto a = p.placeholder("A", {1, 4000});
  const auto k = p.reduce_axis("k", 4000);
  const auto out = p.compute("B", {1}, [&](auto i) { return te::sum(a(i, k), {k}); });
  const auto dag = p.dag({a, out});
  MeasureTask task = make_measure_task(*dag, 1, 1);
  CHECK(add_hard_references(task, dag, dag, {}, 100).find("takes too long") != std::string::npos);
  CHECK(add_hard_references(task, dag, dag, {}, 1000).empty());
}

TEST_CASE("floats within a type become its integers, whatever the formula") {
  for (const bool is_scaled : {false, true}) {
    te::Program p;
    const auto a = p.placeholder("A", {33, 8});
    const auto out = p.compute("B", {33, 8}, [&](auto i, auto j) {
      const auto x = te::max(te::min(a(i, j), 50.0), -50.0);
      return te::cast(DType::f32, te::cast(DType::i8, is_scaled ? x * 2.0 + 27.0 : x));
    });
    const auto dag = p.dag({a, out});
    const MeasureTask task = hard_task(dag, dag);
    CHECK(task.arguments.back().hard.size() == num_hard_draws);
    CHECK(fault_of(task, *dag) == "");
  }
}

TEST_CASE("where finite operands overflow on the way nothing is known, in f64 too") {
  for (const DType type : {DType::f64, DType::f32}) {
    CAPTURE(name_of(type));
    const auto dag_of = [&](double early, double late) {
      te::Program p;
      const auto a = p.placeholder("A", {48, 20}, type);
      const auto w = p.placeholder("W", {20}, type);
      const auto k = p.reduce_axis("k", 20);
      const auto sum =
          p.compute("S", {48}, [&](auto i) { return te::sum(a(i, k) * early * w(k), {k}); });
      const auto all = p.compute("Y", {48}, [&](auto i) { return sum(i) * late; });
      return p.dag({a, w, all});
    };
    const auto early = dag_of(8, 1), late = dag_of(1, 8);
    const MeasureTask task = hard_task(early, early);
    CHECK(fault_of(task, *early) == "");
    CHECK(fault_of(task, *late) == "");  // sums that do not overflow before they are finished
    CHECK(fault_of(task, *dag_of(8, 1.001)) != "");
    CHECK(share_of(task.arguments.back().hard[0]) > 0.5);
  }
}

TEST_CASE("sums of three factors may be summed in parts, and are judged where nothing overflows") {
  const auto dag_of = [](int first, double late) {  // the sum over `first` comes first
    te::Program p;
    const auto a = p.placeholder("A", {48, 12}), b = p.placeholder("B", {12, 10}),
               c = p.placeholder("C", {10, 8});
    const auto j = p.reduce_axis("j", 12), k = p.reduce_axis("k", 10);
    const auto whole = [&](const te::Tensor& last) {
      const auto y = p.compute("Y", {48, 8}, [&](auto i, auto l) { return last(i, l) * late; });
      return p.dag({a, b, c, y});
    };
    if (first == 0) {
      return whole(p.compute("S", {48, 8}, [&](auto i, auto l) {
        return te::sum(a(i, j) * b(j, k) * c(k, l), {j, k});
      }));
    }
    if (first == 1) {
      const auto t =
          p.compute("T", {12, 8}, [&](auto q, auto l) { return te::sum(b(q, k) * c(k, l), {k}); });
      return whole(
          p.compute("S", {48, 8}, [&](auto i, auto l) { return te::sum(a(i, j) * t(j, l), {j}); }));
    }
    const auto t =
        p.compute("T", {48, 10}, [&](auto i, auto q) { return te::sum(a(i, j) * b(j, q), {j}); });
    return whole(
        p.compute("S", {48, 8}, [&](auto i, auto l) { return te::sum(t(i, k) * c(k, l), {k}); }));
  };
  const auto one = dag_of(0, 1);
  const MeasureTask task = hard_task(one, one);
  CHECK(fault_of(task, *one) == "");
  CHECK(fault_of(task, *dag_of(1, 1)) == "");
  CHECK(fault_of(task, *dag_of(2, 1)) == "");
  CHECK(fault_of(task, *dag_of(1, 1.001)) != "");
  CHECK(share_of(task.arguments.back().hard[0]) > 0.5);
}

TEST_CASE("of several results each has its own values and bounds") {
  const auto dag_of = [](double wrong, std::int64_t off) {
    te::Program p;
    const auto a = p.placeholder("A", {33, 20});
    const auto k = p.reduce_axis("k", 20);
    const auto scaled =
        p.compute("B", {33, 20}, [&](auto i, auto j) { return a(i, j) * 3.0 + wrong; });
    const auto most = p.compute("M", {33}, [&](auto i) { return te::max(a(i, k), {k}); });
    const auto count = p.compute(
        "C", {33, 20}, [&](auto i, auto j) { return te::cast(DType::i32, a(i, j) > 0.0) + off; });
    return p.dag({a, scaled, most, count});
  };
  const auto right = dag_of(0, 0);
  const MeasureTask task = hard_task(right, right);
  for (std::size_t i = 1; i < 4; ++i) {
    REQUIRE(task.arguments[i].hard.size() == num_hard_draws);
    CHECK(task.arguments[i].hard[0].bounds.empty() == (i == 3));
  }
  CHECK(fault_of(task, *right) == "");
  CHECK(fault_of(task, *dag_of(1, 0)).find("output 'B'") != std::string::npos);
  CHECK(fault_of(task, *dag_of(0, 1)).find("output 'C'") != std::string::npos);
}

TEST_CASE("filters that mix pixels are judged by the errors that mixing makes") {
  const ops::Workload winograd = workload_of("conv2d:n=1,h=9,w=9,ci=4,co=8,k=3,s=1,p=1,winograd=2");
  const ops::Workload direct = workload_of("conv2d:n=1,h=9,w=9,ci=4,co=8,k=3,s=1,p=1");
  const MeasureTask task = hard_task(ops::definition_of(winograd), winograd.dag);
  REQUIRE(task.arguments.back().hard.size() == num_hard_draws);
  CHECK(fault_of(task, *winograd.dag) == "");
  CHECK(fault_of(task, *direct.dag) == "");
  CHECK(share_of(task.arguments.back().hard[0]) >= 0.1);
  const ops::Workload other = workload_of("conv2d:n=1,h=9,w=9,ci=4,co=8,k=3,s=1,p=1,relu");
  CHECK(fault_of(task, *other.dag).find("elements are wrong") != std::string::npos);
}

TEST_CASE("a product with padding may be left out or be one with zero") {
  const auto dag_of = [](bool skips) {
    te::Program p;
    const auto w = p.placeholder("W", {33, 3}), x = p.placeholder("X", {33, 9});
    const auto padded = p.compute("P", {33, 11}, [&](auto i, auto j) {
      return te::if_then_else(j >= 1 && j < 10, x(i, j - 1), 0.0);
    });
    const auto k = p.reduce_axis("k", 3);
    const auto out = p.compute("Y", {33, 9}, [&](auto i, auto j) {
      const auto tap =
          skips ? te::if_then_else(j + k >= 1 && j + k < 10,
                                   w(i, k) * x(i, te::max(te::min(j + k - 1, 8), 0)), 0.0)
                : w(i, k) * padded(i, j + k);
      return te::sum(tap, {k});
    });
    return p.dag({w, x, out});
  };
  const auto multiplies = dag_of(false), skips = dag_of(true);
  const MeasureTask task = hard_task(multiplies, multiplies);  // W has infinities
  CHECK(fault_of(task, *multiplies) == "");
  CHECK(fault_of(task, *skips) == "");
  CHECK(share_of(task.arguments.back().hard[1]) >= 0.5);
}

TEST_CASE("random programs in f32 are within the bounds of their twins") {
  std::size_t num_compared = 0, num_judged = 0;
  for (std::uint32_t number = 0; number < scaled(150); ++number) {
    const auto dag = random_float_program(seed(), number);
    const MeasureTask task = hard_task(dag, dag);
    REQUIRE(task.arguments.back().hard.size() == num_hard_draws);
    INFO("seed " << seed() << ", number " << number);
    CHECK(fault_of(task, *dag) == "");
    const JudgedShare share = judged_share(task.arguments.back().hard[0]);
    num_compared += static_cast<std::size_t>(share.all);
    num_judged += static_cast<std::size_t>(share.judged);
  }
  CHECK(num_judged * 3 > num_compared);
}

TEST_CASE("integers made of floats are right but where rounding may turn them") {
  const auto dag_of = [](bool floors, std::int64_t off) {
    te::Program p;
    const auto a = p.placeholder("A", {33, 20});
    const auto whole = p.compute("Q", {33, 20}, [&](auto i, auto j) {
      const auto x = te::max(te::min(a(i, j) * 2.7, 100.0), -100.0);
      return te::cast(DType::i8, floors ? te::floor(x) : te::round(x)) + off;
    });
    const auto back = p.compute("B", {33, 20}, [&](auto i, auto j) {
      return te::cast(DType::f32, te::cast(DType::i32, whole(i, j)) - 3) * 0.37;
    });
    return p.dag({a, whole, back});
  };
  const auto right = dag_of(false, 0);
  const MeasureTask task = hard_task(right, right);
  for (const std::size_t i : {1U, 2U}) {
    CHECK(judged_share(task.arguments[i].hard[0]).judged > 33 * 20 / 2);
  }
  CHECK(fault_of(task, *right) == "");
  CHECK(fault_of(task, *dag_of(true, 0)).find("output 'Q'") != std::string::npos);
  CHECK(fault_of(task, *dag_of(false, 1)).find("output 'Q'") != std::string::npos);
}
