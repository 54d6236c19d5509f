// SPDX-License-Identifier: Apache-2.0
// TapeStep: one instruction of a tape on a block of points, forward and backward.
//
// Floor 6.5. Own design. Inlined into functions that are compiled for a width of vectors
// (lanes.hpp). Not here: what a tape is (tape.hpp).
#pragma once

#include <cstdint>

#include "tensorsmith/felix/formula.hpp"
#include "tensorsmith/felix/lanes.hpp"

namespace tensorsmith::felix {

struct TapeInstruction {
  static constexpr std::size_t block = 8;  ///< points

  Op op = Op::number;
  bool is_log2 = false;
  std::uint32_t args[3] = {0, 0, 0};  ///< instructions; of a symbol, the input
  double value = 0;
};

template <class Real>
struct TapeStep {
  using Truth = typename lanes::Whole<Real>::Signed;
  static constexpr std::size_t block = TapeInstruction::block;

  /// Writes to `to`; `values`: of all instructions, by block.
  TENSORSMITH_INLINED static inline void forward(const TapeInstruction& code, double* to,
                                                 const double* values) {
    const double* const x = values + code.args[0] * block;
    const double* const y = values + code.args[1] * block;
    const double* const z = values + code.args[2] * block;
    // Of every group of lanes, `body` makes r of a, b and c.
#define TENSORSMITH_EACH(body)                                                                     \
  for (std::size_t p = 0; p < block; p += lanes::count<Real>) {                                    \
    [[maybe_unused]] Real a, b, c;                                                                 \
    Real r;                                                                                        \
    lanes::load<Real>(x + p, a);                                                                   \
    lanes::load<Real>(y + p, b);                                                                   \
    lanes::load<Real>(z + p, c);                                                                   \
    body;                                                                                          \
    lanes::store<Real>(to + p, r);                                                                 \
  }                                                                                                \
  return
    switch (code.op) {
    case Op::number:
    case Op::truth:
      TENSORSMITH_EACH(r = Real{} + code.value);
    case Op::add:
      TENSORSMITH_EACH(r = a + b);
    case Op::sub:
      TENSORSMITH_EACH(r = a - b);
    case Op::mul:
      TENSORSMITH_EACH(r = a * b);
    case Op::div:
      TENSORSMITH_EACH(divisor_of(b, r); r = a / r);
    case Op::min:
      TENSORSMITH_EACH(lanes::smaller<Real>(a, b, r));
    case Op::max:
      TENSORSMITH_EACH(lanes::larger<Real>(a, b, r));
    case Op::log:
      TENSORSMITH_EACH(lanes::log<Real>(a, r));
    case Op::exp:
      TENSORSMITH_EACH(lanes::exp<Real>(a, r));
    case Op::sigmoid:
      TENSORSMITH_EACH(hump_of(a, r); r = 0.5 + 0.5 * a * r);
    case Op::hump:
      TENSORSMITH_EACH(hump_of(a, r));
    case Op::soft_min:
    case Op::soft_max: {
      const bool is_max = code.op == Op::soft_max;
      TENSORSMITH_EACH(soft(is_max, a, b, c, r));
    }
    default:
      for (std::size_t p = 0; p < block; ++p) {
        to[p] = value_of(code.op, x[p], y[p], z[p]);
      }
    }
#undef TENSORSMITH_EACH
  }

  /// Adds to the slopes of the operands, which are in `slopes`, by block; `at` and `slope`: value
  /// and slope of the instruction itself.
  TENSORSMITH_INLINED static inline void backward(const TapeInstruction& code, const double* at,
                                                  const double* slope, const double* values,
                                                  double* slopes) {
    const double* const x = values + code.args[0] * block;
    const double* const y = values + code.args[1] * block;
    const double* const z = values + code.args[2] * block;
    // One operand after the other: both may be the same instruction. `body` makes r, the slope.
#define TENSORSMITH_GIVE(operand, body)                                                            \
  for (std::size_t p = 0; p < block; p += lanes::count<Real>) {                                    \
    [[maybe_unused]] Real a, b, v;                                                                 \
    Real r, s, given;                                                                              \
    lanes::load<Real>(x + p, a);                                                                   \
    lanes::load<Real>(y + p, b);                                                                   \
    lanes::load<Real>(at + p, v);                                                                  \
    lanes::load<Real>(slope + p, s);                                                               \
    double* const to = slopes + code.args[operand] * block + p;                                    \
    lanes::load<Real>(to, given);                                                                  \
    body;                                                                                          \
    lanes::store<Real>(to, given + s * r);                                                         \
  }
#define TENSORSMITH_GIVE_EACH(operand, body)                                                       \
  for (std::size_t p = 0; p < block; ++p) {                                                        \
    [[maybe_unused]] const double a = x[p], b = y[p], v = at[p];                                   \
    slopes[code.args[operand] * block + p] += slope[p] * (body);                                   \
  }
    const Real zero{}, one = zero + 1;
    switch (code.op) {
    case Op::add:
      TENSORSMITH_GIVE(0, r = one)
      TENSORSMITH_GIVE(1, r = one)
      return;
    case Op::sub:
      TENSORSMITH_GIVE(0, r = one)
      TENSORSMITH_GIVE(1, r = -one)
      return;
    case Op::mul:
      TENSORSMITH_GIVE(0, r = b)
      TENSORSMITH_GIVE(1, r = a)
      return;
    case Op::div:
      TENSORSMITH_GIVE(0, divisor_of(b, r); r = 1 / r)
      TENSORSMITH_GIVE(1, divisor_of(b, r); r = -v / r)
      return;
    case Op::min:
      TENSORSMITH_GIVE(0, lanes::choose<Real>(b < a, zero, one, r))
      TENSORSMITH_GIVE(1, lanes::choose<Real>(b < a, one, zero, r))
      return;
    case Op::max:
      TENSORSMITH_GIVE(0, lanes::choose<Real>(a < b, zero, one, r))
      TENSORSMITH_GIVE(1, lanes::choose<Real>(a < b, one, zero, r))
      return;
    case Op::pow:
      TENSORSMITH_GIVE_EACH(0, b == 0 ? 0 : b * math::pow(a, b - 1))
      TENSORSMITH_GIVE_EACH(1, a > 0 ? v * math::log(a) : 0)
      return;
    case Op::log:
      TENSORSMITH_GIVE(0, divisor_of(a, r); r = 1 / r)
      return;
    case Op::logk:
      TENSORSMITH_GIVE_EACH(0, -v / (a * math::log(a)))
      TENSORSMITH_GIVE_EACH(1, 1 / (b * math::log(a)))
      return;
    case Op::exp:
      TENSORSMITH_GIVE(0, r = v)
      return;
    case Op::select:
      TENSORSMITH_GIVE_EACH(1, a != 0 ? 1.0 : 0.0)
      TENSORSMITH_GIVE_EACH(2, a != 0 ? 0.0 : 1.0)
      return;
    case Op::sigmoid:
      TENSORSMITH_GIVE(0, hump_of(a, r); r = 0.5 * r * r * r)
      return;
    case Op::hump:
      TENSORSMITH_GIVE(0, r = -a * v * v * v)
      return;
    case Op::soft_min:
    case Op::soft_max: {
      // (y / a)^(+-1/t) is the part of a in the sum of powers.
      const bool is_max = code.op == Op::soft_max;
      for (std::size_t p = 0; p < block; p += lanes::count<Real>) {
        Real a, b, t, s, v, apart, rest, part;
        lanes::load<Real>(x + p, a);
        lanes::load<Real>(y + p, b);
        lanes::load<Real>(z + p, t);
        lanes::load<Real>(slope + p, s);
        lanes::load<Real>(at + p, v);
        soft_parts(a, b, t, apart, rest);
        const Real chosen = 1 / (1 + rest), other = 1 - chosen, give = s * v;
        choose(is_max, a, b, chosen, other, part);
        add(slopes + code.args[0] * block + p, give * part / a);
        choose(is_max, a, b, other, chosen, part);
        add(slopes + code.args[1] * block + p, give * part / b);
        lanes::log<Real>(1 + rest, rest);
        lanes::abs<Real>(apart, apart);
        const Real entropy = give * (rest + apart * other);
        add(slopes + code.args[2] * block + p, is_max ? entropy : -entropy);
      }
      return;
    }
    default:
      return;
    }
#undef TENSORSMITH_GIVE
#undef TENSORSMITH_GIVE_EACH
  }

 private:
  /// Away from 0, with its sign.
  TENSORSMITH_INLINED static inline void divisor_of(const Real& x, Real& result) {
    const Real zero{}, least = zero + 1e-6;
    Real size, small;
    lanes::abs<Real>(x, size);
    lanes::choose<Real>(x < zero, -least, least, small);
    lanes::choose<Real>(size < least, small, x, result);
  }
  TENSORSMITH_INLINED static inline void hump_of(const Real& x, Real& result) {
    lanes::smaller<Real>(1 + x * x, Real{} + 1e300, result);
    lanes::inverse_root<Real>(result, result);
  }
  /// `yes` where a is the one of a and b that counts most, the first of equals; else `no`.
  TENSORSMITH_INLINED static inline void choose(bool is_max, const Real& a, const Real& b,
                                                const Real& yes, const Real& no, Real& result) {
    const Truth is_second = is_max ? Truth(a < b) : Truth(b < a);
    lanes::choose<Real>(is_second, no, yes, result);
  }
  /// Of a soft minimum or maximum: by how much logarithms of a and b are apart, in units of the
  /// temperature; the part of the one that counts less, by that of the other.
  TENSORSMITH_INLINED static inline void soft_parts(const Real& a, const Real& b, const Real& t,
                                                    Real& apart, Real& rest) {
    const Real most = Real{} + 690;
    lanes::log<Real>(b, apart);
    lanes::log<Real>(a, rest);
    apart = (apart - rest) / t;
    lanes::smaller<Real>(apart, most, apart);
    lanes::larger<Real>(apart, -most, apart);
    lanes::abs<Real>(apart, rest);
    lanes::exp<Real>(-rest, rest);
  }
  /// The larger power is taken out, so that no temperature makes it overflow.
  TENSORSMITH_INLINED static inline void soft(bool is_max, const Real& a, const Real& b,
                                              const Real& t, Real& result) {
    Real apart, rest, chosen;
    soft_parts(a, b, t, apart, rest);
    lanes::log<Real>(1 + rest, rest);
    rest = is_max ? Real(t * rest) : Real(-t * rest);
    lanes::exp<Real>(rest, rest);
    choose(is_max, a, b, a, b, chosen);
    result = chosen * rest;
  }
  TENSORSMITH_INLINED static inline void add(double* to, const Real& value) {
    Real sum;
    lanes::load<Real>(to, sum);
    lanes::store<Real>(to, sum + value);
  }
};

}  // namespace tensorsmith::felix
