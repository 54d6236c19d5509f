#include "tensorsmith/feature/read_region.hpp"

#include "support/catch.hpp"
#include "tensorsmith/feature/build_store_program.hpp"
#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/feature/loop_extents.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/replay.hpp"

using namespace tensorsmith;

namespace {

/// (w + r) div 2 for w in 0..1 that runs and r in 0..3 that stands still.
struct HalfSums {
  IndexAtoms atoms;
  std::int32_t w = atoms.loop(0), r = atoms.loop(1);
  std::vector<std::int32_t> fixed{1};
  static IndexRange full(std::int32_t loop) { return {0, loop == 0 ? 1 : 3}; }

  std::int32_t quotient(std::int64_t divisor) {
    IndexForm sum;
    sum.add_term(1, w);
    sum.add_term(1, r);
    return atoms.divide(sum, divisor, true, full).terms[0].atom;
  }
};

}  // namespace

TEST_CASE("half of a sum of a fixed loop and a running one reads one element or two", "[feature]") {
  HalfSums half;
  const auto region = detail::running_quotient(half.atoms, half.quotient(2), half.fixed, half.full);
  REQUIRE(region.has_value());
  IndexForm fixed;
  fixed.add_term(1, half.r);
  CHECK(region->low == half.atoms.divide(fixed, 2, true, half.full));
  CHECK(region->more == half.atoms.divide(fixed, 2, false, half.full));
  CHECK(!detail::running_quotient(half.atoms, half.quotient(2), {}, half.full).has_value());
}

TEST_CASE("a third of such a sum as well, with a quotient of its own", "[feature]") {
  HalfSums half;
  const auto region = detail::running_quotient(half.atoms, half.quotient(3), half.fixed, half.full);
  REQUIRE(region.has_value());
  const IndexRange more = half.atoms.range(region->more, half.full);
  CHECK(more.min == 0);
  CHECK(more.max == 1);
}

TEST_CASE("the padding of a transposed convolution is as wide as its place needs", "[feature]") {
  const auto workload = ops::parse_workload("conv2d_transpose:n=1,h=4,w=4,ci=8,co=4,k=4,s=2,p=1");
  REQUIRE(workload.has_value());
  const State initial = State::initial(workload->dag);
  const auto axes = initial.stage(3).iterators.size();
  REQUIRE(axes == 7);  // n h w co rh rw rc
  // rh and rw outermost, w split: the padding is computed for each pair of rh and rw.
  const auto state =
      replay(initial, {SplitStep{3, 2, 8, {2}, true}, ReorderStep{3, {0, 1, 2, 5, 6, 3, 4, 7}},
                       ComputeAtStep{1, 3, 4}});
  REQUIRE(state.has_value());
  const auto program = build_store_program(*state);
  REQUIRE(program.has_value());
  REQUIRE(program->varying_extents.size() == 1);
  std::size_t num_varying = 0;
  for (const FeatureLoop& loop : program->loops) {
    num_varying += loop.varying >= 0 ? 1 : 0;
    CHECK((loop.varying < 0 || loop.extent == 2));
  }
  CHECK(num_varying == 1);
  CHECK(extract_features(*state).is_well_formed());
}
