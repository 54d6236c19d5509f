// SPDX-License-Identifier: Apache-2.0
#include "address_builder.hpp"

#include <algorithm>

#include <tuple>

namespace tensorsmith::llvm_codegen {
namespace {

bool is_zero(LLVMValueRef value) { return LLVMIsConstant(value) && LLVMIsNull(value); }

}  // namespace

void LinearForm::add(const LinearForm& other, std::int64_t factor) {
  const auto times = [factor](std::int64_t x) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) *
                                     static_cast<std::uint64_t>(factor));
  };
  constant += times(other.constant);
  lane += times(other.lane);
  outer += times(other.outer);
  inner += times(other.inner);
  is_lane_opaque = is_lane_opaque || other.is_lane_opaque;
  for (const LinearTerm& more : other.terms) {
    LinearTerm* const found = std::find_if(
        terms.begin(), terms.end(), [&](const LinearTerm& t) { return t.term == more.term; });
    if (found == terms.end()) {
      terms.push_back(LinearTerm{more.term, times(more.coefficient)});
    } else {
      found->coefficient += times(more.coefficient);
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].coefficient != 0) {
      terms[kept++] = terms[i];
    }
  }
  while (terms.size() > kept) {
    terms.pop_back();
  }
}

AddressBuilder::AddressBuilder(IrBuilder& body) : body_(body), hoisted_(body.m) {}

void AddressBuilder::push_level(LLVMBasicBlockRef preheader, LLVMValueRef variable,
                                LLVMValueRef start) {
  Level level;
  level.marker = LLVMBuildFreeze(body_.ref, LLVMGetPoison(body_.m.i64), "");  // erased in the end
  level.preheader = preheader;
  level.header = body_.block();
  level.variable = variable;
  level.start = start;
  levels_.push_back(level);
}

void AddressBuilder::open_function() { push_level(nullptr, nullptr, nullptr); }

void AddressBuilder::close_function() {
  LLVMInstructionEraseFromParent(levels_[0].marker);
  levels_.clear();
}

std::uint32_t AddressBuilder::open_loop(LLVMBasicBlockRef preheader, LLVMValueRef variable,
                                        LLVMValueRef start) {
  push_level(preheader, variable, start);
  terms_.push_back(Term{variable, level(), true});
  return static_cast<std::uint32_t>(terms_.size()) - 1;
}

// What `step` carries has this value when the variable has reached `end`.
LLVMValueRef AddressBuilder::end_of(const Level& level, const Step& step, LLVMValueRef end) {
  hoisted_.before(LLVMGetBasicBlockTerminator(level.preheader));
  const LLVMValueRef begin = LLVMGetIncomingValue(step.phi, 0);
  const LLVMValueRef count = is_zero(level.start) ? end : hoisted_.sub(end, level.start);
  const LLVMValueRef distance = hoisted_.mul(count, hoisted_.m.const_i64(step.amount));
  return step.is_pointer ? hoisted_.offset(begin, distance) : hoisted_.add(begin, distance);
}

LLVMValueRef AddressBuilder::close_loop(LLVMValueRef end) {
  Level level = levels_.back();
  const LLVMBasicBlockRef latch = body_.block();
  const bool only_counts = LLVMGetFirstUse(level.variable) == nullptr;
  LLVMValueRef is_not_last = nullptr;
  const auto advance = [&](LLVMValueRef phi, LLVMValueRef next, LLVMValueRef last) {
    LLVMBasicBlockRef from = latch;
    LLVMAddIncoming(phi, &next, &from, 1);
    if (last != nullptr) {
      is_not_last = body_.icmp(LLVMIntNE, next, last);
    }
  };
  for (const Step& step : level.steps) {
    const bool decides = only_counts && is_not_last == nullptr && step.amount != 0;
    const LLVMValueRef last = decides ? end_of(level, step, end) : nullptr;
    advance(step.phi,
            step.is_pointer ? body_.offset(step.phi, step.amount)
                            : body_.add(step.phi, body_.m.const_i64(step.amount)),
            last);
  }
  if (is_not_last != nullptr) {
    LLVMInstructionEraseFromParent(level.variable);
  } else {
    advance(level.variable, LLVMBuildNSWAdd(body_.ref, level.variable, body_.m.const_i64(1), ""),
            end);
  }
  LLVMInstructionEraseFromParent(level.marker);
  levels_.pop_back();
  return is_not_last;
}

std::uint32_t AddressBuilder::add_term(LLVMValueRef value, int level) {
  terms_.push_back(Term{value, level, false});
  return static_cast<std::uint32_t>(terms_.size()) - 1;
}

IrBuilder& AddressBuilder::at(int level) {
  if (level == level_here) {
    return body_;
  }
  hoisted_.before(levels_[static_cast<std::size_t>(level)].marker);
  return hoisted_;
}

LLVMValueRef AddressBuilder::plus(IrBuilder& b, LLVMValueRef base, bool is_pointer,
                                  LLVMValueRef value, std::int64_t amount) {
  const LLVMValueRef product = amount == 1 ? value : b.mul(value, b.m.const_i64(amount));
  if (is_pointer) {
    return b.offset(base, product);
  }
  return base == nullptr ? product : b.add(base, product);
}

LLVMValueRef AddressBuilder::carry(LLVMValueRef base, bool is_pointer, const Term& term,
                                   std::int64_t amount) {
  Level& level = levels_[static_cast<std::size_t>(term.level)];
  LLVMValueRef init = base;
  if (is_zero(level.start)) {
    init = base == nullptr ? body_.m.const_i64(0) : base;
  } else {
    hoisted_.before(LLVMGetBasicBlockTerminator(level.preheader));
    init = plus(hoisted_, base, is_pointer, level.start, amount);
  }
  hoisted_.before(LLVMGetFirstInstruction(level.header));
  const LLVMValueRef phi = LLVMBuildPhi(hoisted_.ref, is_pointer ? body_.m.ptr : body_.m.i64, "");
  LLVMAddIncoming(phi, &init, &level.preheader, 1);
  level.steps.push_back(Step{phi, amount, is_pointer});
  return phi;
}

LLVMValueRef AddressBuilder::resolve(std::uint32_t base_id, LLVMValueRef base, std::int64_t bytes,
                                     const LinearForm& form) {
  SmallVector<LinearTerm, 4> order = form.terms;
  std::sort(order.begin(), order.end(), [&](const LinearTerm& x, const LinearTerm& y) {
    const Term& a = terms_[x.term];
    const Term& b = terms_[y.term];
    return std::tuple(a.level, !a.is_induction, x.term) <
           std::tuple(b.level, !b.is_induction, y.term);
  });
  const bool is_pointer = base != nullptr;
  LLVMValueRef sum = base;
  Key key = {static_cast<std::int64_t>(base_id)};
  for (const LinearTerm& part : order) {
    const Term term = terms_[part.term];
    const std::int64_t amount = part.coefficient * bytes;
    if (term.level == level_here) {
      sum = plus(body_, sum, is_pointer, term.value, amount);
      continue;
    }
    key.push_back(part.term);
    key.push_back(amount);
    LLVMValueRef& known = known_[key];
    if (known == nullptr) {
      known = term.is_induction && !(sum == nullptr && amount == 1)
                  ? carry(sum, is_pointer, term, amount)
                  : plus(at(term.level), sum, is_pointer, term.value, amount);
    }
    sum = known;
  }
  return sum;
}

LLVMValueRef AddressBuilder::value(const LinearForm& form) {
  const LLVMValueRef sum = resolve(0, nullptr, 1, form);
  if (sum == nullptr) {
    return body_.m.const_i64(form.constant);
  }
  if (form.constant == 0) {
    return sum;
  }
  int level = 0;
  for (const LinearTerm& part : form.terms) {
    level = std::max(level, terms_[part.term].level);
  }
  return at(level).add(sum, body_.m.const_i64(form.constant));
}

LLVMValueRef AddressBuilder::pointer(std::uint32_t base_id, LLVMValueRef base, std::int64_t bytes,
                                     const LinearForm& form) {
  return resolve(base_id, base, bytes, form);
}

}  // namespace tensorsmith::llvm_codegen
