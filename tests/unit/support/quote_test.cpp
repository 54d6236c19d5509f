// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/quote.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("quoted input stays on its line and is bounded") {
  CHECK(in_quotes("gemm:8x8") == "\"gemm:8x8\"");
  CHECK(in_quotes("a\nb\tc\x1B[31m") == "\"a\\nb\\tc\\x1b[31m\"");
  CHECK(in_quotes(std::string(1, '\0') + "\x7F") == "\"\\x00\\x7f\"");
  CHECK(in_quotes(std::string(1'000'000, 'x')) ==
        "\"" + std::string(200, 'x') + "... (1000000 bytes)\"");
  CHECK(in_quotes("abcdef", 3) == "\"abc... (6 bytes)\"");
  CHECK(in_quotes("abc", 3) == "\"abc\"");
  CHECK(one_line(std::string(5000, '\n')).size() == 10'000);
}

TEST_CASE("long words and quotations of a sentence are cut, the rest stays") {
  const std::string known = "; known: a, b";
  CHECK(with_short_words("unknown \"x y\" and z" + known) == "unknown \"x y\" and z" + known);
  const std::string word(100'000, 'w');
  const std::string cut = std::string(300, 'w') + "... (100000 bytes)";
  CHECK(with_short_words("unknown \"" + word + "\"" + known) == "unknown \"" + cut + "\"" + known);
  CHECK(with_short_words("unknown " + word + known) ==
        "unknown " + std::string(300, 'w') + "... (100001 bytes) known: a, b");
  std::string words;
  for (int i = 0; i < 1000; ++i) {
    words += "ab ";
  }
  CHECK(with_short_words("got \"" + words + "\"" + known) ==
        "got \"" + words.substr(0, 300) + "... (3000 bytes)\"" + known);
  CHECK(with_short_words("a \" b") == "a \" b");
  CHECK(with_short_words("a\nb \x1b") == "a\\nb \\x1b");
}

TEST_CASE("text in UTF-8 stays, other bytes are told by their numbers") {
  for (const char* text : {"\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    CHECK(one_line(text) == text);
    const std::string cut = std::string(text).substr(0, std::string(text).size() - 1);
    CHECK(one_line(cut).substr(0, 2) == "\\x");
    CHECK(one_line(std::string(text) + text, 1) ==
          std::string(text) + "... (" + std::to_string(2 * std::string(text).size()) + " bytes)");
  }
  CHECK(one_line("\xFF") == "\\xff");
  CHECK(one_line("\xC0\x80") == "\\xc0\\x80");           // overlong
  CHECK(one_line("\xED\xA0\x80") == "\\xed\\xa0\\x80");  // half of a pair
  CHECK(one_line("\xC2\x9B") == "\\xc2\\x9b");           // a control character
}
