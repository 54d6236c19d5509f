// SPDX-License-Identifier: Apache-2.0
// Prefetches of register tiles: where they stand, how many there are, that they change no value.
#include <string>

#include "unit/lower/lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// i and j tiled by 4 x 16, k innermost around the tile.
ScheduleBuilder tiled(std::int64_t reduction, const std::string& prefetch) {
  ScheduleBuilder s(matmul_dag(8, 32, reduction));
  s.split(2, 0, {4});
  s.split(2, 2, {16});
  s.reorder(2, {0, 2, 4, 1, 3});
  s.unroll(2, 3);
  s.vectorize(2, 4);
  s.apply(PragmaStep{2, 0, prefetch});
  return s;
}

/// k in blocks around tiles of 4 x width: k.0 j.0 i.0 k.1 i.1 j.1.
ScheduleBuilder in_blocks(const Shared<const ComputeDag>& dag, std::int64_t width,
                          std::int64_t block, const std::string& prefetch) {
  ScheduleBuilder s(dag);
  s.split(2, 0, {4});
  s.split(2, 2, {width});
  s.split(2, 4, {block});
  s.reorder(2, {4, 2, 0, 5, 1, 3});
  s.unroll(2, 4);
  s.vectorize(2, 5);
  s.apply(PragmaStep{2, 0, prefetch});
  return s;
}

std::string loops_of(const ScheduleBuilder& s) {
  const LoopProgram program = lowered(s.state(), Target::x86_64_v4());
  CHECK(wrong_with(program, s.state().dag()) == "");
  return text_of(program);
}

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("an operand along the vector is asked for in every step of the reduction") {
  const std::string text = loops_of(tiled(24, "prefetch$1$3$1"));
  CHECK(text.find("for k in 24:\n"
                  "        prefetch B[k, j.0*16 + 48] into L1\n"
                  "        for i.1 in 4 unrolled:") != std::string::npos);
  CHECK(count_of(text, "prefetch") == 1);
}

TEST_CASE("an operand along the reduction is asked for once per line") {
  const std::string text = loops_of(tiled(64, "prefetch$0$2$3"));
  CHECK(text.find("for k in 4:\n"
                  "        prefetch A[i.0*4, k*16 + 32] into L3\n"
                  "        prefetch A[i.0*4 + 1, k*16 + 32] into L3\n"
                  "        prefetch A[i.0*4 + 2, k*16 + 32] into L3\n"
                  "        prefetch A[i.0*4 + 3, k*16 + 32] into L3\n"
                  "        for x in 16:") != std::string::npos);
  CHECK(count_of(text, "prefetch") == 4);
}

TEST_CASE("a reduction of one line asks in front of its loop, a ragged one not at all") {
  const std::string text = loops_of(tiled(16, "prefetch$0$1$1"));
  CHECK(text.find("prefetch A[i.0*4 + 3, 16] into L1\n      for k in 16:") != std::string::npos);
  CHECK(count_of(loops_of(tiled(24, "prefetch$0$1$1")), "prefetch") == 0);
}

TEST_CASE("a block of the reduction asks for the next one, line by line") {
  ScheduleBuilder s(matmul_dag(4, 128, 32));
  s.split(2, 1, {32});  // i j.0 j.1 k
  s.split(2, 3, {4});   // i j.0 j.1 k.0 k.1
  s.reorder(2, {3, 1, 4, 0, 2});
  s.unroll(2, 3);
  s.vectorize(2, 4);
  s.apply(PragmaStep{2, 0, "prefetch_block$1$1"});
  // A row of B has 8 lines, a block 4 rows: 32 lines in 4 x 4 steps.
  const std::string text = loops_of(s);
  CHECK(text.find("for k.1 in 4:\n"
                  "        prefetch B[k.0*4 + j.0 + 4, k.1*32] into L1\n"
                  "        prefetch B[k.0*4 + j.0 + 4, k.1*32 + 16] into L1\n"
                  "        for i in 4 unrolled:") != std::string::npos);
  CHECK(count_of(text, "prefetch") == 2);
}

TEST_CASE("a block of fewer lines than steps is asked for outside of the inner ones") {
  // 4 rows of 8 lines in 4 x 4 runs of 4 steps.
  const std::string text =
      loops_of(in_blocks(matmul_dag(16, 128, 32), 32, 4, "prefetch_block$1$1"));
  CHECK(text.find("prefetch B[k.0*4 + j.0 + 4, i.0*32] into L1\n"
                  "        prefetch B[k.0*4 + j.0 + 4, i.0*32 + 16] into L1\n"
                  "        for k.1 in 4:") != std::string::npos);
  CHECK(count_of(text, "prefetch") == 2);
}

TEST_CASE("lines that the steps do not divide are asked for by the step they fall to") {
  // 8 rows of 6 lines in 2 x 2 x 8 steps: three lines in two steps.
  const std::string text = loops_of(in_blocks(matmul_dag(8, 96, 32), 48, 8, "prefetch_block$1$2"));
  CHECK(count_of(text, "prefetch B[") == 2);
  CHECK(text.find("into L2") != std::string::npos);
}

TEST_CASE("few blocks are not asked for; lines of a step may lie in two rows") {
  const auto blocked = [](std::int64_t depth) {
    ScheduleBuilder s(matmul_dag(8, 48, depth));
    s.split(2, 0, {4});
    s.split(2, 3, {16});  // i.0 i.1 j k.0 k.1
    s.reorder(2, {3, 0, 4, 1, 2});
    s.unroll(2, 3);
    s.vectorize(2, 4);
    s.apply(PragmaStep{2, 0, "prefetch_block$1$1"});
    return loops_of(s);
  };
  CHECK(count_of(blocked(32), "prefetch") == 0);
  // 16 rows of 3 lines in 2 x 16 steps: three lines in two steps, some of them of two rows.
  const std::string text = blocked(64);
  CHECK(count_of(text, "prefetch B[") == 2);
  CHECK(text.find("prefetch B[k.0*16 + i.0*8 + floordiv(floordiv(k.1*3, 2) + 1, 3) + 16, "
                  "floormod(floordiv(k.1*3, 2) + 1, 3)*16] into L1") != std::string::npos);
}

TEST_CASE("steps of a reduction are written out where they divide its loops") {
  ScheduleBuilder s = tiled(24, "prefetch$1$3$1");
  s.apply(PragmaStep{2, 0, "unroll_reduction$4"});
  const std::string text = loops_of(s);
  CHECK(text.find("for k in 6:\n"
                  "        for x in 4 unrolled:\n"
                  "          prefetch B[k*4 + x, j.0*16 + 48] into L1\n"
                  "          for i.1 in 4 unrolled:") != std::string::npos);
  ScheduleBuilder odd = tiled(23, "unroll_reduction$4");
  CHECK(loops_of(odd).find("for k in 23:\n        for i.1 in 4 unrolled:") != std::string::npos);
}

TEST_CASE("loops that go beyond the end of their reduction stay loops") {
  ScheduleBuilder s(matmul_dag(4, 16, 22));
  s.split(2, 2, {8});
  s.reorder(2, {2, 3, 0, 1});
  s.unroll(2, 2);
  s.vectorize(2, 3);
  s.apply(PragmaStep{2, 0, "unroll_reduction$2"});
  CHECK(loops_of(s).find("in 2 unrolled") == std::string::npos);
}

TEST_CASE("without a block of the reduction around tiles nothing is asked for") {
  CHECK(count_of(loops_of(tiled(16, "prefetch_block$1$1")), "prefetch") == 0);
  CHECK(count_of(loops_of(tiled(16, "prefetch_block$0$1")), "prefetch") == 0);
}

TEST_CASE("without such an operand, or without a register tile, there is no prefetch") {
  CHECK(count_of(loops_of(tiled(16, "prefetch$2$1$1")), "prefetch") == 0);
  ScheduleBuilder s(matmul_dag(8, 32, 16));
  s.reorder(2, {0, 1, 2});
  s.apply(PragmaStep{2, 0, "prefetch$1$4$1"});
  CHECK(wrong_with(lowered(s.state()), s.state().dag()) == "");
}
