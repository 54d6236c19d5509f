// SPDX-License-Identifier: Apache-2.0
// Vectorized loops: chunks of native vectors, the rest masked or in narrower pieces.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "function_emitter.hpp"
#include "kernel_emitter.hpp"

namespace tensorsmith::llvm_codegen {
namespace {

constexpr std::int64_t max_chunks_unrolled = 8;

using Instructions = std::vector<LLVMValueRef>;

/// What was added to the block behind `before` (its start, if that is null). Addresses, of which
/// the first strip needs none, go to `others`.
Instructions behind(LLVMBasicBlockRef block, LLVMValueRef before, Instructions& others) {
  Instructions list;
  for (LLVMValueRef next = before == nullptr ? LLVMGetFirstInstruction(block)
                                             : LLVMGetNextInstruction(before);
       next != nullptr; next = LLVMGetNextInstruction(next)) {
    (LLVMGetInstructionOpcode(next) == LLVMGetElementPtr ? others : list).push_back(next);
  }
  return list;
}

bool is_same_kind(LLVMValueRef a, LLVMValueRef b) {
  return LLVMGetInstructionOpcode(a) == LLVMGetInstructionOpcode(b) &&
         LLVMTypeOf(a) == LLVMTypeOf(b);
}

/// Takes from the first strip what it computes for the next ones as well (a number in all lanes).
void take_shared(Instructions& first, const Instructions& next, Instructions& others) {
  Instructions own;
  for (const LLVMValueRef instruction : first) {
    const bool is_own = own.size() < next.size() && is_same_kind(instruction, next[own.size()]);
    (is_own ? own : others).push_back(instruction);
  }
  first = std::move(own);
}

/// Whether one of them needs what another one computes.
bool depend_on(const Instructions& some, const Instructions& others) {
  const std::unordered_set<LLVMValueRef> results(others.begin(), others.end());
  return std::any_of(some.begin(), some.end(), [&](LLVMValueRef instruction) {
    bool found = false;
    for (int i = 0; i < LLVMGetNumOperands(instruction); ++i) {
      found = found || results.count(LLVMGetOperand(instruction, static_cast<unsigned>(i))) != 0;
    }
    return found;
  });
}

/// Whether instruction n of each is what instruction n of the others is, and what one takes from
/// another one comes from no later place in it.
bool are_alike(const std::vector<Instructions>& strips) {
  std::unordered_map<LLVMValueRef, std::size_t> places;
  for (const Instructions& strip : strips) {
    if (strip.size() != strips[0].size()) {
      return false;
    }
    for (std::size_t n = 0; n < strip.size(); ++n) {
      if (!is_same_kind(strip[n], strips[0][n])) {
        return false;
      }
      for (int i = 0; i < LLVMGetNumOperands(strip[n]); ++i) {
        const auto found = places.find(LLVMGetOperand(strip[n], static_cast<unsigned>(i)));
        if (found != places.end() && found->second > n) {
          return false;
        }
      }
      places.emplace(strip[n], n);
    }
  }
  return true;
}

/// How many such chains fit into the registers at the same time. Their constants may be operands in
/// memory: loads are what such chains have few of.
std::size_t num_in_registers(const Instructions& strip, int num_registers) {
  std::unordered_map<LLVMValueRef, std::size_t> last_use;
  for (std::size_t n = 0; n < strip.size(); ++n) {
    for (int i = 0; i < LLVMGetNumOperands(strip[n]); ++i) {
      last_use[LLVMGetOperand(strip[n], static_cast<unsigned>(i))] = n;
    }
  }
  std::size_t most = 1;
  std::vector<std::size_t> ends(strip.size());
  for (std::size_t n = 0, live = 0; n < strip.size(); ++n) {
    live -= ends[n];
    if (const auto use = last_use.find(strip[n]); use != last_use.end()) {
      most = std::max(most, ++live);
      ++ends[use->second];
    }
  }
  return static_cast<std::size_t>(num_registers) / most;
}

/// Long chains side by side, instruction by instruction. A core looks as far ahead as two or three
/// of them are long, so that it would wait for one while the next few are not in sight. measured
/// (EPYC 9005): sigmoid 9.5 cycles per vector one after the other, 8.2 four at a time. `others`,
/// and what the strips share, stay in front: nothing is done where some of it needs a chain. A
/// loop's iterations are lanes, so that loads may pass the stores of other strips.
void interleave(IrBuilder& b, std::vector<Instructions> strips, Instructions others) {
  constexpr std::size_t shortest = 12, widest = 4;
  if (strips.size() < 2 || strips[1].size() < shortest) {
    return;
  }
  take_shared(strips[0], strips[1], others);
  if (!are_alike(strips) || std::any_of(strips.begin(), strips.end(), [&](const Instructions& s) {
        return depend_on(others, s);
      })) {
    return;
  }
  const std::size_t group =
      std::min(widest, num_in_registers(strips[0], b.m.target.num_vector_registers));
  if (group < 2) {
    return;
  }
  for (const Instructions& strip : strips) {
    for (const LLVMValueRef instruction : strip) {
      LLVMInstructionRemoveFromParent(instruction);
    }
  }
  for (std::size_t first = 0; first < strips.size(); first += group) {
    for (std::size_t n = 0; n < strips[0].size(); ++n) {
      for (std::size_t s = first; s < std::min(first + group, strips.size()); ++s) {
        LLVMInsertIntoBuilder(b.ref, strips[s][n]);
      }
    }
  }
}

int power_of_two_at_least(std::int64_t n) {
  int power = 1;
  while (power < n) {
    power *= 2;
  }
  return power;
}

}  // namespace

bool FunctionEmitter::uses_registers(const StmtFacts& facts) const {
  const auto in_registers = [&](BufferId buffer) {
    return program_[buffer].scope == Scope::register_;
  };
  return std::any_of(facts.stored.begin(), facts.stored.end(), in_registers) ||
         std::any_of(facts.loaded.begin(), facts.loaded.end(), in_registers);
}

// No: iterations of such a loop are emitted one after the other, in order.
bool FunctionEmitter::can_vectorize(StmtId id, VarId lane) {
  const Stmt& stmt = program_[id];
  if (const Seq* seq = std::get_if<Seq>(&stmt)) {
    return std::all_of(seq->items.begin(), seq->items.end(),
                       [&](StmtId item) { return can_vectorize(item, lane); });
  }
  if (const For* loop = std::get_if<For>(&stmt)) {
    if (loop->kind == ForKind::vectorized || facts_.uses(loop->extent, lane)) {
      return false;
    }
    const Binding outer = bindings_[loop->var.value];
    bind_constant(loop->var, 0);
    const bool result = can_vectorize(loop->body, lane);
    bindings_[loop->var.value] = outer;
    return result;
  }
  if (const If* branch = std::get_if<If>(&stmt)) {
    return can_vectorize(branch->then_body, lane) &&
           (!branch->else_body.valid() || can_vectorize(branch->else_body, lane));
  }
  if (const Store* store = std::get_if<Store>(&stmt)) {
    state_.is_dry_run = true;
    const LinearForm where = values_.flat_form(store->buffer, store->indices);
    state_.is_dry_run = false;
    const bool is_register = program_[store->buffer].scope == Scope::register_;
    return !where.is_lane_opaque && (is_register ? where.lane == 1 : where.lane != 0);
  }
  return !std::holds_alternative<Alloc>(stmt);
}

void FunctionEmitter::in_lanes(const Strip& strip, const Body& body) {
  const Chunk outer = chunk_;
  const Binding outer_binding = bindings_[strip.var.value];
  chunk_ = Chunk{strip, nullptr};
  bindings_[strip.var.value] = Binding{Binding::Kind::lane, {}};
  body();
  bindings_[strip.var.value] = outer_binding;
  chunk_ = outer;
}

// A run of a reduction over a few small steps. Expanded, its loads are all in flight before the
// accumulators are stored: a matrix-vector product that goes through eight rows at a time reads
// 51 instead of 40 GB/s (Zen 5).
bool FunctionEmitter::is_short_run(const For& loop, std::int64_t extent) const {
  constexpr std::int64_t most_steps = 16, most_updates = 64;
  const StmtFacts& facts = facts_.of(loop.body);
  if (loop.kind != ForKind::serial || facts.has_loop || extent > most_steps) {
    return false;
  }
  const std::int64_t updates = num_plain_updates(loop.body).value_or(0);
  return updates > 0 && extent * updates <= most_updates;
}

// Vectors that the statement writes to registers; nothing if it does something else as well, or
// chooses what it adds, which takes many instructions for each lane.
std::optional<std::int64_t> FunctionEmitter::num_plain_updates(StmtId id) const {
  if (const Seq* seq = program_.as<Seq>(id)) {
    std::int64_t sum = 0;
    for (StmtId item : seq->items) {
      const auto part = num_plain_updates(item);
      if (!part) {
        return std::nullopt;
      }
      sum += *part;
    }
    return sum;
  }
  if (const For* loop = program_.as<For>(id)) {
    const auto inner = num_plain_updates(loop->body);
    const IntImm* extent = program_.pool.as<IntImm>(loop->extent);
    if (!inner || extent == nullptr) {
      return std::nullopt;
    }
    const std::int64_t lanes =
        loop->kind == ForKind::vectorized ? native_lanes(facts_.of(loop->body)) : 1;
    return *inner * ((extent->value + lanes - 1) / lanes);
  }
  const Store* store = program_.as<Store>(id);
  bool is_plain = store != nullptr && program_[store->buffer].scope == Scope::register_;
  if (is_plain) {
    visit_nodes(program_.pool, store->value, [&](ExprId part) {
      const Call* call = program_.pool.as<Call>(part);
      is_plain = is_plain && program_.pool.as<Select>(part) == nullptr &&
                 !(call != nullptr && call->op == CallOp::if_then_else);
    });
  }
  return is_plain ? std::optional<std::int64_t>(1) : std::nullopt;
}

int FunctionEmitter::native_lanes(const StmtFacts& facts) const {
  return std::max(1, m_.target.vector_bits / 8 / facts.widest_bytes);
}

// Whether the rest of a loop is one vector of which some lanes count, not several ever narrower
// ones. Without masks that are registers, elements of 4 and 8 bytes can be loaded so; each vector
// of accumulators less is worth it.
bool FunctionEmitter::masks_rest(const StmtFacts& facts, std::int64_t rest) const {
  if (m_.target.has_masks) {
    return rest > 1;
  }
  const bool is_several = (rest & (rest - 1)) != 0;
  const bool has_moves =
      m_.target.architecture == Architecture::x86_64 && m_.target.vector_bits == 256;
  const auto can_be_masked = [&](BufferId buffer) {
    return program_[buffer].scope == Scope::register_ || bytes_of(program_[buffer].dtype) >= 4;
  };
  return is_several && has_moves && uses_registers(facts) &&
         std::all_of(facts.loaded.begin(), facts.loaded.end(), can_be_masked) &&
         std::all_of(facts.stored.begin(), facts.stored.end(), can_be_masked);
}

void FunctionEmitter::for_each_strip(const For& loop, std::int64_t extent, int lanes,
                                     std::int64_t max_unrolled, const StripBody& body) {
  const StmtFacts& facts = facts_.of(loop.body);
  const int smallest = std::max(1, 16 / facts.widest_bytes);  // lanes of a 128-bit vector
  const std::int64_t full = extent / lanes;
  Strip strip;
  strip.var = loop.var;
  strip.lanes = strip.count = lanes;
  if (full > max_unrolled && !uses_registers(facts)) {
    emit_serial(m_.const_i64(0), m_.const_i64(full), true, facts, [&](std::uint32_t term) {
      strip.first.terms.push_back(LinearTerm{term, lanes});
      body(strip);
      strip.first.terms.clear();
    });
    strip.first.constant = full * lanes;
  } else {
    std::vector<Instructions> strips;
    Instructions others;
    const LLVMBasicBlockRef block = b_.block();
    for (std::int64_t i = 0; i < full; ++i, strip.first.constant += lanes) {
      const LLVMValueRef before = LLVMGetLastInstruction(block);
      body(strip);
      strips.push_back(behind(block, before, others));
    }
    if (b_.block() == block) {
      interleave(b_, std::move(strips), std::move(others));
    }
  }
  std::int64_t rest = extent - strip.first.constant;
  while (rest > 0) {
    strip.lanes = power_of_two_at_least(rest);
    strip.count = static_cast<int>(rest);
    if (masks_rest(facts, rest)) {
      strip.lanes = std::max(strip.lanes, smallest);
    } else if (strip.lanes > rest) {
      strip.lanes /= 2;
      strip.count = strip.lanes;
    }
    body(strip);
    strip.first.constant += strip.count;
    rest -= strip.count;
  }
}

void FunctionEmitter::emit_vectorized(const For& loop) {
  const std::int64_t extent = constant_extent(loop);
  if (extent <= 0) {
    return;
  }
  chunk_ = Chunk{};
  chunk_.var = loop.var;
  chunk_.lanes = 2;  // any vector: the test looks at the lane's coefficients
  bindings_[loop.var.value] = Binding{Binding::Kind::lane, {}};
  const bool is_possible = can_vectorize(loop.body, loop.var);
  bindings_[loop.var.value] = Binding{};
  chunk_ = Chunk{};
  if (!is_possible || extent == 1) {
    emit_counted(loop, extent);
    return;
  }
  in_vectorized_ = true;
  for_each_strip(loop, extent, native_lanes(facts_.of(loop.body)), max_chunks_unrolled,
                 [&](const Strip& strip) { in_lanes(strip, [&] { emit(loop.body); }); });
  in_vectorized_ = false;
}

}  // namespace tensorsmith::llvm_codegen
