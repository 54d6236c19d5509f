// SPDX-License-Identifier: Apache-2.0
#include "math_emit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

namespace tensorsmith::llvm_codegen {
namespace {

using V = LLVMValueRef;

/// erf near the 16 centers, about 1/4 apart: polynomials of the distance, highest coefficient
/// first; for the first two those of erf(t) - t. Minimax in units of the last place. All but the
/// first two centers are where erf is nearly a float. The last one ends at erf_top with 1.
constexpr double erf_centers[] = {0,          0.25,       0.499637067, 0.750109434,
                                  0.9982481,  1.25234807, 1.49853742,  1.74818432,
                                  1.99813914, 2.25288367, 2.49756646,  2.75340247,
                                  3.00155544, 3.25244665, 3.50476813,  3.75};
constexpr double erf_coefficients[][16] = {
    {0.111115344, 0.0806126893, 0.00895587448, -0.0526899211, -0.068730548, -0.0470712371,
     -0.0150080789, 0.00644240389, 0.0129881613, 0.0106372433, 0.00613353308, 0.00277524185,
     0.00102832902, 0.00031894425, 0.000182490025, -3.2212065e-05},
    {0.000250946177, 0.12603794, 0.18198292, 0.150074571, 0.0698849037, -0.00625077821,
     -0.0440696254, -0.0479655005, -0.0345554128, -0.0189928226, -0.00875781663, -0.00324703683,
     -0.00105251546, -0.000288448064, 1.58717194e-05, -0.000409720495},
    {-0.376138985, -0.309188008, -0.146758899, 0.0268497001, 0.137877628, 0.167478725, 0.139011368,
     0.0905070081, 0.0484805927, 0.021504771, 0.00843483582, 0.00271570683, 0.000782424817,
     0.000192922802, 4.02266924e-05, 8.36324125e-06},
    {2.09804725e-07, -0.264998049, -0.439226478, -0.482186675, -0.41583389, -0.294473678,
     -0.179006845, -0.0928492323, -0.0416039489, -0.0158829261, -0.00550668547, -0.00158414,
     -0.000414014678, -9.34096606e-05, -1.95829125e-05, 3.25910673e-06},
    {0.128379166, 0.0600142144, 0.879101574, 0.642825544, 0.416563243, 0.235135466, 0.11945302,
     0.0531112663, 0.020821318, 0.00705017801, 0.0022049367, 0.00057540281, 0.000137959621,
     2.87285566e-05, 5.22206619e-06, 9.86270607e-07},
    {0, 0.0263263863, 0.520180881, 0.711225986, 0.841972291, 0.923453867, 0.96593082, 0.986575544,
     0.995283663, 0.998557746, 0.999587715, 0.999901354, 0.999978125, 0.999995768, 0.999999285,
     0.999999881},
};
constexpr double erf_top = 3.874;
/// In place of the last column: 1 - erf near erf_top as the center, 0 there (absolute error
/// 4.3e-8).
constexpr double erfc_end_coefficients[] = {-0.0203199275,   -0.0127224568,   -0.00279959547,
                                            -0.000250206911, -8.33169452e-06, 0};
/// In place of the first two of each row: those of erf, for a sum with 1 (absolute error 2^-27).
constexpr double summed_erf_coefficients[][2] = {
    {0.107248858, 0.0796172246},    {0.00141189003, 0.126075104}, {-0.376258641, -0.309167862},
    {5.04018681e-06, -0.264998764}, {1.12837911, 1.06001413},     {0, 0.276326388}};

/// 2^(j / 16).
constexpr double sixteenths[] = {
    1,          1.04427373, 1.09050775, 1.13878858, 1.18920708, 1.24185777, 1.29683959, 1.35425556,
    1.41421354, 1.47682619, 1.54221082, 1.61049032, 1.68179286, 1.75625217, 1.8340081,  1.91520655};

class FloatMath {
 public:
  FloatMath(IrBuilder& b, V like) : b(b), like_(like) {
    const int lanes = lanes_of(like);
    f32_ = b.m.vector_of(b.m.f32, lanes);
    i32_ = b.m.vector_of(b.m.i32, lanes);
  }

  V real(double value) { return b.real_like(like_, value); }
  V integer(std::int64_t value) {
    return b.splat(LLVMConstInt(b.m.i32, static_cast<unsigned long long>(value), 1),
                   lanes_of(like_));
  }
  V bits(V x) { return b.bitcast(x, i32_); }
  V from_bits(V x) { return b.bitcast(x, f32_); }
  V magnitude(V x) { return b.unary_intrinsic("llvm.fabs", x); }
  V copy_sign(V x, V sign) { return b.intrinsic("llvm.copysign", {f32_}, {x, sign}); }

  /// Horner's scheme, highest coefficient first.
  V polynomial(V x, std::initializer_list<double> coefficients) {
    V result = nullptr;
    for (double c : coefficients) {
      result = result == nullptr ? real(c) : b.fma(result, x, real(c));
    }
    return result;
  }

  // Each select is one min or max that returns its second operand, x, for NaN.
  V at_most_89(V x) { return b.select(b.fcmp(LLVMRealOLT, real(89.0), x), real(89.0), x); }
  V at_least_minus_104(V x) {
    return b.select(b.fcmp(LLVMRealOGT, real(-104.0), x), real(-104.0), x);
  }

  V exp(V x) { return exp_within(at_least_minus_104(at_most_89(x))); }

  /// exp of t in [-104, 89]. `is_rough`: with a relative error of |t| 2^-28 more, for what is much
  /// smaller than the sum that it belongs to.
  V exp_within(V t, bool is_rough = false) {
    if (has_tables()) {
      return exp_by_table(t, is_rough);
    }
    const V n = b.unary_intrinsic("llvm.nearbyint", b.fmul(t, real(1.44269504088896341)));
    V r = nullptr;
    if (is_rough && b.m.target.has_fma) {
      r = b.fma(n, real(-0.69314718), t);
    } else {
      r = b.fma(n, real(-0.693359375), t);
      r = b.fma(n, real(2.12194440e-4), r);
    }
    if (b.m.target.has_fma) {
      // Minimax on |r| <= 0.3473, relative error 3.2e-9; rounding included at most 0.9 ulp.
      return scale(polynomial(r, {1.3814310078e-3, 8.3688562736e-3, 4.1668400168e-2,
                                  1.6666519642e-1, 4.9999994040e-1, 1.0, 1.0}),
                   n);
    }
    // More products are rounded: the small ones are summed up first (cephes, expf).
    const V p = polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2,
                               1.6666665459e-1, 5.0000001201e-1});
    return scale(b.fadd(b.fma(p, b.fmul(r, r), r), real(1.0)), n);
  }

  /// In 12 instructions instead of 14, of which 7 multiply instead of 9; at most 1 ulp.
  V exp_by_table(V t, bool is_rough) {
    // The last bits of t / log(2) + 1.5 * 2^19 count sixteenths.
    const V place = b.fma(t, real(1.44269504088896341), real(0x1.8p19));
    const V n = b.fsub(place, real(0x1.8p19));
    V r = b.fma(n, real(-0.6931471825), t);
    r = is_rough ? r : b.fma(n, real(1.9046543e-9), r);
    // Minimax on |r| <= log(2) / 32, relative error 1.6e-9.
    const V p = b.fma(r, real(1.6666720808e-1), real(5.0001615286e-1));
    const V power = look_up(sixteenths, bits(place));
    return scale(b.fma(b.fma(p, b.fmul(r, r), r), power, power), n);  // takes 2^floor(n)
  }

  V log(V x) {
    const V is_tiny = b.fcmp(LLVMRealOLT, x, real(0x1p-126));
    const V scaled = b.select(is_tiny, b.fmul(x, real(0x1p23)), x);
    // m in [sqrt(1/2), sqrt(2)), x = m * 2^e
    const V shifted = b.add(bits(scaled), integer(0x3F800000 - 0x3F3504F3));
    V e = LLVMBuildSIToFP(b.ref, b.sub(b.lshr(shifted, 23), integer(127)), f32_, "");
    e = b.fsub(e, b.select(is_tiny, real(23.0), real(0.0)));
    const V m = from_bits(b.add(b.and_(shifted, integer(0x007FFFFF)), integer(0x3F3504F3)));
    const V f = b.fsub(m, real(1.0));
    const V z = b.fmul(f, f);
    const V p = polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1,
                               1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1,
                               3.3333331174e-1});
    V y = b.fmul(b.fmul(f, z), p);
    y = b.fma(e, real(-2.12194440e-4), y);
    y = b.fma(z, real(-0.5), y);
    V result = b.fma(e, real(0.693359375), b.fadd(f, y));
    const V infinity = real(std::numeric_limits<double>::infinity());
    result = b.select(b.fcmp(LLVMRealOEQ, x, infinity), infinity, result);
    result = b.select(b.fcmp(LLVMRealOEQ, x, real(0.0)), b.fneg(infinity), result);
    return b.select(b.fcmp(LLVMRealUGE, x, real(0.0)),
                    b.select(b.fcmp(LLVMRealUNO, x, x), x, result),
                    real(std::numeric_limits<double>::quiet_NaN()));
  }

  V tanh(V x) {
    const V a = magnitude(x);
    const V z = b.fmul(x, x);
    const V p = polynomial(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                               1.33314422036e-1, -3.33332819422e-1});
    const V small = b.fma(b.fmul(p, z), x, x);
    const V e = b.fadd(exp_within(at_most_89(b.fadd(a, a))), real(1.0));
    const V big = b.fsub(real(1.0), b.fdiv(real(2.0), e));
    // The sign last: small is +0 for -0.
    return copy_sign(b.select(b.fcmp(LLVMRealOLT, a, real(0.625)), small, big), x);
  }

  V erf(V x) { return has_tables() ? erf_by_table(x) : erf_by_exp(x); }

  /// In 19 instructions, 0.9 ulp.
  V erf_by_table(V x) { return copy_sign(erf_of_magnitude(magnitude(x)), x); }

  /// x k (1 + erf(x l)) as 2 k max(x, 0) - t (1 - erf(t)) k / l with t = |x l|, cut off where the
  /// difference from 1 is 0: so it is 0 for -infinity. In 19 instructions if 2 k is 1.
  V gated_by_erf(V x, double k, double l) {
    const V t = up_to_erf_top(magnitude(b.fmul(x, real(l))));
    double centers[16], rows[std::size(erf_coefficients)][16];
    std::copy(std::begin(erf_centers), std::end(erf_centers), centers);
    centers[15] = erf_top;
    for (std::size_t i = 0; i < std::size(rows); ++i) {
      for (std::size_t c = 0; c < 16; ++c) {
        const double of_erf = c < 2 ? summed_erf_coefficients[i][c] : erf_coefficients[i][c];
        const double of_one = i + 1 == std::size(rows) ? 1.0 : 0.0;
        rows[i][c] = (c == 15 ? erfc_end_coefficients[i] : of_one - of_erf) * (k / l);
      }
    }
    const V part = by_table(t, centers, rows);
    const V positive = b.select(b.fcmp(LLVMRealOGT, x, real(0.0)), x, real(0.0));
    return b.fma(b.fneg(t), part, k == 0.5 ? positive : b.fmul(positive, real(2 * k)));
  }

  V erf_of_magnitude(V x) {
    const V t = up_to_erf_top(x);
    const V y = by_table(t, erf_centers, erf_coefficients);
    return b.select(b.fcmp(LLVMRealOLT, t, real(0.375)), b.fadd(y, t), y);
  }

  V up_to_erf_top(V x) { return b.select(b.fcmp(LLVMRealOGT, x, real(erf_top)), real(erf_top), x); }

  /// The polynomial of the distance of t in [0, erf_top] from the nearest center.
  V by_table(V t, const double (&centers)[16],
             const double (&rows)[std::size(erf_coefficients)][16]) {
    // The last bits of 4 t + 1.5 * 2^23 are the nearest integer.
    const V place = bits(b.fma(t, real(4.0), real(0x1.8p23)));
    const V r = b.fsub(t, look_up(centers, place));
    V y = nullptr;
    for (const auto& row : rows) {
      const V c = look_up(row, place);
      y = y == nullptr ? c : b.fma(y, r, c);
    }
    return y;
  }

  V erf_by_exp(V x) {
    const V t = magnitude(x);
    // erf = 1 - exp(-t - t q(t)); fast for t > 4, where it is 1.
    const V bounded = b.select(b.fcmp(LLVMRealOGT, t, real(4.0)), real(4.0), t);
    const V square = b.fmul(bounded, bounded);
    V r = b.fma(real(-1.72853470e-5), bounded, real(3.83197126e-4));
    const V u = b.fma(real(-3.88396438e-3), bounded, real(2.42546219e-2));
    r = b.fma(r, square, u);
    r = b.fma(r, bounded, real(-1.06777877e-1));
    r = b.fma(r, bounded, real(-6.34846687e-1));
    r = b.fma(r, bounded, real(-1.28717512e-1));
    r = b.fma(r, bounded, b.fneg(bounded));
    const V big = copy_sign(b.fsub(real(1.0), exp_within(r, true)), x);
    const V p = polynomial(square, {-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1,
                                    -3.76125336e-1, 1.28379166e-1});
    const V small = b.fma(p, x, x);
    return b.select(b.fcmp(LLVMRealOGT, t, real(0.927734375)), big, small);
  }

  V sigmoid(V x) {
    const V e = exp_within(at_least_minus_104(b.fneg(magnitude(x))));
    const V numerator = b.select(b.fcmp(LLVMRealOLT, x, real(0.0)), e, real(1.0));
    return b.fdiv(numerator, b.fadd(e, real(1.0)));
  }

  bool has_tables() const { return lanes_of(like_) == 16 && b.m.target.has_masks; }

 private:
  /// Of 16 numbers, those that the last four bits of `places` say.
  V look_up(const double (&numbers)[16], V places) {
    std::array<V, 16> items{};
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i] = LLVMConstReal(b.m.f32, numbers[i]);
    }
    return b.intrinsic("llvm.x86.avx512.permvar.sf.512", {},
                       {LLVMConstVector(items.data(), 16), places});
  }

  /// y * 2^n for an integer n (as float) in [-151, 129], y in [0.7, 2].
  V scale(V y, V n) {
    const int lanes = lanes_of(y);
    if (b.m.target.has_masks && (lanes == 16 || lanes == 8 || lanes == 4)) {
      const std::string name = "llvm.x86.avx512.mask.scalef.ps." + std::to_string(lanes * 32);
      const LLVMTypeRef mask_type = lanes == 16 ? b.m.i16 : b.m.i8;
      const V all = LLVMConstInt(mask_type, lanes == 16 ? 0xFFFF : 0xFF, 0);
      if (lanes == 16) {
        const V current_rounding = LLVMConstInt(b.m.i32, 4, 0);
        return b.intrinsic(name.c_str(), {}, {y, n, y, all, current_rounding});
      }
      return b.intrinsic(name.c_str(), {}, {y, n, y, all});
    }
    // In two steps, so that denormals are rounded once and 2^128 is reached.
    const V k = LLVMBuildFPToSI(b.ref, n, i32_, "");
    const V first = b.ashr(k, 1);
    const V second = b.sub(k, first);
    const V one = integer(0x3F800000);
    y = b.fmul(y, from_bits(b.add(b.shl(first, 23), one)));
    return b.fmul(y, from_bits(b.add(b.shl(second, 23), one)));
  }

  IrBuilder& b;
  V like_;
  LLVMTypeRef f32_, i32_;
};

/// The constant if every lane is the same known number.
bool is_constant_real(V value, double expected) {
  const int lanes = lanes_of(value);
  for (int lane = 0; lane < lanes; ++lane) {
    if (!LLVMIsConstant(value)) {
      return false;
    }
    const V one = lanes == 1 ? value : LLVMGetAggregateElement(value, static_cast<unsigned>(lane));
    LLVMBool loses_info = 0;
    if (one == nullptr || LLVMIsAConstantFP(one) == nullptr ||
        LLVMConstRealGetDouble(one, &loses_info) != expected) {
      return false;
    }
  }
  return true;
}

/// The exponent of a pow that needs no call.
std::optional<double> easy_exponent(V y) {
  for (const double exponent : {0.5, 1.0, 2.0, 3.0}) {
    if (is_constant_real(y, exponent)) {
      return exponent;
    }
  }
  return std::nullopt;
}

V emit_pow(IrBuilder& b, DType type, V x, V y) {
  const std::optional<double> exponent = easy_exponent(y);
  if (!exponent) {
    return b.per_lane_call(type == DType::f64 ? "pow" : "powf", {x, y});
  }
  if (*exponent == 0.5) {
    // pow(-0, 0.5) = +0 and pow(-inf, 0.5) = inf, unlike sqrt.
    const V infinity = b.real_like(x, std::numeric_limits<double>::infinity());
    const V root = b.unary_intrinsic("llvm.sqrt", b.fadd(x, b.real_like(x, 0.0)));
    return b.select(b.fcmp(LLVMRealOEQ, x, b.fneg(infinity)), infinity, root);
  }
  V power = x;
  for (double n = 1; n < *exponent; ++n) {
    power = b.fmul(power, x);
  }
  return power;
}

}  // namespace

bool gate_reaches_its_end(double bound, double l) { return bound * l <= -erf_top; }

LLVMValueRef emit_gated_by_erf(IrBuilder& b, LLVMValueRef x, double m, double k, double l) {
  FloatMath math(b, x);
  if (math.has_tables()) {
    return math.gated_by_erf(x, k, l);
  }
  // The bound on both factors, so that one number waits in a register, not two; x if it is NaN.
  const V bounded = b.select(b.fcmp(LLVMRealOGT, math.real(m), x), math.real(m), x);
  const V erf = math.erf(b.fmul(bounded, math.real(l)));
  return b.fmul(b.fmul(bounded, math.real(k)), b.fadd(erf, math.real(1.0)));
}

bool is_short_call(CallOp op, LLVMValueRef y) {
  switch (op) {
  case CallOp::exp:
  case CallOp::log:
  case CallOp::tanh:
  case CallOp::erf:
  case CallOp::sigmoid:
    return false;
  case CallOp::pow:
    return easy_exponent(y).has_value();
  default:
    return true;
  }
}

LLVMValueRef emit_call(IrBuilder& b, CallOp op, DType type, LLVMValueRef x, LLVMValueRef y) {
  const bool is_double = type == DType::f64;
  switch (op) {
  case CallOp::exp:
    return is_double ? b.per_lane_call("exp", {x}) : FloatMath(b, x).exp(x);
  case CallOp::log:
    return is_double ? b.per_lane_call("log", {x}) : FloatMath(b, x).log(x);
  case CallOp::tanh:
    return is_double ? b.per_lane_call("tanh", {x}) : FloatMath(b, x).tanh(x);
  case CallOp::erf:
    return is_double ? b.per_lane_call("erf", {x}) : FloatMath(b, x).erf(x);
  case CallOp::sigmoid:
    if (is_double) {
      const LLVMValueRef size = b.unary_intrinsic("llvm.fabs", x), one = b.real_like(x, 1.0);
      const LLVMValueRef e = b.per_lane_call("exp", {b.fneg(size)});
      const LLVMValueRef is_negative = b.fcmp(LLVMRealOLT, x, b.real_like(x, 0.0));
      return b.fdiv(b.select(is_negative, e, one), b.fadd(e, one));
    }
    return FloatMath(b, x).sigmoid(x);
  case CallOp::sqrt:
    return b.unary_intrinsic("llvm.sqrt", x);
  case CallOp::rsqrt:
    return b.fdiv(b.real_like(x, 1.0), b.unary_intrinsic("llvm.sqrt", x));
  case CallOp::pow:
    return emit_pow(b, type, x, y);
  case CallOp::abs:
    return b.unary_intrinsic("llvm.fabs", x);
  case CallOp::floor:
    return b.unary_intrinsic("llvm.floor", x);
  case CallOp::ceil:
    return b.unary_intrinsic("llvm.ceil", x);
  case CallOp::round:
    return b.unary_intrinsic("llvm.nearbyint", x);
  case CallOp::if_then_else:
    break;
  }
  give_up("if_then_else is not a function of values");
}

}  // namespace tensorsmith::llvm_codegen
