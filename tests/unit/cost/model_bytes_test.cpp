#include "tensorsmith/cost/model_bytes.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

using tensorsmith::ByteReader;
using tensorsmith::ByteWriter;
using tensorsmith::CostModelError;
using tensorsmith::frame_model;
using tensorsmith::unframe_model;

namespace {

std::string with_byte(std::string bytes, std::size_t position, char value) {
  bytes[position] = value;
  return bytes;
}

CostModelError error_of(const std::string& bytes) {
  const auto result = unframe_model(bytes, "mlp", 3);
  REQUIRE_FALSE(result.has_value());
  return result.error();
}

// magic 8, frame version 4, name length 4, "mlp" 3, model schema 4, feature schema 4, length 4,
// size 8, checksum 8, payload.
constexpr std::size_t frame_position = 8, name_position = 16, schema_position = 19,
                      feature_position = 23, length_position = 27, payload_position = 47;

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
  CHECK(error_of(with_byte(good, feature_position, 99)) == CostModelError::feature_schema);
  CHECK(error_of(with_byte(good, length_position, 1)) == CostModelError::feature_schema);
  CHECK(error_of(good.substr(0, good.size() - 1)) == CostModelError::truncated);
  CHECK(error_of(good + "x") == CostModelError::truncated);
  CHECK(error_of(with_byte(good, payload_position, 'P')) == CostModelError::checksum);
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
  const auto read = tensorsmith::read_model_file("no/such/directory/model");
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error() == CostModelError::cannot_read_file);
  const auto written = tensorsmith::write_model_file("no/such/directory/model", "x");
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error() == CostModelError::cannot_write_file);
}
