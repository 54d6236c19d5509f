#include "tune/compile.hpp"

#include <cstring>
#include <utility>

#include "tensorsmith/codegen/llvm_compiler.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/apply.hpp"

namespace tensorsmith {
namespace {

std::vector<std::byte> bytes_of_text(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) {
    std::memcpy(bytes.data(), text.data(), text.size());
  }
  return bytes;
}

/// Keeps one compiler; the driver uses it from one thread at a time.
class LlvmBuilder final : public CandidateBuilder {
 public:
  explicit LlvmBuilder(const Target& target) : target_(target), compiler_(target) {}

  Result<BuiltCandidate, MeasureFault> build(const State& state) override {
    const Result<LoopProgram, LowerError> program = lower(state, target_);
    if (!program) {
      return fail(MeasureFault{MeasureStatus::instantiation_error, explain(program.error())});
    }
    Result<CompiledObject, std::string> compiled = compiler_.compile(program.value());
    if (!compiled) {
      return fail(MeasureFault{MeasureStatus::compile_error, compiled.error()});
    }
    return BuiltCandidate{bytes_of_text(compiled->object), compiled->entry, compiled->shared_bytes,
                          compiled->per_thread_bytes};
  }

 private:
  Target target_;
  LlvmCompiler compiler_;
};

/// The program as it is written, with the last two loops of every reduction in tiles: the reference
/// result must not take longer than the search.
State tiled_plainly(const Shared<const ComputeDag>& dag) {
  constexpr std::int64_t tile[2] = {4, 32};
  State state = State::initial(dag);
  for (std::size_t stage = 0; stage < state.num_stages(); ++stage) {
    const Operation& op = state.operation(stage);
    const auto id = static_cast<std::int32_t>(stage);
    const auto num_spatial = static_cast<std::int32_t>(op.axes.size());
    if (op.reduce_axes.empty() || num_spatial < 2) {
      continue;
    }
    State tiled = state;
    ReorderStep order{id, {}};
    bool is_legal = true;
    for (std::int32_t part = 1; part >= 0; --part) {  // the last axis first: positions stay
      const std::int32_t axis = num_spatial - 2 + part;
      is_legal =
          is_legal && !try_apply(tiled, SplitStep{id,
                                                  axis,
                                                  op.axes[static_cast<std::size_t>(axis)].extent,
                                                  {tile[part]},
                                                  true});
    }
    const auto count = static_cast<std::int32_t>(op.reduce_axes.size());
    for (std::int32_t i = 0; i < num_spatial - 2; ++i) {
      order.after.push_back(i);
    }
    order.after.push_back(num_spatial - 2);
    order.after.push_back(num_spatial);
    for (std::int32_t i = 0; i < count; ++i) {
      order.after.push_back(num_spatial + 2 + i);
    }
    order.after.push_back(num_spatial - 1);
    order.after.push_back(num_spatial + 1);
    if (is_legal && !try_apply(tiled, order)) {
      state = std::move(tiled);
    }
  }
  return state;
}

Result<Done, MeasureFault> run_plain(const Shared<const ComputeDag>& dag, const Target& target,
                                     std::vector<HostArray>& arguments) {
  const auto problem = [](MeasureStatus status, std::string message) {
    return fail(MeasureFault{status, std::move(message)});
  };
  LlvmBuilder builder(target);
  Result<BuiltCandidate, MeasureFault> built = builder.build(tiled_plainly(dag));
  if (!built) {
    return fail(built.error());
  }
  try {
    const Kernel kernel(
        {built->entry, kernel_parameters(*dag), built->shared_bytes, built->per_thread_bytes},
        built->object, 1);
    std::vector<AlignedBuffer<std::byte>> buffers;
    std::vector<void*> pointers;
    for (const HostArray& array : arguments) {
      buffers.emplace_back(array.data.size());
      std::memcpy(buffers.back().data(), array.data.data(), array.data.size());
    }
    for (AlignedBuffer<std::byte>& buffer : buffers) {
      pointers.push_back(buffer.data());
    }
    kernel.call_unchecked(pointers.data());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      std::memcpy(arguments[i].data.data(), buffers[i].data(), arguments[i].data.size());
    }
  } catch (const Error& error) {
    return problem(MeasureStatus::load_error, error.what());
  }
  return Done{};
}

}  // namespace

std::unique_ptr<CandidateBuilder> make_candidate_builder(const Target& target) {
  return std::make_unique<LlvmBuilder>(target);
}

std::string assembly_of(const State& state, const Target& target) {
  const Result<LoopProgram, LowerError> program = lower(state, target);
  if (!program) {
    throw Error("the schedule cannot be lowered: " + explain(program.error()));
  }
  Result<std::string, std::string> text = LlvmCompiler(target).assembly(program.value());
  if (!text) {
    throw Error("the program cannot be compiled: " + text.error());
  }
  return std::move(text).value();
}

PlainRunner make_plain_runner(const Target& target) {
  return [target](const Shared<const ComputeDag>& dag, std::vector<HostArray>& arguments) {
    return run_plain(dag, target, arguments);
  };
}

}  // namespace tensorsmith
