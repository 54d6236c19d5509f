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
// Points are computed in blocks of eight, as many at once as the processor can (tape_step.hpp). An
// input that is_log2 is given as the logarithm of its symbol,
// and so is its slope: a step of 1 doubles a length. backward() belongs to the last forward() of
// the same workspace. The slope of a minimum is that of the smaller operand, of the first one at a
// tie; conditions, divisions rounded down and rests have exact values and no slope: smooth formulas
// (smooth.hpp) have none of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensorsmith/felix/formula.hpp"
#include "tensorsmith/felix/tape_step.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::felix {

struct TapeInput {
  FormulaId symbol;
  bool is_log2 = false;
};

class Tape {
 public:
  struct Workspace {
    std::vector<double> values, slopes;  ///< [blocks, size(), block]; slopes of one block
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
    space.values.resize(num_blocks(batch) * size() * block);
    for (std::size_t first = 0; first < batch; first += block) {
      double* const values = space.values.data() + first * size();
      for (std::size_t i = 0; i < num_inputs_; ++i) {  // they stand first, in their order
        for (std::size_t p = 0; p < block; ++p) {
          const double x = inputs[i * batch + smaller_of(first + p, batch - 1)];
          values[i * block + p] = code_[i].is_log2 ? math::exp2(x) : x;
        }
      }
      run(values);
      for (std::size_t r = 0; r < num_roots(); ++r) {
        for (std::size_t p = 0; p < block && first + p < batch; ++p) {
          results[r * batch + first + p] = values[roots_[r] * block + p];
        }
      }
    }
  }

  /// The sum over roots of slope times d root / d input.
  void backward(std::span<const double> slopes, Workspace& space,
                std::span<double> gradient) const {
    const std::size_t batch = space.batch;
    TENSORSMITH_ASSERT(slopes.size() == num_roots() * batch &&
                           gradient.size() == num_inputs_ * batch &&
                           space.values.size() == num_blocks(batch) * size() * block,
                       "a batch of another size");
    for (std::size_t first = 0; first < batch; first += block) {
      space.slopes.assign(size() * block, 0);
      for (std::size_t r = 0; r < num_roots(); ++r) {
        double* const to = space.slopes.data() + roots_[r] * block;
        for (std::size_t p = 0; p < block && first + p < batch; ++p) {
          to[p] += slopes[r * batch + first + p];
        }
      }
      const double* const values = space.values.data() + first * size();
      run_back(values, space.slopes.data());
      for (std::size_t i = 0; i < num_inputs_; ++i) {
        for (std::size_t p = 0; p < block && first + p < batch; ++p) {
          const double slope = space.slopes[i * block + p];
          gradient[i * batch + first + p] =
              code_[i].is_log2 ? slope * values[i * block + p] * ln2 : slope;
        }
      }
    }
  }

 private:
  using Instruction = TapeInstruction;
  static constexpr std::size_t block = TapeInstruction::block;
  static constexpr double ln2 = 0.693147180559945309417;

  static std::size_t num_blocks(std::size_t batch) { return (batch + block - 1) / block; }

  void run(double* values) const {
#if defined(TENSORSMITH_HAS_WIDE_LANES)
    if (lanes::widest() != 2) {
      return lanes::widest() == 8 ? run_eight(values) : run_four(values);
    }
#endif
    run_all<lanes::Two>(values);
  }
  void run_back(const double* values, double* slopes) const {
#if defined(TENSORSMITH_HAS_WIDE_LANES)
    if (lanes::widest() != 2) {
      return lanes::widest() == 8 ? run_back_eight(values, slopes) : run_back_four(values, slopes);
    }
#endif
    run_back_all<lanes::Two>(values, slopes);
  }
#if defined(TENSORSMITH_HAS_WIDE_LANES)
  __attribute__((target("avx512f,avx512dq"))) void run_eight(double* values) const {
    run_all<lanes::Eight>(values);
  }
  __attribute__((target("avx2"))) void run_four(double* values) const {
    run_all<lanes::Four>(values);
  }
  __attribute__((target("avx512f,avx512dq"))) void run_back_eight(const double* values,
                                                                  double* slopes) const {
    run_back_all<lanes::Eight>(values, slopes);
  }
  __attribute__((target("avx2"))) void run_back_four(const double* values, double* slopes) const {
    run_back_all<lanes::Four>(values, slopes);
  }
#endif
  template <class Real>
  TENSORSMITH_INLINED inline void run_all(double* values) const {
    for (std::size_t i = num_inputs_; i < code_.size(); ++i) {
      TapeStep<Real>::forward(code_[i], values + i * block, values);
    }
  }
  template <class Real>
  TENSORSMITH_INLINED inline void run_back_all(const double* values, double* slopes) const {
    for (std::size_t i = code_.size(); i-- > num_inputs_;) {
      TapeStep<Real>::backward(code_[i], values + i * block, slopes + i * block, values, slopes);
    }
  }

  std::vector<Instruction> code_;
  std::vector<std::uint32_t> roots_;
  std::size_t num_inputs_ = 0;
};

}  // namespace tensorsmith::felix
