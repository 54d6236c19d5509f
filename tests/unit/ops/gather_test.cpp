// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ops/gather.hpp"

#include "support/catch.hpp"
#include "tensorsmith/te/eval_dag.hpp"

using namespace tensorsmith;

TEST_CASE("gather equals naive loops, with numbers of both types", "[ops]") {
  for (DType indices : {DType::i32, DType::i64}) {
    for (DType dtype : {DType::f32, DType::i8}) {
      ops::GatherParams p;
      p.count = 9;
      p.rows = 5;
      p.columns = 3;
      p.dtype = dtype;
      p.indices = indices;
      const ops::Workload workload = ops::gather(p);
      INFO(workload.name);
      HostArray table(dtype, {5, 3}), numbers(indices, {9});
      for (std::int64_t i = 0; i < 15; ++i) {
        dtype == DType::i8 ? table.set_int(i, 7 * i - 50)
                           : table.set_real(i, 0.5 * static_cast<double>(i));
      }
      for (std::int64_t n = 0; n < 9; ++n) {
        numbers.set_int(n, n * n % 5);
      }
      const auto output = eval_dag(*workload.dag, {table, numbers});
      REQUIRE(output.has_value());
      CHECK(output->front().shape == std::vector<std::int64_t>{9, 3});
      for (std::int64_t n = 0; n < 9; ++n) {
        for (std::int64_t c = 0; c < 3; ++c) {
          CHECK(output->front().get_real(n * 3 + c) == table.get_real(n * n % 5 * 3 + c));
        }
      }
    }
  }
}

TEST_CASE("gather refuses what it cannot be", "[ops]") {
  ops::GatherParams p;
  p.indices = DType::i8;
  CHECK_THROWS_WITH(ops::gather(p), "ops::gather: expected indices of i32 or i64, got i8");
  p.indices = DType::i32;
  p.rows = 0;
  CHECK_THROWS_WITH(ops::gather(p), "ops::gather: expected a positive number of rows, got 0");
}
