// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
#include "tensorsmith/graph/bisect.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "support/real_at.hpp"
#include "tensorsmith/graph/lowering.hpp"
#include "tensorsmith/measure/tolerance.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/hash.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/te/tensor_size.hpp"
#include "tensorsmith/tune/backend.hpp"
#include "tensorsmith/tune/measure_task.hpp"
#include "tune/error_twin.hpp"
#include "tune/f64_twin.hpp"

namespace tensorsmith::graph {

namespace {

using Bytes = std::span<const std::byte>;

Bytes bytes_of_value(const Value& value, const void* data) {
  return {static_cast<const std::byte*>(data),
          static_cast<std::size_t>(num_elements(value.shape) * bytes_of(value.dtype))};
}

std::uint64_t hash_of(Bytes bytes) {
  std::uint64_t hash = bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    hash = hash_combine(hash, word);
  }
  return hash;
}

/// A computation in f64, with bounds or, where there are none, with the tolerances of its type.
struct Reference {
  Shared<const ComputeDag> dag;
  std::vector<std::optional<std::size_t>> bounds_of;  ///< as in BoundedTwin
  std::vector<OutputTolerance> tolerances;            ///< by argument
};
Reference reference_of(const Shared<const ComputeDag>& dag) {
  Reference made;
  const std::optional<BoundedTwin> twin = error_twin(*dag);
  made.bounds_of = twin ? twin->bounds_of : made.bounds_of;
  made.bounds_of.resize(dag->arguments().size());
  made.dag = twin ? twin->dag : f64_twin(dag);
  for (const KernelArgument& argument : make_measure_task(*dag, 1, 1).arguments) {
    made.tolerances.push_back(argument.tolerance);
  }
  return made;
}

Bytes bytes_in(const ReferenceBuffer& buffer) { return {buffer.data(), buffer.size()}; }

/// What another implementation may do otherwise: fold constants or not, compute functions in the
/// narrow type.
struct Slack {
  double bounds = 1;     ///< so many times the bound
  double roundings = 0;  ///< and as many roundings of the element, and of the tensor's rms
};
constexpr Slack slack_of_recorded{4, 16};

class Judge {
 public:
  Judge(const Graph& graph, Bisected& result)
      : graph_(graph), result_(result), run_plain_(make_backend(host_target())->make_reference()) {}

  /// What is given for the outputs of a computation beside what it comes to; `given`: in the order
  /// of the arguments. The first output that differs.
  std::optional<Difference> judge(const Reference& reference, const GroupProgram& program,
                                  const std::vector<Bytes>& given, const std::string& who,
                                  const Slack& slack = {}) {
    const ComputeDag& dag = *reference.dag;
    ArgumentBuffers arguments;
    for (std::size_t i = 0; i < dag.arguments().size(); ++i) {
      const TensorInfo& tensor = dag.tensor(dag.arguments()[i]);
      arguments.emplace_back(
          static_cast<std::size_t>(tensorsmith::num_elements(tensor) * bytes_of(tensor.dtype)));
      if (i < program.inputs.size() && !given[i].empty()) {
        std::memcpy(arguments[i].data(), given[i].data(), given[i].size());
      }
    }
    if (const auto ran = run_reference(reference.dag, arguments, run_plain_); !ran) {
      throw Error(who + " cannot be computed for comparison: " + ran.error().message);
    }
    std::optional<Difference> found;
    for (std::size_t k = 0; k < program.outputs.size(); ++k) {
      const std::size_t i = program.inputs.size() + k;
      const Bytes bounds =
          reference.bounds_of[i] ? bytes_in(arguments[*reference.bounds_of[i]]) : Bytes();
      Difference difference =
          compare(program.outputs[k], given[i],
                  {dag.tensor(dag.arguments()[i]).dtype, bytes_in(arguments[i]), bounds},
                  reference.tolerances[i], slack);
      if (difference.num_wrong > 0 && !found) {
        found = difference;
      }
    }
    return found;
  }

 private:
  struct Expected {
    DType dtype = DType::f64;
    Bytes values, bounds;
  };

  Difference compare(ValueId id, Bytes got, const Expected& expected,
                     const OutputTolerance& tolerance, const Slack& slack) {
    const Value& value = graph_.value(id);
    Difference difference;
    difference.value = id;
    difference.num_compared = num_elements(value.shape);
    double squares = 0;
    for (std::int64_t i = 0; i < difference.num_compared; ++i) {
      const double want = real_at(expected.dtype, expected.values, i);
      squares += std::isfinite(want) ? want * want : 0;
    }
    const double rms = std::sqrt(
        squares / static_cast<double>(std::max<std::int64_t>(1, difference.num_compared)));
    const double roundings = slack.roundings * epsilon_of(value.dtype);
    double furthest = 1;
    for (std::int64_t i = 0; i < difference.num_compared; ++i) {
      const double is = real_at(value.dtype, got, i);
      const double want = real_at(expected.dtype, expected.values, i);
      const double bound =
          !expected.bounds.empty()
              ? real_at(DType::f64, expected.bounds, i)
              : tolerance.absolute + tolerance.relative * std::abs(want) + tolerance.of_rms * rms;
      const double allowed = slack.bounds * bound + roundings * (std::abs(want) + rms);
      const double share = share_of(is, want, allowed);
      if (share < 0) {
        ++result_.num_unjudged;
        continue;
      }
      if (share <= 1) {
        result_.worst_share = std::max(result_.worst_share, share);
        continue;
      }
      ++difference.num_wrong;
      if (share > furthest) {
        furthest = share;
        difference.element = i;
        difference.got = is;
        difference.expected = want;
        difference.allowed = allowed;
      }
    }
    result_.num_elements += difference.num_compared;
    return difference;
  }

  /// How much of what is allowed a difference takes; negative: the bound says nothing.
  static double share_of(double is, double want, double allowed) {
    if (is == want || (std::isnan(is) && std::isnan(want))) {
      return 0;
    }
    if (!(allowed < unknown_error)) {
      return -1;
    }
    const double apart = std::abs(is - want);
    return std::isfinite(apart) && allowed > 0 ? apart / allowed
                                               : std::numeric_limits<double>::infinity();
  }

  const Graph& graph_;
  Bisected& result_;
  PlainRunner run_plain_;
};

class Bisection {
 public:
  Bisection(const Graph& graph, const Partition& partition, std::span<const KernelOperand> operands,
            const BisectOptions& options)
      : graph_(graph), partition_(partition), operands_(operands), options_(options),
        judge_(graph, result_), producers_(producers(graph)) {
    for (const RecordedValue& recorded : options.recorded) {
      add_recorded(recorded);
    }
    progress_.count = partition.groups.size() + recorded_.size();
  }

  Bisected run(Executor& network) {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      note_written(graph_.inputs[i], operands_[i].data);
    }
    network.trace(operands_, [&](const GroupCall& called) {
      if (!result_.kernel) {
        look_at(called);
      }
    });
    for (std::size_t node = 0; node < graph_.nodes.size() && !result_.recorded; ++node) {
      for (const ValueId id : graph_.nodes[node].outputs) {
        if (id.valid() && recorded_.count(id.value) != 0 && !result_.recorded) {
          look_at_recorded(node, id);
        }
      }
    }
    return std::move(result_);
  }

 private:
  void add_recorded(const RecordedValue& recorded) {
    for (std::size_t v = 0; v < graph_.values.size(); ++v) {
      const Value& value = graph_.values[v];
      if (value.name.empty() || value.name != recorded.name || value.is_constant ||
          producers_[v] < 0) {
        continue;
      }
      if (value.dtype != recorded.elements.dtype || value.shape != recorded.elements.shape) {
        throw Error("the recorded value " + in_quotes(value.name) + " is " +
                    std::string(name_of(recorded.elements.dtype)) + " " +
                    shape_text(recorded.elements.shape) + ", in the network it is " +
                    std::string(name_of(value.dtype)) + " " + shape_text(value.shape));
      }
      recorded_.emplace(v, recorded.elements.bytes);
    }
  }

  std::uint32_t storage(ValueId id) const { return partition_.storage[id.value].value; }
  /// Not a part of what was written.
  bool is_whole(ValueId id) const {
    const Value& from = graph_.values[storage(id)];
    return num_elements(graph_.value(id).shape) == num_elements(from.shape);
  }
  void note_written(ValueId id, const void* data) {
    written_[storage(id)] = hash_of(bytes_of_value(graph_.value(id), data));
  }
  void step() {
    ++progress_.done;
    if (options_.progress) {
      options_.progress(progress_);
    }
  }
  std::size_t node_of(ValueId id) const { return static_cast<std::size_t>(producers_[id.value]); }

  void look_at(const GroupCall& called) {
    const Group& group = partition_.groups[called.group];
    std::vector<Bytes> given;
    for (std::size_t i = 0; i < group.program.inputs.size(); ++i) {
      const ValueId id = group.program.inputs[i];
      const Value& value = graph_.value(id);
      given.push_back(value.is_constant ? value.constant.bytes
                                        : bytes_of_value(value, called.arguments[i]));
      const auto written = written_.find(storage(id));
      if (!graph_.is_constant(id) && is_whole(id) && written != written_.end() &&
          written->second != hash_of(given.back())) {
        Difference difference;
        difference.kind = Disagreement::overwritten;
        difference.node = group.nodes.front();
        difference.value = id;
        result_.kernel = difference;
        return;
      }
    }
    for (std::size_t k = 0; k < group.program.outputs.size(); ++k) {
      const ValueId id = group.program.outputs[k];
      const void* const data = called.arguments[given.size()];
      given.push_back(bytes_of_value(graph_.value(id), data));
      note_written(id, data);
    }
    auto reference = references_.find(group.task);
    if (reference == references_.end()) {
      reference = references_.emplace(group.task, reference_of(group.program.dag)).first;
    }
    auto found = judge_.judge(reference->second, group.program, given,
                              describe_node(graph_, group.nodes.back()));
    ++result_.num_kernels;
    if (found) {
      found->node = node_of(found->value);
      result_.kernel = found;
    }
    step();
  }

  /// The nodes between a value and the recorded ones, inputs and constants that it depends on.
  std::vector<std::size_t> nodes_before(ValueId value) const {
    std::vector<std::size_t> nodes, open = {node_of(value)};
    std::vector<bool> is_seen(graph_.nodes.size(), false);
    is_seen[open.front()] = true;
    while (!open.empty()) {
      const std::size_t node = open.back();
      open.pop_back();
      nodes.push_back(node);
      for (const ValueId id : graph_.nodes[node].inputs) {
        if (!id.valid() || graph_.is_constant(id) || producers_[id.value] < 0 ||
            recorded_.count(id.value) != 0 || is_seen[node_of(id)]) {
          continue;
        }
        is_seen[node_of(id)] = true;
        open.push_back(node_of(id));
      }
    }
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

  Bytes known_bytes(ValueId id) const {
    const Value& value = graph_.value(id);
    if (value.is_constant) {
      return value.constant.bytes;
    }
    if (const auto recorded = recorded_.find(id.value); recorded != recorded_.end()) {
      return recorded->second;
    }
    const auto input = std::find(graph_.inputs.begin(), graph_.inputs.end(), id);
    return bytes_of_value(value,
                          operands_[static_cast<std::size_t>(input - graph_.inputs.begin())].data);
  }

  void look_at_recorded(std::size_t node, ValueId value) {
    LoweringOptions plain;
    plain.packs_constants = false;
    const auto program = lower_nodes(graph_, nodes_before(value), {value}, plain);
    if (!program) {
      throw Error(program.error());
    }
    std::vector<Bytes> given;
    for (const ValueId id : program->inputs) {
      given.push_back(known_bytes(id));
    }
    given.push_back(recorded_.at(value.value));
    auto found = judge_.judge(reference_of(program->dag), *program, given,
                              describe_node(graph_, node), slack_of_recorded);
    ++result_.num_recorded;
    if (found) {
      found->kind = Disagreement::recorded;
      found->node = node;
      result_.recorded = found;
    }
    step();
  }

  const Graph& graph_;
  const Partition& partition_;
  std::span<const KernelOperand> operands_;
  const BisectOptions& options_;
  Bisected result_;
  BisectProgress progress_;
  Judge judge_;
  std::vector<std::int32_t> producers_;
  std::map<std::size_t, Bytes> recorded_;           // by ValueId
  std::map<std::uint32_t, std::uint64_t> written_;  // hashes, by storage
  std::map<std::size_t, Reference> references_;     // by task
};

}  // namespace

Bisected bisect(const Graph& graph, const Partition& partition, Executor& network,
                std::span<const KernelOperand> operands, const BisectOptions& options) {
  return Bisection(graph, partition, operands, options).run(network);
}

std::string explain(const Graph& graph, const Difference& difference) {
  const std::string node = describe_node(graph, difference.node);
  const std::string value = in_quotes(graph.value(difference.value).name);
  if (difference.kind == Disagreement::overwritten) {
    return node + " reads " + value + ", which something has overwritten since it was computed";
  }
  char numbers[200];
  std::snprintf(numbers, sizeof numbers,
                "%.9g at element %lld, its nodes give %.9g within %.3g; %lld of %lld elements are "
                "wrong",
                difference.got, static_cast<long long>(difference.element), difference.expected,
                difference.allowed, static_cast<long long>(difference.num_wrong),
                static_cast<long long>(difference.num_compared));
  return node + ": " +
         (difference.kind == Disagreement::recorded ? "the recorded value " : "its kernel's ") +
         value + " is " + numbers;
}

}  // namespace tensorsmith::graph
