// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/feature/columns.hpp"

#include <set>

#include "support/golden_tasks.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("the names of the columns are the reference's, in its order", "[feature][golden]") {
  const std::string text = test::read_text(test::own_golden_path("feature_names.json"));
  const auto names = test::Json::parse(text).get<std::vector<std::string>>();
  REQUIRE(names.size() == feature_length);
  for (std::size_t i = 0; i < feature_length; ++i) {
    CHECK(feature_name(i) == names[i]);
  }
}

TEST_CASE("columns stand where Ansor reference ch. 6.2 puts them", "[feature]") {
  CHECK(column(HeadColumn::vec_num) == 16);
  CHECK(column(HeadColumn::is_gpu) == 49);
  CHECK(column(HeadColumn::vthread_len) == 56);
  CHECK(column(0, BufferColumn::acc_read) == 57);
  CHECK(column(4, BufferColumn::stride) == 146);
  CHECK(column(TailColumn::arith_intensity_curve_0) == 147);
  CHECK(column(TailColumn::auto_unroll_max_step) == 163);
}

TEST_CASE("every column says what it means", "[feature]") {
  std::set<std::string> names;
  for (std::size_t i = 0; i < feature_length; ++i) {
    const FeatureFacts facts = feature_facts(i);
    INFO(feature_name(i));
    CHECK_FALSE(facts.meaning.empty());
    CHECK_FALSE(facts.unit.empty());
    CHECK_FALSE(facts.range.empty());
    CHECK((facts.transform == "slog" || facts.transform == "none"));
    CHECK((facts.buffer >= 0) == (i >= 57 && i < 147));
    names.insert(feature_name(i));
  }
  CHECK(names.size() == feature_length);
  CHECK_THROWS_AS(feature_facts(feature_length), test::AssertionFailed);
}
