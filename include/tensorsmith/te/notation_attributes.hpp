// SPDX-License-Identifier: Apache-2.0
// Attributes that stand behind a statement of index notation (te/notation.hpp).
//
// Floor 2. Own design.
#pragma once

#include <string_view>

#include "tensorsmith/te/notation_cursor.hpp"
#include "tensorsmith/te/notation_words.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::te::detail {

/// Adds to `options` what the statement says. Throws Error for what is no attribute.
inline void take_attributes(std::string_view text, const NotationStatement& statement,
                            ComputeOptions& options) {
  OperationAttrs& attrs = options.attrs;
  for (const NotationAttribute& given : statement.attributes) {
    bool is_known = false;
    for (const NamedList& named : named_lists) {
      if (given.name == named.name && given.has_list) {
        attrs.*named.list = given.texts;
        is_known = true;
      }
    }
    const bool is_text = !given.has_list && given.texts.size() == 1;
    const bool is_number = given.texts.empty() && given.has_number;
    const bool is_flag = given.texts.empty() && !given.has_number;
    if (given.name == "tag" && is_text) {
      options.tag = given.texts[0];
    } else if (given.name == "task_scheduler_tag" && is_text) {
      attrs.task_scheduler_tag = given.texts[0];
    } else if (given.name == "flop" && is_number && given.number >= 0 && given.number < 9e18) {
      attrs.flop = static_cast<std::int64_t>(given.number);
    } else if (given.name == "rounding" && is_number && given.number >= 1 && given.number <= 1e6) {
      attrs.rounding = given.number;
    } else if (given.name == "const_matrix" && is_flag) {
      attrs.const_matrix = true;
    } else if (given.name == "never_inline" && is_flag) {
      attrs.never_inline = true;
    } else if (!is_known) {
      NotationCursor::failed_at(text, given.at,
                                "an attribute: tag: \"...\", flop: N, rounding: N, const_matrix, "
                                "never_inline, or one of the lists of docs/notation.md");
    }
  }
}

}  // namespace tensorsmith::te::detail
