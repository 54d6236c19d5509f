// SPDX-License-Identifier: Apache-2.0
// The functions of te/notation.hpp. Included by it, or by lib/compiled.
//
// Floor 2.
#pragma once

#include <string>
#include <utility>

#include "tensorsmith/te/notation.hpp"
#include "tensorsmith/te/notation_reader.hpp"
#include "tensorsmith/te/notation_writer.hpp"
#include "tensorsmith/te/same_computation.hpp"

namespace tensorsmith::te {

TENSORSMITH_INLINE Result<std::string, std::string> write_notation(const ComputeDag& dag) {
  try {
    return detail::NotationWriter(dag)();
  } catch (const Error& error) {
    return fail(std::string(error.what()));
  }
}

TENSORSMITH_INLINE Result<Shared<const ComputeDag>, std::string>
read_notation(std::string_view text) {
  try {
    return detail::NotationReader(text)();
  } catch (const Error& error) {
    return fail(std::string(error.what()));
  }
}

TENSORSMITH_INLINE bool is_same_computation(const ComputeDag& a, const ComputeDag& b, Names names) {
  if (a.operations().size() != b.operations().size() ||
      a.arguments().size() != b.arguments().size()) {
    return false;
  }
  bool same = true;
  for (std::size_t i = 0; same && i < a.arguments().size(); ++i) {
    const TensorInfo &x = a.tensor(a.arguments()[i]), &y = b.tensor(b.arguments()[i]);
    same = (names == Names::do_not_count || x.name == y.name) && x.operation == y.operation &&
           x.output_index == y.output_index;
  }
  for (std::size_t stage = 0; same && stage < a.operations().size(); ++stage) {
    same = detail::same_operation(a, b, stage, names);
  }
  return same;
}

}  // namespace tensorsmith::te
