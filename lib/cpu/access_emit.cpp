// SPDX-License-Identifier: Apache-2.0
// Loads and stores: registers, scalars, vectors, masks, strides.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "kernel_emitter.hpp"
#include "memory_emitter.hpp"
#include "tensorsmith/lower/load_room.hpp"

namespace tensorsmith::llvm_codegen {
namespace {

constexpr std::int64_t line_bytes = 64;

}  // namespace

const BufferState& MemoryEmitter::alive(BufferId buffer) const {
  const BufferState& state = buffers_[buffer.value];
  if (!state.is_alive) {
    give_up("buffer " + program_[buffer].name + " is used outside its Alloc");
  }
  return state;
}

LLVMValueRef MemoryEmitter::pointer_to(BufferId buffer, const LinearForm& form) {
  const BufferState& state = alive(buffer);
  const std::int64_t bytes = bytes_of(program_[buffer].dtype);
  return b_.offset(addresses_.pointer(state.base_id, state.pointer, bytes, form),
                   form.constant * bytes);
}

unsigned MemoryEmitter::alignment_of(BufferId buffer, const LinearForm& form) const {
  return alignment_from(kernel_.base_alignment(buffer), buffer, form);
}

unsigned MemoryEmitter::alignment_from(std::int64_t base, BufferId buffer,
                                       const LinearForm& form) const {
  const std::int64_t bytes = bytes_of(program_[buffer].dtype);
  std::int64_t known = std::gcd(base, form.constant * bytes);
  for (const LinearTerm& term : form.terms) {
    known = std::gcd(known, term.coefficient * bytes);
  }
  return static_cast<unsigned>(known);
}

LLVMValueRef MemoryEmitter::memory_mask() {
  if (chunk_.lanes == 1) {
    return nullptr;
  }
  if (chunk_.count == chunk_.lanes) {
    return chunk_.mask;
  }
  const LLVMValueRef tail = b_.first_lanes(chunk_.count, chunk_.lanes);
  return chunk_.mask == nullptr ? tail : b_.and_(tail, chunk_.mask);
}

Value MemoryEmitter::load(const Load& node) {
  const bool is_raw = std::exchange(state_.is_raw_copy, false);  // its indices are numbers
  const LinearForm where = values_.flat_form(node.buffer, node.indices);
  state_.is_raw_copy = is_raw;
  alive(node.buffer);
  if (chunk_.lanes > 1 && where.is_lane_opaque) {
    const DType type = program_[node.buffer].dtype;
    LLVMValueRef result = LLVMConstNull(state_.is_raw_copy ? m_.storage_type(type, chunk_.lanes)
                                                           : m_.compute_type(type, chunk_.lanes));
    for_each_lane([&](int lane) { result = b_.insert(result, load(node).ref, lane); });
    return {result, type, chunk_.lanes};
  }
  return program_[node.buffer].scope == Scope::register_ ? load_register(node, where)
                                                         : load_memory(node, where);
}

Value MemoryEmitter::load_register(const Load& node, const LinearForm& form) {
  const Buffer& buffer = program_[node.buffer];
  if (!form.terms.empty() || form.is_pattern()) {
    give_up("register buffer " + buffer.name + " is indexed by a variable that is not unrolled");
  }
  const auto read = [&](std::int64_t start, int count, int lanes) {
    return registers_.read(b_, node.buffer, buffer.dtype, start, count, lanes);
  };
  if (form.lane == 0) {
    return {read(form.constant, 1, 1), buffer.dtype, 1};
  }
  if (form.lane == 1) {
    return {read(form.constant, chunk_.count, chunk_.lanes), buffer.dtype, chunk_.lanes};
  }
  LLVMValueRef result = LLVMConstNull(m_.compute_type(buffer.dtype, chunk_.lanes));
  for (int lane = 0; lane < chunk_.count; ++lane) {
    result = b_.insert(result, read(form.constant + form.lane * lane, 1, 1), lane);
  }
  return {result, buffer.dtype, chunk_.lanes};
}

// An inactive load goes to bytes of zero instead.
LLVMValueRef MemoryEmitter::load_scalar(LLVMValueRef pointer, DType type, LLVMValueRef guard) {
  if (guard != nullptr) {
    pointer = b_.select(guard, pointer, m_.zero_bytes());
  }
  return b_.load(m_.storage_type(type), pointer, static_cast<unsigned>(bytes_of(type)));
}

// Whether a vector that takes a shuffle or a mask to load is the same throughout the function: of
// elements that exist, at numbers, in memory that nobody writes.
bool MemoryEmitter::is_fixed(BufferId buffer, const LinearForm& form) const {
  const bool is_row = form.lane == 1 && !form.is_pattern() && chunk_.count == chunk_.lanes;
  if (!form.terms.empty() || chunk_.mask != nullptr || guard_ != nullptr || is_row ||
      !kernel_.is_argument(buffer) || !kernel_.is_alone(buffer) ||
      facts_.of(program_.body).stores(buffer)) {
    return false;
  }
  for (int lane = 0; lane < chunk_.count; ++lane) {
    const std::int64_t element = form.constant + form.lane * lane +
                                 form.outer * chunk_.outer_at(lane) +
                                 form.inner * chunk_.inner_at(lane);
    if (element < 0 || element >= program_[buffer].num_elements()) {
      return false;
    }
  }
  return true;
}

Value MemoryEmitter::load_memory(const Load& node, const LinearForm& form) {
  const DType type = program_[node.buffer].dtype;
  const std::int64_t bytes = bytes_of(type);
  const BufferState& state = alive(node.buffer);
  const bool is_scalar = chunk_.lanes == 1 || form.is_uniform();
  const int lanes = is_scalar ? 1 : chunk_.lanes;
  const LLVMValueRef outer = addresses_.pointer(state.base_id, state.pointer, bytes, form);
  const LoadKey key = {outer,
                       form.constant,
                       form.lane,
                       form.outer,
                       form.inner,
                       form.is_pattern() ? chunk_.phase : 0,
                       lanes,
                       is_scalar ? 1 : chunk_.count,
                       state_.is_raw_copy ? DType::boolean : type};
  if (const Value* known = known_load(key)) {
    return *known;
  }
  const bool is_fixed_row = !is_scalar && is_fixed(node.buffer, form);
  const auto fixed = is_fixed_row ? fixed_.find(key) : fixed_.end();
  if (fixed != fixed_.end()) {
    return fixed->second;
  }
  const bool is_hoisted =
      is_fixed_row && 2 * static_cast<int>(fixed_.size()) < m_.target.num_vector_registers;
  const LLVMBasicBlockRef here = b_.block();
  if (is_hoisted) {
    b_.before(addresses_.function_marker());
  }
  const LLVMValueRef pointer = b_.offset(outer, form.constant * bytes);
  const bool is_conditional = chunk_.lanes == 1 ? guard_ != nullptr : chunk_.mask != nullptr;
  LLVMValueRef stored = nullptr;
  if (is_scalar) {
    const LLVMValueRef guard = chunk_.lanes == 1        ? guard_
                               : chunk_.mask != nullptr ? b_.any_lane(memory_mask())
                                                        : nullptr;
    stored = load_scalar(pointer, type, guard);
  } else if (form.is_pattern() || has_known_mask()) {
    stored = load_pattern(node, form);
  } else if (form.lane == 1) {
    const LLVMTypeRef vector = m_.storage_type(type, lanes);
    const LLVMValueRef mask = memory_mask();
    stored = mask == nullptr
                 ? b_.load(vector, pointer, alignment_of(node.buffer, form))
                 : b_.masked_load(vector, pointer, alignment_of(node.buffer, form), mask);
  } else {
    stored = load_strided(node, form);
  }
  const Value value = {state_.is_raw_copy ? stored : b_.from_storage(stored, type), type, lanes};
  if (is_hoisted) {
    b_.at_end(here);
    fixed_.emplace(key, value);
  } else if (!is_conditional) {
    keep_load(key, node.buffer, value);
  }
  return value;
}

// measured (Zen 5): a row of 14 x 32 elements of a convolution in NCHW, whose three taps read
// almost the same pixels, kept 2.5 ms, read again 0.8 (28 x 28 x 128).
const Value* MemoryEmitter::known_load(const LoadKey& key) {
  const auto found = loads_.find(key);
  if (found == loads_.end()) {
    return nullptr;
  }
  CachedLoad& load = found->second;
  std::int64_t num_accumulators = 0;
  for (const auto& [buffer, pieces] : registers_.buffers()) {
    num_accumulators += static_cast<std::int64_t>(pieces.size());
  }
  const bool is_same_in_lanes = std::get<6>(key) == 1;
  if (num_accumulators == 0 ||
      num_loads_ - load.used <= load_room(m_.target, num_accumulators, is_same_in_lanes)) {
    load.used = num_loads_;
    return &load.value;
  }
  if (load.loaded > fence_) {  // else LLVM would find the load before and keep that
    b_.fence_loads();
    fence_ = num_loads_;
  }
  return nullptr;
}

void MemoryEmitter::keep_load(const LoadKey& key, BufferId buffer, Value value) {
  ++num_loads_;
  loads_.insert_or_assign(key, CachedLoad{buffer, value, num_loads_, num_loads_});
}

void MemoryEmitter::store_register(const Store& store, const LinearForm& form, Value value) {
  const Buffer& buffer = program_[store.buffer];
  if (!form.terms.empty() || form.is_lane_opaque) {
    give_up("register buffer " + buffer.name + " is indexed by a variable that is not unrolled");
  }
  value.ref = b_.cast(value.ref, value.type, buffer.dtype);
  if (chunk_.mask != nullptr) {
    const LLVMValueRef old =
        registers_.read(b_, store.buffer, buffer.dtype, form.constant, chunk_.count, chunk_.lanes);
    value.ref = b_.select(chunk_.mask, value.ref, old);
  }
  registers_.write(b_, store.buffer, form.constant, chunk_.count, value.ref);
}

void MemoryEmitter::store_scalar(LLVMValueRef pointer, LLVMValueRef value, unsigned alignment,
                                 LLVMValueRef guard) {
  if (guard == nullptr) {
    b_.store(value, pointer, alignment);
    return;
  }
  const LLVMBasicBlockRef active = state_.new_block();
  const LLVMBasicBlockRef after = state_.new_block();
  LLVMBuildCondBr(b_.ref, guard, active, after);
  b_.at_end(active);
  b_.store(value, pointer, alignment);
  LLVMBuildBr(b_.ref, after);
  b_.at_end(after);
}

void MemoryEmitter::forget_loads(BufferId buffer) {
  for (auto cached = loads_.begin(); cached != loads_.end();) {
    cached = cached->second.buffer == buffer ? loads_.erase(cached) : std::next(cached);
  }
}

void MemoryEmitter::forget_loads(const StmtFacts& facts) {
  for (auto load = loads_.begin(); load != loads_.end();) {
    load = facts.stores(load->second.buffer) ? loads_.erase(load) : std::next(load);
  }
}

bool MemoryEmitter::is_raw_copy(const Store& store) const {
  const DType type = program_[store.buffer].dtype;
  const Load* load = program_.pool.as<Load>(store.value);
  return (type == DType::f16 || type == DType::bf16) && load != nullptr &&
         program_[load->buffer].dtype == type && program_[load->buffer].scope != Scope::register_ &&
         program_[store.buffer].scope != Scope::register_;
}

LLVMValueRef MemoryEmitter::as_stored(Value value, DType type) {
  const bool is_narrow = type == DType::f16 || type == DType::bf16;
  if (!is_narrow || value.type == DType::f64) {
    value.ref = b_.cast(value.ref, value.type, type);
  }
  const bool is_stored = LLVMTypeOf(value.ref) == m_.storage_type(type, value.lanes);
  return is_narrow && is_stored ? value.ref : b_.to_storage(value.ref, type);
}

void MemoryEmitter::store_memory(const Store& store, const LinearForm& form, Value value) {
  const DType type = program_[store.buffer].dtype;
  const auto element = static_cast<unsigned>(bytes_of(type));
  forget_loads(store.buffer);
  const LLVMValueRef stored = as_stored(value, type);
  if (chunk_.lanes == 1) {
    store_scalar(pointer_to(store.buffer, form), stored, element, guard_);
    return;
  }
  if (!form.is_lane_opaque && form.lane == 1) {
    const LLVMValueRef pointer = pointer_to(store.buffer, form);
    const LLVMValueRef mask = memory_mask();
    const unsigned bytes = static_cast<unsigned>(chunk_.lanes) * element;
    const bool is_streamed = program_[store.buffer].is_streamed && mask == nullptr &&
                             !facts_.is_read_back(store) && bytes % 16 == 0 &&
                             alignment_from(line_bytes, store.buffer, form) % bytes == 0;
    if (is_streamed) {
      store_past_caches(store.buffer, pointer, stored, bytes, form);
      has_streamed_ = true;
    } else if (mask == nullptr) {
      b_.store(stored, pointer, alignment_of(store.buffer, form));
    } else if (chunk_.mask == nullptr && !m_.target.has_masks) {
      store_first_lanes(stored, pointer, element);
    } else {
      b_.masked_store(stored, pointer, alignment_of(store.buffer, form), mask);
    }
    return;
  }
  for (int lane = 0; lane < chunk_.count; ++lane) {
    const LLVMValueRef guard = chunk_.mask == nullptr ? nullptr : b_.extract(chunk_.mask, lane);
    const LLVMValueRef pointer =
        b_.offset(pointer_to(store.buffer, form), form.lane * lane * std::int64_t{element});
    store_scalar(pointer, b_.extract(stored, lane), element, guard);
  }
}

// In ever narrower pieces: a masked store takes AMD's cores dozens of cycles.
void MemoryEmitter::store_first_lanes(LLVMValueRef value, LLVMValueRef pointer, unsigned element) {
  for (int begin = 0, lanes = 0; begin < chunk_.count; begin += lanes) {
    lanes = static_cast<int>(std::bit_floor(static_cast<unsigned>(chunk_.count - begin)));
    b_.store(lanes == 1 ? b_.extract(value, begin) : b_.part(value, begin, lanes, lanes),
             b_.offset(pointer, std::int64_t{begin} * element), element);
  }
}

// Such a store takes aligned addresses only. Memory of the caller that does not begin at a line
// gets ordinary ones; the branch goes one way for the whole call.
void MemoryEmitter::store_past_caches(BufferId buffer, LLVMValueRef pointer, LLVMValueRef value,
                                      unsigned bytes, const LinearForm& form) {
  if (!kernel_.is_argument(buffer)) {
    b_.stream(value, pointer, bytes);
    return;
  }
  BufferState& state = buffers_[buffer.value];
  if (state.is_on_line == nullptr) {
    state.is_on_line = addresses_.at(0).is_multiple(state.pointer, line_bytes);
  }
  const LLVMBasicBlockRef streams = state_.new_block(), stores = state_.new_block(),
                          after = state_.new_block();
  b_.branch_mostly(state.is_on_line, streams, stores);
  b_.at_end(streams);
  b_.stream(value, pointer, bytes);
  LLVMBuildBr(b_.ref, after);
  b_.at_end(stores);
  b_.store(value, pointer, alignment_of(buffer, form));
  LLVMBuildBr(b_.ref, after);
  b_.at_end(after);
}

void MemoryEmitter::store(const Store& store, const LinearForm& form, Value value) {
  if (program_[store.buffer].scope == Scope::register_) {
    store_register(store, form, value);
  } else {
    store_memory(store, form, value);
  }
}

void MemoryEmitter::emit_prefetch(const Prefetch& prefetch) {
  memo_.clear();
  alive(prefetch.buffer);
  LinearForm where = values_.flat_form(prefetch.buffer, prefetch.indices);
  if (program_[prefetch.buffer].scope == Scope::register_ || where.is_lane_opaque) {
    return;
  }
  fetch(pointer_to(prefetch.buffer, where), prefetch.level);
}

// Into the cache of that level.
void MemoryEmitter::fetch(LLVMValueRef pointer, int level) {
  const int locality = std::clamp(4 - level, 1, 3);
  b_.intrinsic("llvm.prefetch", {m_.ptr},
               {pointer, LLVMConstInt(m_.i32, 0, 0),
                LLVMConstInt(m_.i32, static_cast<unsigned long long>(locality), 0),
                LLVMConstInt(m_.i32, 1, 0)});
}

void MemoryEmitter::for_each_lane(const std::function<void(int lane)>& compute) {
  const Chunk outer = chunk_;
  const Memo memo = memo_;
  const LLVMValueRef outer_guard = guard_;
  for (int lane = 0; lane < outer.count; ++lane) {
    chunk_.lanes = chunk_.count = 1;
    chunk_.mask = nullptr;
    chunk_.first.constant = outer.first.constant + outer.outer_at(lane);
    chunk_.phase = static_cast<int>(outer.inner_at(lane));
    guard_ = outer.mask == nullptr ? outer_guard : b_.extract(outer.mask, lane);
    memo_.clear();
    compute(lane);
  }
  chunk_ = outer;
  memo_ = memo;
  guard_ = outer_guard;
}

}  // namespace tensorsmith::llvm_codegen
