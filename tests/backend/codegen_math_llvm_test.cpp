// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Largest errors of the inline elementary functions, and their special values.
#include <bit>
#include <limits>

#include "codegen_fixture.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

constexpr std::int64_t block = 1 << 12;

/// out[n] = op(x[n]), vectorized; and the same with scalars.
LoopProgram call_program(CallOp op, bool is_scalar) {
  Maker m;
  const BufferId x = m.argument("x", DType::f32, {block});
  const BufferId out = m.argument("out", DType::f32, {block});
  const VarId j = m.var("j");
  m.p.body = m.loop(j, block, is_scalar ? ForKind::serial : ForKind::vectorized,
                    m.store(out, {m.v(j)}, m.pool().call(op, {m.load(x, {m.v(j)})})));
  return std::move(m.p);
}

double reference(CallOp op, double x) {
  if (op == CallOp::sigmoid && x < 0) {
    return std::exp(x) / (1.0 + std::exp(x));
  }
  return apply_call_real(op, x, 0.0);
}

/// Distance in units of the last place of a float near `want`.
double ulps(float got, double want) {
  if (got != got || want != want) {
    return got != got && want != want ? 0.0 : 1e9;
  }
  const float near = static_cast<float>(want);
  if (got == near) {
    return 0.0;
  }
  if (std::isinf(got) || std::isinf(near)) {
    return 1e9;
  }
  int exponent = 0;
  std::frexp(want, &exponent);
  return std::fabs(static_cast<double>(got) - want) /
         std::ldexp(1.0, std::max(exponent - 24, -149));
}

/// Bit patterns in steps of `step` and their negatives, special values included.
std::vector<float> samples(std::uint32_t step) {
  std::vector<float> list = {0.0F,         -0.0F,     1.0F,      -1.0F,      0.625F,
                             0.927734375F, 88.72284F, 88.72283F, -87.33655F, -103.97208F,
                             -104.0F,      1e30F,     -1e30F};
  for (float x : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(),
                  std::numeric_limits<float>::min(), std::numeric_limits<float>::max(),
                  std::numeric_limits<float>::denorm_min()}) {
    list.push_back(x);
    list.push_back(-x);
  }
  for (std::uint64_t bits = 1; bits < 0x7F800000U; bits += step) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    list.push_back(x);
    list.push_back(-x);
  }
  while (list.size() % block != 0) {
    list.push_back(0.5F);
  }
  return list;
}

double largest_error(CallOp op, const Target& target, bool is_scalar,
                     const std::vector<float>& inputs) {
  LlvmCompiler compiler(target);
  const auto object = compiler.compile(call_program(op, is_scalar));
  REQUIRE(object);
  const auto kernel = JitKernel::load(*object);
  REQUIRE(kernel);
  alignas(64) static float x[block];
  alignas(64) static float out[block];
  double worst = 0.0;
  for (std::size_t at = 0; at < inputs.size(); at += block) {
    std::memcpy(x, &inputs[at], sizeof(x));
    void* arguments[] = {x, out};
    kernel->entry()(arguments, nullptr, nullptr);
    for (std::int64_t n = 0; n < block; ++n) {
      const double error = ulps(out[n], reference(op, static_cast<double>(x[n])));
      if (error > worst) {
        worst = error;
        if (worst > 4.0) {
          UNSCOPED_INFO(name_of(op) << "(" << x[n] << ") = " << out[n] << " on " << target.name);
        }
      }
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("elementary functions keep their stated accuracy", "[codegen]") {
  struct Bound {
    CallOp op;
    double ulps;
  };
  const Bound bounds[] = {{CallOp::exp, 1.0},   {CallOp::log, 1.0},     {CallOp::tanh, 1.5},
                          {CallOp::erf, 1.2},   {CallOp::sigmoid, 3.0}, {CallOp::rsqrt, 1.5},
                          {CallOp::sqrt, 0.5},  {CallOp::floor, 0.0},   {CallOp::ceil, 0.0},
                          {CallOp::round, 0.0}, {CallOp::abs, 0.0}};
  const std::vector<float> inputs = samples(9973);
  for (const Target& target : code_targets()) {
    if (!host_runs(target)) {
      continue;
    }
    for (const Bound& bound : bounds) {
      for (bool is_scalar : {false, true}) {
        const double error = largest_error(bound.op, target, is_scalar, inputs);
        INFO(name_of(bound.op) << " on " << target.name << (is_scalar ? ", scalar" : ""));
        CHECK(error <= bound.ulps);
      }
    }
  }
}

// With a bound of its first factor, its products and its sum are emitted as one thing, with an erf
// that is exact enough for a sum; without, -infinity gives NaN, as IEEE 754 says.
TEST_CASE("gelu is as exact as the distance of erf from -1 is as a float", "[codegen]") {
  for (const auto& [is_swapped, is_bounded] : {std::pair(false, false), std::pair(true, false),
                                               std::pair(false, true), std::pair(true, true)}) {
    Maker m;
    ExprPool& pool = m.pool();
    const BufferId x = m.argument("x", DType::f32, {block});
    const BufferId out = m.argument("out", DType::f32, {block});
    const VarId j = m.var("j");
    const ExprId v = m.load(x, {m.v(j)});
    const ExprId bounded = is_swapped ? pool.max(m.f(-10.0), v) : pool.max(v, m.f(-10.0));
    const ExprId half = pool.mul(is_bounded ? bounded : v, m.f(0.5));
    const ExprId erf = pool.call(CallOp::erf, {pool.mul(m.f(0.7071067811865476), v)});
    const ExprId value = is_swapped ? pool.mul(pool.add(m.f(1.0), erf), half)
                                    : pool.mul(half, pool.add(erf, m.f(1.0)));
    m.p.body = m.loop(j, block, ForKind::vectorized, m.store(out, {m.v(j)}, value));
    std::vector<float> inputs = samples(99'991);
    for (const Target& target : code_targets()) {
      if (!host_runs(target)) {
        continue;
      }
      LlvmCompiler compiler(target);
      const auto object = compiler.compile(m.p);
      REQUIRE(object);
      const auto kernel = JitKernel::load(*object);
      REQUIRE(kernel);
      alignas(64) static float in[block], got[block];
      double worst = 0;
      bool has_same_nans = true;
      for (std::size_t at = 0; at < inputs.size(); at += block) {
        std::memcpy(in, &inputs[at], sizeof(in));
        void* arguments[] = {in, got};
        kernel->entry()(arguments, nullptr, nullptr);
        for (std::int64_t n = 0; n < block; ++n) {
          const double t = static_cast<double>(in[n]);
          const double gate = is_bounded && t < -10.0 ? -10.0 : t;
          const double want = gate * 0.5 * (1.0 + std::erf(t * 0.7071067811865476));
          has_same_nans = has_same_nans && (got[n] != got[n]) == (want != want);
          if (std::isfinite(want) && t != 0) {
            worst = std::max(worst, std::fabs(static_cast<double>(got[n]) - want) /
                                        std::max(std::fabs(t), 0x1p-126));
          }
        }
      }
      INFO(target.name);
      CHECK(worst <= 0x1p-23);
      CHECK(has_same_nans);
    }
  }
}

TEST_CASE("powers, f64 and narrow floats call the right function", "[codegen]") {
  for (DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    Maker m;
    ExprPool& pool = m.pool();
    const BufferId x = m.argument("x", type, {19});
    const BufferId out = m.argument("out", type, {9, 19});
    const VarId j = m.var("j");
    const ExprId value = pool.call(CallOp::abs, {m.load(x, {m.v(j)})});
    const auto power = [&](double exponent) {
      return pool.call(CallOp::pow, {value, m.f(exponent, type)});
    };
    const ExprId results[] = {power(2.0),
                              power(3.0),
                              power(0.5),
                              power(0.75),
                              pool.call(CallOp::exp, {value}),
                              pool.call(CallOp::log, {pool.add(value, m.f(1.0, type))}),
                              pool.call(CallOp::tanh, {m.load(x, {m.v(j)})}),
                              pool.call(CallOp::erf, {m.load(x, {m.v(j)})}),
                              pool.call(CallOp::sigmoid, {m.load(x, {m.v(j)})})};
    std::vector<StmtId> stores;
    for (std::int64_t row = 0; row < 9; ++row) {
      stores.push_back(m.store(out, {m.i(row), m.v(j)}, results[row]));
    }
    m.p.body = m.loop(j, 19, ForKind::vectorized, m.seq(stores));
    INFO(name_of(type));
    check_program(m.p);
  }
}

TEST_CASE("min and max return the other operand of a NaN", "[codegen]") {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId x = m.argument("x", DType::f32, {20});
  const BufferId y = m.argument("y", DType::f32, {20});
  const BufferId out = m.argument("out", DType::f32, {5, 20});
  const BufferId best = m.buffer("best", DType::f32, {20}, Scope::register_);
  const VarId j = m.var("j"), k = m.var("k");
  const ExprId a = m.load(x, {m.v(j)}), b = m.load(y, {m.v(j)});
  const ExprId held = m.load(best, {m.v(j)});
  const StmtId body =
      m.seq({m.store(best, {m.v(j)}, m.f(-1e30)), m.store(out, {m.i(0), m.v(j)}, pool.min(a, b)),
             m.store(out, {m.i(1), m.v(j)}, pool.max(b, a)),
             m.store(out, {m.i(2), m.v(j)}, pool.max(a, m.f(0.0))),
             m.store(out, {m.i(3), m.v(j)}, pool.min(m.f(1.0), a)),
             m.store(best, {m.v(j)}, pool.max(held, a)), m.store(best, {m.v(j)}, pool.max(b, held)),
             m.store(out, {m.i(4), m.v(j)}, held)});
  (void)k;
  m.p.body = m.alloc(best, m.loop(j, 20, ForKind::vectorized, body));
  CounterRng rng(seed());
  std::vector<HostArray> arrays = make_arrays(m.p, rng);
  for (std::int64_t n = 0; n < 20; n += 3) {
    arrays[static_cast<std::size_t>(n % 2)].set_real(n, std::nan(""));
  }
  for (const Target& target : code_targets()) {
    CHECK(difference(m.p, arrays, target) == "");
  }
}

TEST_CASE("every f16 and bf16 value survives, and rounding is to nearest even", "[codegen]") {
  for (DType type : {DType::f16, DType::bf16}) {
    Maker m;
    const BufferId x = m.argument("x", type, {65536});
    const BufferId wide = m.argument("wide", DType::f32, {65536});
    const BufferId back = m.argument("back", type, {65536});
    const VarId j = m.var("j");
    const ExprId value = m.pool().cast(DType::f32, m.load(x, {m.v(j)}));
    const ExprId bumped = m.pool().mul(value, m.f(1.00048828125));
    m.p.body = m.loop(j, 65536, ForKind::vectorized,
                      m.seq({m.store(wide, {m.v(j)}, value),
                             m.store(back, {m.v(j)}, m.pool().cast(type, bumped))}));
    CounterRng rng(1);
    std::vector<HostArray> arrays = make_arrays(m.p, rng);
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const auto pattern = static_cast<std::uint16_t>(bits);
      std::memcpy(&arrays[0].data[bits * 2], &pattern, 2);
    }
    std::vector<HostArray> want = arrays;
    REQUIRE(eval(m.p, want));
    for (const Target& target : code_targets()) {
      const auto got = run_compiled(m.p, arrays, target);
      REQUIRE(got);
      if (!host_runs(target)) {
        continue;
      }
      int num_wrong = 0;
      for (std::int64_t n = 0; n < 65536; ++n) {
        for (std::size_t i : {std::size_t{1}, std::size_t{2}}) {
          const double x1 = (*got)[i].get_real(n), y1 = want[i].get_real(n);
          num_wrong += x1 == y1 || (x1 != x1 && y1 != y1) ? 0 : 1;
        }
      }
      INFO(name_of(type) << " on " << target.name);
      CHECK(num_wrong == 0);
    }
  }
}
