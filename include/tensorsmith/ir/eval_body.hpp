// SPDX-License-Identifier: Apache-2.0
// The definition of eval.
//
// Floor 1. Included by ir/eval.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <utility>
#include <vector>

#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/ir/eval_compile.hpp"
#include "tensorsmith/ir/eval_machine.hpp"

namespace tensorsmith {

TENSORSMITH_INLINE Result<Done, EvalError>
eval(const LoopProgram& program, std::vector<HostArray>& arguments, const EvalOptions& options) {
  const detail::EvalProgram compiled = detail::EvalCompiler(program).finish();
  if (compiled.error) {
    return fail(*compiled.error);
  }
  if (arguments.size() != program.arguments.size()) {
    return fail(EvalError{
        EvalErrorKind::wrong_argument, {}, {}, -1, static_cast<std::int64_t>(arguments.size()), 0});
  }
  const auto is_output = [&](std::size_t i) {
    return i < options.is_output.size() && options.is_output[i];
  };
  detail::Evaluator evaluator(compiled, options);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!evaluator.set_argument(i, arguments[i], is_output(i))) {
      return fail(evaluator.error());
    }
  }
  if (!evaluator.run()) {
    return fail(evaluator.error());
  }
  std::vector<HostArray> results = arguments;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!evaluator.get_argument(i, results[i], is_output(i))) {
      return fail(evaluator.error());
    }
  }
  arguments = std::move(results);
  return Done{};
}

}  // namespace tensorsmith
