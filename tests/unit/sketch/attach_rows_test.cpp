// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/attach_rows.hpp"

#include "support/catch.hpp"
#include "tensorsmith/ops/conv.hpp"
#include "tensorsmith/ops/pool.hpp"
#include "tensorsmith/ops/row.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith {
namespace {

/// The sketches in which some stage that is no cache is computed inside of another.
std::vector<State> row_sketches(const Shared<const ComputeDag>& dag) {
  std::vector<State> found;
  const RuleSet<AlwaysInline, AttachRows> rules;
  SketchOptions options;
  options.hardware.num_cores = 4;
  for (const State& sketch : generate_sketches(dag, rules.preceded_by(SkipStage{}), options)) {
    if (!sketch.attach_map().stage_to_iterator.empty()) {
      found.push_back(sketch);
    }
  }
  return found;
}

ops::RowParams rows_of(ops::RowKind kind) {
  ops::RowParams p;
  p.kind = kind;
  p.rows = 64;
  p.columns = 100;
  return p;
}

}  // namespace

TEST_CASE("all stages of a softmax are computed in blocks of rows of its last one") {
  const std::vector<State> sketches = row_sketches(ops::row_op(rows_of(ops::RowKind::softmax)).dag);
  REQUIRE_FALSE(sketches.empty());
  const State& sketch = sketches.front();
  const auto last = static_cast<std::int32_t>(sketch.num_stages()) - 1;
  for (std::int32_t stage = 1; stage < last; ++stage) {
    const auto& at = sketch.attach_map().stage_to_iterator;
    REQUIRE(at.contains(stage));
    CHECK(at.at(stage) == IteratorKey{last, 0});
  }
  std::vector<std::string> names;
  for (const auto& iterator : sketch.stage(static_cast<std::size_t>(last)).iterators) {
    names.push_back(iterator.name);
  }
  CHECK(names == std::vector<std::string>{"i.0", "i.1", "j"});
}

TEST_CASE("the maximum and the sum of a block of columns are computed where they are joined") {
  for (const std::int64_t rows : {64, 1}) {
    ops::RowParams p = rows_of(ops::RowKind::log_softmax);
    p.rows = rows;
    p.online = 10;
    CAPTURE(rows);
    std::size_t num_joined = 0;
    for (const State& sketch : row_sketches(ops::row_op(p).dag)) {
      std::int32_t joined = -1;
      for (std::size_t s = 0; s < sketch.num_stages(); ++s) {
        joined = sketch.operation(s).name == "T_part" ? static_cast<std::int32_t>(s) : joined;
      }
      const auto& at = sketch.attach_map().stage_to_iterator;
      std::size_t num_parts = 0;
      for (std::size_t s = 0; s < sketch.num_stages(); ++s) {
        const std::string& name = sketch.operation(s).name;
        const auto found = at.find(static_cast<std::int32_t>(s));
        num_parts += (name == "T_max" || name == "T_sum") && found != at.end() &&
                             found->second == IteratorKey{joined, rows == 1 ? 0 : 1}
                         ? 1
                         : 0;
      }
      num_joined += num_parts == 2 ? 1 : 0;
    }
    CHECK(num_joined > 0);
  }
}

TEST_CASE("cheap stages between the rows of a layernorm are inlined") {
  const std::vector<State> sketches =
      row_sketches(ops::row_op(rows_of(ops::RowKind::layernorm)).dag);
  REQUIRE_FALSE(sketches.empty());
  std::size_t num_attached = 0, num_inlined = 0;
  for (std::size_t s = 0; s < sketches.front().num_stages(); ++s) {
    const ComputeAt place = sketches.front().stage(s).compute_at;
    num_attached += place == ComputeAt::iterator ? 1 : 0;
    num_inlined += place == ComputeAt::inlined ? 1 : 0;
  }
  CHECK(num_attached == 2);
  CHECK(num_inlined == 2);
}

TEST_CASE("all axes of a mean over planes are in common") {
  ops::PoolParams p;
  p.is_global = true;
  p.kind = ops::PoolKind::average;
  p.n = 2;
  p.c = 32;
  p.spatial = {7, 7};
  const std::vector<State> sketches = row_sketches(ops::pool(p).dag);
  REQUIRE_FALSE(sketches.empty());
  CHECK(sketches.front().stage(sketches.front().num_stages() - 1).iterators.size() == 4);
}

TEST_CASE("products and single reductions are left alone") {
  CHECK(row_sketches(test::matmul_dag(16, 16, 16, true)).empty());
  CHECK(row_sketches(ops::row_op(rows_of(ops::RowKind::sum)).dag).empty());
}

}  // namespace tensorsmith
