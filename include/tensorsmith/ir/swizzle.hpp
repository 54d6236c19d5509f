// SPDX-License-Identifier: Apache-2.0
// Where bytes of a swizzled buffer are.
//
// Floor 1. Source: PTX ISA, "wgmma: shared memory matrix layout", swizzle of 128 bytes. Not here:
// which buffers are swizzled (Buffer::is_swizzled, lower/swizzle_shared.hpp).
#pragma once

#include <cstdint>

namespace tensorsmith {

/// Of a byte at `offset` of a buffer in lines of 128 bytes: pieces of 16 bytes change places within
/// their line, in eight ways.
constexpr std::int64_t swizzled_byte(std::int64_t offset) {
  return offset ^ (offset >> 7 & 7) << 4;
}

}  // namespace tensorsmith
