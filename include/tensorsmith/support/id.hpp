// SPDX-License-Identifier: Apache-2.0
// Typed 32-bit ids: an index into a pool that cannot be mixed up with another pool's.
//
// Floor 0. Own design (architecture: expressions are addressed by ids, never by pointers).
#pragma once

#include <compare>
#include <cstdint>

namespace tensorsmith {

template <class Tag>
struct Id {
  std::uint32_t value = UINT32_MAX;

  constexpr bool valid() const { return value != UINT32_MAX; }
  friend constexpr bool operator==(const Id&, const Id&) = default;
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

}  // namespace tensorsmith
