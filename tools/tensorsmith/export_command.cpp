// SPDX-License-Identifier: Apache-2.0
// tensorsmith export WORKLOAD --output FOLDER: the best program as C++ that needs nothing else, or
// for a GPU target as CUDA C++ with the function that launches it; and a program that checks it.
#include <fmt/format.h>

#include "best_schedule.hpp"
#include "command.hpp"
#include "export_files.hpp"
#include "export_name.hpp"
#include "row_range.hpp"
#include "tensorsmith/codegen/nvrtc.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/tune/export.hpp"
#include "tensorsmith/tune/measure_task.hpp"

namespace tensorsmith::cli {
namespace {

struct ExportArguments {
  WorkloadOptions common;
  std::string folder = ".";
  std::string name = "kernel";
  bool overwrites = false, takes_untuned = false;
  bool is_portable = false;
};

using Files = std::vector<ExportedFile>;

/// The text may use the name for something of its own; then its function got another one.
void require_name(const std::string& function, const std::string& wanted) {
  if (function != wanted) {
    throw Error("--name: exported text uses " + wanted +
                " for something else; take another name, such as my_" + wanted);
  }
}

/// The program as written, for the host.
void add_reference(const BestSchedule& best, const ExportArguments& arguments, const Target& target,
                   Files& files) {
  const std::string name = arguments.name + "_reference";
  const KernelSource plain = reference_source(best.task.dag, target, name);
  files.push_back({name + ".cpp", plain.source});
  files.push_back({name + ".hpp", plain.header});
  require_name(plain.function_name, name);
}

/// The program, what packs its constants, and what checks them.
Files cpp_files(const BestSchedule& best, const ExportArguments& arguments) {
  CppExportOptions options{.name = arguments.name,
                           .comment =
                               arguments.common.workload + ", target " + arguments.common.target,
                           .num_threads = arguments.common.num_threads,
                           .is_portable = arguments.is_portable};
  const Target& target = best.task.target;
  const KernelSource kernel = export_cpp(best.programs.main, target, options);
  Files files = {{arguments.name + ".cpp", kernel.source},
                 {arguments.name + ".hpp", kernel.header}};
  std::optional<KernelSource> prepack;
  if (best.programs.prepack) {
    options.name = arguments.name + "_prepack";
    options.comment += ": packs the constants of " + arguments.name + "(), once";
    prepack = export_cpp(*best.programs.prepack, target, options);
    files.push_back({options.name + ".cpp", prepack->source});
    files.push_back({options.name + ".hpp", prepack->header});
  }
  files.push_back({arguments.name + "_check.cpp",
                   check_program(make_measure_task(*best.task.dag, 1, 1), kernel, prepack)});
  require_name(kernel.function_name, arguments.name);
  add_reference(best, arguments, target, files);
  return files;
}

/// What compiles the files and runs the check: for Arm across, with Debian's names of the tools.
std::string check_commands(const Target& target, const std::string& name) {
  const bool is_gpu = target.kind == TargetKind::cuda;
  const bool is_arm = !is_gpu && target.architecture == Architecture::aarch64;
  const std::string compiler =
      is_gpu ? "nvcc -std=c++17 -O2 -arch=" + nvrtc_architecture(*target.gpu) + " " + name + "*.cu"
      : is_arm ? "aarch64-linux-gnu-g++ -static -std=c++17 -O2 -mcpu=" + target.llvm_cpu
               : std::string("c++ -std=c++17 -O2 -march=native");
  return fmt::format("{1} {0}*.cpp -o {0}_check && {2}./{0}_check", name, compiler,
                     is_arm ? "qemu-aarch64 " : "");
}

/// The same in CUDA.
Files cuda_files(const BestSchedule& best, const ExportArguments& arguments) {
  Files files;
  const std::string comment = arguments.common.workload + ", target " + arguments.common.target;
  const auto add = [&](const LoopProgram& program, const std::string& name,
                       const std::string& what) {
    CudaExport exported = export_cuda(program, best.task.target, name, what);
    const std::vector<CudaLaunch>& launches = exported.device.launches;
    for (std::size_t k = 0; k < launches.size(); ++k) {
      require_name(launches[k].kernel,
                   launches.size() == 1 ? name : name + "_" + std::to_string(k));
    }
    files.push_back({name + ".cu", exported.kernel.source});
    files.push_back({name + ".hpp", exported.kernel.header});
    return exported;
  };
  const CudaExport kernel = add(best.programs.main, arguments.name, comment);
  std::optional<CudaExport> prepack;
  if (best.programs.prepack) {
    prepack = add(*best.programs.prepack, arguments.name + "_prepack",
                  comment + ": packs the constants of " + arguments.name + ", once");
  }
  files.push_back({arguments.name + "_check.cpp",
                   check_program(make_measure_task(*best.task.dag, 1, 1), kernel, prepack)});
  add_reference(best, arguments, Target::x86_64_v2(), files);  // plain loops, for any processor
  return files;
}

/// A family of kernels, one function for all numbers of rows.
int export_row_range(const ExportArguments& arguments, const RowRange& range) {
  if (arguments.takes_untuned) {
    throw Error("--untuned is for one workload; a range of rows is exported from its journal");
  }
  const Files files = range_files(arguments.common, range, arguments.name, arguments.is_portable);
  const FilesWritten written =
      write_files(arguments.folder, files, arguments.overwrites, {journal_path(arguments.common)});
  if (arguments.common.is_json) {
    Json json;
    json["workload"] = arguments.common.workload;
    json["target"] = arguments.common.target;
    json["function"] = arguments.name;
    json["made_folders"] = written.folders;
    json["files"] = written.files;
    print_json(json);
    return exit_ok;
  }
  written.print();
  fmt::print("check: {}\n", check_commands(parse_target(arguments.common.target), arguments.name));
  return exit_ok;
}

int export_workload(const ExportArguments& arguments) {
  if (const std::string problem = export_name_problem(arguments.name); !problem.empty()) {
    throw Error(problem);
  }
  if (const auto range = row_range(arguments.common.workload)) {
    return export_row_range(arguments, *range);
  }
  const BestSchedule best =
      load_schedule(arguments.common, {.allows_plain = arguments.takes_untuned,
                                       .without_journal = ", or export it with --untuned"});
  const bool is_gpu = best.task.target.kind == TargetKind::cuda;
  if (is_gpu && arguments.is_portable) {
    throw Error(
        "--portable leaves machine code out of C++; a kernel for a GPU is CUDA and has none");
  }
  const Files files = is_gpu ? cuda_files(best, arguments) : cpp_files(best, arguments);
  const FilesWritten written =
      write_files(arguments.folder, files, arguments.overwrites,
                  best.record ? std::vector<std::string>{journal_path(arguments.common)}
                              : std::vector<std::string>());
  if (arguments.common.is_json) {
    Json json;
    json["workload"] = arguments.common.workload;
    json["target"] = arguments.common.target;
    json["function"] = arguments.name;
    json["is_tuned"] = best.record.has_value();
    json["made_folders"] = written.folders;
    json["files"] = written.files;
    print_json(json);
    return exit_ok;
  }
  if (!best.record) {
    warn(is_gpu ? "nothing was tuned: this is a program drawn from the GPU space"
                : "nothing was tuned: this is the program as written, many times slower than what "
                  "tune finds");
  }
  written.print();
  fmt::print("check: {}\n", check_commands(best.task.target, arguments.name));
  return exit_ok;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command = app.add_subcommand(
      "export", "Write the best program as self-contained C++, with a check program; for a target "
                "such as sm_80 as CUDA C++.\n"
                "Example: tensorsmith export gemm:512x512x512:f32 --output gemm --name gemm512");
  add_workload_options(*command, arguments->common);
  command->add_option("--output", arguments->folder,
                      "folder; made if it is missing, which is said");
  command->add_option("--name", arguments->name,
                      "function and files: a C++ identifier that no library has");
  command->add_flag("--untuned", arguments->takes_untuned,
                    "without a journal: the program as written, on a GPU one drawn from the space");
  command->add_flag("--force", arguments->overwrites, "replace files that exist");
  command->add_flag("--portable", arguments->is_portable, "C++ only, without the machine code");
  command->callback(
      [arguments, &action] { action = [arguments] { return export_workload(*arguments); }; });
}

}  // namespace tensorsmith::cli
