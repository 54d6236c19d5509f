// SPDX-License-Identifier: Apache-2.0
// MD5 of a text, as 32 hex digits.
//
// Floor 2. RFC 1321. Only for workload keys that other programs read; no use where anybody could
// gain from a collision.
#pragma once

#include <string>
#include <string_view>

#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith::te {

TENSORSMITH_INLINE std::string md5_hex(std::string_view text);

}  // namespace tensorsmith::te

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/te/md5_body.hpp"
#endif
