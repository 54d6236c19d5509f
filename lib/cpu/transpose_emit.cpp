// SPDX-License-Identifier: Apache-2.0
// Transposing copies: blocks of two loops, read (or written) by rows and exchanged in registers.
#include <algorithm>

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
  const For& inner = *plan.lanes;
  if (inner.var == loop.var || bindings_[inner.var.value].kind != Binding::Kind::none) {
    give_up("loop variable " + program_.pool.var_name(inner.var) + " is already in use");
  }
  const StmtFacts& facts = facts_.of(loop.body);
  const std::int64_t inner_extent = constant_extent(inner);
  const int native = native_lanes(facts);
  // A block and what its network is about to make fit into the registers. Several of them use up
  // what a row has in a cache line (rows a power of two apart would lose it in between).
  const int columns = std::min(native, std::max(2, m_.target.num_vector_registers / 2));
  const int line = std::max(columns, std::min(16, m_.target.cache_line_bytes / facts.widest_bytes));
  const bool was_in_vectorized = in_vectorized_;
  in_vectorized_ = true;
  const auto emit_blocks = [&](const Strip& u) {
    for_each_strip(inner, inner_extent, native, max_blocks_unrolled, [&](const Strip& v) {
      Strip block = u;
      block.lanes = std::min(columns, u.lanes);
      for (int first = 0; first < u.count; first += columns) {
        block.count = std::min(columns, u.count - first);
        emit_block(plan, block, v);
        block.first.constant += columns;
      }
    });
    bindings_[loop.var.value] = bindings_[inner.var.value] = Binding{};
  };
  memo_.clear();
  const LinearForm extent = values_.form(loop.extent);
  if (extent.is_constant() || loop.kind == ForKind::unrolled) {
    const std::int64_t n = constant_extent(loop);
    for_each_strip(loop, n, line, loop.kind == ForKind::serial ? 1 : n, emit_blocks);
    in_vectorized_ = was_in_vectorized;
    return;
  }
  // The last block is moved back to end with the last iteration; it may copy some a second time.
  const LLVMValueRef end = addresses_.value(extent);
  const LLVMValueRef last = b_.sub(end, m_.const_i64(line));
  const auto in_blocks = [&] {
    const LLVMValueRef count =
        LLVMBuildUDiv(b_.ref, b_.add(end, m_.const_i64(line - 1)), m_.const_i64(line), "");
    emit_serial(m_.const_i64(0), count, true, facts, [&](std::uint32_t term) {
      Strip u;
      u.var = loop.var;
      u.lanes = u.count = line;
      u.first.terms.push_back(LinearTerm{term, line});
      const LLVMValueRef next = addresses_.value(u.first);
      IrBuilder& here = addresses_.at(addresses_.level());
      const LLVMValueRef first = here.select(here.icmp(LLVMIntSLT, next, last), next, last);
      u.first.terms[0] = LinearTerm{addresses_.add_term(first, addresses_.level()), 1};
      emit_blocks(u);
    });
  };
  const auto one_by_one = [&] {
    in_vectorized_ = was_in_vectorized;
    emit_range(loop, m_.const_i64(0), end);
  };
  emit_branch(b_.icmp(LLVMIntSGE, last, m_.const_i64(0)), in_blocks, one_by_one);
}

void FunctionEmitter::emit_block(const Transposition& plan, const Strip& u, const Strip& v) {
  const bool is_block = u.lanes > 1 && v.lanes > 1;
  const LoadCache loads = loads_;
  const IntImm* const rows_in_all = program_.pool.as<IntImm>(plan.lanes->extent);
  if (is_block && plan.is_interleaving && u.count == u.lanes && v.count == rows_in_all->value) {
    std::vector<LLVMValueRef> rows;
    state_.is_raw_copy = memory_.is_raw_copy(*plan.store);
    in_lanes(u, [&] {
      for (int r = 0; r < v.count; ++r) {
        bind_in(v, r);
        memo_.clear();
        rows.push_back(values_.eval_as(plan.store->value, u.lanes).ref);
      }
    });
    state_.is_raw_copy = false;
    bind_in(u, 0);
    bind_in(v, 0);
    memo_.clear();
    kernel_.count_statement();
    const BufferId to = plan.store->buffer;
    const LinearForm where = values_.flat_form(to, plan.store->indices);
    b_.store(interleave(b_, std::move(rows)), memory_.pointer_to(to, where),
             memory_.alignment_of(to, where));
    loads_ = loads;
    memory_.forget_loads(to);
    memo_.clear();
    return;
  }
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
