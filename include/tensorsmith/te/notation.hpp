// SPDX-License-Identifier: Apache-2.0
// Index notation: a computation as one line of text, written and read back.
//
// Floor 2. Own design, after Tensor Comprehensions (what indices mean) and TACO (its place on a
// command line). docs/notation.md has the grammar and examples.
//   C[i:512, j:512] += A[i, k:512] * B[k, j]
// Names that are read before they are computed are inputs, in order of appearance; what nobody
// reads is a result. Of a program of te::Program, or of ops/, the text says everything: reading it
// gives the same operations, names and attributes.
#pragma once

#include <string>
#include <string_view>

#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/te/compute_dag.hpp"
#include "tensorsmith/te/same_computation.hpp"

namespace tensorsmith::te {

/// The canonical text, on one line. An error is one sentence: formulas that use parts of themselves
/// so often that their text would be too long.
TENSORSMITH_INLINE Result<std::string, std::string> write_notation(const ComputeDag& dag);

/// The dag, or one sentence that says where in the text what was expected.
TENSORSMITH_INLINE Result<Shared<const ComputeDag>, std::string>
read_notation(std::string_view text);

/// Whether the dags have the same operations in the same order: names, types, shapes, iterators,
/// attributes, formulas and arguments. Numbers of tensors and expressions do not matter. Without
/// names: steps of one apply to the other, and its kernels compute the same.
TENSORSMITH_INLINE bool is_same_computation(const ComputeDag& a, const ComputeDag& b,
                                            Names names = Names::count);

}  // namespace tensorsmith::te

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/te/notation_body.hpp"
#endif
