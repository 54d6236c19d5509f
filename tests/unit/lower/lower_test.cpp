// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/lower.hpp"

#include <fstream>
#include <iterator>

#include "lower_fixtures.hpp"
#include "support/small_workloads.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The shown programs leave the buffers of the first example out.
std::string loops_of(const std::string& text) { return text.substr(text.find("\nfor ") + 1); }

}  // namespace

TEST_CASE("every workload as written is lowered to what its formulas say") {
  for (DType type : {DType::i32, DType::f32}) {
    for (const SmallWorkload& workload : small_workloads(type)) {
      INFO(workload.name);
      for (const Target& target : {Target::x86_64_v2(), Target::x86_64_v3(), Target::x86_64_v4()}) {
        const LoopProgram program = lowered(State::initial(workload.dag), target);
        CHECK(wrong_with(program, *workload.dag) == "");
      }
    }
  }
}

TEST_CASE("arguments are global buffers in the order of the dag") {
  const DagPtr dag = matmul_dag(3, 4, 5);
  const LoopProgram program = lowered(State::initial(dag));
  REQUIRE(program.arguments.size() == 3);
  const std::vector<std::string> names = {"A", "B", "C"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Buffer& buffer = program[program.arguments[i]];
    CHECK(buffer.name == names[i]);
    CHECK(buffer.argument == static_cast<std::int32_t>(i));
    CHECK(buffer.scope == Scope::global);
  }
  CHECK(program[program.arguments[2]].shape[1] == 4);
}

TEST_CASE("lowering is a function: the same state, the same text") {
  ScheduleBuilder s(matmul_dag(13, 32, 20));
  s.split(2, 0, {4});
  s.reorder(2, {0, 3, 1, 2});
  CHECK(to_text(lowered(s.state())) == to_text(lowered(s.state())));
  CHECK(to_text(lowered(s.state(), Target::x86_64_v2())) !=
        to_text(lowered(s.state(), Target::x86_64_v4())));
}

TEST_CASE("the document shows what lowering makes") {
  const std::string document = read_file(std::string(TENSORSMITH_SOURCE_DIR) + "/docs/lowering.md");
  REQUIRE_FALSE(document.empty());

  ScheduleBuilder imperfect(matmul_dag(13, 32, 20));
  imperfect.split(2, 0, {4});
  imperfect.split(2, 3, {8});
  imperfect.reorder(2, {3, 0, 4, 1, 2});
  imperfect.unroll(2, 3);
  imperfect.vectorize(2, 4);
  const Target wide = Target::x86_64_v4();
  CHECK(document.find(loops_of(checked_text(imperfect.state(), wide))) != std::string::npos);

  ScheduleBuilder packed(matmul_dag(24, 64, 32));
  packed.cache_read(1, "local", {2});
  packed.split(3, 1, {16});
  packed.split(3, 0, {6});
  packed.reorder(3, {2, 0, 4, 1, 3});
  packed.unroll(3, 3);
  packed.vectorize(3, 4);
  packed.compute_at(2, 3, 0);
  packed.storage_layout(2, {0, 16}, {2, 0, 3});
  CHECK(document.find(checked_text(packed.state(), wide)) != std::string::npos);
}
