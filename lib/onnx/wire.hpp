// SPDX-License-Identifier: Apache-2.0
// WireReader: the fields of one message in the wire format of Protocol Buffers, in order.
//
// Private to lib/. After the public description of the encoding (protobuf.dev/programming-guides/
// encoding). Nothing is copied: what is no number is a view of the message. Groups, which no file
// of today has, are refused. Not here: what the fields mean (model.hpp).
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tensorsmith::onnx {

static_assert(std::endian::native == std::endian::little, "tensors of files are little-endian");

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t value = 0;  ///< of numbers; the bits of a float or double
  std::string_view bytes;   ///< of texts, messages and packed lists
};

class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  /// Whether there is another field, which is put into `field`. False at the end and at damage.
  bool next(WireField& field);
  bool is_good() const { return is_good_; }

 private:
  bool read_varint(std::uint64_t& value);
  bool damage() {
    is_good_ = false;
    rest_ = {};
    return false;
  }

  std::string_view rest_;
  bool is_good_ = true;
};

/// Appends the numbers of a repeated field, packed or not, to `list`; false: of another type or
/// damaged. Of 64-bit integers, and of floats by their bits.
bool append_integers(const WireField& field, std::vector<std::int64_t>& list);
bool append_floats(const WireField& field, std::vector<float>& list);

}  // namespace tensorsmith::onnx
