// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/feature/block_schema.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

namespace {

FeatureSchema one_block(std::vector<std::string> tags) {
  return {make_shared_of<const BlockSchema>("b", std::move(tags))};
}

}  // namespace

TEST_CASE("schema: tags have positions, and the hash is that of name, version, rows and tags",
          "[feature]") {
  const BlockSchema schema("b", {"x", "y"});
  CHECK(schema.num_columns() == 2);
  CHECK(schema.num_rows() == 0);
  CHECK(schema.column("y") == 1);
  CHECK(schema.column("z") == 2);
  CHECK(schema.hash() == BlockSchema("b", {"x", "y"}).hash());
  for (const BlockSchema& other :
       {BlockSchema("c", {"x", "y"}), BlockSchema("b", {"y", "x"}), BlockSchema("b", {"x"}),
        BlockSchema("b", {"x", "y"}, 1), BlockSchema("b", {"x", "y"}, 0, 2),
        BlockSchema("b", {"xy"}), BlockSchema("b", {"x", "y", ""})}) {
    CHECK(schema.hash() != other.hash());
  }
}

TEST_CASE("schemas of one hash have no difference, others have one in words", "[feature]") {
  CHECK(schema_difference(one_block({"x"}), one_block({"x"})) == "");
  CHECK(schema_difference(one_block({"x"}), one_block({"x", "x2"})) ==
        "block \"b\": column \"x2\" is new");
  FeatureSchema two = one_block({"x"});
  two.push_back(make_shared_of<const BlockSchema>("c", std::vector<std::string>{"y"}));
  const FeatureSchema turned{two[1], two[0]};
  CHECK(hash_schema(two) != hash_schema(turned));
  CHECK(schema_difference(two, turned) == "the blocks have another order");
  CHECK(schema_difference(one_block({"x", "x"}), one_block({"x"})) ==
        "block \"b\": 1 columns, were 2");
}
