// The text of a program that checks an exported kernel against the program as written.
#pragma once

#include <string>

#include "tensorsmith/measure/task.hpp"

namespace tensorsmith::cli {

/// False for 16-bit floats, which C++17 has no type for.
bool has_check_program(const MeasureTask& task);

/// Calls NAME and NAME_reference (in f64) on the same inputs; exits with 1 if they differ.
std::string check_program(const MeasureTask& task, const std::string& name);

}  // namespace tensorsmith::cli
