// SPDX-License-Identifier: Apache-2.0
// Loads of elements that are apart: strides, lanes of two loops, one lane after the other.
#include <algorithm>
#include <bit>
#include <numeric>

#include "kernel_emitter.hpp"
#include "memory_emitter.hpp"
#include "tensorsmith/support/floor_div.hpp"

namespace tensorsmith::llvm_codegen {

// Whether the buffer consists of groups of so many elements, of which one begins where the
// constants of the address are left out.
bool MemoryEmitter::has_whole_groups(BufferId buffer, const LinearForm& form,
                                     std::int64_t group) const {
  return program_[buffer].num_elements() % group == 0 &&
         std::all_of(form.terms.begin(), form.terms.end(),
                     [&](const LinearTerm& term) { return term.coefficient % group == 0; });
}

// Which lanes of two loops read is a matter of their numbers.
bool MemoryEmitter::has_known_mask() const {
  return chunk_.inner > 1 && chunk_.mask != nullptr && LLVMIsConstant(chunk_.mask) != 0;
}

LLVMValueRef MemoryEmitter::load_strided(const Load& node, const LinearForm& form) {
  const DType type = program_[node.buffer].dtype;
  const LLVMTypeRef vector = m_.storage_type(type, chunk_.lanes);
  const std::int64_t bytes = bytes_of(type);
  const int lanes = chunk_.lanes;
  const bool is_full = chunk_.count == lanes && chunk_.mask == nullptr;
  if (is_full && form.lane == -1) {
    const LLVMValueRef pointer = b_.offset(pointer_to(node.buffer, form), -bytes * (lanes - 1));
    return b_.reverse(b_.load(vector, pointer, static_cast<unsigned>(bytes)));
  }
  if (is_full && form.lane >= 2 && form.lane <= 4 && lanes >= 4) {
    // `stride` vectors cover the elements. They are those of the other elements between two lanes
    // where all of these exist; else the last one is moved back to end with the last element.
    const int stride = static_cast<int>(form.lane);
    const bool is_whole = has_whole_groups(node.buffer, form, form.lane);
    const int phase = is_whole ? static_cast<int>(floor_mod(form.constant, form.lane)) : 0;
    const int span = is_whole ? stride * lanes : stride * (lanes - 1) + 1;
    LLVMValueRef result = LLVMGetPoison(vector);
    for (int part = 0; part < stride; ++part) {
      const int begin = part + 1 < stride ? part * lanes : span - lanes;
      const LLVMValueRef piece =
          b_.load(vector, b_.offset(pointer_to(node.buffer, form), (begin - phase) * bytes),
                  static_cast<unsigned>(bytes));
      std::vector<int> picks;
      for (int lane = 0; lane < lanes; ++lane) {
        const int element = lane * stride + phase, at = element - part * lanes;
        const bool is_here = at >= 0 && at < lanes;
        picks.push_back(is_here ? lanes + element - begin : lane);
      }
      result = b_.shuffle(result, piece, picks);
    }
    return result;
  }
  std::vector<std::int64_t> elements;
  for (int lane = 0; lane < lanes; ++lane) {
    elements.push_back(form.lane * lane);
  }
  return load_lanes(node, form, elements);
}

// Lanes of two loops: runs of elements, each of at most a vector, and shuffles to where they
// belong.
LLVMValueRef MemoryEmitter::load_pattern(const Load& node, const LinearForm& form) {
  const DType type = program_[node.buffer].dtype;
  const std::int64_t bytes = bytes_of(type);
  const int lanes = chunk_.lanes;
  std::vector<std::int64_t> elements;  // by lane
  for (int lane = 0; lane < lanes; ++lane) {
    elements.push_back(form.lane * lane + form.outer * chunk_.outer_at(lane) +
                       form.inner * chunk_.inner_at(lane));
  }
  std::vector<int> active;
  for (int lane = 0; lane < chunk_.count; ++lane) {
    const int taken = chunk_.mask == nullptr ? 1 : constant_bool(b_.extract(chunk_.mask, lane));
    if (taken < 0) {
      return load_lanes(node, form, elements);
    }
    if (taken == 1) {
      active.push_back(lane);
    }
  }
  const LLVMTypeRef vector = m_.storage_type(type, lanes);
  std::sort(active.begin(), active.end(), [&](int a, int b) {
    return elements[static_cast<std::size_t>(a)] < elements[static_cast<std::size_t>(b)];
  });
  const bool is_full = active.size() == static_cast<std::size_t>(lanes);
  LLVMValueRef result = is_full ? LLVMGetPoison(vector) : LLVMConstNull(vector);
  const LLVMValueRef origin = pointer_to(node.buffer, form);
  // Whole iterations of the outer loop, if these exist: other reads use the same vector.
  const std::int64_t group = has_whole_groups(node.buffer, form, chunk_.inner) ? chunk_.inner : 1;
  for (std::size_t first = 0; first < active.size();) {
    std::int64_t begin = elements[static_cast<std::size_t>(active[first])];
    std::size_t end = first;
    std::int64_t span = 0;
    for (; end < active.size(); ++end) {
      const std::int64_t at = elements[static_cast<std::size_t>(active[end])] - begin;
      if (at >= lanes) {
        break;
      }
      span = at + 1;
    }
    const std::int64_t before = floor_mod(form.constant + begin, group);
    const std::int64_t behind = floor_mod(-(form.constant + begin + span), group);
    if (before + span + behind <= lanes) {
      begin -= before;
      span += before + behind;
    }
    std::vector<int> picks(static_cast<std::size_t>(lanes));
    std::iota(picks.begin(), picks.end(), 0);
    for (; first < end; ++first) {
      const auto lane = static_cast<std::size_t>(active[first]);
      picks[lane] = lanes + static_cast<int>(elements[lane] - begin);
    }
    const LLVMValueRef piece =
        load_run(b_.offset(origin, begin * bytes), type, static_cast<int>(span));
    result = b_.shuffle(result, piece, picks);
  }
  return result;
}

// The first `count` of the chunk's lanes are elements one behind the other.
LLVMValueRef MemoryEmitter::load_run(LLVMValueRef pointer, DType type, int count) {
  const int lanes = chunk_.lanes;
  const auto element = static_cast<unsigned>(bytes_of(type));
  const LLVMTypeRef vector = m_.storage_type(type, lanes);
  if (count == lanes) {
    return b_.load(vector, pointer, element);
  }
  if (count == 1) {
    return b_.splat(b_.load(m_.storage_type(type, 1), pointer, element), lanes);
  }
  const bool is_half = std::has_single_bit(static_cast<unsigned>(count));  // or a quarter, ...
  if (m_.target.has_masks && !is_half) {
    return b_.masked_load(vector, pointer, element, b_.first_lanes(count, lanes));
  }
  // Two vectors of half the length or more, one from the front, one from the back.
  const int width = static_cast<int>(std::bit_floor(static_cast<unsigned>(count)));
  const LLVMTypeRef part = m_.storage_type(type, width);
  const LLVMValueRef front = b_.load(part, pointer, element);
  const LLVMValueRef back =
      b_.load(part, b_.offset(pointer, std::int64_t{element} * (count - width)), element);
  std::vector<int> picks;
  for (int lane = 0; lane < lanes; ++lane) {
    const int at = lane < width ? lane : std::min(lane, count - 1) + 2 * width - count;
    picks.push_back(at);
  }
  return b_.shuffle(front, back, picks);
}

// One after the other.
LLVMValueRef MemoryEmitter::load_lanes(const Load& node, const LinearForm& form,
                                       const std::vector<std::int64_t>& elements) {
  const DType type = program_[node.buffer].dtype;
  LLVMValueRef result = LLVMConstNull(m_.storage_type(type, chunk_.lanes));
  for (int lane = 0; lane < chunk_.count; ++lane) {
    const LLVMValueRef guard = chunk_.mask == nullptr ? nullptr : b_.extract(chunk_.mask, lane);
    const LLVMValueRef pointer = b_.offset(
        pointer_to(node.buffer, form), elements[static_cast<std::size_t>(lane)] * bytes_of(type));
    result = b_.insert(result, load_scalar(pointer, type, guard), lane);
  }
  return result;
}

}  // namespace tensorsmith::llvm_codegen
