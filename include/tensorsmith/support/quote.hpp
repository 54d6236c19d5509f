// SPDX-License-Identifier: Apache-2.0
// in_quotes: what a message says of input that may be anything.
//
// Floor 0. Own design. Input comes from files and command lines: of any length, with control
// characters that would move the cursor of a terminal, in no known encoding. A message shows the
// beginning of it on one line and says how long it was.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith {

/// The first `most` bytes or a few less, on one line: control characters, and bytes that are no
/// UTF-8, as in a C string. What is left out is counted: `abc... (1000000 bytes)`.
TENSORSMITH_INLINE std::string one_line(std::string_view text,
                                        std::size_t most = std::string_view::npos);

/// The same in double quotes. 200 bytes hold every workload and every field that people write.
TENSORSMITH_INLINE std::string in_quotes(std::string_view text, std::size_t most = 200);

/// A sentence in which no word and nothing between double quotes is longer than `most` bytes or a
/// few more, on one line: for sentences whose makers quoted input as it was.
TENSORSMITH_INLINE std::string with_short_words(std::string_view sentence, std::size_t most = 300);

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/support/quote_body.hpp"
#endif
