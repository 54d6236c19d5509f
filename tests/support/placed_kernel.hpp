// SPDX-License-Identifier: Apache-2.0
// Runs compiled code on operands that begin anywhere.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/codegen/llvm_compiler.hpp"
#include "tensorsmith/ir/host_array.hpp"

namespace tensorsmith::test {

inline void run_serially(const KernelRuntime*, ParallelBody body, void* closure,
                         std::int64_t count) {
  for (std::int64_t i = count; i-- > 0;) {  // backwards: parallel iterations are independent
    body(closure, i, i + 1, 0);
  }
}

/// Memory of `size` bytes that begins `offset` bytes behind a line, among bytes of 0xA5.
struct PlacedBytes {
  static constexpr std::size_t margin = 64;
  PlacedBytes(std::size_t its_size, std::size_t offset)
      : size(its_size), total((size / 64 + 4) * 64),
        whole(static_cast<std::byte*>(std::aligned_alloc(64, total))),
        data(whole + margin + offset) {
    std::memset(whole, 0xA5, total);
  }
  PlacedBytes(PlacedBytes&& other) noexcept
      : size(other.size), total(other.total), whole(other.whole), data(other.data) {
    other.whole = nullptr;
  }
  PlacedBytes(const PlacedBytes&) = delete;
  PlacedBytes& operator=(const PlacedBytes&) = delete;
  ~PlacedBytes() { std::free(whole); }
  bool is_intact_around() const {
    const auto is_untouched = [](std::byte byte) { return byte == std::byte{0xA5}; };
    return std::all_of(whole, data, is_untouched) &&
           std::all_of(data + size, whole + total, is_untouched);
  }

  std::size_t size, total;
  std::byte* whole;
  std::byte* data;
};

/// Runs the kernel on copies of `arrays`, of which number i begins offsets[i % count] bytes behind
/// a line or, if its elements are larger, at one; returns what it left there.
inline std::vector<HostArray> run_kernel_at(const JitKernel& kernel, std::int64_t workspace_bytes,
                                            std::vector<HostArray> arrays,
                                            std::span<const std::size_t> offsets) {
  std::vector<PlacedBytes> memory;
  std::vector<void*> pointers;
  for (const HostArray& array : arrays) {
    const std::size_t offset = offsets[memory.size() % offsets.size()];
    const auto element = static_cast<std::size_t>(bytes_of(array.dtype));
    memory.emplace_back(array.data.size(), offset % element == 0 ? offset : 0);
    std::memcpy(memory.back().data, array.data.data(), array.data.size());
    pointers.push_back(memory.back().data);
  }
  const PlacedBytes workspace(static_cast<std::size_t>(workspace_bytes), 0);
  const KernelRuntime runtime{&run_serially, nullptr, 1};
  kernel.entry()(pointers.data(), workspace.data, &runtime);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    std::memcpy(arrays[i].data.data(), memory[i].data, arrays[i].data.size());
    REQUIRE(memory[i].is_intact_around());
  }
  return arrays;
}

/// What the kernel makes of `arrays`: the same wherever they lie.
inline std::vector<HostArray> run_kernel(const JitKernel& kernel, std::int64_t workspace_bytes,
                                         const std::vector<HostArray>& arrays) {
  constexpr std::size_t on_lines[] = {0};
  const std::vector<HostArray> ran = run_kernel_at(kernel, workspace_bytes, arrays, on_lines);
  constexpr std::array<std::size_t, 8> places = {4, 16, 32, 1, 2, 8, 60, 0};
  for (std::size_t turn = 0; turn < places.size(); ++turn) {
    std::array<std::size_t, places.size()> offsets = places;
    std::rotate(offsets.begin(), offsets.begin() + static_cast<std::ptrdiff_t>(turn),
                offsets.end());
    const std::vector<HostArray> moved = run_kernel_at(kernel, workspace_bytes, arrays, offsets);
    for (std::size_t i = 0; i < ran.size(); ++i) {
      const bool is_same_elsewhere = moved[i].data == ran[i].data;
      REQUIRE(is_same_elsewhere);
    }
  }
  return ran;
}

}  // namespace tensorsmith::test
