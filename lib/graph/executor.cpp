// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
#include "tensorsmith/graph/executor.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>

#include "graph/group_arguments.hpp"
#include "tensorsmith/graph/memory_plan.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tune/memory.hpp"

namespace tensorsmith::graph {

namespace {

double now_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Throws Error if the machine has not the memory that a call takes: arena, inputs and results.
MemoryPlan plan_that_fits(const Graph& graph, const Partition& partition) {
  MemoryPlan plan = plan_memory(graph, partition);
  double bytes = static_cast<double>(plan.arena_bytes);
  for (const std::vector<ValueId>* ids : {&graph.inputs, &graph.outputs}) {
    for (const ValueId id : *ids) {
      const Value& value = graph.value(id);
      bytes += static_cast<double>(num_elements(value.shape)) * bytes_of(value.dtype);
    }
  }
  if (!memory_problem(bytes, memory_limits()).empty()) {
    char text[200];
    std::snprintf(text, sizeof text,
                  "graph::Executor: a call needs about %.3g GiB of memory for inputs, results and "
                  "what lies between kernels, more than there is; choose smaller extents",
                  bytes / (1024.0 * 1024 * 1024));
    throw Error(text);
  }
  return plan;
}

}  // namespace

struct Executor::Impl {
  /// Where an argument of a kernel lies: at a fixed place, or in an operand of the call.
  struct Place {
    void* data = nullptr;
    std::int32_t operand = -1;
    std::int64_t offset = 0;  ///< in bytes, behind either
  };
  struct Step {
    std::size_t group = 0;
    std::size_t kernel = 0;
    std::vector<Place> arguments;
    std::vector<void*> pointers;  ///< of the call that runs
  };
  /// A result that has its bytes somewhere else, from where they are copied at the end.
  struct Copy {
    Place from;
    std::size_t operand = 0;
    std::size_t bytes = 0;
  };

  Impl(const Graph& graph, const Partition& partition, const std::vector<KernelArtifact>& artifacts,
       const Runtime& runtime)
      : graph_(graph), partition_(partition), plan_(plan_that_fits(graph, partition)),
        arena_(static_cast<std::size_t>(std::max<std::int64_t>(plan_.arena_bytes, 1))) {
    if (artifacts.size() != partition.tasks.size()) {
      throw Error("graph::Executor: expected a kernel for each of " +
                  std::to_string(partition.tasks.size()) + " tasks, got " +
                  std::to_string(artifacts.size()));
    }
    for (const KernelArtifact& artifact : artifacts) {
      kernels_.push_back(kernel_of(artifact, runtime));
    }
    add_parameters();
    find_places();
    drop_files();  // folding, and what else made this graph of another one, have read them
    for (std::size_t g = 0; g < partition.groups.size(); ++g) {
      add_step(g);
    }
    drop_files();  // what is packed now is not read again
  }

  void drop_files() const {
    const ByteOwner* last = nullptr;
    for (const Value& value : graph_.values) {
      const ByteOwner* const owner = value.is_constant ? value.constant.owner.get() : nullptr;
      if (owner != nullptr && owner != last) {
        owner->drop();
        last = owner;
      }
    }
  }

  void add_parameters() {
    for (const ValueId id : graph_.inputs) {
      const Value& value = graph_.value(id);
      parameters_.push_back({value.name, value.dtype, num_elements(value.shape), false});
    }
    for (const ValueId id : graph_.outputs) {
      const Value& value = graph_.value(id);
      parameters_.push_back({value.name, value.dtype, num_elements(value.shape), true});
    }
  }

  ValueId storage(ValueId id) const { return partition_.storage[id.value]; }
  /// For a kernel. Constants of a file are copied where one reads them as they are.
  Place place_of(ValueId id) {
    Place& stored = places_[storage(id).value];
    if (graph_.value(storage(id)).is_constant) {
      stored.data = aligned_constant(storage(id), owned_);
    }
    Place place = stored;
    place.offset = partition_.offset[id.value];
    return place;
  }

  /// Constants where they are, values in the arena, inputs and results with the caller.
  void find_places() {
    places_.resize(graph_.values.size());
    for (std::size_t v = 0; v < graph_.values.size(); ++v) {
      const Value& value = graph_.values[v];
      if (value.is_constant) {
        places_[v].data = const_cast<std::byte*>(value.constant.bytes.data());
      } else if (plan_.offsets[v] >= 0) {
        places_[v].data = arena_.data() + plan_.offsets[v];
      }
    }
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      places_[graph_.inputs[i].value].operand = static_cast<std::int32_t>(i);
    }
    for (std::size_t k = 0; k < graph_.outputs.size(); ++k) {
      Place& place = places_[storage(graph_.outputs[k]).value];
      const std::size_t operand = graph_.inputs.size() + k;
      if (place.data == nullptr && place.operand < 0) {
        place.operand = static_cast<std::int32_t>(operand);
      } else {
        const Value& value = graph_.value(graph_.outputs[k]);
        copies_.push_back(
            {place, operand,
             static_cast<std::size_t>(num_elements(value.shape) * bytes_of(value.dtype))});
      }
    }
  }

  /// Kernels read elements at addresses that are multiples of their size. A constant that lies
  /// elsewhere, as in a file, is copied to `copies`.
  void* aligned_constant(ValueId id, std::vector<AlignedBuffer<std::byte>>& copies) const {
    const Value& value = graph_.value(id);
    void* const data = places_[id.value].data;
    if (reinterpret_cast<std::uintptr_t>(data) %
            static_cast<std::uintptr_t>(bytes_of(value.dtype)) ==
        0) {
      return data;
    }
    copies.emplace_back(value.constant.bytes.size());
    std::ranges::copy(value.constant.bytes, copies.back().data());
    return copies.back().data();
  }

  void add_step(std::size_t g) {
    const Group& group = partition_.groups[g];
    const std::map<std::string, ValueId> by_name = values_by_name(group);
    const Kernel& kernel = kernels_[group.task];
    std::map<std::string, void*> packed = packed_of(kernel, by_name);
    Step step;
    step.group = g;
    step.kernel = group.task;
    for (const KernelParameter& parameter : kernel.signature().parameters) {
      const auto value = by_name.find(parameter.name);
      const auto buffer = packed.find(parameter.name);
      if (buffer != packed.end()) {
        step.arguments.push_back({buffer->second, -1, 0});
      } else if (value != by_name.end()) {
        step.arguments.push_back(place_of(value->second));
      } else {
        throw Error("graph::Executor: the kernel of task " + std::to_string(group.task) +
                    " has a parameter " + in_quotes(parameter.name) + " that its task does not");
      }
    }
    step.pointers.resize(step.arguments.size());
    steps_.push_back(std::move(step));
  }

  /// Packed constants of a group, by name.
  std::map<std::string, void*> packed_of(const Kernel& kernel,
                                         const std::map<std::string, ValueId>& by_name) {
    std::map<std::string, void*> packed;
    std::vector<AlignedBuffer<std::byte>> unpacked;
    PackedConstants buffers =
        packed_constants("graph::Executor", kernel, by_name, [&](ValueId id) -> void* {
          return graph_.value(id).is_constant ? aligned_constant(id, unpacked) : nullptr;
        });
    for (auto& [name, buffer] : buffers) {
      packed.emplace(name, buffer.data());
      packed_bytes_ += static_cast<std::int64_t>(buffer.size());
      owned_.push_back(std::move(buffer));
    }
    return packed;
  }

  static void* at(const Place& place, std::span<const KernelOperand> operands) {
    void* const from =
        place.operand < 0
            ? place.data
            : const_cast<void*>(operands[static_cast<std::size_t>(place.operand)].data);
    return static_cast<std::byte*>(from) + place.offset;
  }

  void check(std::span<const KernelOperand> operands) const {
    const std::string problem =
        check_operands(std::span<const KernelParameter>(parameters_), operands);
    if (!problem.empty()) {
      throw Error("graph::Executor: " + problem);
    }
  }

  template <class After>
  void run(std::span<const KernelOperand> operands, const After& after) {
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      Step& step = steps_[s];
      for (std::size_t i = 0; i < step.arguments.size(); ++i) {
        step.pointers[i] = at(step.arguments[i], operands);
      }
      kernels_[step.kernel].call_unchecked(step.pointers.data());
      after(s);
    }
    for (const Copy& copy : copies_) {
      std::memcpy(const_cast<void*>(operands[copy.operand].data), at(copy.from, operands),
                  copy.bytes);
    }
  }

  const Graph graph_;  // its own: constants keep their owners
  const Partition partition_;
  MemoryPlan plan_;
  AlignedBuffer<std::byte> arena_;
  std::vector<Kernel> kernels_;
  std::vector<KernelParameter> parameters_;
  std::vector<Place> places_;  // by ValueId
  std::vector<Step> steps_;
  std::vector<Copy> copies_;
  std::vector<AlignedBuffer<std::byte>> owned_;
  std::int64_t packed_bytes_ = 0;
};

Executor::Executor(const Graph& graph, const Partition& partition,
                   const std::vector<KernelArtifact>& kernels, Runtime runtime)
    : impl_(make_owned<Impl>(graph, partition, kernels, runtime)) {}
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;
Executor::~Executor() = default;

void Executor::call(std::span<const KernelOperand> operands) {
  impl_->check(operands);
  impl_->run(operands, [](std::size_t) {});
}

void Executor::trace(std::span<const KernelOperand> operands,
                     const Callback<void(const GroupCall&)>& after) {
  impl_->check(operands);
  impl_->run(operands, [&](std::size_t step) {
    GroupCall called;
    called.group = impl_->steps_[step].group;
    const GroupProgram& program = impl_->partition_.groups[called.group].program;
    for (const std::vector<ValueId>* ids : {&program.inputs, &program.outputs}) {
      for (const ValueId id : *ids) {
        called.arguments.push_back(Impl::at(impl_->place_of(id), operands));
      }
    }
    after(called);
  });
}

std::vector<GroupProfile> Executor::profile(std::span<const KernelOperand> operands,
                                            std::int32_t repeats) {
  impl_->check(operands);
  std::vector<std::vector<double>> times(impl_->steps_.size());
  for (std::int32_t r = 0; r < std::max(1, repeats); ++r) {
    double before = now_ns();
    impl_->run(operands, [&](std::size_t step) {
      const double after = now_ns();
      times[step].push_back(after - before);
      before = now_ns();
    });
  }
  std::vector<GroupProfile> profiles;
  for (std::size_t s = 0; s < times.size(); ++s) {
    const Spread spread = spread_of(std::move(times[s]));
    profiles.push_back(
        {impl_->steps_[s].group, spread.best, spread.median, spread.p10, spread.p90});
  }
  return profiles;
}

const std::vector<KernelParameter>& Executor::parameters() const { return impl_->parameters_; }
std::int64_t Executor::arena_bytes() const { return impl_->plan_.arena_bytes; }
std::int64_t Executor::packed_bytes() const { return impl_->packed_bytes_; }

Spread spread_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t last = samples.size() - 1;
  return {samples.front(), samples[last / 10], samples[samples.size() / 2],
          samples[last - last / 10]};
}

std::vector<HostArray> random_arguments(const Graph& graph, std::uint64_t seed) {
  CounterRng rng(seed, 0x6E65);
  std::vector<HostArray> arrays;
  for (const std::vector<ValueId>* ids : {&graph.inputs, &graph.outputs}) {
    for (const ValueId id : *ids) {
      HostArray array(graph.value(id).dtype, graph.value(id).shape);
      for (std::int64_t i = 0; ids == &graph.inputs && i < array.num_elements(); ++i) {
        if (is_float(array.dtype)) {
          array.set_real(i, 2 * rng.next_double() - 1);
        }
      }
      arrays.push_back(std::move(array));
    }
  }
  return arrays;
}

std::vector<KernelOperand> operands_of(const Graph& graph, std::vector<HostArray>& arrays) {
  std::vector<KernelOperand> operands;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    operands.push_back(operand_of(arrays[i].dtype, arrays[i].num_elements(), arrays[i].data.data(),
                                  i < graph.inputs.size()));
  }
  return operands;
}

}  // namespace tensorsmith::graph
