// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cuda/cuda_object.hpp"

#include "measure/payload.hpp"

namespace tensorsmith {

template <class A>
void transfer(A& a, CudaBuffer& b) {
  a(b.num_bytes), a(b.argument), a(b.workspace_offset), a(b.is_written);
}
template <class A>
void transfer(A& a, CudaLaunch& l) {
  a(l.kernel);
  for (std::size_t i = 0; i < 3; ++i) {
    a(l.grid[i]), a(l.block[i]);
  }
  a(l.static_shared_bytes), a(l.dynamic_shared_bytes), a(l.buffers);
}

namespace cuda {

namespace {

const std::string object_mark = "tensorsmith CUDA object";

struct ObjectMessage {
  std::string mark;
  CudaObject object;
};
template <class A>
void transfer(A& a, ObjectMessage& m) {
  a(m.mark), a(m.object.code), a(m.object.buffers), a(m.object.launches);
  a(m.object.workspace_bytes);
}

bool is_consistent(const CudaObject& object) {
  constexpr std::int64_t most = std::int64_t{1} << 44;
  if (object.workspace_bytes < 0 || object.workspace_bytes > most || object.launches.empty()) {
    return false;
  }
  for (const CudaBuffer& buffer : object.buffers) {
    const bool is_inside = buffer.argument >= 0 ||
                           (buffer.workspace_offset >= 0 && buffer.num_bytes >= 0 &&
                            buffer.num_bytes <= object.workspace_bytes &&
                            buffer.workspace_offset <= object.workspace_bytes - buffer.num_bytes);
    if (!is_inside) {
      return false;
    }
  }
  for (const CudaLaunch& launch : object.launches) {
    for (const std::int32_t b : launch.buffers) {
      if (b < 0 || static_cast<std::size_t>(b) >= object.buffers.size()) {
        return false;
      }
    }
    for (std::size_t i = 0; i < 3; ++i) {
      if (launch.grid[i] < 1 || launch.grid[i] > INT32_MAX || launch.block[i] < 1 ||
          launch.block[i] > 1024) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::vector<std::byte> encode_object(const CudaSource& source, const std::string& code) {
  ObjectMessage message{object_mark,
                        {code, source.buffers, source.launches, source.workspace_bytes}};
  PayloadWriter writer;
  writer(message);
  return writer.bytes();
}

std::optional<CudaObject> decode_object(std::span<const std::byte> bytes) {
  ObjectMessage message;
  PayloadReader reader(bytes.data(), bytes.size());
  reader(message);
  if (!reader.is_finished() || message.mark != object_mark || !is_consistent(message.object)) {
    return std::nullopt;
  }
  return std::move(message.object);
}

}  // namespace cuda
}  // namespace tensorsmith
