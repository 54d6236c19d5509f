// SPDX-License-Identifier: Apache-2.0
#include "onnx/wire.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/onnx_writer.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::test {
namespace {

std::size_t num_fields(std::string_view bytes, bool& is_good) {
  onnx::WireReader reader(bytes);
  onnx::WireField field;
  std::size_t count = 0;
  while (reader.next(field)) {
    ++count;
  }
  is_good = reader.is_good();
  return count;
}

}  // namespace

TEST_CASE("fields are read as they were written", "[onnx]") {
  CounterRng random(seed());
  for (int round = 0; round < 200; ++round) {
    WireMessage message;
    std::vector<std::uint64_t> numbers;
    std::vector<std::string> texts;
    for (int i = 0; i < 10; ++i) {
      const std::uint64_t number = random.next_u64() >> (random.next_u64() % 64);
      numbers.push_back(number);
      texts.emplace_back(static_cast<std::size_t>(random.next_u64() % 300), 'a');
      message.number(7, number).text(300, texts.back()).real(20, static_cast<float>(i));
    }
    onnx::WireReader reader(message.bytes());
    onnx::WireField field;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      REQUIRE(reader.next(field));
      REQUIRE((field.number == 7 && field.type == onnx::WireType::varint));
      REQUIRE(field.value == numbers[i]);
      REQUIRE(reader.next(field));
      REQUIRE((field.number == 300 && field.bytes == texts[i]));
      REQUIRE(reader.next(field));
      std::vector<float> reals;
      REQUIRE((field.number == 20 && onnx::append_floats(field, reals)));
      REQUIRE(reals == std::vector<float>{static_cast<float>(i)});
    }
    REQUIRE_FALSE(reader.next(field));
    REQUIRE(reader.is_good());
  }
}

TEST_CASE("a message that is cut is damaged, or has fewer fields", "[onnx]") {
  WireMessage message;
  message.number(1, 300).text(2, "abc").real(3, 1.5F).number(4, UINT64_MAX);
  const std::string& bytes = message.bytes();
  bool is_good = false;
  REQUIRE((num_fields(bytes, is_good) == 4 && is_good));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::size_t count = num_fields(std::string_view(bytes).substr(0, size), is_good);
    CHECK(count < 4);
    CHECK(is_good == (size == 0 || size == 3 || size == 8 || size == 13));
  }
}

TEST_CASE("numbers that are too long, groups and field 0 are damage", "[onnx]") {
  bool is_good = true;
  for (const std::string& bytes :
       {std::string("\x08") + std::string(9, '\xff') + "\x02",        // 65 bits
        std::string("\x08") + std::string(10, '\x80') + "\x01",       // 11 bytes
        std::string("\x0b\x0c"),                                      // a group
        std::string("\0\0", 2),                                       // field 0
        std::string("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),  // 2^64 - 1 bytes
        std::string("\x0d\0\0\0", 4)}) {                              // three bytes of a float
    CHECK(num_fields(bytes, is_good) == 0);
    CHECK_FALSE(is_good);
  }
}

TEST_CASE("repeated numbers are read packed and one by one", "[onnx]") {
  WireMessage packed;
  for (const std::int64_t value : {std::int64_t{1}, std::int64_t{-1}, std::int64_t{300}}) {
    packed.varint(static_cast<std::uint64_t>(value));
  }
  WireMessage message;
  message.message(8, packed).number(8, 5);
  onnx::WireReader reader(message.bytes());
  onnx::WireField field;
  std::vector<std::int64_t> list;
  while (reader.next(field)) {
    REQUIRE(onnx::append_integers(field, list));
  }
  CHECK(list == std::vector<std::int64_t>{1, -1, 300, 5});
  field.bytes = "\x80";
  field.type = onnx::WireType::bytes;
  CHECK_FALSE(onnx::append_integers(field, list));
  field.bytes = "abc";
  std::vector<float> reals;
  CHECK_FALSE(onnx::append_floats(field, reals));
}

}  // namespace tensorsmith::test
