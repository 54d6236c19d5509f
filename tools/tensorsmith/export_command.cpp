// tensorsmith export WORKLOAD --output FOLDER: the best program as C++ that needs nothing else, or
// for a GPU target as CUDA C++ that needs no header.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "best_schedule.hpp"
#include "check_program.hpp"
#include "command.hpp"
#include "tensorsmith/codegen/cpp_source.hpp"
#include "tensorsmith/codegen/cuda_source.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tune/f64_twin.hpp"
#include "tune/measure_task.hpp"

namespace tensorsmith::cli {
namespace {

struct ExportArguments {
  WorkloadOptions common;
  std::string folder = ".";
  std::string name = "kernel";
  bool overwrites = false;
};

void require_identifier(const std::string& name) {
  bool is_good = !name.empty() && !(name[0] >= '0' && name[0] <= '9');
  for (const char c : name) {
    is_good = is_good && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_');
  }
  if (!is_good) {
    throw Error("--name must be a C++ identifier, is \"" + name + "\"");
  }
}

using Files = std::vector<std::pair<std::string, std::string>>;  ///< names and texts

/// The program as .cu, what packs its constants as another one.
Files cuda_files(const BestSchedule& best, const ExportArguments& arguments) {
  Files files;
  const auto add = [&](const LoopProgram& program, const std::string& name) {
    CudaSourceOptions options;
    options.name = name;
    options.comment = arguments.common.workload + ", target " + arguments.common.target;
    Result<CudaSource, std::string> source = cuda_source(program, best.target, options);
    if (!source) {
      throw Error(source.error());
    }
    for (const CudaLaunch& launch : source->launches) {
      if (const auto checked = check_launch(launch, *best.target.gpu); !checked) {
        throw Error(checked.error());
      }
    }
    files.emplace_back(name + ".cu", std::move(source->text));
  };
  add(best.programs.main, arguments.name);
  if (best.programs.prepack) {
    add(*best.programs.prepack, arguments.name + "_prepack");
  }
  return files;
}

KernelSource reference_source(const BestSchedule& best, const std::string& name) {
  const Result<LoopProgram, LowerError> program =
      lower(State::initial(f64_twin(best.dag)), best.target);
  if (!program) {
    throw Error("the program cannot be lowered as written: " + explain(program.error()));
  }
  CppSourceOptions options;
  options.function_name = name;
  options.comment = "The program as written, in f64: what the tuned one is checked against.";
  return emit_cpp_source(program.value(), options);
}

/// The program, what packs its constants, and what checks them.
Files cpp_files(const BestSchedule& best, const ExportArguments& arguments) {
  CppSourceOptions options;
  options.function_name = arguments.name;
  options.comment = arguments.common.workload + ", target " + arguments.common.target;
  const KernelSource kernel = emit_cpp_source(best.programs.main, options);
  Files files = {{arguments.name + ".cpp", kernel.source},
                 {arguments.name + ".hpp", kernel.header}};
  std::optional<KernelSource> prepack;
  if (best.programs.prepack) {
    options.function_name = arguments.name + "_prepack";
    options.comment += ": packs the constants of " + arguments.name + "(), once";
    prepack = emit_cpp_source(*best.programs.prepack, options);
    files.push_back({options.function_name + ".cpp", prepack->source});
    files.push_back({options.function_name + ".hpp", prepack->header});
  }
  const MeasureTask task = make_measure_task(*best.dag, 1, 1);
  if (has_check_program(task)) {
    const std::string reference = arguments.name + "_reference";
    const KernelSource plain = reference_source(best, reference);
    files.push_back({reference + ".cpp", plain.source});
    files.push_back({reference + ".hpp", plain.header});
    files.push_back({arguments.name + "_check.cpp", check_program(task, kernel, prepack)});
  }
  return files;
}

int export_workload(const ExportArguments& arguments) {
  require_identifier(arguments.name);
  const BestSchedule best = load_schedule(arguments.common, {.allows_plain = true});
  const bool is_gpu = best.target.kind == TargetKind::cuda;
  const Files files = is_gpu ? cuda_files(best, arguments) : cpp_files(best, arguments);
  const std::filesystem::path folder = arguments.folder;
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  Json written = Json::array();
  for (const auto& [name, text] : files) {
    if (!arguments.overwrites && std::filesystem::exists(folder / name)) {
      throw Error("\"" + (folder / name).string() + "\" exists; --force replaces it");
    }
  }
  for (const auto& [name, text] : files) {
    const std::string path = (folder / name).string();
    std::ofstream out(path, std::ios::binary);
    if (!(out << text) || !out.flush()) {
      throw Error("cannot write \"" + path + "\"");
    }
    written.push_back(path);
  }
  if (arguments.common.is_json) {
    Json json;
    json["workload"] = arguments.common.workload;
    json["target"] = arguments.common.target;
    json["function"] = arguments.name;
    json["is_tuned"] = best.record.has_value();
    json["files"] = written;
    print_json(json);
    return exit_ok;
  }
  if (!best.record) {
    warn(is_gpu ? "no journal: exported a program drawn from the GPU space, untuned"
                : "no journal: exported the program as written, untuned");
  }
  for (const Json& path : written) {
    fmt::print("{}\n", path.get<std::string>());
  }
  if (!is_gpu && files.size() > 2) {
    fmt::print("check: c++ -std=c++17 -O2 -march=native {0}*.cpp -o {0}_check && ./{0}_check\n",
               arguments.name);
  }
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
  command->add_option("--output", arguments->folder, "folder; made if it is missing");
  command->add_option("--name", arguments->name, "function and files");
  command->add_flag("--force", arguments->overwrites, "replace files that exist");
  command->callback(
      [arguments, &action] { action = [arguments] { return export_workload(*arguments); }; });
}

}  // namespace tensorsmith::cli
