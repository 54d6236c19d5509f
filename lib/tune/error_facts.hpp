// SPDX-License-Identifier: Apache-2.0
// What error_twin.cpp asks about the form of expressions.
//
// Private to lib/tune. Own design.
#pragma once

#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

/// Whether the value may be a zero that stands for nothing: outside of what is padded with it.
bool may_be_padding(const ComputeDag& dag, ExprId id);

/// Whether a sum may cancel in all of an operation's results at once, so that their size says
/// nothing of the terms': hardly a result has terms of its own.
bool sums_cancel_alike(const ComputeDag& dag);

/// Whether the results of a combiner are made without arithmetic on floats.
bool chooses(const ExprPool& pool, const Combiner& combiner);

}  // namespace tensorsmith
