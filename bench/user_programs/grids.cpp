// SPDX-License-Identifier: Apache-2.0
#include "families.hpp"

namespace tensorsmith::bench {
namespace {

/// The sum of the points around each, with one weight for each kind of neighbour.
UserProgram stencil(const Sizes& s, bool has_corners) {
  te::Program p;
  const auto x = p.placeholder("X", {s[0] + 2, s[1] + 2, s[2] + 2});
  const double weights[] = {-6.0, 1.0, 0.25, 0.125};
  const auto y = p.compute("Y", {s[0], s[1], s[2]}, [&](auto i, auto j, auto k) {
    te::Expr sum = x(i + 1, j + 1, k + 1) * weights[0];
    for (int a = 0; a < 27; ++a) {
      const int di = a / 9, dj = a / 3 % 3, dk = a % 3;
      const int away = (di != 1) + (dj != 1) + (dk != 1);
      if (away > 0 && (has_corners || away == 1)) {
        sum = sum + x(i + di, j + dj, k + dk) * weights[away];
      }
    }
    return sum;
  });
  return {p.dag({x, y})};
}

/// A filter along the rows and then one along the columns.
UserProgram separable_filter(const Sizes& s) {
  const std::int64_t taps = s[2];
  te::Program p;
  const auto x = p.placeholder("X", {s[0] + taps - 1, s[1] + taps - 1}),
             f = p.placeholder("F", {taps}), g = p.placeholder("G", {taps});
  const auto r = p.reduce_axis("r", taps), q = p.reduce_axis("q", taps);
  const auto t = p.compute("T", {s[0] + taps - 1, s[1]},
                           [&](auto i, auto j) { return te::sum(x(i, j + r) * f(r), {r}); });
  const auto y = p.compute("Y", {s[0], s[1]},
                           [&](auto i, auto j) { return te::sum(t(i + q, j) * g(q), {q}); });
  return {p.dag({x, f, g, y})};
}

/// Rows and columns of another size, between the four nearest pixels.
UserProgram bilinear(const Sizes& s) {
  const std::int64_t h = s[0], w = s[1], c = s[2], oh = s[3], ow = s[4];
  te::Program p;
  const auto x = p.placeholder("X", {h, w, c});
  const auto y = p.compute("Y", {oh, ow, c}, [&](auto i, auto j, auto l) {
    const auto from = [&](const te::Expr& at, std::int64_t in, std::int64_t out) {
      return te::max((2 * at + 1) * in - out, 0);  // in units of 1 / (2 * out) pixels
    };
    const auto share = [&](const te::Expr& position, std::int64_t out) {
      return te::cast(DType::f32, te::floormod(position, 2 * out)) *
             (1.0 / static_cast<double>(2 * out));
    };
    const te::Expr pi = from(i, h, oh), pj = from(j, w, ow);
    const te::Expr i0 = te::floordiv(pi, 2 * oh), j0 = te::floordiv(pj, 2 * ow);
    const te::Expr i1 = te::min(i0 + 1, h - 1), j1 = te::min(j0 + 1, w - 1);
    const te::Expr u = share(pi, oh), v = share(pj, ow);
    return (x(i0, j0, l) * (1.0 - v) + x(i0, j1, l) * v) * (1.0 - u) +
           (x(i1, j0, l) * (1.0 - v) + x(i1, j1, l) * v) * u;
  });
  return {p.dag({x, y})};
}

/// A matrix in memory as one long vector, transposed.
UserProgram flat_transposition(const Sizes& s) {
  te::Program p;
  const auto x = p.placeholder("X", {s[0] * s[1]});
  const auto y = p.compute("Y", {s[0] * s[1]}, [&](auto i) {
    return x(te::floormod(i, s[0]) * s[1] + te::floordiv(i, s[0]));
  });
  return {p.dag({x, y})};
}

/// One step of Adam: three results of the same elements.
UserProgram adam(const Sizes& s) {
  te::Program p;
  const auto w = p.placeholder("W", {s[0]}), g = p.placeholder("G", {s[0]}),
             m = p.placeholder("M", {s[0]}), v = p.placeholder("V", {s[0]});
  const auto nm = p.compute("NextM", {s[0]}, [&](auto i) { return m(i) * 0.9 + g(i) * 0.1; });
  const auto nv = p.compute("NextV", {s[0]},
                            [&](auto i) { return te::abs(v(i)) * 0.999 + g(i) * g(i) * 0.001; });
  const auto nw = p.compute("NextW", {s[0]}, [&](auto i) {
    return w(i) - nm(i) * 0.01 / (te::sqrt(nv(i) * 1.25) + 1e-3);
  });
  return {p.dag({w, g, m, v, nm, nv, nw})};
}

}  // namespace

void add_grids(std::vector<ProgramFamily>& all) {
  const std::string suite = "user_programs";
  all.push_back({suite, "stencil7", "D,H,W", {{64, 64, 64}}, [](const Sizes& s) {
                   return stencil(s, false);
                 }});
  all.push_back({suite, "stencil27", "D,H,W", {{64, 64, 64}}, [](const Sizes& s) {
                   return stencil(s, true);
                 }});
  all.push_back({suite, "separable_filter", "H,W,taps", {{512, 512, 5}}, separable_filter});
  all.push_back({suite, "bilinear", "H,W,C,OH,OW", {{64, 64, 32, 128, 128}}, bilinear});
  all.push_back({suite, "flat_transposition", "R,C", {{512, 512}}, flat_transposition});
  all.push_back({suite, "adam", "N", {{65536}}, adam});
}

}  // namespace tensorsmith::bench
