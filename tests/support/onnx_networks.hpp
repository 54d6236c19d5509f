// SPDX-License-Identifier: Apache-2.0
// Networks as ONNX files, with random weights: the families that are measured, at any width.
//
// For tests (tiny widths, tests/data/onnx) and bench/networks. Own design; shapes of the networks
// are those of the publications named at each. The same options give the same bytes on every
// machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tensorsmith::test {

struct NetworkOptions {
  std::int64_t opset = 17;
  std::int64_t divisor = 1;  ///< of all widths (channels, hidden sizes); at least 1 is left
  std::int64_t repeats = 0;  ///< blocks per stage or layers at most; 0: as published
  std::int64_t size = 0;     ///< of a picture or sequence; 0: as published
  std::int64_t classes = 1000;
  bool is_open = false;         ///< the batch and the sequence are extents with names
  bool has_primitives = false;  ///< norms and GELU in pieces, as older exporters write them
  std::uint64_t seed = 1;
};

/// Empty if the name is not one of onnx_network_names().
std::string onnx_network(std::string_view name, const NetworkOptions& options);
std::vector<std::string> onnx_network_names();

/// The files of tests/data/onnx: name of the file, network, options.
struct TinyNetwork {
  std::string file, network;
  NetworkOptions options;
};
std::vector<TinyNetwork> tiny_networks();

}  // namespace tensorsmith::test
