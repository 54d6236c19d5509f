// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
// A run whose task names the values of its inputs: tuned and verified with them, refused without.
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/te/program.hpp"
#include "tensorsmith/tune.hpp"

using namespace tensorsmith;

namespace {

/// bag[b, d] = sum over k of table[idx[b, k], d]
TuneTask embedding_bag() {
  te::Program p;
  auto idx = p.placeholder("idx", {4, 3}, DType::i32);
  auto table = p.placeholder("table", {50, 16});
  auto k = p.reduce_axis("k", 3);
  auto bag =
      p.compute("bag", {4, 16}, [&](auto b, auto d) { return te::sum(table(idx(b, k), d), {k}); });
  return TuneTask{p.dag({idx, table, bag}), host_target()};
}

}  // namespace

TEST_CASE("a task is tuned and verified with the values that it names") {
  TuneTask task = embedding_bag();
  TuneOptions options;
  options.budget = {0, 2};
  std::vector<std::int32_t> indices(12, 49);
  task.inputs = {TaskInput::data("idx", indices), TaskInput::range("table", 2, 3)};
  const TuneResult result = tune(task, options);
  CAPTURE(result.summary.first_failure);
  REQUIRE(result.has_best());
  CHECK(result.summary.is_verified);
  indices[7] = 50;
  task.inputs[0] = TaskInput::data("idx", indices);
  std::string refusal;
  try {
    (void)tune(task, options);
  } catch (const Error& error) {
    refusal = error.what();
  }
  CHECK(refusal == "tune: input \"idx\": element 7 is 50, but it is an index into dimension 0 of "
                   "\"table\", which has 50 elements, so 0 .. 49 are legal");
}
