// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json llvm
// Every named workload with sizes and types that are drawn: kernels are verified with hard inputs
// (large means, infinities, NaN, denormals, whole ranges), and what cannot be is said in words.
#include <cctype>

#include "error/command_fixture.hpp"
#include "support/full_count.hpp"
#include "tensorsmith/support/rng.hpp"

using namespace tensorsmith::test;
using tensorsmith::CounterRng;

namespace {

/// A size behind "x", ":" or "=" becomes another one now and then; "f32" and "p=1" stay numbers of
/// what they are.
std::string with_drawn_sizes(const std::string& example, CounterRng& rng) {
  constexpr int sizes[] = {1, 2, 3, 5, 7, 13, 16, 31, 33, 64};
  std::string text;
  for (std::size_t i = 0; i < example.size();) {
    const bool begins = std::isdigit(static_cast<unsigned char>(example[i])) != 0 && i > 0 &&
                        (example[i - 1] == 'x' || example[i - 1] == ':' || example[i - 1] == '=');
    std::size_t end = i + 1;
    while (begins && end < example.size() &&
           std::isdigit(static_cast<unsigned char>(example[end])) != 0) {
      ++end;
    }
    const std::string piece = example.substr(i, end - i);
    // Large ones always: a test takes no minutes.
    const bool changes = begins && (piece.size() > 2 || rng.next_below(3) == 0);
    text += changes ? std::to_string(sizes[rng.next_below(std::size(sizes))]) : piece;
    i = end;
  }
  return text;
}

std::string with_drawn_type(const std::string& example, CounterRng& rng) {
  const char* const types[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8"};
  const std::string type = types[rng.next_below(std::size(types))];
  if (const std::size_t at = example.find(":f32"); at != std::string::npos) {
    return example.substr(0, at + 1) + type + example.substr(at + 4);
  }
  return example.find("dtype=") == std::string::npos && example.find("n=") != std::string::npos
             ? example + ",dtype=" + type
             : example;
}

}  // namespace

TEST_CASE("named workloads of drawn sizes and types: verified, or a sentence") {
  CommandFolder folder;
  const nlohmann::json list = folder.run({"tune", "--list", "--json"}).json();
  REQUIRE(list["workloads"].size() >= 28);
  CounterRng rng(seed(), 80);
  const std::uint32_t count = full_count(scaled(32), 600);
  std::uint32_t num_found = 0;
  for (std::uint32_t n = 0; n < count; ++n) {
    const nlohmann::json& line =
        list["workloads"][rng.next_below(static_cast<std::uint32_t>(list["workloads"].size()))];
    const std::string workload =
        with_drawn_type(with_drawn_sizes(line["example"].get<std::string>(), rng), rng);
    const char* const threads = rng.next_below(4) == 0 ? "2" : "1";
    const char* const trials = rng.next_below(4) == 0 ? "0" : "3";
    CAPTURE(n, workload, threads, trials);
    const CommandResult result = folder.run(
        {"tune", workload, "--trials", trials, "--threads", threads, "--json", "--quiet"},
        "ulimit -t 300;");
    CAPTURE(result.code, result.signal, result.out, result.err);
    CHECK(result.signal == 0);
    if (result.code != 0) {
      CHECK(result.code == 2);  // refused; that no candidate was right would be 1
      CHECK_FALSE(result.err.empty());
      CHECK(result.err.size() < 4000);
      continue;
    }
    REQUIRE(result.json().is_object());
    CHECK(result.json()["verified"] == true);
    for (const char* fault : {"wrong_result", "nan_result", "crashed", "out_of_bounds",
                              "compile_error", "load_error"}) {
      CHECK_FALSE(result.json()["failed"].contains(fault));
    }
    ++num_found;
  }
  CHECK(num_found > count / 3);
}
