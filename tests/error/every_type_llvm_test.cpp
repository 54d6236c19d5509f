// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json
// Every form of workload gives a verified kernel in 16-bit types too; in bf16 without a search,
// unless all is asked for.
#include "error/command_fixture.hpp"
#include "support/full_count.hpp"

using namespace tensorsmith::test;

namespace {

/// The example with another element type: behind the sizes, or as an option.
std::string with_type(const std::string& example, const std::string& type) {
  const std::size_t colon = example.find(':');
  const std::size_t comma = std::min(example.find(',', colon), example.size());
  if (example.substr(colon, comma - colon).find('=') != std::string::npos) {
    return example + ",dtype=" + type;
  }
  const std::size_t own = std::min(example.find(':', colon + 1), comma);
  return example.substr(0, own) + ":" + type + example.substr(comma);
}

void check_type_tunes(CommandFolder& folder, const std::string& workload, const char* trials) {
  CAPTURE(workload);
  const CommandResult result =
      folder.run({"tune", workload, "--trials", trials, "--json", "--quiet"});
  CAPTURE(result.out, result.err, result.signal);
  CHECK(result.code == 0);
  const nlohmann::json json = result.json();
  REQUIRE(json.is_object());
  CHECK(json["verified"] == true);
  // A slow candidate may run out of time; no other failure is one of the machine's.
  for (const auto& [reason, count] : json["failed"].items()) {
    CHECK(reason == "run_timeout");
  }
}

}  // namespace

TEST_CASE("types are put where the grammar has them") {
  CHECK(with_type("gemm:2x3x4:f32", "f16") == "gemm:2x3x4:f16");
  CHECK(with_type("bmm:2x3x4x5:f32,tb", "bf16") == "bmm:2x3x4x5:bf16,tb");
  CHECK(with_type("softmax:5x10", "f16") == "softmax:5x10:f16");
  CHECK(with_type("conv1d:n=1,w=2", "f16") == "conv1d:n=1,w=2,dtype=f16");
}

TEST_CASE("every form of tune --list gives a verified kernel in f16") {
  CommandFolder folder;
  const nlohmann::json list = folder.run({"tune", "--list", "--json"}).json();
  REQUIRE(list["workloads"].size() >= 23);
  for (const nlohmann::json& line : list["workloads"]) {
    check_type_tunes(folder, with_type(line["example"].get<std::string>(), "f16"), "1");
  }
}

TEST_CASE("every form of tune --list gives a verified kernel in bf16") {
  CommandFolder folder;
  const nlohmann::json list = folder.run({"tune", "--list", "--json"}).json();
  for (const nlohmann::json& line : list["workloads"]) {
    const char* const trials = full_count(0, 1) == 1 ? "1" : "0";
    check_type_tunes(folder, with_type(line["example"].get<std::string>(), "bf16"), trials);
  }
}

TEST_CASE("rows and chains of 16 bits give verified kernels, also without a search") {
  CommandFolder folder;
  for (const char* form :
       {"softmax:33x100:", "softmax:33x100:?,online=32",
        "log_softmax:7x1000:", "layernorm:33x200:", "rmsnorm:9x300:", "reduce_sum:9x300:",
        "reduce_prod:9x30:", "attention:2x13x16x8:", "gemm:13x20x28:?,bias,add,layernorm",
        "pointwise:64x64:?,exp,exp", "pointwise:64x64:?,gelu,sigmoid,tanh"}) {
    for (const char* type : {"f16", "bf16"}) {
      std::string workload = form;
      const std::size_t place = std::min(workload.find('?'), workload.size());
      workload.replace(place, place < workload.size() ? 1 : 0, type);
      for (const char* trials : {"0", "2"}) {
        check_type_tunes(folder, workload, trials);
      }
    }
  }
}
