// SPDX-License-Identifier: Apache-2.0
// Error: the exception for misuse by a person.
//
// Floor 0. Own design. Thrown where people call (expressions, operators, schedules by hand, the
// facade). Not here: our own bugs (assert.hpp), "no" as a normal answer (result.hpp).
#pragma once

#include <stdexcept>
#include <string>

namespace tensorsmith {

/// Names the argument, what was expected and what came.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tensorsmith
