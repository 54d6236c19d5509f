// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/tune/export.hpp"

#include "tensorsmith/codegen/cpp_source.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/error.hpp"
#include "tune/f64_twin.hpp"

namespace tensorsmith {

KernelSource reference_source(const Shared<const ComputeDag>& dag, const Target& target,
                              const std::string& name) {
  const Result<LoopProgram, LowerError> program = lower(State::initial(f64_twin(dag)), target);
  if (!program) {
    throw Error("the program cannot be lowered as written: " + explain(program.error()));
  }
  CppSourceOptions options = cpp_source_options(target, 1);
  options.function_name = name;
  options.comment =
      "The program as written, in f64: what the tuned one is checked against. Zeros of "
      "padding are multiplied like other numbers, which a kernel may leave out: at "
      "borders the two differ where weights are infinite or no numbers.";
  return emit_cpp_source(program.value(), options);
}

}  // namespace tensorsmith
