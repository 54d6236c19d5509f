// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"

#include <cstdlib>

#include "command.hpp"
#include "tensorsmith/graph/channels_last.hpp"
#include "tensorsmith/graph/examples.hpp"
#include "tensorsmith/graph/executor.hpp"
#include "tensorsmith/onnx.hpp"
#include "tensorsmith/tune/defaults.hpp"

namespace tensorsmith::cli {
namespace {

std::pair<std::string, double> binding_of(const std::string& text) {
  const std::size_t at = text.rfind('=');
  char* end = nullptr;
  const double value = at == std::string::npos ? 0 : std::strtod(text.c_str() + at + 1, &end);
  if (at == std::string::npos || at == 0 || end == text.c_str() + at + 1 || *end != 0) {
    throw Error("expected NAME=VALUE, got " + in_quotes(text));
  }
  return {text.substr(0, at), value};
}

graph::Graph read_network(const NetworkArguments& arguments) {
  constexpr std::string_view prefix = "example:";
  if (arguments.network.starts_with(prefix)) {
    auto made = graph::example_network(std::string_view(arguments.network).substr(prefix.size()));
    if (!made) {
      throw Error(made.error());
    }
    return std::move(*made);
  }
  OnnxOptions options;
  for (const std::string& text : arguments.dims) {
    const auto [name, value] = binding_of(text);
    options.dims.push_back({name, static_cast<std::int64_t>(value)});
  }
  for (const std::string& text : arguments.inputs) {
    const auto [name, value] = binding_of(text);
    options.inputs.push_back({name, {value}});
  }
  auto read = read_onnx(arguments.network, options);
  if (!read) {
    throw Error(read.error().message);
  }
  return std::move(*read);
}

}  // namespace

Loaded load(const NetworkArguments& arguments) {
  Loaded loaded;
  loaded.net = read_network(arguments);
  loaded.num_read = loaded.net.nodes.size();
  auto simplified = graph::simplify(loaded.net);
  if (!simplified) {
    throw Error(simplified.error());
  }
  loaded.simplified = *simplified;
  const std::string layout = !arguments.layout.empty()    ? arguments.layout
                             : !arguments.against.empty() ? "given"
                                                          : "agreed";
  if (layout != "given") {
    auto agreed =
        layout == "last"
            ? graph::all_channels_last(loaded.net)
            : graph::agree_layouts(loaded.net, graph::estimated_costs(tune_options(arguments)),
                                   graph::estimated_costs(tune_options(arguments), true));
    if (!agreed) {
      throw Error(agreed.error());
    }
    loaded.layouts = std::move(*agreed);
    if (auto converted = graph::channels_last(loaded.net, loaded.layouts.is_last); !converted) {
      throw Error(converted.error());
    }
  }
  auto parts = graph::partition(loaded.net);
  if (!parts) {
    throw Error(parts.error());
  }
  loaded.parts = std::move(*parts);
  return loaded;
}

std::string journal_of(const NetworkArguments& arguments) {
  return arguments.database.empty() ? default_journal(arguments.network) : arguments.database;
}
JournalContents records_of(const NetworkArguments& arguments) {
  auto read = read_journal(journal_of(arguments));
  return read ? std::move(*read) : JournalContents();
}
TuneOptions tune_options(const NetworkArguments& arguments) {
  TuneOptions options;
  options.num_threads = arguments.num_threads;
  options.seed = arguments.seed;
  return options;
}

}  // namespace tensorsmith::cli
