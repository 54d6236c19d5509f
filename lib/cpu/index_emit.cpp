// SPDX-License-Identifier: Apache-2.0
// Linear forms of index expressions; parts that are not linear become terms of their own.
#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "constant_division.hpp"
#include "tensorsmith/ir/flat_index.hpp"
#include "tensorsmith/ir/value.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/floor_div.hpp"
#include "value_emitter.hpp"

namespace tensorsmith::llvm_codegen {

LinearForm ValueEmitter::form(ExprId id) {
  const ExprNode& node = program_.pool[id];
  LinearForm result;
  if (const IntImm* imm = std::get_if<IntImm>(&node.op)) {
    result.constant = imm->value;
    return result;
  }
  if (const VarRef* ref = std::get_if<VarRef>(&node.op)) {
    const Binding& binding = bindings_[ref->var.value];
    switch (binding.kind) {
    case Binding::Kind::none:
      give_up("variable " + program_.pool.var_name(ref->var) + " is used outside its loop");
    case Binding::Kind::scalar:
      return binding.value;
    case Binding::Kind::lane:
      result = chunk_.first;
      (chunk_.inner > 1 ? result.outer : result.lane) = chunk_.lanes > 1 ? 1 : 0;
      result.constant += chunk_.lanes > 1 ? 0 : chunk_.outer_at(0);
      return result;
    case Binding::Kind::inner_lane:
      result.inner = chunk_.lanes > 1 ? 1 : 0;
      result.constant = chunk_.lanes > 1 ? 0 : chunk_.inner_at(0);
      return result;
    }
  }
  if (!facts_.is_index(id)) {
    return opaque(id);
  }
  if (const Unary* unary = std::get_if<Unary>(&node.op); unary && unary->op == UnaryOp::neg) {
    result.add(form(unary->a), -1);
    return result;
  }
  if (const Cast* cast = std::get_if<Cast>(&node.op)) {
    return node.dtype == DType::boolean || program_.pool.dtype(cast->a) == DType::boolean
               ? opaque(id)
               : form(cast->a);
  }
  const Binary* const binary = std::get_if<Binary>(&node.op);
  if (binary == nullptr || node.dtype == DType::boolean) {
    return opaque(id);
  }
  switch (binary->op) {
  case BinaryOp::add:
  case BinaryOp::sub:
    result = form(binary->a);
    result.add(form(binary->b), binary->op == BinaryOp::add ? 1 : -1);
    return result;
  case BinaryOp::mul: {
    const LinearForm a = form(binary->a);
    const LinearForm b = form(binary->b);
    if (!a.is_constant() && !b.is_constant()) {
      return opaque(id);
    }
    result.add(a.is_constant() ? b : a, a.is_constant() ? a.constant : b.constant);
    return result;
  }
  case BinaryOp::div:
  case BinaryOp::truncmod:
  case BinaryOp::floordiv:
  case BinaryOp::floormod:
    return divided(*binary, id);
  case BinaryOp::min:
  case BinaryOp::max: {
    const LinearForm a = form(binary->a);
    const LinearForm b = form(binary->b);
    LinearForm difference = a;
    difference.add(b, -1);
    if (!difference.is_constant()) {
      return opaque(id);
    }
    return (difference.constant < 0) == (binary->op == BinaryOp::min) ? a : b;
  }
  default:
    return opaque(id);
  }
}

// (c * x + r) / c and % c are known if c divides all coefficients.
LinearForm ValueEmitter::divided(const Binary& node, ExprId id) {
  const LinearForm a = form(node.a);
  const LinearForm b = form(node.b);
  if (!b.is_constant()) {
    return opaque(id);
  }
  const std::int64_t c = b.constant;
  if (c == 0) {
    give_up("division by zero in an index");
  }
  LinearForm result;
  if (a.is_constant()) {
    result.constant = apply_integer(node.op, a.constant, c).value_or(0);
    return result;
  }
  const bool floors = node.op == BinaryOp::floordiv || node.op == BinaryOp::floormod;
  bool divides = c != -1 && !a.is_lane_opaque && a.lane % c == 0 && a.outer % c == 0 &&
                 a.inner % c == 0 && (floors || a.constant % c == 0);
  for (const LinearTerm& term : a.terms) {
    divides = divides && term.coefficient % c == 0;
  }
  if (!divides) {
    return opaque(id);
  }
  if (node.op == BinaryOp::truncmod || node.op == BinaryOp::floormod) {
    result.constant = floor_mod(a.constant, c);
    return result;
  }
  result.constant = floor_div(a.constant, c);
  result.lane = a.lane / c;
  result.outer = a.outer / c;
  result.inner = a.inner / c;
  for (const LinearTerm& term : a.terms) {
    result.terms.push_back(LinearTerm{term.term, term.coefficient / c});
  }
  return result;
}

// A comparison of indices that has one result in all lanes; null if that is not known. With a - b =
// G + r, G a sum of multiples of g and r known in every lane: r lies between two neighbouring
// multiples of g in all of them, so G decides.
//     8 * i + lane < 512, lane in 8  -->  8 * i < 512
LLVMValueRef ValueEmitter::compare_once(const Binary& node) {
  const bool is_order = node.op == BinaryOp::lt || node.op == BinaryOp::le ||
                        node.op == BinaryOp::gt || node.op == BinaryOp::ge;
  if (!is_order || !facts_.is_index(node.a) || !facts_.is_index(node.b)) {
    return nullptr;
  }
  LinearForm gap = form(node.a);
  gap.add(form(node.b), -1);
  constexpr std::int64_t most_known = std::int64_t{1} << 48;  // sums of these cannot overflow
  const auto is_small = [](std::int64_t x) { return -most_known < x && x < most_known; };
  if (gap.is_lane_opaque || gap.is_uniform() || gap.terms.empty() || !is_small(gap.constant) ||
      !is_small(gap.lane) || !is_small(gap.outer) || !is_small(gap.inner) ||
      !all_items(gap.terms, [&](const LinearTerm& t) { return is_small(t.coefficient); })) {
    return nullptr;
  }
  std::int64_t unit = 0;
  for (const LinearTerm& term : gap.terms) {
    unit = std::gcd(unit, term.coefficient);
  }
  const bool is_below = node.op == BinaryOp::lt || node.op == BinaryOp::le;  // gap < 0, or not
  const std::int64_t shift = node.op == BinaryOp::le || node.op == BinaryOp::gt ? 1 : 0;
  std::int64_t least = 0, most = 0;
  for (int lane = 0; lane < chunk_.count; ++lane) {
    const std::int64_t rest = gap.constant - shift + gap.lane * lane +
                              gap.outer * chunk_.outer_at(lane) + gap.inner * chunk_.inner_at(lane);
    const std::int64_t multiple = floor_div(rest, unit);
    least = lane == 0 ? multiple : std::min(least, multiple);
    most = lane == 0 ? multiple : std::max(most, multiple);
  }
  if (least != most) {
    return nullptr;
  }
  LinearForm multiples;
  multiples.terms = gap.terms;
  return b_.icmp(is_below ? LLVMIntSLT : LLVMIntSGE, addresses_.value(multiples),
                 m_.const_i64(-least * unit));
}

// One term; computed at the innermost loop whose variable it uses and shared by equal uses.
LinearForm ValueEmitter::opaque(ExprId id) {
  LinearForm result;
  if (depends_on_lane(id)) {
    result.is_lane_opaque = true;
    return result;
  }
  if (state_.is_dry_run) {
    return result;
  }
  const auto term_of = [&](std::uint32_t term) {
    result.terms.push_back(LinearTerm{term, 1});
    return result;
  };
  if (!facts_.is_index(id)) {
    const Value value = eval(id);
    if (value.lanes != 1) {
      give_up("an index differs between lanes in an unexpected place");
    }
    return term_of(addresses_.add_term(b_.cast(value.ref, value.type, DType::i64),
                                       AddressBuilder::level_here));
  }
  if (!facts_.is_speculatable(id)) {
    return term_of(addresses_.add_term(index_node(id, AddressBuilder::level_here),
                                       AddressBuilder::level_here));
  }
  int level = 0;
  std::vector<std::int64_t> key = {id.value};
  const auto add_value = [&](const LinearForm& form) {
    key.push_back(form.constant);
    key.push_back(static_cast<std::int64_t>(form.terms.size()));
    for (const LinearTerm& part : form.terms) {
      key.push_back(part.coefficient);
      key.push_back(part.term);
      level = std::max(level, addresses_.level_of(part.term));
    }
  };
  for (VarId var : facts_.vars_of(id)) {
    const Binding& binding = bindings_[var.value];
    key.push_back(static_cast<std::int64_t>(binding.kind));
    if (binding.kind == Binding::Kind::scalar) {
      add_value(binding.value);
    } else if (binding.kind == Binding::Kind::lane) {
      add_value(chunk_.first);  // scalar mode: the lane's variable
      key.push_back(chunk_.outer_at(0));
    } else if (binding.kind == Binding::Kind::inner_lane) {
      key.push_back(chunk_.inner_at(0));
    }
  }
  const auto found = opaque_terms_.find(key);
  if (found != opaque_terms_.end()) {
    return term_of(found->second);
  }
  LLVMValueRef value = index_node(id, level);
  if (program_.pool.dtype(id) == DType::boolean) {
    value = LLVMBuildZExt(addresses_.at(level).ref, value, m_.i64, "");
  }
  const std::uint32_t term = addresses_.add_term(value, level);
  opaque_terms_.emplace(std::move(key), term);
  return term_of(term);
}

LLVMValueRef ValueEmitter::index_value(ExprId id) { return addresses_.value(form(id)); }

LLVMValueRef ValueEmitter::index_operand(ExprId id, int level) {
  return program_.pool.dtype(id) == DType::boolean ? index_node(id, level) : index_value(id);
}

LLVMValueRef ValueEmitter::index_node(ExprId id, int level) {
  const ExprNode& node = program_.pool[id];
  const auto build = [&]() -> IrBuilder& { return addresses_.at(level); };
  if (const IntImm* imm = std::get_if<IntImm>(&node.op)) {
    return node.dtype == DType::boolean ? b_.const_int(DType::boolean, imm->value)
                                        : m_.const_i64(imm->value);
  }
  if (const Unary* unary = std::get_if<Unary>(&node.op)) {
    const LLVMValueRef a = index_operand(unary->a, level);
    if (unary->op == UnaryOp::neg) {
      return build().sub(m_.const_i64(0), a);
    }
    return program_.pool.dtype(unary->a) == DType::boolean
               ? build().not_(a)
               : build().icmp(LLVMIntEQ, a, m_.const_i64(0));
  }
  if (const Cast* cast = std::get_if<Cast>(&node.op)) {
    const DType from = program_.pool.dtype(cast->a);
    const LLVMValueRef a = index_operand(cast->a, level);
    return build().cast(a, from == DType::boolean ? from : DType::i64,
                        node.dtype == DType::boolean ? node.dtype : DType::i64);
  }
  if (const Select* select = std::get_if<Select>(&node.op)) {
    const DType type = program_.pool.dtype(select->condition);
    LLVMValueRef condition = index_operand(select->condition, level);
    if (type != DType::boolean) {
      condition = build().cast(condition, DType::i64, DType::boolean);
    }
    const LLVMValueRef a = index_operand(select->if_true, level);
    const LLVMValueRef b = index_operand(select->if_false, level);
    return build().select(condition, a, b);
  }
  const Binary* const binary = std::get_if<Binary>(&node.op);
  if (binary == nullptr) {
    give_up("an index expression of a kind that has no integer meaning");
  }
  const bool is_bool = program_.pool.dtype(binary->a) == DType::boolean;
  if (is_comparison(binary->op) && !is_bool) {
    LinearForm difference = form(binary->a);
    difference.add(form(binary->b), -1);
    if (difference.is_constant()) {
      return b_.const_int(DType::boolean,
                          apply_integer(binary->op, difference.constant, 0).value_or(0));
    }
  }
  LLVMValueRef a = index_operand(binary->a, level);
  LLVMValueRef b = index_operand(binary->b, level);
  IrBuilder& builder = build();
  if (is_comparison(binary->op)) {
    const LLVMIntPredicate predicates[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntSLT,
                                           LLVMIntSLE, LLVMIntSGT, LLVMIntSGE};
    const LLVMIntPredicate unsigned_predicates[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntULT,
                                                    LLVMIntULE, LLVMIntUGT, LLVMIntUGE};
    const auto at = static_cast<std::size_t>(binary->op) - static_cast<std::size_t>(BinaryOp::eq);
    return builder.icmp(is_bool ? unsigned_predicates[at] : predicates[at], a, b);
  }
  if (binary->op == BinaryOp::and_ || binary->op == BinaryOp::or_) {
    const auto truth = [&](LLVMValueRef x) {
      return LLVMTypeOf(x) == m_.i1 ? x : builder.cast(x, DType::i64, DType::boolean);
    };
    a = truth(a);
    b = truth(b);
    return binary->op == BinaryOp::and_ ? builder.and_(a, b) : builder.or_(a, b);
  }
  if (is_bool) {
    give_up("arithmetic on booleans");
  }
  const bool floors = binary->op == BinaryOp::floordiv || binary->op == BinaryOp::floormod;
  const bool is_mod = binary->op == BinaryOp::truncmod || binary->op == BinaryOp::floormod;
  const std::int64_t divisor = LLVMIsAConstantInt(b) != nullptr ? LLVMConstIntGetSExtValue(b) : 0;
  if (floors && divisor > 0 && std::has_single_bit(static_cast<std::uint64_t>(divisor))) {
    return is_mod ? builder.and_(a, m_.const_i64(divisor - 1))
                  : builder.ashr(a, std::countr_zero(static_cast<std::uint64_t>(divisor)));
  }
  if (divisor > 1 && (floors || is_mod || binary->op == BinaryOp::div)) {
    const ConstantDivision division{divisor, floors, facts_.is_nonnegative(binary->a)};
    return is_mod ? remainder_of(builder, a, division) : quotient_of(builder, a, division);
  }
  switch (binary->op) {
  case BinaryOp::add:
    return builder.add(a, b);
  case BinaryOp::sub:
    return builder.sub(a, b);
  case BinaryOp::mul:
    return builder.mul(a, b);
  case BinaryOp::div:
    return LLVMBuildSDiv(builder.ref, a, b, "");
  case BinaryOp::truncmod:
    return LLVMBuildSRem(builder.ref, a, b, "");
  case BinaryOp::min:
    return builder.select(builder.icmp(LLVMIntSLT, a, b), a, b);
  case BinaryOp::max:
    return builder.select(builder.icmp(LLVMIntSGT, a, b), a, b);
  default:
    break;
  }
  // Towards minus infinity: fix the truncated result where the signs differ.
  if (facts_.is_nonnegative(binary->a) && facts_.is_nonnegative(binary->b)) {
    return is_mod ? LLVMBuildURem(builder.ref, a, b, "") : LLVMBuildUDiv(builder.ref, a, b, "");
  }
  const LLVMValueRef zero = m_.const_i64(0);
  const LLVMValueRef rest = LLVMBuildSRem(builder.ref, a, b, "");
  const LLVMValueRef differs = builder.and_(builder.icmp(LLVMIntNE, rest, zero),
                                            builder.icmp(LLVMIntSLT, builder.xor_(rest, b), zero));
  if (is_mod) {
    return builder.add(rest, builder.select(differs, b, zero));
  }
  return builder.sub(LLVMBuildSDiv(builder.ref, a, b, ""),
                     builder.select(differs, m_.const_i64(1), zero));
}

LinearForm ValueEmitter::flat_form(BufferId buffer, const ExprList& indices) {
  LinearForm flat;
  for (const FlatTerm& term : flat_index(program_.pool, indices, program_[buffer].strides)) {
    flat.add(form(term.index), term.coefficient);
  }
  if (flat.is_pattern() && flat.outer == flat.inner * chunk_.inner) {  // evenly spaced
    flat.constant += flat.inner * chunk_.phase;
    flat.lane = std::exchange(flat.inner, 0);
    flat.outer = 0;
  }
  return flat;
}

}  // namespace tensorsmith::llvm_codegen
