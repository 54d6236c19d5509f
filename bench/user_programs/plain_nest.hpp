// SPDX-License-Identifier: Apache-2.0
// Plain loop nests of a dag, as C: what somebody writes who leaves the rest to the compiler.
//
// Own design. One nest per operation, in the order of the dag, intermediate results in arrays of
// their own. A reduction sums up in a scalar, or row by row with the last axis of the result inside
// (which compilers make vectors of), or, where it is a matrix product, by a library's sgemm. No
// fast-math: the order of sums stays. Not here: timing.
#pragma once

#include <memory>
#include <string>

#include "bench/support/compiled_library.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::bench {

enum class PlainSums { scalar, rows };

struct PlainForm {
  PlainSums sums = PlainSums::scalar;
  bool uses_library = false;  ///< sgemm for matrix products
};

/// A C function `void plain(void* const* arguments, Sgemm sgemm)`, arguments in the dag's order.
std::string plain_source(const ComputeDag& dag, const PlainForm& form);

/// Products that `uses_library` hands to the library.
int num_library_calls(const ComputeDag& dag);

using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                       float, float*, int);

/// sgemm of a library, its threads set to one; nullptr: it is not there.
Sgemm find_sgemm(const std::string& library);

/// The function, compiled by `compiler` with -O3 -march=native.
class PlainKernel {
 public:
  /// Throws Error with the compiler's messages.
  PlainKernel(const std::string& source, const std::string& compiler);

  void operator()(void* const* arguments, Sgemm sgemm) const { run_(arguments, sgemm); }

 private:
  CompiledLibrary library_;
  void (*run_)(void* const*, Sgemm);
};

}  // namespace tensorsmith::bench
