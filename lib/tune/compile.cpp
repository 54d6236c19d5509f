// SPDX-License-Identifier: Apache-2.0
#include "tune/compile.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>

#include "tensorsmith/codegen/cpp_source.hpp"
#include "tensorsmith/codegen/llvm_compiler.hpp"
#include "tensorsmith/lower/prepack.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/tune/export.hpp"

namespace tensorsmith {
namespace {

std::vector<std::byte> bytes_of_text(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) {
    std::memcpy(bytes.data(), text.data(), text.size());
  }
  return bytes;
}

/// What the measurer must know of a second function.
PrepackCode prepack_of(const KernelPrograms& programs) {
  PrepackCode prepack;
  const auto is_packed = [&](BufferId buffer) {
    return std::find(programs.arguments.begin(), programs.arguments.end(), buffer) ==
           programs.arguments.end();
  };
  std::vector<BufferId> all = programs.arguments;
  for (const BufferId buffer : programs.prepack->arguments) {
    if (is_packed(buffer)) {
      const Buffer& packed = (*programs.prepack)[buffer];
      prepack.packed.push_back({packed.name, packed.dtype, packed.num_elements()});
      all.push_back(buffer);
    }
  }
  const auto places = [&](const LoopProgram& program) {
    std::vector<std::int32_t> found;
    for (const BufferId buffer : program.arguments) {
      found.push_back(
          static_cast<std::int32_t>(std::find(all.begin(), all.end(), buffer) - all.begin()));
    }
    return found;
  };
  prepack.arguments = places(*programs.prepack);
  prepack.kernel_arguments = places(programs.main);
  return prepack;
}

LlvmOptions options_for(std::int32_t num_threads) { return {.is_serial = num_threads <= 1}; }

/// Keeps one compiler; the driver uses it from one thread at a time.
class LlvmBuilder final : public CandidateBuilder {
 public:
  LlvmBuilder(const Target& target, std::int32_t num_threads)
      : target_(target), num_threads_(num_threads), compiler_(target, options_for(num_threads)) {}

  Shared<CandidateBuilder> another() const override {
    return make_shared_of<LlvmBuilder>(target_, num_threads_);
  }
  Result<BuiltCandidate, MeasureFault> build(const State& state) override {
    const Result<KernelPrograms, LowerError> programs = lower_kernel(state, target_);
    if (!programs) {
      return fail(MeasureFault{MeasureStatus::instantiation_error, explain(programs.error())});
    }
    return compile(*programs);
  }

  Result<BuiltCandidate, MeasureFault> compile(const KernelPrograms& programs) {
    std::vector<BatchItem> items = {{&programs.main, "kernel"}};
    if (programs.prepack) {
      items.push_back({&*programs.prepack, "kernel_prepack"});
    }
    const CompiledBatch batch = compiler_.compile_batch(items);
    BuiltCandidate built;
    for (const Result<CompiledObject, std::string>& function : batch.kernels) {
      if (!function) {
        return fail(MeasureFault{MeasureStatus::compile_error, function.error()});
      }
      built.shared_bytes = std::max(built.shared_bytes, function->shared_bytes);
      built.per_thread_bytes = std::max(built.per_thread_bytes, function->per_thread_bytes);
    }
    built.object = bytes_of_text(batch.object);
    built.entry = batch.kernels[0]->entry;
    built.overwritable = batch.kernels[0]->overwritable;
    if (programs.prepack) {
      built.prepack = prepack_of(programs);
      built.prepack.entry = batch.kernels[1]->entry;
    }
    return built;
  }

 private:
  Target target_;
  std::int32_t num_threads_;
  LlvmCompiler compiler_;
};

/// The program as it is written, with the last two loops of every sum in tiles, a long sum in parts
/// that stay in the cache: the reference result must not take longer than the search.
State tiled_plainly(const Shared<const ComputeDag>& dag) {
  constexpr std::int64_t rows = 4, columns = 32, part = 256;
  State state = State::initial(dag);
  for (std::size_t stage = 0; stage < state.num_stages(); ++stage) {
    const Operation& op = state.operation(stage);
    const auto id = static_cast<std::int32_t>(stage);
    const auto num_spatial = static_cast<std::int32_t>(op.axes.size());
    const auto num_reduced = static_cast<std::int32_t>(op.reduce_axes.size());
    if (num_reduced == 0 || num_spatial < 2) {
      continue;
    }
    State tiled = state;
    const auto cuts = [&](std::int32_t iterator, std::int64_t extent, std::int64_t length) {
      return !try_apply(tiled, SplitStep{id, iterator, extent, {length}, true});
    };
    const std::int64_t sum = op.reduce_axes.back().extent;
    const bool is_long = num_reduced == 1 && sum > 2 * part;
    const std::size_t down = op.axes.size() - 2, across = op.axes.size() - 1;
    // The last iterator first: positions stay.
    const bool is_legal = (!is_long || cuts(num_spatial, sum, part)) &&
                          cuts(num_spatial - 1, op.axes[across].extent, columns) &&
                          cuts(num_spatial - 2, op.axes[down].extent, rows);
    ReorderStep order{id, {}};
    const auto add = [&](std::initializer_list<std::int32_t> iterators) {
      for (const std::int32_t iterator : iterators) {
        order.after.push_back(iterator);
      }
    };
    for (std::int32_t i = 0; i < num_spatial - 2; ++i) {
      add({i});
    }
    const std::int32_t first = num_spatial + 2;  // reduction
    if (is_long) {
      add({num_spatial, first, num_spatial - 2, first + 1});
    } else {
      add({num_spatial, num_spatial - 2});
      for (std::int32_t i = 0; i < num_reduced; ++i) {
        add({first + i});
      }
    }
    add({num_spatial - 1, num_spatial + 1});
    if (is_legal && !try_apply(tiled, order)) {
      state = std::move(tiled);
    }
  }
  return state;
}

/// The program that ran last: the same one runs with several inputs.
struct PlainProgram {
  Shared<const ComputeDag> dag;
  std::optional<Kernel> kernel;
};

Result<Done, MeasureFault> run_plain(const Shared<const ComputeDag>& dag, const Target& target,
                                     PlainProgram& last, ArgumentBuffers& arguments) {
  const auto run = [&] {
    std::vector<void*> pointers;
    for (ReferenceBuffer& argument : arguments) {
      pointers.push_back(argument.data());
    }
    last.kernel->call_unchecked(pointers.data());
    return Done{};
  };
  if (last.kernel && last.dag == dag) {
    return run();
  }
  const auto problem = [](MeasureStatus status, std::string message) {
    return fail(MeasureFault{status, std::move(message)});
  };
  Result<LoopProgram, LowerError> program = lower(tiled_plainly(dag), target);
  if (!program) {
    return problem(MeasureStatus::instantiation_error, explain(program.error()));
  }
  LlvmBuilder builder(target, 1);
  const Result<BuiltCandidate, MeasureFault> built =
      builder.compile({std::move(program).value(), std::nullopt, {}});
  if (!built) {
    return fail(built.error());
  }
  try {
    last.kernel.emplace(signature_of(*built, *dag), built->object, 1);
    last.dag = dag;
  } catch (const Error& error) {
    return problem(MeasureStatus::load_error, error.what());
  }
  return run();
}

}  // namespace

Owned<CandidateBuilder> make_candidate_builder(const Target& target, std::int32_t num_threads) {
  return make_owned<LlvmBuilder>(target, num_threads);
}

KernelSignature signature_of(const BuiltCandidate& built, const ComputeDag& dag) {
  KernelSignature signature{built.entry,         kernel_parameters(dag),
                            built.shared_bytes,  built.per_thread_bytes,
                            built.prepack.entry, {}};
  const auto mark_overwritable = [&] {
    for (const std::int32_t place : built.overwritable) {
      signature.parameters[static_cast<std::size_t>(place)].is_overwritable = true;
    }
  };
  if (built.prepack.entry.empty()) {
    mark_overwritable();
    return signature;
  }
  const std::vector<KernelParameter> whole = std::move(signature.parameters);
  const auto parameters = [&](const std::vector<std::int32_t>& places, bool writes_packed) {
    std::vector<KernelParameter> found;
    for (const std::int32_t place : places) {
      const auto i = static_cast<std::size_t>(place);
      if (i < whole.size()) {
        found.push_back(whole[i]);
      } else {
        const PackedArgument& packed = built.prepack.packed[i - whole.size()];
        found.push_back({packed.name, packed.dtype, packed.num_elements, writes_packed});
      }
    }
    return found;
  };
  signature.parameters = parameters(built.prepack.kernel_arguments, false);
  signature.prepack_parameters = parameters(built.prepack.arguments, true);
  mark_overwritable();
  return signature;
}

KernelSource export_cpp(const LoopProgram& program, const Target& target,
                        const CppExportOptions& options) {
  CppSourceOptions form = cpp_source_options(target, options.num_threads);
  form.function_name = options.name;
  form.comment = options.comment;
  form.abi_entry = options.abi_entry;
  std::optional<MachineText> machine;
  if (!options.is_portable) {
    LlvmCompiler compiler(target, options_for(options.num_threads));
    Result<MachineText, std::string> text =
        compiler.machine_text(program, machine_code_name(options.name));
    if (text) {
      machine = *std::move(text);
      machine->num_threads = options.num_threads;
      form.machine = &*machine;
    }
  }
  return emit_cpp_source(program, form);
}

std::string assembly_of(const State& state, const Target& target, std::int32_t num_threads) {
  const Result<KernelPrograms, LowerError> programs = lower_kernel(state, target);
  if (!programs) {
    throw Error("the schedule cannot be lowered: " + explain(programs.error()));
  }
  LlvmCompiler compiler(target, options_for(num_threads));
  std::string all;
  for (const LoopProgram* program :
       {&programs->main, programs->prepack ? &*programs->prepack : nullptr}) {
    if (program != nullptr) {
      Result<std::string, std::string> text =
          compiler.assembly(*program, program == &programs->main ? "kernel" : "kernel_prepack");
      if (!text) {
        throw Error("the program cannot be compiled: " + text.error());
      }
      all += *text;
    }
  }
  return all;
}

PlainRunner make_plain_runner(const Target& target) {
  return [target, last = std::make_shared<PlainProgram>()](const Shared<const ComputeDag>& dag,
                                                           ArgumentBuffers& arguments) {
    return run_plain(dag, target, *last, arguments);
  };
}

}  // namespace tensorsmith
