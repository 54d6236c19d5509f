// SPDX-License-Identifier: Apache-2.0
// AddressBuilder: index arithmetic of one function, each part computed at the loop that fixes it.
//
// Private to lib/cpu. Own design. An index is a LinearForm over terms: induction variables of open
// loops, and opaque values known from some loop level on. Sums are built level by level and
// remembered: the part that depends on loops 0..d is computed at the top of loop d's body, and a
// multiple of d's own variable is carried by a phi that is advanced at the latch. Inner loops
// therefore contain neither multiplications nor divisions of loop variables.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ir_builder.hpp"
#include "tensorsmith/support/small_vector.hpp"

namespace tensorsmith::llvm_codegen {

struct LinearTerm {
  std::uint32_t term;
  std::int64_t coefficient;
  bool operator==(const LinearTerm&) const = default;
};

/// constant + lane * (number of the lane) + sum of coefficient * term.
struct LinearForm {
  std::int64_t constant = 0;
  std::int64_t lane = 0;
  std::int64_t outer = 0, inner = 0;  ///< of the two loops whose iterations the lanes are
  bool is_lane_opaque = false;  ///< depends on the lane in another way; the rest means nothing
  SmallVector<LinearTerm, 4> terms;

  bool is_constant() const { return terms.empty() && is_uniform() && !is_lane_opaque; }
  bool is_pattern() const { return outer != 0 || inner != 0; }
  bool is_uniform() const { return lane == 0 && !is_pattern(); }  ///< the same in all lanes
  void add(const LinearForm& other, std::int64_t factor);
  bool operator==(const LinearForm&) const = default;
};

class AddressBuilder {
 public:
  static constexpr int level_here = 1 << 20;  ///< computed in place, never remembered

  explicit AddressBuilder(IrBuilder& body);

  /// The current block becomes level 0. Everything is inserted before a marker that close() erases.
  void open_function();
  void close_function();
  /// Called with the body builder at the start of a loop header that holds nothing but phis.
  std::uint32_t open_loop(LLVMBasicBlockRef preheader, LLVMValueRef variable, LLVMValueRef start);
  /// Called with the body builder in the latch, before its branch; advances the variable and what
  /// is carried with it. Returns whether another iteration follows. `end` > start is one behind the
  /// variable's last value; a variable that only counts is replaced by an address that is carried.
  LLVMValueRef close_loop(LLVMValueRef end);
  int level() const { return static_cast<int>(levels_.size()) - 1; }

  /// A term whose value exists at `level` (or level_here).
  std::uint32_t add_term(LLVMValueRef value, int level);
  int level_of(std::uint32_t term) const { return terms_[term].level; }
  /// A builder positioned where values of `level` belong.
  IrBuilder& at(int level);

  /// In front of it values of the function belong.
  LLVMValueRef function_marker() const { return levels_[0].marker; }

  /// The i64 value of a form without lanes.
  LLVMValueRef value(const LinearForm& form);
  /// base + bytes * form, the constant and the lane left out. `base` is known at level 0; equal
  /// `base_id` means equal base.
  LLVMValueRef pointer(std::uint32_t base_id, LLVMValueRef base, std::int64_t bytes,
                       const LinearForm& form);

 private:
  struct Term {
    LLVMValueRef value;
    int level;
    bool is_induction;
  };
  struct Step {
    LLVMValueRef phi;
    std::int64_t amount;
    bool is_pointer;
  };
  struct Level {
    LLVMValueRef marker;
    LLVMBasicBlockRef preheader;
    LLVMBasicBlockRef header;
    LLVMValueRef variable;  ///< null for the function
    LLVMValueRef start;
    std::vector<Step> steps;
  };
  using Key = std::vector<std::int64_t>;

  LLVMValueRef resolve(std::uint32_t base_id, LLVMValueRef base, std::int64_t bytes,
                       const LinearForm& form);
  LLVMValueRef plus(IrBuilder& b, LLVMValueRef base, bool is_pointer, LLVMValueRef value,
                    std::int64_t amount);
  LLVMValueRef carry(LLVMValueRef base, bool is_pointer, const Term& term, std::int64_t amount);
  void push_level(LLVMBasicBlockRef preheader, LLVMValueRef variable, LLVMValueRef start);
  LLVMValueRef end_of(const Level& level, const Step& step, LLVMValueRef end);

  IrBuilder& body_;
  IrBuilder hoisted_;
  std::vector<Term> terms_;
  std::vector<Level> levels_;
  std::map<Key, LLVMValueRef> known_;
};

}  // namespace tensorsmith::llvm_codegen
