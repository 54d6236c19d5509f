// SPDX-License-Identifier: Apache-2.0
#include "onnx/tensor.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "onnx/wire.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith::onnx {
namespace {

using graph::Constant;

struct ElementType {
  std::int64_t number;
  std::string_view name;
  bool is_read;
  DType type;
};
constexpr std::array<ElementType, 27> element_types = {{
    {1, "float", true, DType::f32},
    {2, "uint8", true, DType::u8},
    {3, "int8", true, DType::i8},
    {4, "uint16", false, DType::f32},
    {5, "int16", true, DType::i16},
    {6, "int32", true, DType::i32},
    {7, "int64", true, DType::i64},
    {8, "string", false, DType::f32},
    {9, "bool", true, DType::boolean},
    {10, "float16", true, DType::f16},
    {11, "double", true, DType::f64},
    {12, "uint32", false, DType::f32},
    {13, "uint64", false, DType::f32},
    {14, "complex64", false, DType::f32},
    {15, "complex128", false, DType::f32},
    {16, "bfloat16", true, DType::bf16},
    {17, "float8e4m3fn", false, DType::f32},
    {18, "float8e4m3fnuz", false, DType::f32},
    {19, "float8e5m2", false, DType::f32},
    {20, "float8e5m2fnuz", false, DType::f32},
    {21, "uint4", false, DType::f32},
    {22, "int4", false, DType::f32},
    {23, "float4e2m1", false, DType::f32},
    {24, "float8e8m0", false, DType::f32},
    {25, "uint2", false, DType::f32},
    {26, "int2", false, DType::f32},
    {0, "undefined", false, DType::f32},
}};

/// Field of TensorProto that has the elements when they are not raw.
std::uint32_t typed_field(DType type) {
  switch (type) {
  case DType::f32:
    return 4;
  case DType::f64:
    return 10;
  case DType::i64:
    return 7;
  default:
    return 5;
  }
}

std::span<const std::byte> bytes_of_text(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string count_problem(std::size_t bytes, std::int64_t wanted) {
  return "it has " + std::to_string(bytes) + " bytes of elements, its shape and type need " +
         std::to_string(wanted);
}

/// A bool that is neither 0 nor 1 becomes 1, in a buffer of its own.
void normalise_bools(Constant& constant) {
  for (const std::byte value : constant.bytes) {
    if (value > std::byte{1}) {
      std::vector<std::byte> bytes(constant.bytes.begin(), constant.bytes.end());
      for (std::byte& b : bytes) {
        b = b == std::byte{0} ? b : std::byte{1};
      }
      constant = graph::make_constant(constant.dtype, constant.shape, std::move(bytes));
      return;
    }
  }
}

/// Elements of 4 or 8 bytes that are stored as they lie in memory.
Result<Constant, std::string> read_fixed(const TensorMessage& tensor, Constant constant,
                                         std::int64_t num_bytes) {
  const std::uint32_t number = typed_field(constant.dtype);
  const WireType single = constant.dtype == DType::f32 ? WireType::fixed32 : WireType::fixed64;
  const auto size = static_cast<std::size_t>(bytes_of(constant.dtype));
  std::vector<std::string_view> pieces;
  std::vector<std::byte> joined;
  WireReader reader(tensor.message);
  WireField field;
  std::size_t total = 0;
  const auto join = [&](const void* from, std::size_t length) {
    const auto* begin = static_cast<const std::byte*>(from);
    joined.insert(joined.end(), begin, begin + length);
  };
  while (reader.next(field)) {
    if (field.number != number) {
      continue;
    }
    const bool is_packed = field.type == WireType::bytes;
    if ((!is_packed && field.type != single) || (is_packed && field.bytes.size() % size != 0)) {
      return fail(std::string("its list of elements is damaged"));
    }
    total += is_packed ? field.bytes.size() : size;
    if (total > static_cast<std::size_t>(num_bytes)) {
      return fail(count_problem(total, num_bytes));
    }
    if (is_packed && total == static_cast<std::size_t>(num_bytes) && joined.empty()) {
      pieces.push_back(field.bytes);  // all of it in one piece
    } else if (is_packed) {
      join(field.bytes.data(), field.bytes.size());
    } else {
      join(&field.value, size);
    }
  }
  if (total != static_cast<std::size_t>(num_bytes)) {
    return fail(count_problem(total, num_bytes));
  }
  if (!pieces.empty()) {
    constant.bytes = bytes_of_text(pieces.front());
    return constant;
  }
  return graph::make_constant(constant.dtype, constant.shape, std::move(joined));
}

/// Elements that are stored as numbers of variable length.
Result<Constant, std::string> read_varints(const TensorMessage& tensor, const Constant& constant,
                                           std::int64_t num_bytes) {
  std::vector<std::int64_t> elements;
  WireReader reader(tensor.message);
  WireField field;
  while (reader.next(field)) {
    if (field.number == typed_field(constant.dtype) && !append_integers(field, elements)) {
      return fail(std::string("its list of elements is damaged"));
    }
  }
  const auto size = static_cast<std::size_t>(bytes_of(constant.dtype));
  if (elements.size() * size != static_cast<std::size_t>(num_bytes)) {
    return fail(count_problem(elements.size() * size, num_bytes));
  }
  const bool is_bits = constant.dtype == DType::f16 || constant.dtype == DType::bf16;
  const IntegerLimits limits = is_bits ? IntegerLimits{0, 0xFFFF} : limits_of(constant.dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(num_bytes));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i] < limits.low || elements[i] > limits.high) {
      return fail("its element " + std::to_string(i) + " is " + std::to_string(elements[i]) +
                  ", which is outside its type");
    }
    std::memcpy(bytes.data() + i * size, &elements[i], size);  // the low bytes come first
  }
  return graph::make_constant(constant.dtype, constant.shape, std::move(bytes));
}

bool read_decimal(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

/// Whether `path` lies in `folder` or below it; both without links.
bool is_below(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const auto [part, other] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return part == folder.end() && other != path.end();
}

}  // namespace

Result<DType, std::string> element_type(std::int64_t type) {
  for (const ElementType& known : element_types) {
    if (known.number == type) {
      if (known.is_read) {
        return known.type;
      }
      return fail("elements of type " + std::string(known.name) + " are not read");
    }
  }
  return fail("elements of the unknown type " + std::to_string(type) + " are not read");
}

Result<std::int64_t, std::string> checked_size(const std::vector<std::int64_t>& dims, DType type) {
  std::int64_t count = 1;
  bool is_empty = false;
  for (const std::int64_t extent : dims) {
    if (extent < 0) {
      return fail("its shape " + graph::shape_text(dims) + " has a negative extent");
    }
    is_empty = is_empty || extent == 0;
  }
  for (const std::int64_t extent : dims) {
    if (!is_empty && extent > INT64_MAX / bytes_of(type) / count) {
      return fail("its shape " + graph::shape_text(dims) + " has more elements than memory has");
    }
    count = is_empty ? 0 : count * extent;
  }
  return count;
}

Result<Constant, std::string> TensorReader::read(const TensorMessage& tensor) {
  const auto type = element_type(tensor.type);
  if (!type) {
    return fail(type.error());
  }
  const auto count = checked_size(tensor.dims, *type);
  if (!count) {
    return fail(count.error());
  }
  const std::int64_t num_bytes = *count * bytes_of(*type);
  Constant constant;
  constant.dtype = *type;
  constant.shape = tensor.dims;
  constant.owner = owner_;
  if (tensor.is_external) {
    return read_external(tensor, std::move(constant), num_bytes);
  }
  if (tensor.has_raw) {
    if (tensor.raw.size() != static_cast<std::size_t>(num_bytes)) {
      return fail(count_problem(tensor.raw.size(), num_bytes));
    }
    constant.bytes = bytes_of_text(tensor.raw);
    if (*type == DType::boolean) {
      normalise_bools(constant);
    }
    return constant;
  }
  return *type == DType::f32 || *type == DType::f64
             ? read_fixed(tensor, std::move(constant), num_bytes)
             : read_varints(tensor, constant, num_bytes);
}

Result<Constant, std::string> TensorReader::read_external(const TensorMessage& tensor,
                                                          Constant constant,
                                                          std::int64_t num_bytes) {
  const std::string name = in_quotes(tensor.location);
  std::int64_t offset = 0, length = num_bytes;
  if ((!tensor.offset.empty() && !read_decimal(tensor.offset, offset)) ||
      (!tensor.length.empty() && !read_decimal(tensor.length, length))) {
    return fail("the place of its elements in " + name + " is no number of bytes");
  }
  if (length != num_bytes) {
    return fail(count_problem(static_cast<std::size_t>(length), num_bytes));
  }
  if (num_bytes == 0) {
    return constant;
  }
  const auto file = file_of_weights(tensor.location);
  if (!file) {
    return fail(file.error());
  }
  const auto size = static_cast<std::int64_t>((*file)->bytes().size());
  if (offset > size || length > size - offset) {
    return fail("its elements are " + std::to_string(length) + " bytes from byte " +
                std::to_string(offset) + " of " + name + ", which has " + std::to_string(size));
  }
  constant.bytes = bytes_of_text(
      (*file)->bytes().substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(length)));
  constant.owner = *file;
  if (constant.dtype == DType::boolean) {
    normalise_bools(constant);
  }
  return constant;
}

Result<Shared<const MappedFile>, std::string>
TensorReader::file_of_weights(std::string_view location) {
  const std::string name(location);
  for (const auto& [known, file] : files_) {
    if (known == name) {
      return file;
    }
  }
  const std::filesystem::path relative(name);
  bool is_inside = !name.empty() && name.find('\0') == std::string::npos && relative.is_relative();
  for (const auto& part : relative) {
    is_inside = is_inside && part != "..";
  }
  if (!is_inside) {
    return fail("its file of weights " + in_quotes(name) +
                " is not named by a path below the model's folder");
  }
  if (folder_.empty()) {
    return fail("its elements are in the file " + in_quotes(name) +
                ", and a model in memory has none beside it");
  }
  // A link may lead elsewhere inside the folder of the model, or of what the model is a link to.
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::weakly_canonical(folder_, error);
  const std::filesystem::path full = std::filesystem::weakly_canonical(folder / relative, error);
  const std::filesystem::path real_model =
      model_path_.empty() ? folder / "model"
                          : std::filesystem::weakly_canonical(model_path_, error);
  if (!is_below(full, folder) && !is_below(full, real_model.parent_path())) {
    return fail("its file of weights " + in_quotes(name) +
                " is a link that leaves the model's folder");
  }
  auto file = map_file(full.string(), most_bytes_);
  if (!file) {
    return fail("its file of weights: " + file.error().message);
  }
  files_.emplace_back(name, *file);
  return *file;
}

}  // namespace tensorsmith::onnx
