// SPDX-License-Identifier: Apache-2.0
// Laws of the interpreter: its flat code computes what the expression says, in scalar loops and in
// lanes alike.
#include "tensorsmith/ir/eval.hpp"

#include "support/catch.hpp"
#include "support/random_expr.hpp"

#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/ir/rewrite.hpp"

using namespace tensorsmith;

TEST_CASE("stored values are those of the expression, serially and in lanes") {
  std::size_t compared = 0, failed = 0;
  for (std::uint32_t n = 0; n < 4000; ++n) {
    CounterRng rng(test::seed(), 31, n);
    LoopProgram p;
    test::RandomExprs random(p.pool, rng);
    const ExprId value = random.any(1 + static_cast<int>(rng.next_below(5)));
    const DType type = p.pool.dtype(value);
    // The two buffers that RandomExprs loads from have one element per point of n, of any type.
    bool has_load = false;
    visit_expr(p.pool, value,
               [&](ExprId id) { has_load = has_load || p.pool.as<Load>(id) != nullptr; });
    if (has_load) {
      continue;
    }
    const std::int64_t lanes = 1 + rng.next_below(8);
    const VarId lane = random.vars()[1];  // 0 .. 7
    const auto point = random.point();
    Substitution fixed;
    for (VarId var : random.vars()) {
      if (var != lane) {
        fixed.set(var, p.pool.int_imm(point[var.value].integer));
      }
    }
    const ExprId at_point = fixed(p.pool, value);
    Buffer out{"out", type, {lanes}, {}};
    out.argument = 0;
    p.arguments.push_back(p.add(out));
    const StmtId store = p.add(Store{BufferId{0}, {p.pool.var(lane)}, at_point});
    INFO("seed " << test::seed() << " case " << n << ": " << debug_string(at_point, p.pool));
    for (ForKind kind : {ForKind::serial, ForKind::vectorized}) {
      p.body = p.add(For{lane, p.pool.int_imm(lanes), kind, store});
      std::vector<HostArray> arguments = {HostArray(type, {lanes})};
      const auto result = eval(p, arguments, {LoopOrder::forward, 1, {true}});
      bool should_fail = false;
      for (std::int64_t l = 0; l < lanes; ++l) {
        test::ExprValue at{p.pool, point};
        at.vars[lane.value] = scalar_of(l);
        const auto expected = at(at_point);
        should_fail = should_fail || !expected;
        if (!expected || !result) {
          continue;
        }
        HostArray one(type, {1});
        one.set(0, *expected);
        HostArray found(type, {1});
        found.set(0, arguments[0].get(l));
        const double is = one.get_real(0);
        const bool is_nan = is_float(type) && is != is;
        if (!is_nan) {
          CHECK(found == one);
        }
        ++compared;
      }
      CHECK(result.has_value() == !should_fail);
      failed += should_fail ? 1 : 0;
    }
  }
  CHECK(compared > 5000);
  CHECK(failed > 10);
}
