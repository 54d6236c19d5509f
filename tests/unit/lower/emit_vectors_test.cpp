#include "tensorsmith/lower/emit_vectors.hpp"

#include "lower_fixtures.hpp"
#include "support/gpu_programs.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// copy_dag(8, columns), fused, `lanes` elements per step of a thread.
std::string copy_text(std::int64_t columns, std::int64_t lanes) {
  ScheduleBuilder s(copy_dag(8, columns));
  s.fuse(1, {0, 1});
  s.split(1, 0, {4, lanes});
  s.annotate(1, 0, Annotation::block_x);
  s.annotate(1, 1, Annotation::thread_x);
  s.annotate(1, 2, Annotation::vectorize);
  const LoopProgram program = lowered(s.state(), gpu_target());
  const std::string text = text_of(program);
  INFO(text);
  CHECK(KnownResults(*s.state().initial_dag()).wrong_with(program) == "");
  return text;
}

}  // namespace

TEST_CASE("consecutive, aligned elements are a vector, in fused loops too") {
  CHECK(copy_text(16, 4).find("in 4 vectorized") != std::string::npos);
  CHECK(copy_text(16, 2).find("in 2 vectorized") != std::string::npos);
  CHECK(copy_text(12, 4).find("in 4 vectorized") != std::string::npos);
}

TEST_CASE("no vector: across rows, longer than 16 bytes, with elements left over") {
  for (const std::string& text : {copy_text(6, 4), copy_text(16, 8), copy_text(15, 2)}) {
    CHECK(text.find("vectorized") == std::string::npos);
    CHECK(text.find("unrolled") != std::string::npos);
  }
}
