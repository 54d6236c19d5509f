// SPDX-License-Identifier: Apache-2.0
// bench_networks: networks as ONNX files, with random weights that are the same everywhere.
//
//   bench_networks make NETWORK FILE [--opset N] [--divisor N] [--repeats N] [--size N]
//                  [--classes N] [--seed N] [--open] [--primitives]
//   bench_networks make --tiny FOLDER     the small ones of tests/data/onnx
//   bench_networks list
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "support/onnx_networks.hpp"
#include "tensorsmith/support/file.hpp"

namespace {

using tensorsmith::test::NetworkOptions;

int usage() {
  std::fputs(
      "usage: bench_networks make NETWORK FILE [--opset N] [--divisor N] [--repeats N] [--size N]\n"
      "                            [--classes N] [--seed N] [--open] [--primitives]\n"
      "       bench_networks make --tiny FOLDER\n"
      "       bench_networks list\n",
      stderr);
  return 2;
}

int write(const std::string& path, const std::string& bytes) {
  const auto written = tensorsmith::write_file(path, bytes);
  if (!written) {
    std::fprintf(stderr, "bench_networks: %s\n", written.error().message.c_str());
    return 1;
  }
  std::printf("%s: %zu bytes\n", path.c_str(), bytes.size());
  return 0;
}

int make_tiny(const std::string& folder) {
  for (const auto& one : tensorsmith::test::tiny_networks()) {
    const std::string bytes = tensorsmith::test::onnx_network(one.network, one.options);
    const int code = write(folder + "/" + one.file + ".onnx", bytes);
    if (code != 0) {
      return code;
    }
  }
  return 0;
}

bool read_option(NetworkOptions& options, const char* name, const char* value, int& used) {
  used = 1;
  if (std::strcmp(name, "--open") == 0) {
    return options.is_open = true;
  }
  if (std::strcmp(name, "--primitives") == 0) {
    return options.has_primitives = true;
  }
  char* end = nullptr;
  const long long number = value == nullptr ? 0 : std::strtoll(value, &end, 10);
  if (value == nullptr || *end != 0 || number < 1) {
    return false;
  }
  used = 2;
  const struct {
    const char* name;
    std::int64_t& place;
  } known[] = {{"--opset", options.opset},
               {"--divisor", options.divisor},
               {"--repeats", options.repeats},
               {"--size", options.size},
               {"--classes", options.classes}};
  for (const auto& one : known) {
    if (std::strcmp(name, one.name) == 0) {
      one.place = number;
      return true;
    }
  }
  options.seed = static_cast<std::uint64_t>(number);
  return std::strcmp(name, "--seed") == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "list") == 0) {
    for (const std::string& name : tensorsmith::test::onnx_network_names()) {
      std::puts(name.c_str());
    }
    return 0;
  }
  if (argc < 4 || std::strcmp(argv[1], "make") != 0) {
    return usage();
  }
  if (std::strcmp(argv[2], "--tiny") == 0) {
    return argc == 4 ? make_tiny(argv[3]) : usage();
  }
  NetworkOptions options;
  for (int i = 4, used = 0; i < argc; i += used) {
    if (!read_option(options, argv[i], i + 1 < argc ? argv[i + 1] : nullptr, used)) {
      return usage();
    }
  }
  const std::string bytes = tensorsmith::test::onnx_network(argv[2], options);
  return bytes.empty() ? usage() : write(argv[3], bytes);
}
