// SPDX-License-Identifier: Apache-2.0
// What bounds of errors and tolerances ask about the form of expressions.
//
// Private to lib/tune. Own design.
#pragma once

#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

/// Whether the value may be a zero that stands for nothing: outside of what is padded with it.
bool may_be_padding(const ComputeDag& dag, ExprId id);

/// Whether it is a sum, difference, product or quotient.
bool is_rounded(const ExprPool& pool, ExprId id);

/// Whether errors of computed values may become larger than what they are part of: quotients by and
/// functions of them.
bool may_amplify(const ComputeDag& dag);

/// Whether a sum may cancel in all of an operation's results at once, so that their size says
/// nothing of the terms': hardly a result has terms of its own.
bool sums_cancel_alike(const ComputeDag& dag);

/// The factors of a term that are multiplied, and summed, in any order: three and more, floats.
ExprList free_factors(const ExprPool& pool, ExprId term);

/// Whether the results of a combiner are made without arithmetic on floats.
bool chooses(const ExprPool& pool, const Combiner& combiner);

}  // namespace tensorsmith
