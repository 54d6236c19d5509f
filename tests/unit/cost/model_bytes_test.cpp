// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/model_bytes.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include <sys/stat.h>

using namespace tensorsmith;

namespace {

std::string with_byte(std::string bytes, std::size_t position, char value) {
  bytes[position] = value;
  return bytes;
}

FeatureSchema schema_of(std::vector<std::string> tags, std::string name = "b",
                        std::uint32_t num_rows = 0, std::uint32_t version = 1) {
  return {make_shared_of<const BlockSchema>(std::move(name), std::move(tags), num_rows, version)};
}

CostModelFault error_of(const std::string& bytes, const FeatureSchema& schema = {}) {
  const auto result = unframe_model(bytes, "mlp", 3, schema);
  REQUIRE_FALSE(result.has_value());
  return result.error();
}

// magic 8, frame version 4, name length 4, "mlp" 3, model schema 4, number of blocks 4, size 8,
// checksum 8, payload.
constexpr std::size_t frame_position = 8, name_position = 16, schema_position = 19,
                      payload_position = 43;

}  // namespace

TEST_CASE("bytes: round trip, little-endian, end of input", "[cost]") {
  ByteWriter out;
  out.u32(0x01020304U);
  out.u64(0x1122334455667788ULL);
  out.f32(-0.0F);
  out.f64(std::numeric_limits<double>::denorm_min());
  out.text("ab");
  const std::string bytes = out.take();
  CHECK(bytes.substr(0, 4) == std::string("\x04\x03\x02\x01"));
  ByteReader in(bytes);
  CHECK(in.u32() == 0x01020304U);
  CHECK(in.u64() == 0x1122334455667788ULL);
  const float zero = in.f32();
  CHECK(1.0F / zero < 0.0F);
  CHECK(in.f64() == std::numeric_limits<double>::denorm_min());
  CHECK(in.text() == "ab");
  CHECK(in.ok());
  CHECK(in.rest().empty());
  CHECK(in.u32() == 0);
  CHECK_FALSE(in.ok());
}

TEST_CASE("frame: round trip, also of an empty payload", "[cost]") {
  for (const std::string& payload : {std::string("payload"), std::string()}) {
    const std::string bytes = frame_model("mlp", 3, payload);
    const auto result = unframe_model(bytes, "mlp", 3);
    REQUIRE(result.has_value());
    CHECK(*result == payload);
  }
}

TEST_CASE("frame: every mismatch is its own error", "[cost]") {
  const std::string good = frame_model("mlp", 3, "payload");
  CHECK(error_of("") == CostModelError::not_a_model);
  CHECK(error_of(with_byte(good, 0, 'x')) == CostModelError::not_a_model);
  CHECK(error_of(good.substr(0, payload_position - 1)) == CostModelError::not_a_model);
  CHECK(error_of(with_byte(good, frame_position, 9)) == CostModelError::frame_version);
  CHECK(error_of(with_byte(good, name_position, 'x')) == CostModelError::wrong_model);
  CHECK(error_of(frame_model("random", 3, "payload")) == CostModelError::wrong_model);
  CHECK(error_of(frame_model("mlp", 2, "payload")) == CostModelError::model_schema);
  CHECK(error_of(with_byte(good, schema_position, 4)) == CostModelError::model_schema);
  CHECK(error_of(good, schema_of({"x"})) == CostModelError::feature_schema);
  CHECK(error_of(good.substr(0, good.size() - 1)) == CostModelError::truncated);
  CHECK(error_of(good + "x") == CostModelError::truncated);
  CHECK(error_of(with_byte(good, payload_position, 'P')) == CostModelError::checksum);
}

TEST_CASE("frame: weights of other features are refused with the columns that differ", "[cost]") {
  const FeatureSchema stored = schema_of({"x", "y", "z"});
  const std::string bytes = frame_model("mlp", 3, "payload", stored);
  REQUIRE(unframe_model(bytes, "mlp", 3, schema_of({"x", "y", "z"})).has_value());
  const auto says = [&](const FeatureSchema& now) {
    const CostModelFault fault = error_of(bytes, now);
    CHECK(fault == CostModelError::feature_schema);
    return fault.message.substr(std::string("trained on another feature schema: ").size());
  };
  CHECK(says(schema_of({"x", "y"})) == "block \"b\": no column \"z\" any more");
  CHECK(says(schema_of({"x", "y", "z", "w"})) == "block \"b\": column \"w\" is new");
  CHECK(says(schema_of({"a", "b", "c", "d", "e"})) ==
        "block \"b\": no column \"x\", \"y\", \"z\" any more, column \"a\", \"b\", \"c\" and 2 "
        "more is new");
  CHECK(says(schema_of({"x", "z", "y"})) == "block \"b\": column 1 is \"z\", was \"y\"");
  CHECK(says(schema_of({"x", "y", "z"}, "b", 1)) == "block \"b\": 1 rows (0: any), were 0");
  CHECK(says(schema_of({"x", "y", "z"}, "b", 0, 2)) ==
        "block \"b\": the columns mean what version 2 says, not 1");
  CHECK(says({}) == "block \"b\" is not read any more");
  CHECK(says(schema_of({"x", "y", "z"}, "other")) ==
        "block \"b\" is not read any more; block \"other\" is new");
}

TEST_CASE("frame: a model of the first version is refused with both versions", "[cost]") {
  ByteWriter old;
  old.raw(cost_model_magic);
  old.u32(1);
  old.text("mlp");
  const CostModelFault fault = error_of(old.take());
  CHECK(fault == CostModelError::frame_version);
  CHECK(fault.message ==
        "saved by an incompatible version of tensorsmith: version 1, this one reads 2");
}

TEST_CASE("frame: a schema that claims more columns than there are bytes is refused", "[cost]") {
  ByteWriter out;
  out.raw(cost_model_magic);
  out.u32(cost_model_frame_version);
  out.text("mlp");
  out.u32(3);
  out.u32(0xFFFFFFFF);  // blocks
  out.text("b");
  out.u32(1);
  out.u32(0);
  out.u32(0xFFFFFFFF);  // columns
  out.text("x");
  CHECK(error_of(out.take()) == CostModelError::not_a_model);
}

TEST_CASE("every error has a sentence of its own", "[cost]") {
  std::vector<std::string_view> seen;
  for (int i = 0; i <= static_cast<int>(CostModelError::cannot_write_file); ++i) {
    const std::string_view text = tensorsmith::explain(static_cast<CostModelError>(i));
    CHECK(text != "unknown cost model error");
    CHECK(std::find(seen.begin(), seen.end(), text) == seen.end());
    seen.push_back(text);
  }
}

TEST_CASE("files that cannot be read or written", "[cost]") {
  const auto read = read_model_file("no/such/directory/model");
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error() == CostModelError::cannot_read_file);
  const auto written = write_model_file("no/such/directory/model", "x");
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error() == CostModelError::cannot_write_file);
}

TEST_CASE("what is no regular file is refused at once, with its name", "[cost]") {
  const std::string pipe = "model_bytes_test_" + std::to_string(test::seed()) + ".pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {pipe, std::string("/dev/zero"), std::string(".")}) {
    const auto read = read_model_file(path);
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error() == CostModelError::cannot_read_file);
    CHECK(read.error().message.find(path) != std::string::npos);
  }
  std::remove(pipe.c_str());
}
