// The text of a program that checks an exported kernel against the program as written.
#pragma once

#include <optional>
#include <string>

#include "tensorsmith/codegen/kernel_source.hpp"
#include "tensorsmith/measure/task.hpp"

namespace tensorsmith::cli {

/// Calls the kernel, after what packs its constants, and its reference (in f64) on the same inputs;
/// exits with 1 if they differ.
std::string check_program(const MeasureTask& task, const KernelSource& kernel,
                          const std::optional<KernelSource>& prepack);

}  // namespace tensorsmith::cli
