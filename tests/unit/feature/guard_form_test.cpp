#include "tensorsmith/feature/guard_form.hpp"

#include "support/catch.hpp"

namespace tensorsmith::detail {
namespace {

/// Loops with the given extents, and forms over them.
struct Loops {
  explicit Loops(std::initializer_list<std::int64_t> extents) {
    for (std::int64_t extent : extents) {
      loops.push_back({extent});
    }
  }
  IndexForm term(std::int64_t coefficient, std::int32_t loop) {
    IndexForm form;
    form.add_term(coefficient, atoms.loop(loop));
    return form;
  }
  static IndexForm constant(std::int64_t value) {
    IndexForm form;
    form.constant = value;
    return form;
  }
  static IndexForm sum(IndexForm a, const IndexForm& b) {
    a.add(b);
    return a;
  }
  GuardBound guard(const IndexForm& index, const IndexForm& end) {
    return guard_form(atoms, index, end, LoopValues(loops));
  }

  IndexAtoms atoms;
  std::vector<FeatureLoop> loops;
};

}  // namespace

TEST_CASE("a guard loses the rest that lies below the common divisor", "[feature]") {
  // ax * 672 + tx * 6 + v < 768 --> ax * 112 + tx < 128
  Loops l{2, 112, 6};
  const IndexForm index = Loops::sum(Loops::sum(l.term(672, 0), l.term(6, 1)), l.term(1, 2));
  const GuardBound bound = l.guard(index, Loops::constant(768));
  CHECK(bound.form == Loops::sum(l.term(112, 0), l.term(1, 1)));
  CHECK(bound.max == 127);
}

TEST_CASE("a guard says too much where the rest can be negative", "[feature]") {
  Loops l{2, 64, 4};  // ax, tx, rh
  IndexForm end = l.atoms.divide(l.term(1, 2), 2, false, LoopValues(l.loops));
  end.constant = 4;
  SECTION("ax * 4 + tx div 16 < rh mod 2 + 4 --> ax < 1") {
    IndexForm index = l.term(4, 0);
    index.add(l.atoms.divide(l.term(1, 1), 16, true, LoopValues(l.loops)));
    const GuardBound bound = l.guard(index, end);
    CHECK(bound.form == l.term(1, 0));
    CHECK(bound.max == 0);
  }
  SECTION("ax * 128 + tx < (rh mod 2 + 4) * rw --> ax < 0, never") {
    IndexForm rw = l.term(1, 2);
    rw.constant = 4;
    const IndexForm index = Loops::sum(l.term(128, 0), l.term(1, 1));
    const GuardBound bound = l.guard(index, l.atoms.product(end, rw));
    CHECK(bound.form == l.term(1, 0));
    CHECK(bound.max == -1);
  }
}

TEST_CASE("a guard divides the rest where its modulus allows", "[feature]") {
  Loops l{21, 224};
  const LoopValues values(l.loops);
  const IndexForm index = Loops::sum(l.term(224, 0), l.term(1, 1));
  SECTION("7 divides 2^63 - 1") {  // ax * 224 + tx < 4683 --> ax * 32 + tx div 7 < 669
    const GuardBound bound = l.guard(index, Loops::constant(4683));
    IndexForm expected = l.term(32, 0);
    expected.add(l.atoms.divide(l.term(1, 1), 7, true, values));
    CHECK(bound.form == expected);
    CHECK(bound.max == 668);
  }
  SECTION("16 does not") {
    const GuardBound bound = l.guard(index, Loops::constant(4688));
    CHECK(bound.form == index);
    CHECK(bound.max == 4687);
  }
  SECTION("a modulus of its own") {  // ax * 64 + tx mod 64 < 120 --> ax * 8 + tx mod 64 div 8 < 15
    const IndexForm rest = l.atoms.divide(l.term(1, 1), 64, false, values);
    const GuardBound bound = l.guard(Loops::sum(l.term(64, 0), rest), Loops::constant(120));
    CHECK(bound.form == Loops::sum(l.term(8, 0), l.atoms.divide(rest, 8, true, values)));
    CHECK(bound.max == 14);
  }
  SECTION("no coefficient beyond 1") {
    const IndexForm plain = Loops::sum(l.term(1, 0), l.term(1, 1));
    const GuardBound bound = l.guard(plain, Loops::constant(20));
    CHECK(bound.form == plain);
    CHECK(bound.max == 19);
  }
}

TEST_CASE("a guard bounds its own sum and no other", "[feature]") {
  Loops l{21, 224};
  const IndexForm index = Loops::sum(l.term(224, 0), l.term(1, 1));
  const std::vector<GuardBound> bounds{{index, 4682}, {l.term(1, 0), 9}};
  const LoopValues values(l.loops, bounds);
  IndexForm shifted = index;
  shifted.constant = 5;
  CHECK(l.atoms.range(shifted, LoopValues(l.loops)).max == 20 * 224 + 223 + 5);
  // The loop is bounded by itself, which is less than what the sum says.
  CHECK(l.atoms.range(shifted, values).max == 9 * 224 + 223 + 5);
  const std::vector<GuardBound> sum_only{{index, 4682}};
  const LoopValues of_sum(l.loops, sum_only);
  CHECK(l.atoms.range(shifted, of_sum).max == 4687);
  IndexForm twice;
  twice.add(index, 2);
  CHECK(l.atoms.range(twice, of_sum).max == 2 * (20 * 224 + 223));
  CHECK(l.atoms.divide(index, 4683, true, of_sum) == IndexForm{});
  CHECK_FALSE(l.atoms.divide(index, 4683, true, LoopValues(l.loops)) == IndexForm{});
}

}  // namespace tensorsmith::detail
