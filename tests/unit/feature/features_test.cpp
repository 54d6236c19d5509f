// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/feature/features.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

namespace {

FeatureBlock block_of(std::uint32_t num_rows, std::vector<float> values) {
  static const auto any_rows =
      make_shared_of<const BlockSchema>("any", std::vector<std::string>{"x", "y"});
  static const auto one_row =
      make_shared_of<const BlockSchema>("one", std::vector<std::string>{"x", "y"}, 1U);
  return {num_rows == 0 ? one_row : any_rows, num_rows == 0 ? 1 : num_rows, std::move(values)};
}

}  // namespace

TEST_CASE("the schema of the reference's block is its list of column names", "[feature]") {
  const BlockSchema& schema = *ansor_schema();
  CHECK(schema.name() == "ansor164");
  REQUIRE(schema.num_columns() == feature_length);
  CHECK(schema.column("B3.stride") == column(3, BufferColumn::stride));
  CHECK(schema.column("outer_prod") == column(TailColumn::outer_prod));
  // As it was when models were first saved with it: see features.def before changing this.
  CHECK(schema.hash() == 0x4001d4da2b919200ULL);
}

TEST_CASE("rows of the reference are features of one block; no rows are no features", "[feature]") {
  FeatureMatrix rows;
  CHECK(Features(rows).empty());
  rows.add_row()[3] = 2;
  rows.add_row()[5] = 4;
  const Features features = rows;
  REQUIRE(features.blocks().size() == 1);
  const FeatureBlock& block = features.block("ansor164");
  CHECK(block.is_well_formed());
  CHECK(block.num_rows == 2);
  CHECK(block.row(1)[5] == 4);
  CHECK(hash_features(features) == hash_features(rows));
  CHECK(features == Features(rows));
  CHECK(features.find("draft") == nullptr);
  CHECK_THROWS_AS(features.block("draft"), test::AssertionFailed);
}

TEST_CASE("a block has as many numbers as its rows and its schema say", "[feature]") {
  FeatureBlock block = block_of(1, {1, 2});
  CHECK(block.is_well_formed());
  block.add_row()[1] = 7;
  CHECK(block.row(1)[1] == 7);
  CHECK(block.is_well_formed());
  CHECK_THROWS_AS(block.row(2), test::AssertionFailed);
  block.values.pop_back();
  CHECK_FALSE(block.is_well_formed());
  FeatureBlock fixed = block_of(0, {1, 2});
  CHECK(fixed.is_well_formed());
  fixed.add_row();
  CHECK_FALSE(fixed.is_well_formed());
}

TEST_CASE("the hash of features follows their numbers and how many rows there are", "[feature]") {
  const Features a({block_of(1, {1, 2})}), b({block_of(1, {1, 3})}), one({block_of(0, {1, 2})});
  CHECK(hash_features(a) == hash_features(Features({block_of(1, {1, 2})})));
  CHECK(hash_features(a) != hash_features(b));
  CHECK(hash_features(a) != hash_features(one));  // its rows are not counted
  CHECK(hash_features(Features({block_of(1, {1, 2}), block_of(0, {3, 4})})) !=
        hash_features(Features({block_of(0, {3, 4}), block_of(1, {1, 2})})));
}
