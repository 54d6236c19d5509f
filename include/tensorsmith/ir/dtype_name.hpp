// SPDX-License-Identifier: Apache-2.0
// An element type from its name.
//
// Floor 1. Own design. Apart from dtype.hpp because few need it and <optional> is heavy.
#pragma once

#include <optional>
#include <string_view>

#include "tensorsmith/ir/dtype.hpp"

namespace tensorsmith {

/// Either name; nothing if unknown.
constexpr std::optional<DType> dtype_from_name(std::string_view name) {
  for (DType type : all_dtypes) {
    if (is_name_of(name, type)) {
      return type;
    }
  }
  return std::nullopt;
}

}  // namespace tensorsmith
