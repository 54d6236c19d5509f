// What goes beside an exported kernel: the program as written, and a program that compares the two.
//
// Floor 10; compiled in lib/tune. Own design. Texts only; the kernel itself is TuneResult::source
// or codegen/cpp_source.hpp.
#pragma once

#include <optional>
#include <string>

#include "tensorsmith/codegen/kernel_source.hpp"
#include "tensorsmith/measure/task.hpp"
#include "tensorsmith/target.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

/// The unscheduled program, in f64, as a function of that name. Throws Error if it cannot be
/// lowered.
KernelSource reference_source(const Shared<const ComputeDag>& dag, const Target& target,
                              const std::string& name);

/// A program that calls the kernel, after what packs its constants, and its reference (in f64,
/// NAME_reference) on the same inputs, and exits with 1 if they differ. It includes NAME.hpp.
std::string check_program(const MeasureTask& task, const KernelSource& kernel,
                          const std::optional<KernelSource>& prepack);

}  // namespace tensorsmith
