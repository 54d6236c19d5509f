// SPDX-License-Identifier: Apache-2.0
// The printed dag, character for character as the Ansor reference prints it.
//
// Floor 2. Ansor reference, ch. 1.4. The simple form is what workload hashes are made of, so this
// printer must never change; texts for people: ir/print.hpp.
#pragma once

#include <cstdint>
#include <string>

#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::te {

namespace detail {

/// "[64, 128]".
TENSORSMITH_INLINE std::string shape_list(const SmallVector<std::int64_t, 6>& shape);

}  // namespace detail

/// One line per output of every stage. Simple form: no shapes, of a body that is a call only the
/// operator's name (two dags that differ only there share it; the reference does so).
TENSORSMITH_INLINE std::string dag_text(const ComputeDag& dag, bool simple = false);

}  // namespace tensorsmith::te

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/te/dag_text_body.hpp"
#endif
