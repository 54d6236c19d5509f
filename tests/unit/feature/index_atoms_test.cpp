#include "tensorsmith/feature/index_atoms.hpp"

#include "support/catch.hpp"
#include "tensorsmith/feature/arith.hpp"

using namespace tensorsmith;

namespace {

/// Loops 0, 1, 2 of the given extents.
struct Loops {
  IndexAtoms atoms;
  std::vector<std::int64_t> extents;

  auto full() const {
    return [this](std::int32_t loop) {
      return IndexRange{0, extents[static_cast<std::size_t>(loop)] - 1};
    };
  }
  IndexForm loop(std::int32_t id, std::int64_t coefficient = 1) {
    IndexForm form;
    form.add_term(coefficient, atoms.loop(id));
    return form;
  }
  IndexForm sum(std::int64_t a, std::int32_t x, std::int64_t b, std::int32_t y) {
    IndexForm form = loop(x, a);
    form.add(loop(y, b));
    return form;
  }
  /// Value at a point.
  std::int64_t at(const IndexForm& form, const std::vector<std::int64_t>& point) const {
    std::int64_t value = form.constant;
    for (const IndexTerm& term : form.terms) {
      const IndexAtom& atom = atoms[term.atom];
      if (atom.kind == AtomKind::loop) {
        value += term.coefficient * point[static_cast<std::size_t>(atom.loop)];
        continue;
      }
      const std::int64_t a = at(atom.a, point);
      const std::int64_t q = IndexAtoms::floor_quotient(a, atom.divisor);
      value += term.coefficient * (atom.kind == AtomKind::floordiv ? q : a - q * atom.divisor);
    }
    return value;
  }
};

}  // namespace

TEST_CASE("terms add up and vanish", "[feature]") {
  Loops l{{}, {4, 8, 2}};
  IndexForm form = l.sum(8, 0, 1, 1);
  form.constant = 3;
  form.add(l.loop(1), -1);
  CHECK(form.terms.size() == 1);
  form.add(l.loop(0, 8), -1);
  CHECK(form.is_constant());
  CHECK(form.constant == 3);
}

TEST_CASE("the range of a form is that of its loops", "[feature]") {
  Loops l{{}, {4, 8, 2}};
  IndexForm form = l.sum(8, 0, -1, 1);
  form.constant = 5;
  const IndexRange r = l.atoms.range(form, l.full());
  CHECK(r.min == -2);
  CHECK(r.max == 29);
}

TEST_CASE("division takes a split apart: (8 i + j) div 8 --> i, mod 8 --> j", "[feature]") {
  Loops l{{}, {4, 8, 2}};
  const IndexForm form = l.sum(8, 0, 1, 1);
  CHECK(l.atoms.divide(form, 8, true, l.full()) == l.loop(0));
  CHECK(l.atoms.divide(form, 8, false, l.full()) == l.loop(1));
}

TEST_CASE("recombine puts a fused loop together again", "[feature]") {
  Loops l{{}, {24, 8, 2}};
  const IndexForm f = l.loop(0);
  IndexForm all = l.atoms.divide(f, 4, false, l.full());
  all.add(l.atoms.divide(f, 4, true, l.full()), 4);
  l.atoms.recombine(all, l.full());
  CHECK(all == f);  // 4 (f div 4) + f mod 4 --> f

  IndexForm inner = l.atoms.divide(f, 2, false, l.full());
  inner.add(l.atoms.divide(l.atoms.divide(f, 2, true, l.full()), 3, false, l.full()), 2);
  l.atoms.recombine(inner, l.full());  // 2 ((f div 2) mod 3) + f mod 2 --> f mod 6
  REQUIRE(inner.terms.size() == 1);
  CHECK(l.atoms[inner.terms[0].atom].divisor == 6);
}

TEST_CASE("a part of a fused loop is the loop mod a length, divided", "[feature]") {
  Loops l{{}, {48, 8, 2}};
  const IndexForm f = l.loop(0);
  // f div 4 mod 3 --> (f mod 12) div 4, in one step or in two
  const IndexForm part = l.atoms.part(f, 4, 3, l.full());
  REQUIRE(part.terms.size() == 1);
  CHECK(l.atoms[part.terms[0].atom].kind == AtomKind::floordiv);
  CHECK(l.atoms[part.terms[0].atom].divisor == 4);
  CHECK(l.atoms.divide(l.atoms.divide(f, 4, true, l.full()), 3, false, l.full()) == part);
  CHECK(l.atoms.part(f, 4, 12, l.full()) == l.atoms.divide(f, 4, true, l.full()));
  // (6 i + j) div 4 div 6 --> i div 4 if j < 6
  l.extents[1] = 6;
  const IndexForm block = l.sum(6, 0, 1, 1);
  CHECK(l.atoms.divide(l.atoms.divide(block, 4, true, l.full()), 6, true, l.full()) ==
        l.atoms.divide(f, 4, true, l.full()));
}

TEST_CASE("every rewrite of a division keeps the value", "[feature]") {
  Loops l{{}, {6, 5, 4}};
  for (std::int64_t c : {1, 2, 4, 6, 12}) {
    for (std::int64_t constant : {-7, 0, 3}) {
      for (std::int64_t divisor : {2, 3, 4, 8, 12}) {
        IndexForm form = l.sum(c, 0, 1, 2);
        form.add(l.loop(1, 2 * c));
        form.constant = constant;
        const IndexForm div = l.atoms.divide(form, divisor, true, l.full());
        const IndexForm mod = l.atoms.divide(form, divisor, false, l.full());
        const IndexForm again = l.atoms.divide(div, 3, true, l.full());
        const IndexForm slice = l.atoms.part(form, 3, divisor, l.full());
        for (std::int64_t i = 0; i < 6; ++i) {
          for (std::int64_t j = 0; j < 5; ++j) {
            for (std::int64_t k = 0; k < 4; ++k) {
              const std::int64_t x = c * i + 2 * c * j + k + constant;
              const std::int64_t q = IndexAtoms::floor_quotient(x, divisor);
              if (l.at(div, {i, j, k}) != q ||
                  l.at(again, {i, j, k}) != IndexAtoms::floor_quotient(q, 3)) {
                FAIL("floordiv at " << i << " " << j << " " << k << " of " << divisor);
              }
              const std::int64_t third = IndexAtoms::floor_quotient(x, 3);
              if (l.at(slice, {i, j, k}) !=
                  third - IndexAtoms::floor_quotient(third, divisor) * divisor) {
                FAIL("part at " << i << " " << j << " " << k << " of " << divisor);
              }
              if (l.at(mod, {i, j, k}) != x - q * divisor) {
                FAIL("floormod at " << i << " " << j << " " << k << " of " << divisor);
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("products, and divisions by what varies, have the ranges of their operands",
          "[feature]") {
  Loops l{{}, {8, 4}};
  IndexForm by = l.atoms.divide(l.loop(1), 2, false, l.full());
  by.constant = 2;  // 2 or 3
  const auto range_of = [&](AtomKind kind) {
    return l.atoms.range(l.atoms.other(kind, l.loop(0), by), l.full());
  };
  CHECK(range_of(AtomKind::div_by).max == 3);  // 7 div 2
  CHECK(range_of(AtomKind::mod_by).max == 2);
  CHECK(l.atoms.range(l.atoms.product(l.loop(0), by), l.full()).max == 21);
  IndexForm two;
  two.constant = 2;
  CHECK(l.atoms.product(two, l.loop(0)) == l.loop(0, 2));
  CHECK(l.atoms.product(l.loop(0), two) == l.loop(0, 2));

  OpCounts counts;
  count_form(l.atoms, l.atoms.other(AtomKind::mod_by, l.loop(0), by), counts);
  CHECK(counts[OpClass::int_divmod] == 2);  // and one in `by`
  CHECK(counts[OpClass::int_addsub] == 1);
  CHECK(counts[OpClass::int_cmp] == 0);
}

TEST_CASE("a shortened quotient remembers what was divided", "[feature]") {
  Loops l{{}, {32, 7}};
  const IndexForm index = l.sum(7, 0, 1, 1);
  const IndexForm quotient = l.atoms.divide(index, 14, true, l.full());
  REQUIRE(l.atoms.before_division(quotient) != nullptr);
  CHECK(*l.atoms.before_division(quotient) == index);
  CHECK(l.atoms.before_division(l.loop(0)) == nullptr);
}
