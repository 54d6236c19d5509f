// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
#include "tensorsmith/graph/export.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "graph/export_texts.hpp"
#include "graph/group_arguments.hpp"
#include "tensorsmith/codegen/c_like_names.hpp"
#include "tensorsmith/graph/memory_plan.hpp"
#include "tensorsmith/lower/prepack.hpp"
#include "tensorsmith/tune/export.hpp"
#include "tune/kernel_namespace.hpp"

namespace tensorsmith::graph {

namespace {

/// The file of weights: a head, then constants and packed constants, each at a multiple of 64.
class WeightsFile {
 public:
  std::int64_t add(std::span<const std::byte> bytes) {
    data_.resize((data_.size() + 63) / 64 * 64);
    const auto at = static_cast<std::int64_t>(data_.size());
    data_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return at;
  }
  /// With the head in front. `hash`: of all behind it.
  std::string take(std::uint64_t& hash) {
    data_.resize((data_.size() + 63) / 64 * 64);
    hash = hash_of(data_);
    std::string head(weights_head_bytes, '\0');
    std::memcpy(head.data(), weights_magic, 8);
    const std::uint64_t size = head.size() + data_.size();
    std::memcpy(head.data() + 8, &size, 8);
    std::memcpy(head.data() + 16, &hash, 8);
    return head + data_;
  }

 private:
  /// As the exported text computes it: eight sums of the words of some lines, mixed at the end.
  static std::uint64_t hash_of(const std::string& data) {
    const std::size_t step = 64 * (data.size() / (std::size_t{1} << 27) + 1);
    std::uint64_t lanes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (std::size_t line = 0; line + 64 <= data.size(); line += step) {
      for (std::size_t k = 0; k < 8; ++k) {
        std::uint64_t word = 0;
        std::memcpy(&word, data.data() + line + 8 * k, 8);
        word ^= lanes[k];
        word = (word & 0xFFFFFFFFU) * 0x9E3779B1U + (word >> 32 | word << 32);
        lanes[k] = word ^ word >> 29;
      }
    }
    std::uint64_t hash = 0;
    for (const std::uint64_t lane : lanes) {
      hash = (hash ^ lane) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 32;
    }
    return hash;
  }

  std::string data_;
};

std::string replaced(std::string text,
                     const std::vector<std::pair<std::string, std::string>>& words) {
  for (const auto& [word, by] : words) {
    for (std::size_t at = text.find(word); at != std::string::npos;
         at = text.find(word, at + by.size())) {
      text.replace(at, word.size(), by);
    }
  }
  return text;
}

class NetworkExporter {
 public:
  NetworkExporter(const Graph& graph, const Partition& partition,
                  const std::vector<TuneResult>& schedules, const NetworkExportOptions& options)
      : graph_(graph), partition_(partition), schedules_(schedules), options_(options),
        plan_(plan_memory(graph, partition)), identifier_(c_identifier(options.name)) {
    if (schedules.size() != partition.tasks.size()) {
      throw Error("export_network: expected a schedule for each of " +
                  std::to_string(partition.tasks.size()) + " tasks, got " +
                  std::to_string(schedules.size()));
    }
    if (identifier_ != options.name) {
      throw Error("export_network: \"" + options.name + "\" is no identifier of C++");
    }
  }

  std::vector<NetworkFile> run() {
    find_places();
    std::string steps;
    for (const Group& group : partition_.groups) {
      steps += step(group);
    }
    for (const std::string& copy : copies_) {
      steps += copy;
    }
    std::string kernels;
    for (const auto& [task, text] : kernels_) {
      kernels += text;
    }
    std::uint64_t hash = 0;
    const std::string weights = weights_.take(hash);
    const std::string note = options_.comment.empty() ? "" : "// " + options_.comment + "\n";
    const std::vector<std::pair<std::string, std::string>> words = {
        {"@NAME@", identifier_},
        {"@NOTE@", note},
        {"@PARAMETERS@", parameters()},
        {"@SHAPES@", shapes()},
        {"@ARENA_BYTES@", std::to_string(std::max<std::int64_t>(plan_.arena_bytes, 64))},
        {"@WEIGHTS_BYTES@", std::to_string(weights.size())},
        {"@HASH@", "0x" + hexadecimal(hash) + "U"},
        {"@HEAD_BYTES@", std::to_string(weights_head_bytes)},
        {"@MAGIC@", weights_magic},
        {"@CHECK_ARRAYS@", check_arrays()},
        {"@CHECK_ARGUMENTS@", check_arguments()},
        {"@CHECK_RESULTS@", check_results()},
        {"@THREADS@", std::to_string(options_.num_threads)},
        {"@KERNELS@", kernels},
        {"@STEPS@", steps}};
    const std::string name = options_.name;
    return {{name + ".hpp", replaced(header_text, words)},
            {name + ".cpp", replaced(source_text, words)},
            {name + ".weights", weights},
            {name + "_check.cpp", replaced(check_text, words)},
            {name + ".check", recorded()},
            {"CMakeLists.txt", replaced(cmake_text, words)}};
  }

 private:
  static std::string hexadecimal(std::uint64_t value) {
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) {
      text += digits[(value >> shift) & 15];
    }
    return text;
  }
  static std::string type_of(DType dtype) { return std::string(c_storage_type(dtype)); }
  ValueId storage(ValueId id) const { return partition_.storage[id.value]; }

  // --- places ----------------------------------------------------------------------------------
  /// Names of the function's parameters, and what stands for every value.
  void find_places() {
    places_.resize(graph_.values.size());
    for (std::size_t v = 0; v < graph_.values.size(); ++v) {
      if (plan_.offsets[v] >= 0 && !graph_.values[v].is_constant) {
        places_[v] = "arena_ + " + std::to_string(plan_.offsets[v]);
      }
    }
    std::set<std::string> taken;
    const auto name = [&](ValueId id) {
      std::string base = c_identifier(graph_.value(id).name), unique = base;
      for (int i = 2; !taken.insert(unique).second; ++i) {
        unique = base + "_" + std::to_string(i);
      }
      return unique + "_";  // no word of C++
    };
    for (const ValueId id : graph_.inputs) {
      names_.push_back(name(id));
      places_[id.value] = names_.back();
    }
    for (const ValueId id : graph_.outputs) {
      names_.push_back(name(id));
      std::string& place = places_[storage(id).value];
      if (place.empty() && !graph_.value(storage(id)).is_constant) {
        place = names_.back();
        continue;
      }
      const Value& value = graph_.value(id);
      copies_.push_back("  std::memcpy(" + names_.back() + ", " + place_of(storage(id)) + ", " +
                        std::to_string(num_elements(value.shape) * bytes_of(value.dtype)) + ");\n");
    }
  }
  std::string place_of(ValueId id) {
    std::string& place = places_[id.value];
    if (place.empty() && graph_.value(id).is_constant) {
      place = "weights_ + " + std::to_string(weights_.add(graph_.value(id).constant.bytes));
    }
    return place;
  }

  /// The bytes of a value, which may be a part of another's.
  std::string part_of(ValueId id) {
    const std::string place = place_of(storage(id));
    const std::int64_t offset = partition_.offset[id.value];
    const bool is_own = place.find(" + ") != std::string::npos;
    return offset == 0 ? place
                       : (is_own ? place : "reinterpret_cast<const char*>(" + place + ")") + " + " +
                             std::to_string(offset);
  }

  // --- kernels ---------------------------------------------------------------------------------
  std::string step(const Group& group) {
    const TuneResult& schedule = schedules_[group.task];
    const std::map<std::string, ValueId> by_name = values_by_name(group);
    const std::map<std::string, std::string> packed = packed_of(schedule, by_name);
    const KernelSource& kernel = kernel_of(group.task);
    const std::vector<KernelParameter>& parameters = schedule.signature.parameters;
    TENSORSMITH_ASSERT(parameters.size() == kernel.arguments.size(),
                       "a kernel's text has other arguments than its code");
    std::string text = "  " + kernel.function_name + "(";
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto value = by_name.find(parameters[i].name);
      const auto buffer = packed.find(parameters[i].name);
      if (buffer == packed.end() && value == by_name.end()) {
        throw Error("export_network: a kernel has a parameter \"" + parameters[i].name +
                    "\" that its task does not");
      }
      const std::string place = buffer != packed.end() ? buffer->second : part_of(value->second);
      const bool is_own = place.find(" + ") != std::string::npos;  // bytes of the arena or the file
      const std::string pointer = std::string(kernel.arguments[i].is_written ? "" : "const ") +
                                  type_of(kernel.arguments[i].dtype) + "*";
      text += (i == 0 ? "" : ",\n      ") +
              (is_own ? "reinterpret_cast<" + pointer + ">(" + place + ")" : place);
    }
    return text + ");  // " + partition_.tasks[group.task].title + "\n";
  }
  const KernelSource& kernel_of(std::size_t task) {
    const auto found = sources_.find(task);
    if (found != sources_.end()) {
      return found->second;
    }
    const TuneResult& schedule = schedules_[task];
    const Result<KernelPrograms, LowerError> programs =
        lower_kernel(schedule.state(), schedule.task.target);
    if (!programs) {
      throw Error("export_network: a schedule cannot be lowered: " + explain(programs.error()));
    }
    KernelSource source = export_cpp(programs->main, schedule.task.target,
                                     {.name = identifier_ + "_kernel_" + std::to_string(task),
                                      .comment = partition_.tasks[task].text,
                                      .num_threads = options_.num_threads,
                                      .is_portable = options_.is_portable});
    kernels_[task] = in_namespace(source, "kernel_" + std::to_string(task));
    return sources_.emplace(task, std::move(source)).first->second;
  }
  /// Packed constants of a group, put into the file; by name.
  std::map<std::string, std::string> packed_of(const TuneResult& schedule,
                                               const std::map<std::string, ValueId>& by_name) {
    std::map<std::string, std::string> packed;
    if (schedule.signature.prepack_entry.empty()) {
      return packed;  // no kernel has to be linked
    }
    std::vector<AlignedBuffer<std::byte>> aligned;
    const auto data_of = [&](ValueId id) -> void* {
      const Value& value = graph_.value(storage(id));
      if (!value.is_constant) {
        return nullptr;
      }
      aligned.emplace_back(value.constant.bytes.size());
      std::memcpy(aligned.back().data(), value.constant.bytes.data(), value.constant.bytes.size());
      return aligned.back().data();
    };
    for (const auto& [name, buffer] :
         packed_constants("export_network", schedule.kernel(), by_name, data_of)) {
      packed.emplace(name,
                     "weights_ + " + std::to_string(weights_.add({buffer.data(), buffer.size()})));
    }
    return packed;
  }

  // --- texts -----------------------------------------------------------------------------------
  const Value& parameter(std::size_t i) const {
    return graph_.value(i < graph_.inputs.size() ? graph_.inputs[i]
                                                 : graph_.outputs[i - graph_.inputs.size()]);
  }
  bool is_input(std::size_t i) const { return i < graph_.inputs.size(); }
  std::string parameters() const {
    std::string text;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      text += (i == 0 ? "" : ", ") + std::string(is_input(i) ? "const " : "") +
              type_of(parameter(i).dtype) + "* " + names_[i];
    }
    return text;
  }
  std::string shapes() const {
    std::string text;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      text += "  ///   " + names_[i] + ": " + std::string(name_of(parameter(i).dtype)) + " " +
              shape_text(parameter(i).shape) + (is_input(i) ? "" : ", written") + "\n";
    }
    return text;
  }
  std::string check_arrays() const {
    std::string text;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string count = std::to_string(num_elements(parameter(i).shape));
      const std::string type = type_of(parameter(i).dtype);
      text += "  std::vector<" + type + "> " + names_[i] + "(" + count + ");\n";
      text += is_input(i) ? "  read(file, " + names_[i] + ");\n"
                          : "  std::vector<" + type + "> wanted_" + names_[i] + "(" + count +
                                ");\n  read(file, wanted_" + names_[i] + ");\n";
    }
    return text;
  }
  std::string check_arguments() const {
    std::string text;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      text += (i == 0 ? "" : ", ") + names_[i] + ".data()";
    }
    return text;
  }
  std::string check_results() const {
    std::string text;
    for (std::size_t i = graph_.inputs.size(); i < names_.size(); ++i) {
      text += "  compare(\"" + names_[i] + "\", " + names_[i] + ", wanted_" + names_[i] +
              ", different, furthest);\n";
    }
    return text;
  }

  /// Inputs, and what the executor makes of them.
  std::string recorded() const {
    std::vector<KernelArtifact> kernels;
    for (const TuneResult& schedule : schedules_) {
      kernels.push_back(schedule.artifact());
    }
    Executor executor(graph_, partition_, kernels, options_.num_threads);
    std::vector<HostArray> arrays = random_arguments(graph_, options_.seed);
    executor.call(operands_of(graph_, arrays));
    std::string bytes;
    for (const HostArray& array : arrays) {
      bytes.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
    }
    return bytes;
  }

  const Graph& graph_;
  const Partition& partition_;
  const std::vector<TuneResult>& schedules_;
  const NetworkExportOptions& options_;
  MemoryPlan plan_;
  std::string identifier_;
  WeightsFile weights_;
  std::vector<std::string> places_;  // by ValueId: how the text names it
  std::vector<std::string> names_;   // of the parameters
  std::vector<std::string> copies_;
  std::map<std::size_t, KernelSource> sources_;  // by task
  std::map<std::size_t, std::string> kernels_;
};

}  // namespace

std::vector<NetworkFile> export_network(const Graph& graph, const Partition& partition,
                                        const std::vector<TuneResult>& schedules,
                                        const NetworkExportOptions& options) {
  return NetworkExporter(graph, partition, schedules, options).run();
}

}  // namespace tensorsmith::graph
