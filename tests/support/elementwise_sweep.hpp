// SPDX-License-Identifier: Apache-2.0
// Every elementwise function over every number of 16 bits and a dense sample of f32, and a judge of
// results: exact values in 64 bits of mantissa, distances in units of the last place.
//
// Test support. What is computed here shares no code with the library.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ops/op.hpp"

namespace tensorsmith::test {

/// A function of one number, as an expression and exactly.
struct ElementwiseFunction {
  std::string name;
  ExprId (*expression)(ExprPool& pool, ExprId x);
  long double (*exact)(long double x);
  /// In units of the last place of f32, for code of ours; the widest of all targets.
  double ulps;
  /// More, in units of 2^-24 |x|: where the difference of two numbers as large as x is taken.
  double of_operand = 0;
};

namespace sweep_detail {

template <CallOp op>
ExprId call(ExprPool& pool, ExprId x) {
  return pool.call(op, {x});
}
inline ExprId number(ExprPool& pool, ExprId x, double value) {
  return pool.float_imm(value, pool.dtype(x));
}
template <int quarters>
ExprId power(ExprPool& pool, ExprId x) {
  return pool.call(CallOp::pow, {x, number(pool, x, quarters / 4.0)});
}
template <int quarters>
long double exact_power(long double x) {
  return std::pow(x, static_cast<long double>(quarters) / 4);
}
/// The formula of the operators.
inline ExprId gelu(ExprPool& pool, ExprId x) {
  const ExprId gate = pool.mul(pool.max(x, number(pool, x, -10.0)), number(pool, x, 0.5));
  const ExprId erf = pool.call(CallOp::erf, {pool.mul(x, number(pool, x, 0.7071067811865476))});
  return pool.mul(gate, pool.add(erf, number(pool, x, 1.0)));
}

}  // namespace sweep_detail

/// All of ir/ops.def that take one number, powers with an exponent that is known, and gelu.
inline std::vector<ElementwiseFunction> elementwise_functions() {
  using namespace sweep_detail;
  using Real = long double;
  return {
      {"exp", call<CallOp::exp>, [](Real x) { return std::exp(x); }, 1.0},
      {"log", call<CallOp::log>, [](Real x) { return std::log(x); }, 1.0},
      {"sqrt", call<CallOp::sqrt>, [](Real x) { return std::sqrt(x); }, 0.5},
      {"rsqrt", call<CallOp::rsqrt>, [](Real x) { return 1 / std::sqrt(x); }, 1.5},
      {"tanh", call<CallOp::tanh>, [](Real x) { return std::tanh(x); }, 1.5},
      {"erf", call<CallOp::erf>, [](Real x) { return std::erf(x); }, 1.2},
      {"sigmoid", call<CallOp::sigmoid>,
       [](Real x) { return (x < 0 ? std::exp(x) : Real(1)) / (1 + std::exp(-std::fabs(x))); }, 3.0},
      {"abs", call<CallOp::abs>, [](Real x) { return std::fabs(x); }, 0},
      {"floor", call<CallOp::floor>, [](Real x) { return std::floor(x); }, 0},
      {"ceil", call<CallOp::ceil>, [](Real x) { return std::ceil(x); }, 0},
      {"round", call<CallOp::round>, [](Real x) { return std::nearbyint(x); }, 0},
      {"pow 0.5", power<2>, exact_power<2>, 0.5},
      {"pow 1", power<4>, exact_power<4>, 0},
      {"pow 2", power<8>, exact_power<8>, 0.5},
      {"pow 3", power<12>, exact_power<12>, 1.5},
      {"pow 0.75", power<3>, exact_power<3>, 1.0},
      {"pow -1.25", power<-5>, exact_power<-5>, 1.0},
      {"gelu", gelu,
       [](Real x) {
         return x == -std::numeric_limits<Real>::infinity()
                    ? Real(0)
                    : x / 2 * std::erfc(-x * 0.70710678118654752440L);
       },
       1.0, 1.0},
  };
}

/// All numbers of a type of 16 bits; of f32 special ones, neighbours of where the forms of the
/// functions change, and bit patterns in steps, of both signs. A whole number of `block`s.
inline HostArray sweep_inputs(DType type, std::size_t block = 4096) {
  if (type != DType::f32) {
    HostArray array(type, {65536});
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const auto pattern = static_cast<std::uint16_t>(bits);
      std::memcpy(&array.data[std::size_t{bits} * 2], &pattern, 2);
    }
    return array;
  }
  using Limits = std::numeric_limits<float>;
  std::vector<float> list;
  for (const float x : {0.0F,
                        0.5F,
                        1.0F,
                        1.5F,
                        2.5F,
                        0.625F,
                        0.927734375F,
                        0.375F,
                        3.874F,
                        3.92F,
                        4.0F,
                        5.5F,
                        8.4F,
                        10.0F,
                        14.2F,
                        88.72283F,
                        87.33655F,
                        103.97208F,
                        104.0F,
                        8388607.5F,
                        16777216.0F,
                        2e9F,
                        1e30F,
                        Limits::infinity(),
                        Limits::quiet_NaN(),
                        Limits::min(),
                        Limits::max(),
                        Limits::denorm_min()}) {
    for (const float near : {x, std::nextafter(x, 0.0F), std::nextafter(x, Limits::infinity())}) {
      list.push_back(near);
      list.push_back(-near);
    }
  }
  for (std::uint64_t bits = 1; bits < 0x7F800000U; bits += 16411) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    list.push_back(x);
    list.push_back(-x);
  }
  list.resize((list.size() + block - 1) / block * block, 0.5F);
  HostArray array(type, {static_cast<std::int64_t>(list.size())});
  std::memcpy(array.data.data(), list.data(), array.data.size());
  return array;
}

/// out[f, n] = the f-th function of x[n], n in loops of these extents and kinds, outermost first.
struct SweepLoop {
  std::int64_t extent;
  ForKind kind;
};
inline LoopProgram sweep_program(DType type, const std::vector<SweepLoop>& loops) {
  LoopProgram p;
  ExprPool& pool = p.pool;
  std::int64_t count = 1;
  ExprId at = pool.int_imm(0);
  std::vector<VarId> vars;
  for (const SweepLoop& loop : loops) {
    count *= loop.extent;
    vars.push_back(pool.new_var("n" + std::to_string(vars.size())));
    const ExprId var = pool.var(vars.back());
    at = vars.size() == 1 ? var : pool.add(pool.mul(at, pool.int_imm(loop.extent)), var);
  }
  const std::vector<ElementwiseFunction> functions = elementwise_functions();
  const auto argument = [&](const char* name, SmallVector<std::int64_t, 6> shape) {
    Buffer buffer;
    buffer.name = name;
    buffer.dtype = type;
    buffer.shape = std::move(shape);
    buffer.argument = static_cast<std::int32_t>(p.arguments.size());
    p.arguments.push_back(p.add(std::move(buffer)));
    return p.arguments.back();
  };
  const BufferId x = argument("x", {count});
  const BufferId out = argument("out", {static_cast<std::int64_t>(functions.size()), count});
  std::vector<StmtId> stores;
  for (std::size_t f = 0; f < functions.size(); ++f) {
    const ExprId value = functions[f].expression(pool, pool.load(x, type, {at}));
    const ExprId row = pool.int_imm(static_cast<std::int64_t>(f));
    stores.push_back(p.add(Stmt(Store{out, {row, at}, value})));
  }
  p.body = p.add(Stmt(Seq{std::move(stores)}));
  for (std::size_t l = loops.size(); l-- > 0;) {
    p.body = p.add(Stmt(For{vars[l], pool.int_imm(loops[l].extent), loops[l].kind, p.body}));
  }
  return p;
}

/// Of one type, against the exact values of all inputs.
class ElementwiseJudge {
 public:
  explicit ElementwiseJudge(HostArray inputs)
      : inputs_(std::move(inputs)), functions_(elementwise_functions()) {
    exact_.resize(functions_.size());
    for (std::size_t f = 0; f < functions_.size(); ++f) {
      for (std::int64_t n = 0; n < inputs_.num_elements(); ++n) {
        exact_[f].push_back(functions_[f].exact(static_cast<long double>(inputs_.get_real(n))));
        right_.push_back(right_range(f, n));
      }
    }
  }

  std::int64_t count() const { return inputs_.num_elements(); }
  /// The arguments of sweep_program.
  std::vector<HostArray> arguments() const {
    return {inputs_,
            HostArray(inputs_.dtype, {static_cast<std::int64_t>(functions_.size()), count()})};
  }

  /// What is farther from exact than the function's bound, that of f32 and half a unit of the
  /// result's type more if that is narrower; empty, or the worst of each function. `outputs` holds
  /// a row per function. `slack`: units of f32 more, for the functions of another library.
  std::string problems(const HostArray& outputs, double slack = 0) const {
    std::string text;
    const std::int64_t count = this->count();
    for (std::size_t f = 0; f < functions_.size(); ++f) {
      std::int64_t num_wrong = 0, worst = 0;
      double most = 0;
      for (std::int64_t n = 0; n < count; ++n) {
        const double got = outputs.get_real(static_cast<std::int64_t>(f) * count + n);
        const Range& right =
            right_[f * static_cast<std::size_t>(count) + static_cast<std::size_t>(n)];
        if (got >= right.low && got <= right.high) {
          continue;
        }
        const double excess = excess_of(f, n, got, slack);
        num_wrong += excess > 0 ? 1 : 0;
        if (excess > most) {
          most = excess;
          worst = n;
        }
      }
      if (num_wrong > 0) {
        const double got = outputs.get_real(static_cast<std::int64_t>(f) * count + worst);
        text += functions_[f].name + ": " + std::to_string(num_wrong) + " wrong, as of " +
                real_text(inputs_.get_real(worst)) + ": " + real_text(got) + " for " +
                real_text(static_cast<double>(exact_[f][static_cast<std::size_t>(worst)])) + ", " +
                std::to_string(most) + " units more than stated\n";
      }
    }
    return text;
  }

 private:
  /// Results that are right without any slack; not all of them.
  struct Range {
    double low = 1, high = 0;
  };

  static std::string real_text(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
  }
  /// 2^-p of the binade of `value`, not below that of denormals.
  static long double unit_of(long double value, DType type) {
    const int digits = type == DType::f32 ? 24 : type == DType::f16 ? 11 : 8;
    const int least = type == DType::f32 ? -149 : type == DType::f16 ? -24 : -133;
    int exponent = 0;
    std::frexp(value, &exponent);
    return std::ldexp(1.0L, value == 0 ? least : std::max(exponent - digits, least));
  }
  double excess_of(std::size_t f, std::int64_t n, double result, double slack) const {
    const DType type = inputs_.dtype;
    const long double want = exact_[f][static_cast<std::size_t>(n)];
    const auto got = static_cast<long double>(result);
    const double never = 1e9;
    if (std::isnan(want) || std::isnan(got)) {
      return std::isnan(want) && std::isnan(got) ? 0 : never;
    }
    if (std::isinf(want)) {
      return got == want ? 0 : never;
    }
    if (want == 0 && std::signbit(want) != std::signbit(got) && functions_[f].of_operand == 0) {
      return never;
    }
    const long double bounded = clamped(want);
    const long double distance = std::fabs(clamped(got) - bounded);
    const long double allowed = allowed_at(f, n, slack);
    return distance <= allowed ? 0
                               : static_cast<double>((distance - allowed) / unit_of(bounded, type));
  }
  /// What is too large for the type lies where its next number would.
  long double clamped(long double value) const {
    const long double top = std::ldexp(1.0L, inputs_.dtype == DType::f16 ? 16 : 128);
    return std::clamp(value, -top, top);
  }
  /// How far from exact a result may be.
  long double allowed_at(std::size_t f, std::int64_t n, double slack) const {
    const DType type = inputs_.dtype;
    const long double bounded = clamped(exact_[f][static_cast<std::size_t>(n)]);
    const ElementwiseFunction& function = functions_[f];
    const auto x = static_cast<long double>(inputs_.get_real(n));
    long double allowed = (function.ulps + slack) * unit_of(bounded, DType::f32);
    if (function.of_operand != 0 && std::isfinite(x)) {
      allowed += function.of_operand * std::ldexp(std::fabs(x), -24);
    }
    return type == DType::f32 ? allowed : allowed + unit_of(bounded, type) / 2;
  }
  Range right_range(std::size_t f, std::int64_t n) const {
    const long double want = exact_[f][static_cast<std::size_t>(n)];
    if (!std::isfinite(want) || want == 0) {
      return {};
    }
    const long double allowed = allowed_at(f, n, 0);
    const auto low = static_cast<double>(clamped(want) - allowed),
               high = static_cast<double>(clamped(want) + allowed);
    return low < high ? Range{std::nextafter(low, high), std::nextafter(high, low)} : Range{};
  }

  HostArray inputs_;
  std::vector<ElementwiseFunction> functions_;
  std::vector<std::vector<long double>> exact_;
  std::vector<Range> right_;  ///< by function and input
};

/// Of sweep_inputs(type), made once: exact values take long.
inline const ElementwiseJudge& judge_of(DType type) {
  static std::map<DType, ElementwiseJudge> judges;
  const auto known = judges.find(type);
  return known != judges.end()
             ? known->second
             : judges.emplace(type, ElementwiseJudge(sweep_inputs(type))).first->second;
}

}  // namespace tensorsmith::test
