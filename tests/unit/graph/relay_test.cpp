// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/relay.hpp"

#include <string>

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("a description that is none is refused with the operator", "[graph]") {
  const auto message = [](const char* text) {
    const auto read = graph::read_relay_description(text);
    return read ? std::string() : read.error();
  };
  CHECK(!message("").empty());
  CHECK(!message("{}").empty());
  const std::string wrong = message(
      R"({"inputs": [], "operators": [{"id": 3, "op": "nn.relu", "inputs": [{"node": 2}],
          "output": [[1], "float32"], "attrs": {}}]})");
  CHECK(wrong == "nn.relu 3: it reads operator 2, which is not before it");
}
