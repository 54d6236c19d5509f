// SPDX-License-Identifier: Apache-2.0
// Transposing copies: blocks of two loops, read (or written) by rows and exchanged in registers.
#include <algorithm>
#include <utility>

#include "function_emitter.hpp"
#include "kernel_emitter.hpp"

namespace tensorsmith::llvm_codegen {
namespace {

constexpr std::int64_t max_blocks_unrolled = 8;

}  // namespace

void FunctionEmitter::bind_in(const Strip& strip, int position) {
  Binding& binding = bindings_[strip.var.value];
  binding = Binding{Binding::Kind::scalar, strip.first};
  binding.value.constant += position;
}

std::vector<Value> FunctionEmitter::transposed(const std::vector<Value>& rows, int lanes,
                                               int columns) {
  const DType type = rows[0].type;
  const bool is_bits = type == DType::boolean;  // shuffled as bytes
  std::vector<LLVMValueRef> refs;
  for (const Value& row : rows) {
    refs.push_back(is_bits ? b_.to_storage(row.ref, type) : row.ref);
  }
  std::vector<Value> result;
  for (LLVMValueRef column : transpose(b_, refs, lanes, columns)) {
    result.push_back({is_bits ? b_.from_storage(column, type) : column, type, lanes});
  }
  return result;
}

void FunctionEmitter::emit_transposed(const For& loop, const Transposition& plan) {
  memo_.clear();
  const LinearForm extent = values_.form(loop.extent);
  if (!extent.is_constant() && loop.kind != ForKind::unrolled) {
    emit_transposed_range(loop, plan, m_.const_i64(0), addresses_.value(extent));
    return;
  }
  const std::int64_t n = constant_extent(loop);
  const bool was_in_vectorized = std::exchange(in_vectorized_, true);
  if (plan.has_outer_rows) {
    emit_outer_rows(loop, plan, static_cast<int>(n));
    in_vectorized_ = was_in_vectorized;
    return;
  }
  for_each_strip(loop, n, line_lanes(loop), loop.kind == ForKind::unrolled ? n : 1,
                 [&](const Strip& u) { emit_blocks(loop, plan, u); });
  in_vectorized_ = was_in_vectorized;
}

// The last block is moved back to end with the last iteration, so that some are computed a second
// time; not where the result may have replaced what they read.
void FunctionEmitter::emit_transposed_range(const For& loop, const Transposition& plan,
                                            LLVMValueRef begin, LLVMValueRef end) {
  const int line = line_lanes(loop);
  const bool was_in_vectorized = in_vectorized_;
  const std::vector<BufferId>& loaded = facts_.of(loop.body).loaded;
  const bool may_repeat = kernel_.is_alone(plan.store->buffer) ||
                          std::all_of(loaded.begin(), loaded.end(),
                                      [&](BufferId read) { return kernel_.is_alone(read); });
  const LLVMValueRef last = b_.sub(end, m_.const_i64(line));
  const auto in_blocks = [&] {
    in_vectorized_ = true;
    const LLVMValueRef length = b_.add(b_.sub(end, begin), m_.const_i64(may_repeat ? line - 1 : 0));
    const LLVMValueRef count = LLVMBuildUDiv(b_.ref, length, m_.const_i64(line), "");
    emit_serial(m_.const_i64(0), count, true, facts_.of(loop.body), [&](std::uint32_t term) {
      Strip u;
      u.var = loop.var;
      u.lanes = u.count = line;
      u.first.terms.push_back(LinearTerm{term, line});
      const LLVMValueRef passed = addresses_.value(u.first);
      IrBuilder& here = addresses_.at(addresses_.level());
      const LLVMValueRef next = here.add(passed, begin);
      const LLVMValueRef first =
          may_repeat ? here.select(here.icmp(LLVMIntSLT, next, last), next, last) : next;
      u.first.terms[0] = LinearTerm{addresses_.add_term(first, addresses_.level()), 1};
      emit_blocks(loop, plan, u);
    });
    in_vectorized_ = was_in_vectorized;
    if (!may_repeat) {
      emit_range(loop, b_.add(begin, b_.mul(count, m_.const_i64(line))), end);
    }
  };
  emit_branch(b_.icmp(LLVMIntSGE, last, begin), in_blocks, [&] { emit_range(loop, begin, end); });
}

// Several blocks use up what a row has in a cache line (rows a power of two apart would lose it in
// between).
int FunctionEmitter::line_lanes(const For& loop) const {
  const StmtFacts& facts = facts_.of(loop.body);
  return std::max(block_columns(loop),
                  std::min(16, m_.target.cache_line_bytes / facts.widest_bytes));
}

// A block and what its network is about to make fit into the registers.
int FunctionEmitter::block_columns(const For& loop) const {
  return std::min(native_lanes(facts_.of(loop.body)),
                  std::max(2, m_.target.num_vector_registers / 2));
}

void FunctionEmitter::emit_blocks(const For& loop, const Transposition& plan, const Strip& u) {
  const For& inner = *plan.lanes;
  if (inner.var == loop.var) {
    give_up("loop variable " + program_.pool.var_name(inner.var) + " is already in use");
  }
  check_unbound(inner);
  const std::int64_t extent = constant_extent(inner);
  const int columns = block_columns(loop);
  const auto for_each_block = [&](const auto& emit) {
    Strip block = u;
    block.lanes = std::min(columns, u.lanes);
    for (int first = 0; first < u.count; first += columns) {
      block.count = std::min(columns, u.count - first);
      emit(block);
      block.first.constant += columns;
    }
  };
  const auto by_vectors = [&](const Strip& block) {
    for_each_strip(inner, extent, native_lanes(facts_.of(loop.body)), max_blocks_unrolled,
                   [&](const Strip& v) { emit_block(plan, block, v); });
  };
  if (plan.is_joint || plan.is_interleaving) {
    const Strip v{inner.var, {}, 1, static_cast<int>(extent)};
    for_each_block([&](const Strip& block) {
      const bool is_whole = block.count == block.lanes || m_.target.has_masks;
      if (plan.is_joint) {
        emit_joint(plan, block, v);
      } else if (block.lanes > 1 && is_whole) {
        emit_interleaved(plan, block, v);
      } else {
        by_vectors(block);
      }
    });
  } else {
    for_each_strip(inner, extent, native_lanes(facts_.of(loop.body)), max_blocks_unrolled,
                   [&](const Strip& v) {
                     for_each_block([&](const Strip& block) { emit_block(plan, block, v); });
                   });
  }
  bindings_[loop.var.value] = bindings_[inner.var.value] = Binding{};
}

void FunctionEmitter::emit_outer_rows(const For& loop, const Transposition& plan, int num_rows) {
  const For& inner = *plan.lanes;
  check_unbound(inner);
  const Strip rows{loop.var, {}, 1, num_rows};
  for_each_strip(inner, constant_extent(inner), native_lanes(facts_.of(loop.body)),
                 max_blocks_unrolled, [&](const Strip& v) {
                   if (v.lanes > 1 && (v.count == v.lanes || m_.target.has_masks)) {
                     emit_interleaved(plan, v, rows);
                     return;
                   }
                   for (int r = 0; r < num_rows; ++r) {
                     bind_in(rows, r);
                     memo_.clear();
                     in_lanes(v, [&] { write(*plan.store); });
                   }
                 });
  bindings_[loop.var.value] = bindings_[inner.var.value] = Binding{};
}

void FunctionEmitter::emit_joint(const Transposition& plan, const Strip& u, const Strip& v) {
  For elements{};  // of the block, one behind the other
  elements.body = plan.lanes->body;
  const Chunk outer = chunk_;
  bindings_[u.var.value] = Binding{Binding::Kind::lane, {}};
  bindings_[v.var.value] = Binding{Binding::Kind::inner_lane, {}};
  const std::int64_t count = std::int64_t{u.count} * v.count;
  for_each_strip(elements, count, native_lanes(facts_.of(plan.lanes->body)), count,
                 [&](const Strip& part) {
                   chunk_ = Chunk{u};
                   chunk_.lanes = part.lanes;
                   chunk_.count = part.count;
                   chunk_.inner_var = v.var;
                   chunk_.inner = v.count;
                   chunk_.phase = static_cast<int>(part.first.constant);
                   memo_.clear();
                   write(*plan.store);
                 });
  chunk_ = outer;
  memo_.clear();
}

void FunctionEmitter::emit_interleaved(const Transposition& plan, const Strip& u, const Strip& v) {
  const LoadCache loads = loads_;
  const BufferId to = plan.store->buffer;
  const DType type = program_[to].dtype;
  std::vector<LLVMValueRef> rows;
  in_lanes(u, [&] {
    memo_.clear();
    for (int r = 0; r < v.count; ++r) {
      bind_in(v, r);
      std::erase_if(memo_, [&](const auto& known) {  // the rest is the same in all rows
        return facts_.uses(ExprId{known.first}, v.var);
      });
      state_.is_raw_copy = memory_.is_raw_copy(*plan.store);
      rows.push_back(memory_.as_stored(values_.eval_as(plan.store->value, u.lanes), type));
      state_.is_raw_copy = false;
    }
  });
  bind_in(u, 0);
  bind_in(v, 0);
  memo_.clear();
  kernel_.count_statement();
  LinearForm where = values_.flat_form(to, plan.store->indices);
  int rest = u.count * v.count;
  for (const LLVMValueRef piece : interleave(b_, std::move(rows))) {
    const int lanes = lanes_of(piece);
    if (rest >= lanes) {
      b_.store(piece, memory_.pointer_to(to, where), memory_.alignment_of(to, where));
    } else if (rest > 0) {
      b_.masked_store(piece, memory_.pointer_to(to, where), memory_.alignment_of(to, where),
                      b_.first_lanes(rest, lanes));
    }
    where.constant += lanes;
    rest -= lanes;
  }
  loads_ = loads;
  memory_.forget_loads(to);
  memo_.clear();
}

void FunctionEmitter::emit_block(const Transposition& plan, const Strip& u, const Strip& v) {
  const bool is_block = u.lanes > 1 && v.lanes > 1;
  const LoadCache loads = loads_;
  std::vector<std::vector<Value>> known;  // by value of the plan and position in u
  for (ExprId value : is_block ? plan.values : std::vector<ExprId>{}) {
    std::vector<Value> rows;
    in_lanes(u, [&] {
      for (int r = 0; r < v.count; ++r) {
        bind_in(v, r);
        memo_.clear();
        state_.is_raw_copy = memory_.is_raw_copy(*plan.store);
        rows.push_back(values_.eval_as(value, u.lanes));
        state_.is_raw_copy = false;
      }
    });
    known.push_back(transposed(rows, v.lanes, u.count));
  }
  std::vector<Value> stored;
  in_lanes(v, [&] {
    for (int j = 0; j < u.count; ++j) {
      bind_in(u, j);
      memo_.clear();
      for (std::size_t i = 0; i < known.size(); ++i) {
        memo_.emplace(plan.values[i].value, known[i][static_cast<std::size_t>(j)]);
      }
      if (is_block && plan.stores_rows) {
        state_.is_raw_copy = memory_.is_raw_copy(*plan.store);
        stored.push_back(values_.eval_as(plan.store->value, v.lanes));
        state_.is_raw_copy = false;
      } else {
        write(*plan.store);
      }
    }
  });
  if (!stored.empty()) {
    const std::vector<Value> rows = transposed(stored, u.lanes, v.count);
    in_lanes(u, [&] {
      for (int r = 0; r < v.count; ++r) {
        kernel_.count_statement();
        bind_in(v, r);
        memo_.clear();
        memory_.store(*plan.store, values_.flat_form(plan.store->buffer, plan.store->indices),
                      rows[static_cast<std::size_t>(r)]);
      }
    });
  }
  loads_ = loads;
  memory_.forget_loads(plan.store->buffer);
  memo_.clear();
}

}  // namespace tensorsmith::llvm_codegen
