// SPDX-License-Identifier: Apache-2.0
// The part of exported C++ that is machine code, and the function that calls it.
//
// Floor 5. Own design. Not here: the loops beside it (cpp_source_body.hpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/codegen/c_like_names.hpp"
#include "tensorsmith/codegen/cpp_prelude.hpp"
#include "tensorsmith/codegen/machine_text.hpp"

namespace tensorsmith::detail {

/// An #if that holds where the code runs, the code, and the function `head` that calls it with
/// `arguments`. `names`: what the function may call its own variables.
inline std::string cpp_machine_part(const MachineText& machine,
                                    const std::vector<std::string>& arguments,
                                    const std::string& head, NameTable& names) {
  const bool is_arm = machine.architecture == Architecture::aarch64;
  std::string text = std::string("#if defined(") + (is_arm ? "__AARCH64EL__" : "__x86_64__") +
                     ") && defined(__ELF__) && !defined(PORTABLE_KERNEL)";
  for (const std::string& macro : machine.feature_macros) {
    text += " && \\\n    defined(" + macro + ")";
  }
  text += "\n\n// The machine code of the program. For other processors and systems, and where "
          "PORTABLE_KERNEL is\n// defined, the loops below are compiled instead.\n"
          "asm(R\"asm(\n" +
          machine.text + ")asm\");\n";
  text += "extern \"C\" __attribute__((visibility(\"hidden\"))) void " + machine.entry +
          "(void* const* args, void* workspace,\n    const void* runtime);\n\n";
  const std::string runtime = names.unique("runtime"), args = names.unique("args"),
                    workspace = names.unique("workspace");
  const bool has_threads = machine.num_threads > 1, has_workspace = machine.workspace_bytes() > 0;
  std::string helpers, body;
  if (has_threads) {
    helpers += cpp_parallel_runtime;
    body += "  static const ParallelRuntime " + runtime + "{&parallel_for, nullptr, " +
            std::to_string(machine.num_threads) + "};\n";
  }
  if (has_workspace) {
    helpers += (helpers.empty() ? "" : "\n") + cpp_helpers_for("scratch_of<");
    body += "  unsigned char* const " + workspace + " = scratch_of<unsigned char, " +
            std::to_string(machine.workspace_bytes()) + ", 0>();\n";
  }
  body += "  void* const " + args + "[] = {";
  for (const std::string& argument : arguments) {
    body += (&argument == arguments.data() ? "" : ", ") +
            ("const_cast<void*>(static_cast<const void*>(" + argument + "))");
  }
  body += "};\n  " + machine.entry + "(" + args + ", " + (has_workspace ? workspace : "nullptr") +
          ", " + (has_threads ? "&" + runtime : "nullptr") + ");\n";
  if (!helpers.empty()) {
    text += (has_threads ? std::string(cpp_parallel_include) : std::string()) + "namespace {\n\n" +
            helpers + "\n}  // namespace\n\n";
  }
  return text + head + body + "}\n";
}

}  // namespace tensorsmith::detail
