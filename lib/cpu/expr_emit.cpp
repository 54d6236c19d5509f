// SPDX-License-Identifier: Apache-2.0
// Values of expressions: uniform ones as scalars, those that depend on the lane as vectors.
#include <llvm/Config/llvm-config.h>

#include <algorithm>
#include <bit>
#include <string>

#include "constant_division.hpp"
#include "kernel_emitter.hpp"
#include "math_emit.hpp"
#include "memory_emitter.hpp"
#include "tensorsmith/ir/value.hpp"

#include <tuple>

namespace tensorsmith::llvm_codegen {
namespace {

/// `x op constant` in either order: x, invalid if it is nothing of the kind, and the constant.
std::pair<ExprId, double> beside_constant(const ExprPool& pool, ExprId id, BinaryOp op) {
  const Binary* binary = pool.as<Binary>(id);
  if (binary != nullptr && binary->op == op) {
    for (const auto& [x, constant] :
         {std::pair(binary->a, binary->b), std::pair(binary->b, binary->a)}) {
      if (const FloatImm* imm = pool.as<FloatImm>(constant)) {
        return {x, imm->value};
      }
    }
  }
  return {ExprId{}, 0};
}

/// An integer of at most 32 bits of a rounded f32, where both are one instruction; else nullptr.
const Call* rounded_to_integer(const ExprPool& pool, const Cast& cast, DType to) {
  // LLVM before 19 has it for single numbers only.
  const bool is_known = LLVM_VERSION_MAJOR >= 19;
  const Call* call = pool.as<Call>(cast.a);
  const bool fits =
      (to == DType::i32 || to == DType::i8 || to == DType::u8) && pool.dtype(cast.a) == DType::f32;
  return is_known && fits && call != nullptr && call->op == CallOp::round ? call : nullptr;
}

}  // namespace

Value ValueEmitter::eval(ExprId id) {
  const auto found = memo_.find(id.value);
  if (found != memo_.end()) {
    return found->second;
  }
  const Value value = compute(id);
  memo_.emplace(id.value, value);
  return value;
}

Value ValueEmitter::splat(Value value, int lanes) {
  if (value.lanes == lanes) {
    return value;
  }
  if (splat_block_ != b_.block()) {
    splat_block_ = b_.block();
    splats_.clear();
  }
  LLVMValueRef& known = splats_[{value.ref, lanes}];
  if (known == nullptr) {
    known = b_.splat(value.ref, lanes);
  }
  return {known, value.type, lanes};
}

std::pair<Value, Value> ValueEmitter::same_lanes(Value a, Value b) {
  const int lanes = a.lanes > b.lanes ? a.lanes : b.lanes;
  return {splat(a, lanes), splat(b, lanes)};
}

LLVMValueRef ValueEmitter::eval_condition(ExprId id) {
  const Value value = eval(id);
  return b_.cast(value.ref, value.type, DType::boolean);
}

Value ValueEmitter::compute(ExprId id) {
  const ExprNode& node = program_.pool[id];
  const DType type = node.dtype;
  if (const FloatImm* imm = std::get_if<FloatImm>(&node.op)) {
    return {b_.const_real(type, round_arithmetic(imm->value, type)), type, 1};
  }
  if (const IntImm* imm = std::get_if<IntImm>(&node.op)) {
    return {b_.const_int(type, imm->value), type, 1};
  }
  if (facts_.is_index(id) && !depends_on_lane(id)) {
    if (type == DType::boolean) {
      return {index_node(id, AddressBuilder::level_here), type, 1};
    }
    return {b_.cast(index_value(id), DType::i64, type), type, 1};
  }
  if (std::holds_alternative<VarRef>(node.op)) {
    const VarId var = std::get<VarRef>(node.op).var;
    const bool is_inner = bindings_[var.value].kind == Binding::Kind::inner_lane;
    std::vector<LLVMValueRef> lanes;
    for (int lane = 0; lane < chunk_.lanes; ++lane) {
      lanes.push_back(b_.const_int(type, is_inner ? chunk_.inner_at(lane) : chunk_.outer_at(lane)));
    }
    const LLVMValueRef numbers = LLVMConstVector(lanes.data(), static_cast<unsigned>(chunk_.lanes));
    if (is_inner) {
      return {numbers, type, chunk_.lanes};
    }
    const LLVMValueRef first = b_.cast(addresses_.value(chunk_.first), DType::i64, type);
    return {b_.add(b_.splat(first, chunk_.lanes), numbers), type, chunk_.lanes};
  }
  if (const Unary* unary = std::get_if<Unary>(&node.op)) {
    const Value a = eval(unary->a);
    if (unary->op == UnaryOp::not_) {
      const LLVMValueRef truth = b_.cast(a.ref, a.type, DType::boolean);
      return {b_.cast(b_.not_(truth), DType::boolean, type), type, a.lanes};
    }
    return {is_float(type) ? b_.fneg(a.ref) : b_.sub(b_.int_like(a.ref, 0), a.ref), type, a.lanes};
  }
  if (const Binary* n = std::get_if<Binary>(&node.op)) {
    return binary(*n, type);
  }
  if (const Select* n = std::get_if<Select>(&node.op)) {
    const LLVMValueRef condition = eval_condition(n->condition);
    const Value a = eval(n->if_true);
    return select(condition, a, eval(n->if_false));
  }
  if (const Cast* n = std::get_if<Cast>(&node.op)) {
    const Call* round = rounded_to_integer(program_.pool, *n, type);
    if (round != nullptr) {
      const Value x = eval(round->args[0]);
      const LLVMTypeRef i32 = m_.vector_of(m_.i32, lanes_of(x.ref));
      const LLVMValueRef nearest = b_.intrinsic("llvm.lrint", {i32, LLVMTypeOf(x.ref)}, {x.ref});
      return {b_.cast(nearest, DType::i32, type), type, x.lanes};
    }
    const Value a = eval(n->a);
    return {b_.cast(a.ref, a.type, type), type, a.lanes};
  }
  if (const Load* n = std::get_if<Load>(&node.op)) {
    return memory_.load(*n);
  }
  if (const Call* n = std::get_if<Call>(&node.op)) {
    return n->op == CallOp::if_then_else ? lazy(*n, type) : call(*n, type);
  }
  give_up("an expression that code generation does not know");
}

// (max(x, m) k) (1 + erf(x l)) with constants k, l > 0, as in gelu; nothing if it is not that.
Value ValueEmitter::gated_by_erf(const Binary& node, DType type) {
  const ExprPool& pool = program_.pool;
  for (const auto& [gate, sum] : {std::pair(node.a, node.b), std::pair(node.b, node.a)}) {
    const auto [erf_id, one] = beside_constant(pool, sum, BinaryOp::add);
    const Call* erf = erf_id.valid() ? pool.as<Call>(erf_id) : nullptr;
    if (erf == nullptr || erf->op != CallOp::erf || one != 1) {
      continue;
    }
    const auto [bounded, k] = beside_constant(pool, gate, BinaryOp::mul);
    const auto [x, m] = bounded.valid() ? beside_constant(pool, bounded, BinaryOp::max)
                                        : std::pair<ExprId, double>{};
    const auto [y, l] = beside_constant(pool, erf->args[0], BinaryOp::mul);
    if (x.valid() && x == y && k > 0 && l > 0 && gate_reaches_its_end(m, l)) {
      const Value value = eval(x);
      std::string name = "gate";
      for (const double constant : {m, k, l}) {
        name += " " + std::to_string(std::bit_cast<std::uint64_t>(constant));
      }
      return {kernel_.compute(b_, name, {value.ref},
                              [m = m, k = k, l = l](IrBuilder& b, const LLVMValueRef* x) {
                                return emit_gated_by_erf(b, x[0], m, k, l);
                              }),
              type, value.lanes};
    }
  }
  return {};
}

Value ValueEmitter::binary(const Binary& node, DType type) {
  const DType operands = program_.pool.dtype(node.a);
  if (node.op == BinaryOp::mul && is_float(type) && type != DType::f64) {
    const Value product = gated_by_erf(node, type);
    if (product.ref != nullptr) {
      return product;
    }
  }
  if (is_float(operands) && (node.op == BinaryOp::add || node.op == BinaryOp::sub)) {
    const Value sum = fused(node, type);
    if (sum.ref != nullptr) {
      return sum;
    }
  }
  if (is_comparison(node.op) && chunk_.lanes > 1) {
    if (const LLVMValueRef once = compare_once(node)) {
      return {once, type, 1};
    }
  }
  const auto [a, b] = same_lanes(eval(node.a), eval(node.b));
  const int lanes = a.lanes;
  if (node.op == BinaryOp::and_ || node.op == BinaryOp::or_) {
    const LLVMValueRef x = b_.cast(a.ref, a.type, DType::boolean);
    const LLVMValueRef y = b_.cast(b.ref, b.type, DType::boolean);
    return {node.op == BinaryOp::and_ ? b_.and_(x, y) : b_.or_(x, y), type, lanes};
  }
  if (a.type != b.type &&
      !(is_float(a.type) && is_float(b.type) && a.type != DType::f64 && b.type != DType::f64)) {
    give_up("operands of " + std::string(text_of(node.op)) + " differ in type");
  }
  if (is_comparison(node.op)) {
    return {compare(node.op, operands, a.ref, b.ref), type, lanes};
  }
  if (is_float(operands)) {
    const bool is_extremum = node.op == BinaryOp::min || node.op == BinaryOp::max;
    return {is_extremum ? real_min_max(node, a.ref, b.ref) : real_binary(node.op, a.ref, b.ref),
            type, lanes};
  }
  return {integer_binary(node.op, operands, a.ref, b.ref), type, lanes};
}

// add(x, mul(p, q)) in either order as one fused operation; nothing if there is no product.
Value ValueEmitter::fused(const Binary& node, DType type) {
  const auto product_of = [&](ExprId id) -> const Binary* {
    const Binary* product = program_.pool.as<Binary>(id);
    return product != nullptr && product->op == BinaryOp::mul && memo_.count(id.value) == 0
               ? product
               : nullptr;
  };
  const bool subtracts = node.op == BinaryOp::sub;
  const Binary* product = product_of(node.b);
  ExprId rest = node.a;
  const bool product_is_second = product != nullptr;
  if (!product_is_second) {
    product = product_of(node.a);
    rest = node.b;
    if (product == nullptr) {
      return {};
    }
  }
  Value p = eval(product->a);
  Value q = eval(product->b);
  Value x = eval(rest);
  const int lanes = std::max(p.lanes, std::max(q.lanes, x.lanes));
  p = splat(p, lanes);
  q = splat(q, lanes);
  x = splat(x, lanes);
  if (subtracts && product_is_second) {
    p.ref = b_.fneg(p.ref);
  } else if (subtracts) {
    x.ref = b_.fneg(x.ref);
  }
  return {b_.fma(p.ref, q.ref, x.ref), type, lanes};
}

LLVMValueRef ValueEmitter::compare(BinaryOp op, DType type, LLVMValueRef a, LLVMValueRef b) {
  const auto at = static_cast<std::size_t>(op) - static_cast<std::size_t>(BinaryOp::eq);
  if (is_float(type)) {
    const LLVMRealPredicate predicates[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLT,
                                            LLVMRealOLE, LLVMRealOGT, LLVMRealOGE};
    return b_.fcmp(predicates[at], a, b);
  }
  const LLVMIntPredicate unsigned_predicates[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntULT,
                                                  LLVMIntULE, LLVMIntUGT, LLVMIntUGE};
  const LLVMIntPredicate predicates[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntSLT,
                                         LLVMIntSLE, LLVMIntSGT, LLVMIntSGE};
  const bool is_unsigned = type == DType::u8 || type == DType::boolean;
  return b_.icmp(is_unsigned ? unsigned_predicates[at] : predicates[at], a, b);
}

LLVMValueRef ValueEmitter::real_binary(BinaryOp op, LLVMValueRef a, LLVMValueRef b) {
  switch (op) {
  case BinaryOp::add:
    return b_.fadd(a, b);
  case BinaryOp::sub:
    return b_.fsub(a, b);
  case BinaryOp::mul:
    return b_.fmul(a, b);
  case BinaryOp::div:
    return b_.fdiv(a, b);
  case BinaryOp::truncmod:
    return LLVMBuildFRem(b_.ref, a, b, "");
  case BinaryOp::floordiv:
    return b_.unary_intrinsic("llvm.floor", b_.fdiv(a, b));
  case BinaryOp::floormod:
    return b_.fma(b_.fneg(b_.unary_intrinsic("llvm.floor", b_.fdiv(a, b))), b, a);
  default:
    give_up("an operation that reals do not have");
  }
}

// `x < y ? x : y` is one instruction and gives y if one is NaN: right if y cannot be NaN.
LLVMValueRef ValueEmitter::real_min_max(const Binary& node, LLVMValueRef a, LLVMValueRef b) {
  const bool is_min = node.op == BinaryOp::min;
  const LLVMRealPredicate before = is_min ? LLVMRealOLT : LLVMRealOGT;
  if (facts_.never_nan(node.b)) {
    return b_.select(b_.fcmp(before, a, b), a, b);
  }
  if (facts_.never_nan(node.a)) {
    return b_.select(b_.fcmp(before, b, a), b, a);
  }
  return b_.intrinsic(is_min ? "llvm.minnum" : "llvm.maxnum", {LLVMTypeOf(a)}, {a, b});
}

LLVMValueRef ValueEmitter::integer_binary(BinaryOp op, DType type, LLVMValueRef a, LLVMValueRef b) {
  if (type == DType::boolean) {
    give_up("arithmetic on booleans");
  }
  const bool is_unsigned = type == DType::u8;
  switch (op) {
  case BinaryOp::add:
    return b_.add(a, b);
  case BinaryOp::sub:
    return b_.sub(a, b);
  case BinaryOp::mul:
    return b_.mul(a, b);
  case BinaryOp::min:
    return b_.select(b_.icmp(is_unsigned ? LLVMIntULT : LLVMIntSLT, a, b), a, b);
  case BinaryOp::max:
    return b_.select(b_.icmp(is_unsigned ? LLVMIntUGT : LLVMIntSGT, a, b), a, b);
  default:
    break;
  }
  if (LLVMIsConstant(b) && LLVMIsNull(b)) {
    give_up("division by zero");
  }
  const bool is_variable = !LLVMIsConstant(b);
  if (is_variable) {
    // What idle lanes hold must not trap.
    const LLVMValueRef mask = lanes_of(b) > 1 ? memory_.memory_mask() : guard_;
    if (mask != nullptr) {
      b = b_.select(mask, b, b_.int_like(b, 1));
    }
  }
  const bool is_mod = op == BinaryOp::truncmod || op == BinaryOp::floormod;
  const bool floors = op == BinaryOp::floordiv || op == BinaryOp::floormod;
  if (lanes_of(a) == 1 && LLVMIsAConstantInt(b) != nullptr && !is_unsigned &&
      LLVMConstIntGetSExtValue(b) > 1) {
    const ConstantDivision division{LLVMConstIntGetSExtValue(b), floors, false};
    return is_mod ? remainder_of(b_, a, division) : quotient_of(b_, a, division);
  }
  if (is_unsigned) {
    return is_mod ? LLVMBuildURem(b_.ref, a, b, "") : LLVMBuildUDiv(b_.ref, a, b, "");
  }
  // x / -1 is -x and wraps; x % -1 is 0. The instruction would trap on the smallest x.
  const LLVMValueRef minus_one = b_.icmp(LLVMIntEQ, b, b_.int_like(b, -1));
  const LLVMValueRef divisor = b_.select(minus_one, b_.int_like(b, 1), b);
  const LLVMValueRef zero = b_.int_like(a, 0);
  const LLVMValueRef rest = LLVMBuildSRem(b_.ref, a, divisor, "");
  const LLVMValueRef differs =
      b_.and_(b_.icmp(LLVMIntNE, rest, zero), b_.icmp(LLVMIntSLT, b_.xor_(rest, divisor), zero));
  if (is_mod) {
    return floors ? b_.add(rest, b_.select(differs, divisor, zero)) : rest;
  }
  LLVMValueRef quotient = LLVMBuildSDiv(b_.ref, a, divisor, "");
  quotient = b_.select(minus_one, b_.sub(zero, a), quotient);
  return floors ? b_.sub(quotient, b_.select(differs, b_.int_like(a, 1), zero)) : quotient;
}

Value ValueEmitter::call(const Call& node, DType type) {
  auto [x, y] = node.args.size() > 1 ? same_lanes(eval(node.args[0]), eval(node.args[1]))
                                     : std::pair(eval(node.args[0]), Value{});
  if (is_float(type)) {
    return {float_call(node.op, type, x.ref, y.ref), type, x.lanes};
  }
  switch (node.op) {
  case CallOp::floor:
  case CallOp::ceil:
  case CallOp::round:
    return x;
  case CallOp::abs: {
    if (type == DType::u8 || type == DType::boolean) {
      return x;
    }
    const LLVMValueRef zero = b_.int_like(x.ref, 0);
    const LLVMValueRef is_negative = b_.icmp(LLVMIntSLT, x.ref, zero);
    return {b_.select(is_negative, b_.sub(zero, x.ref), x.ref), type, x.lanes};
  }
  default:
    break;
  }
  // Other functions of integers are computed in f64 and truncated.
  const LLVMValueRef a = b_.cast(x.ref, type, DType::f64);
  const LLVMValueRef b = y.ref == nullptr ? nullptr : b_.cast(y.ref, type, DType::f64);
  return {b_.cast(float_call(node.op, DType::f64, a, b), DType::f64, type), type, x.lanes};
}

LLVMValueRef ValueEmitter::float_call(CallOp op, DType type, LLVMValueRef x, LLVMValueRef y) {
  if (is_short_call(op, y)) {
    return emit_call(b_, op, type, x, y);
  }
  const std::string name = std::to_string(static_cast<int>(op));
  const auto compute = [op, type, y](IrBuilder& b, const LLVMValueRef* operands) {
    return emit_call(b, op, type, operands[0], y == nullptr ? nullptr : operands[1]);
  };
  return y == nullptr ? kernel_.compute(b_, name, {x}, compute)
                      : kernel_.compute(b_, name, {x, y}, compute);
}

Value ValueEmitter::select(LLVMValueRef condition, Value a, Value b) {
  const int known = constant_bool(condition);
  if (known >= 0) {
    return known == 1 ? a : b;
  }
  std::tie(a, b) = same_lanes(a, b);
  const int wanted = lanes_of(condition);
  if (wanted > a.lanes) {
    a = splat(a, wanted);
    b = splat(b, wanted);
  }
  return {b_.select(b_.splat(condition, wanted == a.lanes ? 1 : a.lanes), a.ref, b.ref), a.type,
          a.lanes};
}

}  // namespace tensorsmith::llvm_codegen
