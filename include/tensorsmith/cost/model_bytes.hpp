// SPDX-License-Identifier: Apache-2.0
// The byte form of a saved cost model: a checked frame around the model's own payload.
//
// Floor 6. Own design. Little-endian on every machine. Frame: magic, frame version, model name,
// model schema version, the feature schema (blocks with the tags of their columns), payload size,
// checksum, payload. Everything that does not match is an error; nothing is guessed or converted.
// Not here: what a model stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/feature/block_schema.hpp"
#include "tensorsmith/support/file.hpp"
#include "tensorsmith/support/hash.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith {

enum class CostModelError : std::uint8_t {
  not_a_model,     ///< no magic at the start, or cut inside the header
  frame_version,   ///< written by another version of the frame
  wrong_model,     ///< another kind of model
  model_schema,    ///< same kind of model, other layout of its payload
  feature_schema,  ///< trained on other features
  truncated,       ///< shorter or longer than the header says
  checksum,        ///< damaged payload
  bad_payload,     ///< well framed, but the payload contradicts itself
  not_supported,   ///< this model cannot be saved or loaded
  cannot_read_file,
  cannot_write_file,
};

/// One sentence for people.
inline std::string_view explain(CostModelError error) {
  switch (error) {
  case CostModelError::not_a_model:
    return "this is not a saved cost model";
  case CostModelError::frame_version:
    return "saved by an incompatible version of tensorsmith";
  case CostModelError::wrong_model:
    return "saved by another kind of cost model";
  case CostModelError::model_schema:
    return "saved with another schema of this model";
  case CostModelError::feature_schema:
    return "trained on another feature schema";
  case CostModelError::truncated:
    return "the saved model has the wrong length";
  case CostModelError::checksum:
    return "the saved model is damaged (checksum)";
  case CostModelError::bad_payload:
    return "the saved model contradicts itself";
  case CostModelError::not_supported:
    return "this cost model cannot be saved";
  case CostModelError::cannot_read_file:
    return "the model file cannot be read";
  case CostModelError::cannot_write_file:
    return "the model file cannot be written";
  }
  return "unknown cost model error";
}

/// Why a model was refused: the rule that was broken, and the sentence for people with what was
/// found. A bare CostModelError converts to it, and it compares with one.
struct CostModelFault {
  CostModelError error = CostModelError::not_a_model;
  std::string message;

  CostModelFault(CostModelError code, const std::string& detail = "")
      : error(code), message(std::string(explain(code)) + (detail.empty() ? "" : ": ") + detail) {}
  friend bool operator==(const CostModelFault& fault, CostModelError code) {
    return fault.error == code;
  }
};

inline Failure<CostModelFault> refuse(CostModelError error, const std::string& detail = "") {
  return fail(CostModelFault(error, detail));
}

class ByteWriter {
 public:
  void u32(std::uint32_t value) { little_endian(value, 4); }
  void u64(std::uint64_t value) { little_endian(value, 8); }
  void f32(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    u32(bits);
  }
  void f64(double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    u64(bits);
  }
  void text(std::string_view value) {
    u32(static_cast<std::uint32_t>(value.size()));
    bytes_.append(value);
  }
  void raw(std::string_view value) { bytes_.append(value); }
  std::string take() { return std::move(bytes_); }

 private:
  void little_endian(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) {
      bytes_.push_back(static_cast<char>((value >> (8 * i)) & 0xFFU));
    }
  }
  std::string bytes_;
};

/// Reading past the end yields zeros and clears ok(); check it once at the end.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }
  std::uint32_t u32() { return static_cast<std::uint32_t>(little_endian(4)); }
  std::uint64_t u64() { return little_endian(8); }
  float f32() {
    const std::uint32_t bits = u32();
    float value = 0.0F;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  double f64() {
    const std::uint64_t bits = u64();
    double value = 0.0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  std::string_view text() { return raw(u32()); }
  std::string_view raw(std::size_t count) {
    if (count > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view result = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return result;
  }

 private:
  std::uint64_t little_endian(std::size_t count) {
    const std::string_view bytes = raw(count);
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i > 0; --i) {
      value = (value << 8) | static_cast<unsigned char>(bytes[i - 1]);
    }
    return value;
  }
  std::string_view rest_;
  bool ok_ = true;
};

constexpr std::string_view cost_model_magic = "TSMODEL\n";
constexpr std::uint32_t cost_model_frame_version = 2;
/// Larger files are no models.
constexpr std::int64_t most_model_bytes = std::int64_t{1} << 30;

namespace detail {

inline void write_schema(ByteWriter& out, const FeatureSchema& schema) {
  out.u32(static_cast<std::uint32_t>(schema.size()));
  for (const Shared<const BlockSchema>& block : schema) {
    out.text(block->name());
    out.u32(block->version());
    out.u32(block->num_rows());
    out.u32(static_cast<std::uint32_t>(block->num_columns()));
    for (const std::string& tag : block->tags()) {
      out.text(tag);
    }
  }
}

inline FeatureSchema read_schema(ByteReader& in) {
  FeatureSchema schema;
  const std::uint32_t num_blocks = in.u32();
  for (std::uint32_t b = 0; in.ok() && b < num_blocks; ++b) {
    std::string name(in.text());
    const std::uint32_t version = in.u32(), num_rows = in.u32(), num_columns = in.u32();
    std::vector<std::string> tags;
    for (std::uint32_t c = 0; in.ok() && c < num_columns; ++c) {
      tags.emplace_back(in.text());
    }
    schema.push_back(
        make_shared_of<const BlockSchema>(std::move(name), std::move(tags), num_rows, version));
  }
  return schema;
}

}  // namespace detail

/// Wraps a payload; unframe_model() gives it back or says what does not match. `schema`: the blocks
/// that the payload was trained on; none for a model that reads whatever there is.
inline std::string frame_model(std::string_view name, std::uint32_t schema_version,
                               std::string_view payload, const FeatureSchema& schema = {}) {
  ByteWriter out;
  out.raw(cost_model_magic);
  out.u32(cost_model_frame_version);
  out.text(name);
  out.u32(schema_version);
  detail::write_schema(out, schema);
  out.u64(payload.size());
  out.u64(hash_text(payload));
  out.raw(payload);
  return out.take();
}

inline Result<std::string_view, CostModelFault> unframe_model(std::string_view bytes,
                                                              std::string_view name,
                                                              std::uint32_t schema_version,
                                                              const FeatureSchema& schema = {}) {
  const auto versions = [](std::uint32_t found, std::uint32_t known) {
    return "version " + std::to_string(found) + ", this one reads " + std::to_string(known);
  };
  ByteReader in(bytes);
  if (in.raw(cost_model_magic.size()) != cost_model_magic) {
    return refuse(CostModelError::not_a_model);
  }
  if (const std::uint32_t version = in.u32(); in.ok() && version != cost_model_frame_version) {
    return refuse(CostModelError::frame_version, versions(version, cost_model_frame_version));
  }
  if (const std::string_view stored = in.text(); in.ok() && stored != name) {
    return refuse(CostModelError::wrong_model, in_quotes(stored) + ", not " + in_quotes(name));
  }
  if (const std::uint32_t version = in.u32(); in.ok() && version != schema_version) {
    return refuse(CostModelError::model_schema, versions(version, schema_version));
  }
  const FeatureSchema stored = detail::read_schema(in);
  const std::uint64_t size = in.u64();
  const std::uint64_t checksum = in.u64();
  if (!in.ok()) {
    return refuse(CostModelError::not_a_model);
  }
  if (hash_schema(stored) != hash_schema(schema)) {
    return refuse(CostModelError::feature_schema, schema_difference(stored, schema));
  }
  if (size != in.rest().size()) {
    return refuse(CostModelError::truncated);
  }
  if (checksum != hash_text(in.rest())) {
    return refuse(CostModelError::checksum);
  }
  return in.rest();
}

/// A reader of `path` sees the old or the new model.
inline Result<Done, CostModelFault> write_model_file(const std::string& path,
                                                     std::string_view bytes) {
  const Result<Done, FileError> written = write_file(path, bytes);
  return written ? Result<Done, CostModelFault>(Done{})
                 : refuse(CostModelError::cannot_write_file, written.error().message);
}

/// Of regular files up to most_model_bytes.
inline Result<std::string, CostModelFault> read_model_file(const std::string& path) {
  Result<std::string, FileError> bytes = read_file(path, {most_model_bytes, false});
  if (!bytes) {
    return refuse(CostModelError::cannot_read_file, bytes.error().message);
  }
  return std::move(bytes).value();
}

}  // namespace tensorsmith
