// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/text_writer.hpp"

#include "support/catch.hpp"

#include <charconv>
#include <clocale>
#include <cstdlib>
#include <limits>

#include "tensorsmith/support/math.hpp"
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

namespace {
/// As <charconv> writes it, with ".0" behind a whole number.
std::string text_of_charconv(double value) {
  char buffer[400];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}
std::string digits_of_charconv(double value, int digits) {
  char buffer[400];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value,
                                           std::chars_format::general, digits)
                                 .ptr);
}
}  // namespace

TEST_CASE("reals are written as std::to_chars writes them") {
  long different = 0, compared = 0;
  const auto compare = [&](double value) {
    if (value - value == 0.0) {
      ++compared;
      different += text_of_real(value) != text_of_charconv(value);
      different += text_of_real(value, 6) != digits_of_charconv(value, 6);
    }
  };
  for (int exponent = -1074; exponent < 1024; ++exponent) {  // powers of two, the least and so on
    for (int odd = 1; odd < 16; odd += 2) {
      compare(math::ldexp(odd, exponent));
      compare(-math::ldexp(odd, exponent));
    }
  }
  for (int exponent = -323; exponent < 309; ++exponent) {
    const double power = std::strtod(("1e" + std::to_string(exponent)).c_str(), nullptr);
    compare(power);
    compare(9.5 * power);
  }
  compare(std::numeric_limits<double>::max());
  compare(std::numeric_limits<double>::min());
  CounterRng rng(test::seed(), 3);
  for (int n = 0; n < 5000; ++n) {
    const std::uint64_t bits = rng.next_u64();
    compare(math::bit_cast<double>(bits));
    compare(math::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    compare(static_cast<double>(bits >> rng.next_below(64)));
    compare(static_cast<double>(bits % 1000000) / 1000);
  }
  CHECK(compared > 50000);
  CHECK(different == 0);
  CHECK(text_of_real(-std::numeric_limits<double>::infinity(), 6) == "-inf");
}

TEST_CASE("reals are written with a point in every locale") {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8", "C"}) {
    if (std::setlocale(LC_NUMERIC, name) != nullptr) {  // a machine need not have all of them
      CHECK(text_of_real(-0.125) == "-0.125");
      CHECK(text_of_real(1.5e-30) == "1.5e-30");
      CHECK(text_of_real(2.5, 6) == "2.5");
    }
  }
  std::setlocale(LC_NUMERIC, before.c_str());
  CHECK(detail::with_point("-1\xd9\xab"
                           "5e+20") == "-1.5e+20");  // a point of two bytes
}

TEST_CASE("lists") {
  const auto number = [](int n) { return std::to_string(n); };
  CHECK(bracketed(std::vector<int>{}, number) == "[]");
  CHECK(bracketed(std::vector<int>{1, 2}, number) == "[1, 2]");
}
