// SPDX-License-Identifier: Apache-2.0
// A family of kernels as text.
// requires: llvm json
#include <algorithm>

#include "tensorsmith/codegen/c_like_names.hpp"
#include "tensorsmith/lower/prepack.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/tune/export.hpp"
#include "tensorsmith/tune/range.hpp"
#include "tune/kernel_namespace.hpp"

namespace tensorsmith {
namespace {

KernelSource source_of(const TuneResult& member, const std::string& name, bool is_portable) {
  const Result<KernelPrograms, LowerError> programs =
      lower_kernel(member.state(), member.task.target);
  if (!programs) {
    throw Error("RangeResult::source: a schedule cannot be lowered: " + explain(programs.error()));
  }
  return export_cpp(programs->main, member.task.target,
                    {.name = name,
                     .comment = member.task.workload,
                     .num_threads = member.num_threads,
                     .is_portable = is_portable});
}

/// The lines that begin with #include, each once, in order.
void add_includes(std::vector<std::string>& lines, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.starts_with("#include <") &&
        std::find(lines.begin(), lines.end(), line) == lines.end()) {
      lines.push_back(std::move(line));
    }
    at = end + 1;
  }
}

}  // namespace

KernelSource RangeResult::source(const std::string& name, bool is_portable) const {
  if (members.empty()) {
    throw Error("RangeResult::source: no kernel was found");
  }
  if (members.front().task.target.kind != TargetKind::cpu) {
    throw Error("RangeResult::source: families are exported for CPUs, not for " +
                members.front().task.target.name);
  }
  if (name.empty() || c_identifier(name) != name) {
    throw Error("RangeResult::source: \"" + name + "\" is no identifier of C++");
  }
  std::vector<std::string> includes{"#include <cstdint>"};
  std::string kernels, cases;
  KernelSource made;
  for (std::size_t k = 0; k < members.size(); ++k) {
    const std::string rows = std::to_string(plan.sizes[k]);
    const KernelSource kernel = source_of(members[k], name + "_" + rows + "_rows", is_portable);
    add_includes(includes, kernel.source);
    kernels += in_namespace(kernel, name + "_kernel_" + rows);
    cases += "    case " + std::to_string(k) + ":\n      " + kernel.function_name + "(";
    for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
      cases += (i == 0 ? "a" : ", a") + std::to_string(i);
    }
    cases += ");\n      done = " + rows + ";\n      break;\n";
    if (k == 0) {
      made.arguments = kernel.arguments;
    }
  }
  std::string parameters, steps, table, names;
  for (std::size_t i = 0; i < made.arguments.size(); ++i) {
    SourceArgument& argument = made.arguments[i];
    const std::string it = "a" + std::to_string(i);
    parameters += ", " + std::string(argument.is_written ? "" : "const ") +
                  std::string(c_storage_type(argument.dtype)) + "* " + it;
    names += "//   " + it + ": " + argument.name + ", ";
    if (row_elements[i] > 0) {
      steps += "    " + it + " += done * " + std::to_string(row_elements[i]) + ";\n";
      names += std::to_string(row_elements[i]) + " elements per row\n";
      argument.num_elements = row_elements[i] * plan.last;
    } else {
      names += std::to_string(argument.num_elements) + " elements\n";
    }
  }
  for (std::int64_t rows = 0; rows <= plan.last; ++rows) {
    table += (rows % 20 == 0 ? "\n    " : " ") +
             std::to_string(plan.next[static_cast<std::size_t>(rows)]) + ",";
  }
  const std::string declaration = "int " + name + "(std::int64_t rows" + parameters + ")";
  const std::string note = "// " + std::to_string(plan.first) + " to " + std::to_string(plan.last) +
                           " rows; returns 0, or 1 for another number, and then does nothing.\n" +
                           names;
  made.function_name = name;
  made.header =
      "#pragma once\n\n#include <cstdint>\n\n" + note + "extern \"C\" " + declaration + ";\n";
  for (const std::string& line : includes) {
    made.source += line + "\n";
  }
  made.source +=
      "\n" + kernels + "// By rows: the kernel that is called first.\n" + "static const short " +
      name + "_next[] = {" + table + "\n};\n\n" + note + "extern \"C\" " + declaration +
      " {\n  if (rows < " + std::to_string(plan.first) + " || rows > " + std::to_string(plan.last) +
      ") {\n    return 1;\n  }\n  while (rows > 0) {\n    std::int64_t done = 0;\n" +
      "    switch (" + name + "_next[rows]) {\n" + cases +
      "    default:\n      return 1;\n    }\n" + steps + "    rows -= done;\n  }\n  return 0;\n}\n";
  return made;
}

}  // namespace tensorsmith
