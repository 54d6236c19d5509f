// SPDX-License-Identifier: Apache-2.0
// Which names exported functions and files may have.
#pragma once

#include <string>

namespace tensorsmith::cli {

/// Why the text of C++ or CUDA that has a function of this name would not compile, or would mean
/// something else, in one sentence; empty if it is a good name.
std::string export_name_problem(const std::string& name);

}  // namespace tensorsmith::cli
