// SPDX-License-Identifier: Apache-2.0
// A file mapped into memory: what constants of a network refer to instead of being copied.
//
// Private to lib/. Own design. Pages come from the file when they are first read, and the system
// may drop them again, so a mapped file costs no memory of the process' own. A file that is cut
// while it is mapped ends a reader with SIGBUS, as every mapping does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/support/file.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith::onnx {

class MappedFile final : public graph::ByteOwner {
 public:
  /// Takes memory that mmap gave.
  explicit MappedFile(std::string_view bytes) : bytes_(bytes) {}
  ~MappedFile() override;
  void drop() const override;

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

/// Error: no regular file, empty, larger than `most_bytes`, or not readable; names the file.
Result<Shared<const MappedFile>, FileError> map_file(const std::string& path,
                                                     std::int64_t most_bytes);

}  // namespace tensorsmith::onnx
