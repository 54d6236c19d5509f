#include "tensorsmith/support/text_writer.hpp"

#include "support/catch.hpp"

#include <cstdlib>
#include <limits>

#include "tensorsmith/support/rng.hpp"

using namespace tensorsmith;

TEST_CASE("lines are indented by depth") {
  TextWriter writer;
  writer.line("a");
  writer.indent();
  writer.line("b");
  writer.dedent();
  writer.line("c");
  CHECK(writer.text() == "a\n  b\nc\n");
}

TEST_CASE("reals read back as they were") {
  CHECK(text_of_real(1) == "1.0");
  CHECK(text_of_real(-0.0) == "-0.0");
  CHECK(text_of_real(1e22) == "1e+22");
  CHECK(text_of_real(-std::numeric_limits<double>::infinity()) == "-inf");
  CounterRng rng(test::seed(), 2);
  for (int n = 0; n < 1000; ++n) {
    const double value = (rng.next_double() - 0.5) * (1 << rng.next_below(30));
    CHECK(std::strtod(text_of_real(value).c_str(), nullptr) == value);
  }
}

TEST_CASE("lists") {
  const auto number = [](int n) { return std::to_string(n); };
  CHECK(bracketed(std::vector<int>{}, number) == "[]");
  CHECK(bracketed(std::vector<int>{1, 2}, number) == "[1, 2]");
}
