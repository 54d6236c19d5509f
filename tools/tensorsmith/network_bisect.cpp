// SPDX-License-Identifier: Apache-2.0
// tensorsmith network bisect: the first kernel that does not compute what its nodes say.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "command.hpp"
#include "network_callable.hpp"
#include "tensorsmith/graph/bisect.hpp"
#include "tensorsmith/onnx.hpp"

namespace tensorsmith::cli {
namespace {

/// Values of the file; those of inputs become the network's.
std::vector<graph::RecordedValue> recorded_values(const std::string& path, Callable& made) {
  auto read = read_onnx_tensors(path);
  if (!read) {
    throw Error(read.error().message);
  }
  const graph::Graph& net = made.loaded.net;
  std::vector<graph::RecordedValue> recorded;
  for (OnnxTensor& tensor : *read) {
    recorded.push_back({std::move(tensor.name), std::move(tensor.elements)});
  }
  for (std::size_t i = 0; i < net.inputs.size(); ++i) {
    const graph::Value& input = net.value(net.inputs[i]);
    const auto found =
        std::find_if(recorded.begin(), recorded.end(), [&](const graph::RecordedValue& each) {
          return each.name == input.name && each.elements.dtype == input.dtype &&
                 each.elements.shape == input.shape;
        });
    if (found == recorded.end()) {
      throw Error(in_quotes(path) + " has no " + std::string(name_of(input.dtype)) + " " +
                  graph::shape_text(input.shape) + " for the input " + in_quotes(input.name));
    }
    if (!found->elements.bytes.empty()) {
      std::memcpy(made.arrays[i].data.data(), found->elements.bytes.data(),
                  found->elements.bytes.size());
    }
  }
  return recorded;
}

Json json_of(const graph::Graph& net, const graph::Difference& difference) {
  const graph::Node& node = net.nodes[difference.node];
  return {{"node", node.name},
          {"operator", node.op},
          {"value", net.value(difference.value).name},
          {"overwritten", difference.kind == graph::Disagreement::overwritten},
          {"wrong", difference.num_wrong},
          {"compared", difference.num_compared},
          {"element", difference.element},
          {"got", difference.got},
          {"expected", difference.expected},
          {"allowed", difference.allowed},
          {"sentence", graph::explain(net, difference)}};
}

}  // namespace

int bisect_network(const NetworkArguments& arguments) {
  Callable made = callable(arguments);
  graph::BisectOptions options;
  if (!arguments.against.empty()) {
    options.recorded = recorded_values(arguments.against, made);
  }
  const bool shows_progress = !arguments.is_json && !arguments.is_quiet;
  options.progress = [&](const graph::BisectProgress& progress) {
    if (shows_progress) {
      fmt::print(stderr, "\r{} of {} compared ", progress.done, progress.count);
    }
  };
  const graph::Graph& net = made.loaded.net;
  const graph::Bisected result =
      graph::bisect(net, made.loaded.parts, *made.network, made.operands, options);
  if (shows_progress) {
    fmt::print(stderr, "\r");
  }
  if (!arguments.against.empty() && result.num_recorded == 0 && !result.recorded) {
    throw Error(in_quotes(arguments.against) + " has no value that a node of the network computes");
  }
  const bool is_right = !result.kernel && !result.recorded;
  if (arguments.is_json) {
    print_json({{"network", arguments.network},
                {"kernels", made.loaded.parts.groups.size()},
                {"judged", result.num_kernels},
                {"recorded_values", result.num_recorded},
                {"elements", result.num_elements},
                {"unjudged", result.num_unjudged},
                {"worst_share", result.worst_share},
                {"kernel", result.kernel ? json_of(net, *result.kernel) : Json(nullptr)},
                {"recorded", result.recorded ? json_of(net, *result.recorded) : Json(nullptr)}});
    return is_right ? exit_ok : exit_failed;
  }
  for (const auto* found : {&result.kernel, &result.recorded}) {
    if (*found) {
      fmt::print("{}\n", graph::explain(net, **found));
    }
  }
  if (is_right) {
    fmt::print("{} kernels{} within their bounds, the furthest at {} of its own; {} of {} elements "
               "have no bound\n",
               result.num_kernels,
               arguments.against.empty()
                   ? std::string()
                   : fmt::format(" and {} recorded values", result.num_recorded),
               percent_text(result.worst_share), result.num_unjudged, result.num_elements);
  }
  return is_right ? exit_ok : exit_failed;
}

}  // namespace tensorsmith::cli
