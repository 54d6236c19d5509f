// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/feature/feature_vector.hpp"

#include "support/catch.hpp"

using tensorsmith::feature_length;
using tensorsmith::FeatureMatrix;
using tensorsmith::hash_features;

TEST_CASE("a new feature matrix is empty: extraction failed", "[feature]") {
  const FeatureMatrix features;
  CHECK(features.empty());
  CHECK(features.is_well_formed());
}

TEST_CASE("rows are added as zeros and stored row by row", "[feature]") {
  FeatureMatrix features;
  features.add_row()[3] = 1.5F;
  features.add_row()[feature_length - 1] = 2.5F;
  REQUIRE(features.num_rows == 2);
  REQUIRE(features.is_well_formed());
  CHECK_FALSE(features.empty());
  CHECK(features.row(0)[3] == 1.5F);
  CHECK(features.row(0)[4] == 0.0F);
  CHECK(features.values[2 * feature_length - 1] == 2.5F);
}

TEST_CASE("a row out of range and a wrong size are asserted", "[feature]") {
  FeatureMatrix features;
  features.add_row();
  CHECK_THROWS_AS(features.row(1), tensorsmith::test::AssertionFailed);
  features.values.pop_back();
  CHECK_FALSE(features.is_well_formed());
  CHECK_THROWS_AS(features.row(0), tensorsmith::test::AssertionFailed);
}

TEST_CASE("the hash follows the content", "[feature]") {
  FeatureMatrix a, b, two_rows;
  a.add_row()[0] = 1.0F;
  b.add_row()[0] = 1.0F;
  CHECK(hash_features(a) == hash_features(b));
  b.row(0)[1] = 1.0F;
  CHECK(hash_features(a) != hash_features(b));
  two_rows = a;
  two_rows.add_row();
  CHECK(hash_features(a) != hash_features(two_rows));
}
