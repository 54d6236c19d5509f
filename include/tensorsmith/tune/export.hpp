// SPDX-License-Identifier: Apache-2.0
// Exported kernels, for CPUs and in CUDA, and what goes beside them: the program as written, and a
// program that compares the two.
//
// Floor 10; compiled in lib/tune. Own design. Texts only.
#pragma once

#include <optional>
#include <string>

#include "tensorsmith/codegen/cuda_launch.hpp"
#include "tensorsmith/codegen/kernel_source.hpp"
#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/measure/task.hpp"
#include "tensorsmith/target.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

struct CppExportOptions {
  std::string name = "kernel";  ///< of the function
  std::string comment;          ///< first lines of the text
  std::int32_t num_threads = 1;
  bool is_portable = false;  ///< loops only
  bool abi_entry = false;    ///< as CppSourceOptions
};

/// C++ of a lowered program with the machine code that the search makes, and the loops that are
/// compiled for other processors and systems. Loops only where there is no such code as text
/// (LlvmCompiler::machine_text).
KernelSource export_cpp(const LoopProgram& program, const Target& target,
                        const CppExportOptions& options);

struct CudaExport {
  std::string name;     ///< of the kernel; NAME_launch and NAME_workspace_bytes begin with it
  KernelSource kernel;  ///< a whole .cu; function_name is that of the host function
  CudaSource device;    ///< what the .cu begins with
};

/// A .cu with the kernels and, for compilers that are not NVRTC, the function of the host that
/// launches them: NAME_launch(arguments..., void* workspace, cudaStream_t stream), declared by the
/// header. Throws Error if the program has no text, or breaks a limit of the target.
CudaExport export_cuda(const LoopProgram& program, const Target& target, const std::string& name,
                       const std::string& comment);

/// The unscheduled program, in f64, as a function of that name. Throws Error if it cannot be
/// lowered.
KernelSource reference_source(const Shared<const ComputeDag>& dag, const Target& target,
                              const std::string& name);

/// A program that calls the kernel, after what packs its constants, and its reference (in f64,
/// NAME_reference) on the same inputs, and exits with 1 if they differ. It includes NAME.hpp.
std::string check_program(const MeasureTask& task, const KernelSource& kernel,
                          const std::optional<KernelSource>& prepack);

/// The same for kernels in CUDA: it copies inputs to the device and results back.
std::string check_program(const MeasureTask& task, const CudaExport& kernel,
                          const std::optional<CudaExport>& prepack);

}  // namespace tensorsmith
