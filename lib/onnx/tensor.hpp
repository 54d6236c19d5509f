// SPDX-License-Identifier: Apache-2.0
// Tensors of the file become constants: views of it wherever its bytes are those of memory.
//
// Private to lib/. Own design. Bytes of raw data, packed lists of f32 and f64, and files of weights
// are viewed; what the format stores as variable-length numbers is written into a buffer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/mapped_file.hpp"
#include "onnx/model.hpp"
#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith::onnx {

/// Of TensorProto.DataType. Error: a clause that says which type is not read.
Result<DType, std::string> element_type(std::int64_t type);
/// Number of elements; an error if an extent is negative or the bytes leave 63 bits.
Result<std::int64_t, std::string> checked_size(const std::vector<std::int64_t>& dims, DType type);

class TensorReader {
 public:
  /// `owner` keeps the model's bytes. `folder` of files of weights and the
  /// path of the model itself (a link may lead to another folder); both empty: there are none.
  TensorReader(Shared<const graph::ByteOwner> owner, std::string folder, std::string model_path,
               std::int64_t most_bytes)
      : owner_(std::move(owner)), folder_(std::move(folder)), model_path_(std::move(model_path)),
        most_bytes_(most_bytes) {}

  /// Error: a clause, without the tensor's name.
  Result<graph::Constant, std::string> read(const TensorMessage& tensor);

 private:
  Result<graph::Constant, std::string> read_external(const TensorMessage& tensor,
                                                     graph::Constant constant, std::int64_t bytes);
  Result<Shared<const MappedFile>, std::string> file_of_weights(std::string_view location);

  Shared<const graph::ByteOwner> owner_;
  std::string folder_, model_path_;
  std::int64_t most_bytes_;
  std::vector<std::pair<std::string, Shared<const MappedFile>>> files_;  ///< by location
};

}  // namespace tensorsmith::onnx
