// SPDX-License-Identifier: Apache-2.0
// Tape: formulas as a flat list of instructions, run forward and backward over a batch of points.
//
// Floor 6.5. Own design. What a search by slopes calls:
//
//   Tape tape(pool, roots, inputs);              // once per sketch and shape; then it is const
//   Tape::Workspace space;                       // one per thread, reused
//   tape.forward(values, batch, space, results); // values  [num_inputs, batch], results
//   [num_roots, batch] tape.backward(slopes, space, gradient);      // slopes  [num_roots, batch],
//   gradient [num_inputs, batch]
//
// Values of one input of all points lie side by side, so every instruction is a loop over points
// that a compiler makes vectors of. An input that is_log2 is given as the logarithm of its symbol,
// and so is its slope: a step of 1 doubles a length. backward() belongs to the last forward() of
// the same workspace. The slope of a minimum is that of the smaller operand, of the first one at a
// tie; conditions, divisions rounded down and rests have exact values and no slope: smooth formulas
// (smooth.hpp) have none of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensorsmith/felix/formula.hpp"

namespace tensorsmith::felix {

struct TapeInput {
  FormulaId symbol;
  bool is_log2 = false;
};

class Tape {
 public:
  struct Workspace {
    std::vector<double> values, slopes;  ///< [size(), batch]
    std::size_t batch = 0;
  };

  Tape() = default;
  /// Every symbol in the roots is an input.
  Tape(const FormulaPool& pool, const std::vector<FormulaId>& roots,
       const std::vector<TapeInput>& inputs)
      : num_inputs_(inputs.size()) {
    const std::vector<bool> used = used_by(pool, roots);
    std::vector<std::uint32_t> at(pool.size(), UINT32_MAX);
    for (std::uint32_t i = 0; i < inputs.size(); ++i) {
      Instruction code;
      code.op = Op::symbol;
      code.args[0] = i;
      code.is_log2 = inputs[i].is_log2;
      at[inputs[i].symbol.value] = static_cast<std::uint32_t>(code_.size());
      code_.push_back(code);
    }
    for (std::uint32_t i = 0; i < pool.size(); ++i) {
      const FormulaNode& node = pool[FormulaId{i}];
      if (!used[i] || node.op == Op::symbol) {
        TENSORSMITH_ASSERT(!used[i] || at[i] != UINT32_MAX, "a symbol that is no input");
        continue;
      }
      Instruction code;
      code.op = node.op;
      code.value = node.value;
      for (std::size_t k = 0; k < arity_of(node.op); ++k) {
        code.args[k] = at[node.args[k]];
      }
      at[i] = static_cast<std::uint32_t>(code_.size());
      code_.push_back(code);
    }
    for (FormulaId root : roots) {
      roots_.push_back(at[root.value]);
    }
  }

  std::size_t size() const { return code_.size(); }
  std::size_t num_inputs() const { return num_inputs_; }
  std::size_t num_roots() const { return roots_.size(); }

  void forward(std::span<const double> inputs, std::size_t batch, Workspace& space,
               std::span<double> results) const {
    TENSORSMITH_ASSERT(inputs.size() == num_inputs_ * batch &&
                           results.size() == num_roots() * batch,
                       "a batch of another size");
    space.batch = batch;
    space.values.resize(size() * batch);
    for (std::size_t i = 0; i < size(); ++i) {
      run(code_[i], i, inputs.data(), space);
    }
    for (std::size_t r = 0; r < num_roots(); ++r) {
      const double* from = space.values.data() + roots_[r] * batch;
      for (std::size_t p = 0; p < batch; ++p) {
        results[r * batch + p] = from[p];
      }
    }
  }

  /// The sum over roots of slope times d root / d input.
  void backward(std::span<const double> slopes, Workspace& space,
                std::span<double> gradient) const {
    const std::size_t batch = space.batch;
    TENSORSMITH_ASSERT(slopes.size() == num_roots() * batch &&
                           gradient.size() == num_inputs_ * batch &&
                           space.values.size() == size() * batch,
                       "a batch of another size");
    space.slopes.assign(size() * batch, 0);
    for (std::size_t r = 0; r < num_roots(); ++r) {
      double* to = space.slopes.data() + roots_[r] * batch;
      for (std::size_t p = 0; p < batch; ++p) {
        to[p] += slopes[r * batch + p];
      }
    }
    for (double& slope : gradient) {
      slope = 0;
    }
    for (std::size_t i = size(); i-- > 0;) {
      run_back(code_[i], i, space, gradient.data());
    }
  }

 private:
  struct Instruction {
    Op op = Op::number;
    bool is_log2 = false;
    std::uint32_t args[3] = {0, 0, 0};  ///< instructions; of a symbol, the input
    double value = 0;
  };
  static constexpr double least_divisor = 1e-6;
  static constexpr double ln2 = 0.693147180559945309417;

  /// Away from 0, with its sign.
  static double divisor_of(double x) {
    const double size = x < 0 ? -x : x;
    return size >= least_divisor ? x : (x < 0 ? -least_divisor : least_divisor);
  }

  static void run(const Instruction& code, std::size_t at, const double* inputs, Workspace& space) {
    const std::size_t batch = space.batch;
    double* to = space.values.data() + at * batch;
    const double* a = space.values.data() + code.args[0] * batch;
    const double* b = space.values.data() + code.args[1] * batch;
    const double* c = space.values.data() + code.args[2] * batch;
    const auto each = [&](auto value) {
      for (std::size_t p = 0; p < batch; ++p) {
        to[p] = value(p);
      }
    };
    switch (code.op) {
    case Op::number:
    case Op::truth:
      return each([&](std::size_t) { return code.value; });
    case Op::symbol:
      inputs += code.args[0] * batch;
      return code.is_log2 ? each([&](std::size_t p) { return math::exp2(inputs[p]); })
                          : each([&](std::size_t p) { return inputs[p]; });
    case Op::add:
      return each([&](std::size_t p) { return a[p] + b[p]; });
    case Op::sub:
      return each([&](std::size_t p) { return a[p] - b[p]; });
    case Op::mul:
      return each([&](std::size_t p) { return a[p] * b[p]; });
    case Op::div:
      return each([&](std::size_t p) { return a[p] / divisor_of(b[p]); });
    case Op::min:
      return each([&](std::size_t p) { return b[p] < a[p] ? b[p] : a[p]; });
    case Op::max:
      return each([&](std::size_t p) { return a[p] < b[p] ? b[p] : a[p]; });
    case Op::sigmoid:
      return each([&](std::size_t p) { return 0.5 + a[p] / (2 * math::sqrt(1 + a[p] * a[p])); });
    case Op::hump:
      return each([&](std::size_t p) { return 1 / math::sqrt(1 + a[p] * a[p]); });
    default:
      return each([&](std::size_t p) { return value_of(code.op, a[p], b[p], c[p]); });
    }
  }

  static void run_back(const Instruction& code, std::size_t at, Workspace& space,
                       double* gradient) {
    const std::size_t batch = space.batch;
    const double* s = space.slopes.data() + at * batch;
    const double* y = space.values.data() + at * batch;
    const double* a = space.values.data() + code.args[0] * batch;
    const double* b = space.values.data() + code.args[1] * batch;
    const double* c = space.values.data() + code.args[2] * batch;
    // One operand after the other: both may be the same instruction.
    const auto give = [&](std::size_t operand, auto slope) {
      double* to = space.slopes.data() + code.args[operand] * batch;
      for (std::size_t p = 0; p < batch; ++p) {
        to[p] += s[p] * slope(p);
      }
    };
    switch (code.op) {
    case Op::symbol:
      for (std::size_t p = 0; p < batch; ++p) {
        gradient[code.args[0] * batch + p] += code.is_log2 ? s[p] * y[p] * ln2 : s[p];
      }
      return;
    case Op::add:
    case Op::sub:
      give(0, [](std::size_t) { return 1.0; });
      return give(1, [&](std::size_t) { return code.op == Op::add ? 1.0 : -1.0; });
    case Op::mul:
      give(0, [&](std::size_t p) { return b[p]; });
      return give(1, [&](std::size_t p) { return a[p]; });
    case Op::div:
      give(0, [&](std::size_t p) { return 1 / divisor_of(b[p]); });
      return give(1, [&](std::size_t p) { return -y[p] / divisor_of(b[p]); });
    case Op::min:
      give(0, [&](std::size_t p) { return b[p] < a[p] ? 0.0 : 1.0; });
      return give(1, [&](std::size_t p) { return b[p] < a[p] ? 1.0 : 0.0; });
    case Op::max:
      give(0, [&](std::size_t p) { return a[p] < b[p] ? 0.0 : 1.0; });
      return give(1, [&](std::size_t p) { return a[p] < b[p] ? 1.0 : 0.0; });
    case Op::pow:
      give(0, [&](std::size_t p) { return b[p] == 0 ? 0 : b[p] * math::pow(a[p], b[p] - 1); });
      return give(1, [&](std::size_t p) { return a[p] > 0 ? y[p] * math::log(a[p]) : 0; });
    case Op::log:
      return give(0, [&](std::size_t p) { return 1 / divisor_of(a[p]); });
    case Op::logk:
      give(0, [&](std::size_t p) { return -y[p] / (a[p] * math::log(a[p])); });
      return give(1, [&](std::size_t p) { return 1 / (b[p] * math::log(a[p])); });
    case Op::exp:
      return give(0, [&](std::size_t p) { return y[p]; });
    case Op::select:
      give(1, [&](std::size_t p) { return a[p] != 0 ? 1.0 : 0.0; });
      return give(2, [&](std::size_t p) { return a[p] != 0 ? 0.0 : 1.0; });
    case Op::sigmoid:
      return give(0, [&](std::size_t p) {
        const double root = math::sqrt(1 + a[p] * a[p]);
        return 0.5 / (root * root * root);
      });
    case Op::hump:
      return give(0, [&](std::size_t p) { return -a[p] * y[p] * y[p] * y[p]; });
    case Op::soft_min:
    case Op::soft_max: {
      const double sign = code.op == Op::soft_min ? -1 : 1;
      // (y / a)^(+-1/t) is the part of a in the sum of powers; parts are at most 1.
      const auto part = [&](std::size_t p, const double* of) {
        return math::pow(of[p] / y[p], sign / c[p]);
      };
      give(0, [&](std::size_t p) { return part(p, a) * y[p] / a[p]; });
      give(1, [&](std::size_t p) { return part(p, b) * y[p] / b[p]; });
      return give(2, [&](std::size_t p) {
        double entropy = 0;
        for (const double* of : {a, b}) {
          const double share = part(p, of);
          entropy -= share > 0 ? share * math::log(share) : 0;
        }
        return sign * y[p] * entropy;
      });
    }
    default:
      return;
    }
  }

  std::vector<Instruction> code_;
  std::vector<std::uint32_t> roots_;
  std::size_t num_inputs_ = 0;
};

}  // namespace tensorsmith::felix
