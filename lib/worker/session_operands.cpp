// SPDX-License-Identifier: Apache-2.0
// The operands of a candidate: the task's arguments and what its prepack makes of the constant
// ones.
//
// Part of session.hpp. Prepack is foreign code like the kernel itself: it runs under a deadline, on
// guarded memory, and what it wrote is read-only from then on.
#include <algorithm>

#include "fault.hpp"
#include "session.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tensorsmith {

namespace {

constexpr std::size_t max_packed = 250;

}  // namespace

void Session::note_fault_regions(const Operands& operands) {
  clear_fault_regions();
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    add_fault_region({arguments_[i].buffer.mapping(), arguments_[i].buffer.data(),
                      static_cast<std::int32_t>(i)});
  }
  add_fault_region({workspace_.mapping(), workspace_.data(), -1});
  for (std::size_t i = 0; i < operands.packed.size(); ++i) {
    const GuardedBuffer& packed = operands.packed[i];
    add_fault_region(
        {packed.mapping(), packed.data(), static_cast<std::int32_t>(arguments_.size() + i)});
  }
}

std::string Session::make_packed(const PrepackCode& prepack, Operands& operands,
                                 std::vector<void*>& prepack_pointers) {
  if (prepack.packed.size() > max_packed) {
    return "more than " + std::to_string(max_packed) + " packed buffers";
  }
  std::vector<void*> all = pointers_;
  for (const PackedArgument& packed : prepack.packed) {
    const std::int64_t most = std::int64_t{1} << 40;
    GuardedBuffer buffer;
    if (packed.num_elements < 0 || packed.num_elements > most ||
        !buffer.create(static_cast<std::size_t>(packed.num_bytes()))) {
      return "no memory for packed operand '" + packed.name + "'";
    }
    all.push_back(buffer.data().data());
    operands.packed.push_back(std::move(buffer));
  }
  const auto collect = [&all](const std::vector<std::int32_t>& places, std::vector<void*>& found) {
    for (const std::int32_t place : places) {
      if (place < 0 || static_cast<std::size_t>(place) >= all.size()) {
        return false;
      }
      found.push_back(all[static_cast<std::size_t>(place)]);
    }
    return true;
  };
  return collect(prepack.arguments, prepack_pointers) &&
                 collect(prepack.kernel_arguments, operands.pointers)
             ? ""
             : "an argument that does not exist is to be packed or passed";
}

bool Session::make_operands(std::size_t slot, const PrepackCode& prepack, std::int64_t timeout_ns,
                            Operands& operands, MeasureResult& result) {
  if (prepack.entry.empty()) {
    operands.pointers = pointers_;
    return true;
  }
  result.status = MeasureStatus::load_error;
  const KernelEntry entry = loader_.find(slot, prepack.entry, result.message);
  if (entry == nullptr) {
    return false;
  }
  std::vector<void*> pointers;
  result.message = make_packed(prepack, operands, pointers);
  if (!result.message.empty()) {
    return false;
  }
  note_fault_regions(operands);
  poison();
  for (const GuardedBuffer& packed : operands.packed) {
    std::fill(packed.data().begin(), packed.data().end(), std::byte{0xFF});
  }
  run(entry, pointers, 1, timeout_ns);
  result = check(false);
  for (std::size_t i = 0; result.is_ok() && i < operands.packed.size(); ++i) {
    const std::string damage = operands.packed[i].check_bands();
    if (!damage.empty()) {
      result.status = MeasureStatus::out_of_bounds;
      result.message = damage + " of packed operand '" + prepack.packed[i].name + "'";
    }
  }
  if (!result.is_ok()) {
    mark_bands();
    return false;
  }
  for (GuardedBuffer& packed : operands.packed) {
    packed.make_read_only();
  }
  return true;
}

void Session::evict(const Operands& operands) {
#if defined(__x86_64__)
  const auto flush = [](std::span<const std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += 64) {
      _mm_clflush(bytes.data() + at);
    }
  };
  for (const Argument& argument : arguments_) {
    flush(argument.buffer.data());
  }
  for (const GuardedBuffer& packed : operands.packed) {
    flush(packed.data());
  }
  flush(workspace_.data());
  _mm_mfence();
#else
  (void)operands;
#endif
}

}  // namespace tensorsmith
