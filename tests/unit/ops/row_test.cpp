// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ops/row.hpp"

#include <algorithm>

#include "unit/ops/naive.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

ops::RowParams params(ops::RowKind kind, std::int64_t rows, std::int64_t columns) {
  ops::RowParams p;
  p.kind = kind;
  p.rows = rows;
  p.columns = columns;
  return p;
}

/// Of a row of 17, by naive loops.
double sum_of_exponentials(const Run& result, std::size_t row) {
  double sum = 0;
  for (std::size_t c = 0; c < 17; ++c) {
    sum += std::exp(result.inputs[0][row * 17 + c]);
  }
  return sum;
}

}  // namespace

TEST_CASE("softmax equals naive loops", "[ops]") {
  const Run result = run(ops::row_op(params(ops::RowKind::softmax, 3, 17)));
  Values expected;
  for (std::size_t r = 0; r < 3; ++r) {
    const double sum = sum_of_exponentials(result, r);
    for (std::size_t c = 0; c < 17; ++c) {
      expected.push_back(std::exp(result.inputs[0][r * 17 + c]) / sum);
    }
  }
  check_equal(result.output, expected, 1e-5);
}

TEST_CASE("log-softmax equals naive loops", "[ops]") {
  const Run result = run(ops::row_op(params(ops::RowKind::log_softmax, 3, 17)));
  REQUIRE(result.inputs.size() == 1);
  Values expected;
  for (std::size_t r = 0; r < 3; ++r) {
    const double sum = sum_of_exponentials(result, r);
    for (std::size_t c = 0; c < 17; ++c) {
      expected.push_back(result.inputs[0][r * 17 + c] - std::log(sum));
    }
  }
  check_equal(result.output, expected, 1e-5);
}

TEST_CASE("online softmax and its logarithm equal naive loops, whatever the blocks", "[ops]") {
  for (const ops::RowKind kind : {ops::RowKind::softmax, ops::RowKind::log_softmax}) {
    for (const std::int64_t block : {1, 4, 16, 17}) {  // 17 = 4 x 4 + 1 = 16 + 1
      ops::RowParams p = params(kind, 3, 17);
      p.online = block;
      const ops::Workload workload = ops::row_op(p);
      INFO(workload.name);
      const Run result = run(workload);
      Values expected;
      for (std::size_t r = 0; r < 3; ++r) {
        const double norm = std::log(sum_of_exponentials(result, r));
        for (std::size_t c = 0; c < 17; ++c) {
          const double value = result.inputs[0][r * 17 + c] - norm;
          expected.push_back(kind == ops::RowKind::softmax ? std::exp(value) : value);
        }
      }
      check_equal(result.output, expected, 1e-5);
    }
  }
}

TEST_CASE("online softmax of numbers far from zero, of infinities and of a hidden block", "[ops]") {
  ops::RowParams p = params(ops::RowKind::softmax, 2, 6);
  p.online = 2;
  HostArray input(DType::f32, {2, 6});
  const double values[] = {1e6,       1e6 - 1,   1e6 - 2, -1e6, 5,         1e6,  // far apart
                           -INFINITY, -INFINITY, 1,       2,    -INFINITY, 3};
  for (std::int64_t i = 0; i < 12; ++i) {
    input.set_real(i, values[i]);
  }
  const auto output = eval_dag(*ops::row_op(p).dag, {input});
  REQUIRE(output.has_value());
  for (std::int64_t r = 0; r < 2; ++r) {
    double sum = 0;
    for (std::int64_t c = 0; c < 6; ++c) {
      sum += std::exp(values[r * 6 + c] - values[r * 6 + 5]);
    }
    for (std::int64_t c = 0; c < 6; ++c) {
      INFO(r << ", " << c);
      CHECK(output->front().get_real(r * 6 + c) ==
            Approx(std::exp(values[r * 6 + c] - values[r * 6 + 5]) / sum).margin(1e-30));
    }
  }
}

TEST_CASE("equal numbers have equal shares, however large they are", "[ops]") {
  for (const std::int64_t online : {0, 1, 7, 50, 200}) {
    ops::RowParams p = params(ops::RowKind::softmax, 4, 200);
    p.online = online;
    HostArray input(DType::f32, {4, 200});
    const double tied[] = {1e15, -1e30, 3e38, -40000};
    for (std::int64_t i = 0; i < 800; ++i) {
      input.set_real(i, tied[i / 200]);
    }
    const auto shares = eval_dag(*ops::row_op(p).dag, {input});
    p.kind = ops::RowKind::log_softmax;
    const auto logarithms = eval_dag(*ops::row_op(p).dag, {input});
    REQUIRE(shares.has_value());
    REQUIRE(logarithms.has_value());
    INFO("blocks of " << online);
    for (std::int64_t i = 0; i < 800; i += 13) {
      CHECK(shares->front().get_real(i) == Approx(1.0 / 200));
      CHECK(logarithms->front().get_real(i) == Approx(-std::log(200.0)));
    }
  }
}

TEST_CASE("16-bit rows are computed in f32 and rounded once", "[ops]") {
  for (const DType type : {DType::f16, DType::bf16}) {
    for (const std::int64_t online : {0, 96}) {
      ops::RowParams p = params(ops::RowKind::softmax, 2, 300);
      p.dtype = type;
      p.online = online;
      const ops::Workload workload = ops::row_op(p);
      INFO(workload.name);
      const Run result = run(workload);
      double sum = 0;
      for (std::size_t c = 0; c < 300; ++c) {
        sum += std::exp(result.inputs[0][c]);
      }
      for (std::size_t c = 0; c < 300; ++c) {
        HostArray nearest(type, {1});
        nearest.set_real(0, std::exp(result.inputs[0][c]) / sum);
        CHECK(result.output[c] ==
              Approx(nearest.get_real(0)).epsilon(type == DType::f16 ? 1e-3 : 8e-3));
      }
    }
  }
}

TEST_CASE("RMSnorm equals naive loops", "[ops]") {
  const Run result = run(ops::row_op(params(ops::RowKind::rmsnorm, 4, 13)));
  REQUIRE(result.inputs.size() == 2);
  Values expected;
  for (std::size_t r = 0; r < 4; ++r) {
    double squares = 0;
    for (std::size_t c = 0; c < 13; ++c) {
      squares += std::pow(result.inputs[0][r * 13 + c], 2);
    }
    for (std::size_t c = 0; c < 13; ++c) {
      expected.push_back(result.inputs[0][r * 13 + c] / std::sqrt(squares / 13 + 1e-5) *
                         result.inputs[1][c]);
    }
  }
  check_equal(result.output, expected, 1e-5);
}

TEST_CASE("argmax is the first place of the largest, of every type", "[ops]") {
  for (DType type : {DType::f32, DType::f16, DType::f64, DType::i32, DType::i8, DType::u8}) {
    for (const std::int64_t columns : {1, 7, 33}) {  // nine values: the largest comes again
      ops::RowParams p = params(ops::RowKind::argmax, 5, columns);
      p.dtype = type;
      const ops::Workload workload = ops::row_op(p);
      INFO(workload.name);
      CHECK(workload.dag->tensor(workload.dag->arguments().back()).dtype == DType::i32);
      const Run result = run(workload);
      Values expected;
      for (auto row = result.inputs[0].begin(); row != result.inputs[0].end(); row += columns) {
        expected.push_back(static_cast<double>(std::max_element(row, row + columns) - row));
      }
      check_equal(result.output, expected);
    }
  }
}

TEST_CASE("argmax and argmin take the first of equals or the last", "[ops]") {
  for (ops::RowKind kind : {ops::RowKind::argmax, ops::RowKind::argmin}) {
    for (bool is_last : {false, true}) {
      for (const std::int64_t columns : {1, 7, 33}) {
        ops::RowParams p = params(kind, 5, columns);
        p.is_last = is_last;
        const ops::Workload workload = ops::row_op(p);
        INFO(workload.name);
        const Run result = run(workload);
        Values expected;
        for (std::size_t r = 0; r < 5; ++r) {
          std::size_t best = 0;
          const double* row = &result.inputs[0][r * static_cast<std::size_t>(columns)];
          for (std::size_t c = 1; c < static_cast<std::size_t>(columns); ++c) {
            const bool is_better =
                kind == ops::RowKind::argmax ? row[c] > row[best] : row[c] < row[best];
            best = is_better || (is_last && row[c] == row[best]) ? c : best;
          }
          expected.push_back(static_cast<double>(best));
        }
        check_equal(result.output, expected);
      }
    }
  }
  ops::RowParams p = params(ops::RowKind::max, 2, 2);
  p.is_last = true;
  CHECK_THROWS_WITH(ops::row_op(p), "ops::row_op: expected argmax or argmin with the last of "
                                    "equals, got reduce_max");
}

TEST_CASE("argmax of infinities and of no numbers is a column", "[ops]") {
  const ops::Workload workload = ops::row_op(params(ops::RowKind::argmax, 4, 3));
  HostArray input(DType::f32, {4, 3});
  const double values[] = {-INFINITY, 2,         -INFINITY, 1,   INFINITY, INFINITY,
                           -INFINITY, -INFINITY, -INFINITY, NAN, NAN,      NAN};
  for (std::int64_t i = 0; i < 12; ++i) {
    input.set_real(i, values[i]);
  }
  const auto output = eval_dag(*workload.dag, {input});
  REQUIRE(output.has_value());
  CHECK(output->front().get_int(0) == 1);
  CHECK(output->front().get_int(1) == 1);
  CHECK(output->front().get_int(2) == 0);
  CHECK(output->front().get_int(3) == 2);  // NaN is passed over
}

TEST_CASE("layernorm equals naive loops", "[ops]") {
  const Run result = run(ops::row_op(params(ops::RowKind::layernorm, 4, 13)));
  REQUIRE(result.inputs.size() == 3);
  check_equal(result.output, naive_layernorm(result.inputs[0], result.inputs[1], result.inputs[2]),
              1e-4);
}

TEST_CASE("layernorm of rows with a large mean", "[ops]") {
  const std::int64_t columns = 512;
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    ops::RowParams p = params(ops::RowKind::layernorm, 4, columns);
    p.dtype = type;
    const double means[] = {5000, 40000, -40000, 7};
    Values x, gamma, beta;
    std::vector<HostArray> inputs;
    inputs.emplace_back(type, std::vector<std::int64_t>{4, columns});
    for (std::int64_t i = 0; i < 4 * columns; ++i) {
      const std::int64_t row = i / columns;
      const double step = row == 0 ? static_cast<double>(i % 2) : row == 3 ? 0.0 : (i * 7 / 3) % 4;
      // Steps that the type has at that mean.
      const double unit = type == DType::f32 ? 1 : type == DType::f16 ? 32 : 256;
      inputs[0].set_real(i, means[row] + step * unit);
      x.push_back(inputs[0].get_real(i));
    }
    for (const std::size_t which : {1u, 2u}) {
      inputs.emplace_back(type, std::vector<std::int64_t>{columns});
      for (std::int64_t c = 0; c < columns; ++c) {
        inputs[which].set_real(c, static_cast<double>((c * 5) % 7) - 3);
        (which == 1 ? gamma : beta).push_back(inputs[which].get_real(c));
      }
    }
    const auto output = eval_dag(*ops::row_op(p).dag, inputs);
    REQUIRE(output.has_value());
    Values got;
    for (std::int64_t i = 0; i < 4 * columns; ++i) {
      got.push_back(output->front().get_real(i));
    }
    INFO(name_of(type));
    check_equal(got, naive_layernorm(x, gamma, beta),
                type == DType::f32   ? 1e-5
                : type == DType::f16 ? 1e-3
                                     : 8e-3);
  }
}

TEST_CASE("row reductions equal naive loops", "[ops]") {
  for (ops::RowKind kind :
       {ops::RowKind::sum, ops::RowKind::prod, ops::RowKind::min, ops::RowKind::max}) {
    for (DType type : {DType::f32, DType::i32, DType::f64}) {
      ops::RowParams p = params(kind, 5, 7);
      p.dtype = type;
      const ops::Workload workload = ops::row_op(p);
      INFO(workload.name);
      const Run result = run(workload);
      Values expected;
      for (std::size_t r = 0; r < 5; ++r) {
        double value = result.inputs[0][r * 7];
        for (std::size_t c = 1; c < 7; ++c) {
          const double next = result.inputs[0][r * 7 + c];
          value = kind == ops::RowKind::sum    ? value + next
                  : kind == ops::RowKind::prod ? value * next
                  : kind == ops::RowKind::min  ? std::min(value, next)
                                               : std::max(value, next);
        }
        expected.push_back(value);
      }
      check_equal(result.output, expected);
    }
  }
}

TEST_CASE("row operations refuse what they cannot be", "[ops]") {
  CHECK_THROWS_WITH(ops::row_op(params(ops::RowKind::sum, 0, 1)),
                    "ops::row_op: expected a positive number of rows, got 0");
  ops::RowParams p = params(ops::RowKind::softmax, 2, 2);
  p.dtype = DType::i32;
  CHECK_THROWS_AS(ops::row_op(p), Error);
  for (ops::RowKind kind : {ops::RowKind::log_softmax, ops::RowKind::rmsnorm}) {
    p.kind = kind;
    CHECK_THROWS_WITH(ops::row_op(p), "ops::row_op: expected a float type, got i32");
  }
  p.dtype = DType::f32;
  p.online = 2;
  CHECK_THROWS_WITH(ops::row_op(p),
                    "ops::row_op: expected softmax or log_softmax with online, got rmsnorm");
  p.kind = ops::RowKind::softmax;
  for (const std::int64_t online : {-1, 3}) {
    p.online = online;
    CHECK_THROWS_WITH(ops::row_op(p), "ops::row_op: expected blocks of 1 to 2 columns, got " +
                                          std::to_string(online));
  }
  p.online = 0;
  p.kind = ops::RowKind::argmax;
  p.dtype = DType::boolean;
  CHECK_THROWS_WITH(ops::row_op(p), "ops::row_op: expected a number type, got bool");
}
