// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/tune/measure_task.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "tensorsmith/measure/fill.hpp"
#include "tensorsmith/measure/verify.hpp"
#include "tensorsmith/ops/pointwise.hpp"
#include "tensorsmith/te/eval_dag.hpp"
#include "tensorsmith/te/notation.hpp"
#include "tensorsmith/te/program.hpp"
#include "tune/f64_twin.hpp"

using namespace tensorsmith;

namespace {

Shared<const ComputeDag> matmul(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype) {
  te::Program p;
  auto a = p.placeholder("A", {m, k}, dtype);
  auto b = p.placeholder("B", {k, n}, dtype);
  auto r = p.reduce_axis("k", k);
  auto c = p.compute("C", {m, n}, [&](auto i, auto j) { return te::sum(a(i, r) * b(r, j), {r}); });
  return p.dag({a, b, c});
}

template <class T>
T element(const std::vector<std::byte>& bytes, std::int64_t i) {
  T value{};
  std::memcpy(&value, bytes.data() + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

}  // namespace

TEST_CASE("the task of a matmul names its arguments and bounds its error by the reduction") {
  const auto dag = matmul(3, 5, 7, DType::f32);
  const MeasureTask task = make_measure_task(*dag, 2, 9);
  REQUIRE(task.arguments.size() == 3);
  CHECK(task.num_threads == 2);
  CHECK(task.arguments[0].num_elements == 21);
  CHECK_FALSE(task.arguments[1].is_output);
  CHECK(task.arguments[2].is_output);
  CHECK(task.arguments[2].tolerance.kind == OutputTolerance::Kind::bounded);
  CHECK(task.arguments[2].tolerance.of_rms ==
        test::Approx(tolerance_for(DType::f32, DType::f32, 7).of_rms));
  CHECK(check_task(task).empty());
  const auto parameters = kernel_parameters(*dag);
  REQUIRE(parameters.size() == 3);
  CHECK(parameters[2].is_output);
  CHECK(parameters[2].num_elements == 15);
}

TEST_CASE(
    "a sum of what was rounded before may cancel: its error is bounded by the result's size") {
  te::Program p;
  const auto a = p.placeholder("A", {8}), b = p.placeholder("B", {8});
  const auto sum = p.compute("C", {8}, [&](auto i) { return a(i) + b(i); });
  const auto relu = p.compute("D", {8}, [&](auto i) { return te::max(sum(i), 0); });
  const auto product = p.compute("E", {8}, [&](auto i) { return a(i) * b(i); });
  const auto shifted = p.compute("F", {8}, [&](auto i) { return product(i) - a(i); });
  const auto of_rms = [&](const te::Tensor& result) {
    return make_measure_task(*p.dag({a, b, result}), 1, 9).arguments[2].tolerance.of_rms;
  };
  CHECK(of_rms(relu) == 0);
  CHECK(of_rms(product) == 0);
  CHECK(of_rms(shifted) == test::Approx(tolerance_for(DType::f32, DType::f32, 2).of_rms));
}

TEST_CASE("inputs are drawn where the program may be asked for them") {
  te::Program p;
  const auto table = p.placeholder("T", {300, 4}), variance = p.placeholder("V", {4});
  const auto numbers = p.placeholder("I", {7}, DType::i64),
             few = p.placeholder("J", {7}, DType::u8);
  const auto out = p.compute("O", {7, 4}, [&](auto n, auto c) {
    return table(numbers(n), c) * te::rsqrt(variance(c) + 1e-5) +
           table(te::cast(DType::i32, few(n)) + 2, c);
  });
  const MeasureTask task = make_measure_task(*p.dag({table, variance, numbers, few, out}), 1, 9);
  const auto check_fill = [&](std::size_t argument, double low, double high) {
    INFO(task.arguments[argument].name);
    CHECK(task.arguments[argument].fill.low == low);
    CHECK(task.arguments[argument].fill.high == high);
  };
  check_fill(0, -1, 1);
  check_fill(1, 0, 1);
  check_fill(2, 0, 299);
  check_fill(3, 0, 255);  // 297 is no number of its type
}

TEST_CASE("an index whose type has no legal value is drawn like any other") {
  te::Program p;
  const te::Tensor table = p.placeholder("T", {1}), numbers = p.placeholder("I", {4}, DType::u8);
  const te::Tensor out = p.compute("O", {4}, [&](auto i) {
    return table(te::cast(DType::i32, numbers(i)) + 1);  // only -1 would do
  });
  const auto dag = p.dag({table, numbers, out});
  const MeasureTask task = make_measure_task(*dag, 1, 1);
  CHECK(task.arguments[1].fill.low <= task.arguments[1].fill.high);
}

TEST_CASE("the f64 twin computes in f64 from the inputs as they are") {
  const auto dag = matmul(3, 5, 7, DType::f32);
  const auto twin = f64_twin(dag);
  REQUIRE(twin != dag);
  for (const TensorInfo& tensor : twin->tensors()) {
    const bool is_input = twin->operation(tensor.operation).is_placeholder();
    CHECK(tensor.dtype == (is_input ? DType::f32 : DType::f64));
  }
  for (const Operation& operation : twin->operations()) {
    for (const ExprId body : operation.bodies) {
      CHECK(twin->pool().dtype(body) == DType::f64);
    }
  }
  const auto wide = matmul(3, 5, 7, DType::f64);
  CHECK(f64_twin(wide) == wide);
  const auto integers = matmul(3, 5, 7, DType::i32);
  CHECK(f64_twin(integers) == integers);
}

TEST_CASE("the f64 twin has the constants of the definition in f64") {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    ops::PointwiseParams p;
    p.shape = {9};
    p.chain = {ops::PointwiseOp::gelu};
    p.dtype = type;
    const auto twin = f64_twin(ops::pointwise(p).dag);
    HostArray x(type, {9});
    for (std::int64_t i = 0; i < 9; ++i) {
      x.set_real(i, static_cast<double>(i) * 0.75 - 3);
    }
    const auto result = eval_dag(*twin, {x});
    REQUIRE(result.has_value());
    for (std::int64_t i = 0; i < 9; ++i) {
      const double in = x.get_real(i);
      const double want = in / 2 * std::erfc(-in * std::sqrt(0.5));
      CHECK(std::fabs(result->front().get_real(i) - want) <= 1e-15 * std::fabs(in));
    }
  }
}

TEST_CASE("the reference of a matmul is the naive sum in f64") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto dag = matmul(3, 5, 7, dtype);
    MeasureTask task = make_measure_task(*dag, 1, 9);
    REQUIRE(add_reference(task, dag, {}));
    CHECK(check_task(task).empty());
    std::vector<double> in[2];
    for (std::size_t which = 0; which < 2; ++which) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(task.arguments[which].num_bytes()));
      fill_input(task, which, bytes);
      for (std::int64_t i = 0; i < task.arguments[which].num_elements; ++i) {
        in[which].push_back(dtype == DType::f32 ? double(element<float>(bytes, i))
                                                : element<double>(bytes, i));
      }
    }
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 5; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < 7; ++k) {
          sum += in[0][i * 7 + k] * in[1][k * 5 + j];
        }
        const double got =
            element<double>(task.arguments[2].reference, static_cast<std::int64_t>(i * 5 + j));
        CHECK(got == test::Approx(sum).epsilon(1e-14));
      }
    }
  }
}

// v is the input, T its sum and 1: where that is near zero, a quotient has few right digits.
TEST_CASE("where errors grow larger than what they are part of, each element has a bound") {
  te::Program p;
  auto v = p.placeholder("V", {4096, 24}, DType::f32);
  auto r = p.reduce_axis("r", 24);
  auto t = p.compute("T", {4096}, [&](auto i) { return te::sum(v(i, r), {r}); });
  auto y = p.compute("Y", {4096, 24}, [&](auto i, auto j) { return v(i, j) / (t(i) + 1); });
  const auto dag = p.dag({v, y});
  MeasureTask task = make_measure_task(*dag, 1, 9);
  REQUIRE(add_reference(task, dag, {}));
  KernelArgument& result = task.arguments[1];
  CHECK(result.has_bounds);
  CHECK(check_task(task).empty());
  HostArray input(DType::f32, {4096, 24});
  fill_input(task, 0, input.data);
  const auto single = eval_dag(*dag, {input});
  REQUIRE(single);
  const double rms = rms_of(values_of(result, result.reference), DType::f64);
  std::vector<std::byte> got = (*single)[0].data;
  CHECK(verify_output(result, result.reference, rms, got).status == MeasureStatus::ok);
  KernelArgument without = result;
  without.has_bounds = false;
  without.reference.resize(static_cast<std::size_t>(result.value_bytes()));
  without.tolerance.of_rms = 0;
  CHECK(verify_output(without, without.reference, rms, got).status != MeasureStatus::ok);
  const float wrong = element<float>(got, 7) * 2 + 1;
  std::memcpy(got.data() + 7 * sizeof(wrong), &wrong, sizeof(wrong));
  CHECK(verify_output(result, result.reference, rms, got).status != MeasureStatus::ok);

  const auto product = matmul(6, 7, 8, DType::f32);
  MeasureTask plain = make_measure_task(*product, 1, 9);
  REQUIRE(add_reference(plain, product, {}));
  CHECK_FALSE(plain.arguments[2].has_bounds);
}

TEST_CASE("programs whose results rounding decides are judged with inputs that tell more") {
  // Rows and columns are divided by their sums, which signs make small, several times over; and
  // sums of products of products are the arguments of exp.
  const std::string once = "R[i:50] += X[i,j:60]; A[i,j]=X[i,j]/R[i]; C[j:60] += A[i:50,j]; "
                           "B[i:50,j:60]=A[i,j]/C[j]";
  const std::string twice = once + "; R2[i:50] += B[i,j:60]; A2[i,j]=B[i,j]/R2[i]; "
                                   "C2[j:60] += A2[i:50,j]; B2[i:50,j:60]=A2[i,j]/C2[j]";
  const std::string scores =
      "Q[i:16,d:32] += X[i,k:32]*V[k,d]; K[i:16,d:32] += X[i,k:32]*W[k,d]; "
      "S[i:16,j:16] += Q[i,d:32]*K[j,d]; T[i:16,j:16] += S[i,k:16]*S[k,j]; M[i:16] max= T[i,j:16]; "
      "E[i:16] += exp(T[i,j:16]-M[i]); P[i:16,j:16]=exp(T[i,j]-M[i])/E[i]; "
      "O[i:16,d:32] += P[i,j:16]*X[j,d]";
  // Of which each of three rounds makes errors larger: nothing is known with any inputs.
  std::string rounds, from = "X";
  for (const char* to : {"U", "V", "W", "Y"}) {
    const std::string a = from, b = to;
    rounds += "S" + b + "[i:16,j:16] += " + a + "[i,k:32]*" + a + "[j,k]; M" + b + "[i:16] max= S" +
              b + "[i,j:16]; E" + b + "[i:16] += exp(S" + b + "[i,j:16]-M" + b + "[i]); " + b +
              "[i:16,d:32] += exp(S" + b + "[i,j:16]-M" + b + "[i])/E" + b + "[i]*" + a +
              "[j,d]*8.0; ";
    from = to;
  }
  rounds.resize(rounds.size() - 2);
  struct Case {
    std::string text;
    bool is_calm;
  };
  for (const Case& c :
       {Case{once, false}, Case{twice, true}, Case{scores, true}, Case{rounds, false}}) {
    CAPTURE(c.text);
    const auto read = te::read_notation(c.text);
    REQUIRE(read);
    const Shared<const ComputeDag> dag = *read;
    MeasureTask task = make_measure_task(*dag, 1, 9);
    REQUIRE(add_reference(task, dag, {}));
    CHECK(check_task(task).empty());
    std::vector<HostArray> inputs;
    for (std::size_t i = 0; i < task.arguments.size(); ++i) {
      const KernelArgument& argument = task.arguments[i];
      if (!argument.is_output) {
        CHECK((argument.fill.low == -1) != c.is_calm);
        const auto& shape = dag->tensor(dag->arguments()[i]).shape;
        inputs.emplace_back(argument.dtype, std::vector<std::int64_t>(shape.begin(), shape.end()));
        fill_input(task, i, inputs.back().data);
      }
    }
    const auto single = eval_dag(*dag, inputs);
    REQUIRE(single);
    const KernelArgument& result = task.arguments.back();
    REQUIRE(result.has_bounds);
    const double rms = rms_of(values_of(result, result.reference), DType::f64);
    std::vector<std::byte> got = (*single)[0].data;
    CHECK(verify_output(result, result.reference, rms, got).status == MeasureStatus::ok);
    for (std::int64_t i = 0; i < result.num_elements; ++i) {
      const float wrong = element<float>(got, i) * 1.05F;
      std::memcpy(got.data() + i * static_cast<std::int64_t>(sizeof(wrong)), &wrong, sizeof(wrong));
    }
    CHECK(verify_output(result, result.reference, rms, got).status != MeasureStatus::ok);
  }
}

TEST_CASE("values that the caller names are not drawn anew") {
  const auto read = te::read_notation("R[i:50] += X[i,j:60]; A[i,j]=X[i,j]/R[i]; "
                                      "C[j:60] += A[i:50,j]; B[i:50,j:60]=A[i,j]/C[j]; "
                                      "S[i:50] += B[i,j:60]; D[i,j]=B[i,j]/S[i]; "
                                      "T[j:60] += D[i:50,j]; E[i:50,j:60]=D[i,j]/T[j]");
  REQUIRE(read);
  MeasureTask task = make_measure_task(**read, 1, 9);
  task.arguments[0].fill.low = -2;
  REQUIRE(add_reference(task, *read, {}));
  CHECK(task.arguments[0].fill.low == -2);
}

TEST_CASE("an integer reference is exact and of the output's type") {
  const auto dag = matmul(2, 2, 3, DType::i32);
  MeasureTask task = make_measure_task(*dag, 1, 1);
  REQUIRE(add_reference(task, dag, {}));
  CHECK(task.arguments[2].tolerance.kind == OutputTolerance::Kind::exact);
  CHECK(task.arguments[2].reference_dtype == DType::i32);
  CHECK(task.arguments[2].reference.size() == 16);
}

TEST_CASE("integers that are rounded from floats may be their neighbours") {
  te::Program p;
  auto a = p.placeholder("A", {64, 64}, DType::i8);
  auto scale = p.placeholder("S", {64}, DType::f32);
  auto r = p.reduce_axis("r", 64);
  auto sum =
      p.compute("C", {64}, [&](auto j) { return te::sum(te::cast(DType::i32, a(r, j)), {r}); });
  auto out = p.compute("D", {64}, [&](auto j) {
    return te::cast(DType::i32, te::round(te::cast(DType::f32, sum(j)) * scale(j)));
  });
  const auto dag = p.dag({a, scale, out});
  MeasureTask task = make_measure_task(*dag, 1, 1);
  CHECK(task.arguments[2].tolerance.kind == OutputTolerance::Kind::rounded);
  REQUIRE(add_reference(task, dag, {}));
  CHECK(task.arguments[2].reference_dtype == DType::i32);
  CHECK(check_task(task).empty());
  std::vector<std::byte> sums(64 * 64), scales(64 * sizeof(float));
  fill_input(task, 0, sums);
  fill_input(task, 1, scales);
  for (std::int64_t j = 0; j < 64; ++j) {
    double exact = 0;
    for (std::int64_t i = 0; i < 64; ++i) {
      exact += element<std::int8_t>(sums, i * 64 + j);
    }
    exact = std::nearbyint(exact * double(element<float>(scales, j)));
    CHECK(element<std::int32_t>(task.arguments[2].reference, j) == exact);
  }
}

TEST_CASE("large programs go to the plain runner, and its failure is passed on") {
  const auto dag = matmul(128, 128, 128, DType::f32);
  MeasureTask task = make_measure_task(*dag, 1, 1);
  const auto good = add_reference(task, dag, [](const auto& wide, ArgumentBuffers& buffers) {
    CHECK(wide->tensor(wide->arguments()[2]).dtype == DType::f64);
    const double value = 42;
    std::memcpy(buffers[2].data() + 5 * sizeof(value), &value, sizeof(value));
    return Result<Done, MeasureFault>(Done{});
  });
  REQUIRE(good);
  CHECK(element<double>(task.arguments[2].reference, 5) == 42);
  const auto bad = add_reference(task, dag, [](const auto&, ArgumentBuffers&) {
    return Result<Done, MeasureFault>(
        fail(MeasureFault{MeasureStatus::compile_error, "no compiler"}));
  });
  REQUIRE_FALSE(bad);
  CHECK(bad.error().message == "no compiler");
}

TEST_CASE("a task that no machine has the memory for is one sentence") {
  CHECK(bytes_to_measure(*matmul(2, 3, 4, DType::f32)) == 20 * (4 + 4) + 6 * (8 + 16 + 4));
  CHECK(memory_problem(*matmul(64, 64, 64, DType::f32)).empty());
  const std::string problem = memory_problem(*matmul(1 << 26, 1 << 26, 2, DType::f32));
  CHECK(problem.find("GiB of memory") != std::string::npos);
  CHECK(problem.find("choose smaller sizes") != std::string::npos);
}

TEST_CASE("a gather that leaves its table is told by tensor, dimension, index and extent") {
  te::Program p;
  const auto rows = p.placeholder("rows", {64}, DType::i32);
  const auto table = p.placeholder("table", {5, 3});
  const auto out = p.compute("out", {64, 3}, [&](auto i, auto j) {
    return table(rows(i) * rows(i) + 5, j);  // never inside
  });
  const Shared<const ComputeDag> dag = p.dag({rows, table, out});
  MeasureTask task = make_measure_task(*dag, 1, 9);
  const Result<double, MeasureFault> share = add_reference(task, dag, {});
  REQUIRE_FALSE(share);
  INFO(share.error().message);
  const std::string start = "the workload cannot be evaluated: out of bounds: index ";
  REQUIRE(share.error().message.find(start) == 0);
  CHECK(std::stoi(share.error().message.substr(start.size())) >= 5);
  CHECK(share.error().message.find(
            " of a read of tensor \"table\" in dimension 0, which has 5 elements") !=
        std::string::npos);
}
