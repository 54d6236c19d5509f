// SPDX-License-Identifier: Apache-2.0
// requires: cuda json
#include "bench/gpu/dnn.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "tensorsmith/cuda/shared_library.hpp"

namespace tensorsmith::bench {
namespace {

using cuda::DevicePointer;
using cuda::find_function;
using cuda::Status;

// Of cudnnTensorFormat_t, cudnnConvolutionMode_t, cudnnMathType_t,
// cudnnSoftmaxAlgorithm_t.
constexpr int nchw_format = 0, nhwc_format = 1, cross_correlation = 1, fma_math = 3,
              accurate_softmax = 1;
constexpr int num_algorithms = 8;
/// From here on they transform (FFT, Winograd). The transforms' coefficients, up to 8 for
/// F(4 x 4, 3 x 3), enlarge errors by an order of magnitude.
constexpr int first_transforming = 4;
constexpr double transformed_rounding = 16;
constexpr float dnn_one = 1, dnn_zero = 0;
constexpr std::size_t element = sizeof(float);

/// Opens the library once per process.
void* cudnn_library(std::string& problem) {
  static std::string why;
  static void* const opened = [] {
    void* handle = nullptr;
    if (const char* named = std::getenv("TENSORSMITH_CUDNN"); named != nullptr && *named != 0) {
      handle = cuda::open_library(named, why);
      why = "cuDNN not found: " + why;
      return handle;
    }
    for (const char* name : {"libcudnn.so.9", "libcudnn.so.8"}) {
      handle = handle != nullptr ? handle : cuda::open_library(name, why);
    }
    why = "cuDNN not found: there is neither libcudnn.so.9 nor libcudnn.so.8; install it, or set "
          "TENSORSMITH_CUDNN";
    return handle;
  }();
  problem = opened != nullptr ? std::string() : why;
  return opened;
}

using Shape = std::array<std::int64_t, 4>;
using Order = std::array<std::size_t, 4>;

/// An array of `shape` with its dimensions in another order: dimension d of it was order[d].
std::vector<std::byte> reordered(const std::vector<std::byte>& data, const Shape& shape,
                                 const Order& order) {
  Shape strides{};
  std::int64_t stride = 1;
  for (std::size_t d = 4; d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  std::vector<std::byte> result(data.size());
  std::byte* to = result.data();
  Shape at{};
  for (at[0] = 0; at[0] < shape[order[0]]; ++at[0]) {
    for (at[1] = 0; at[1] < shape[order[1]]; ++at[1]) {
      for (at[2] = 0; at[2] < shape[order[2]]; ++at[2]) {
        for (at[3] = 0; at[3] < shape[order[3]]; ++at[3], to += element) {
          std::int64_t from = 0;
          for (std::size_t d = 0; d < 4; ++d) {
            from += at[d] * strides[order[d]];
          }
          std::memcpy(to, data.data() + static_cast<std::size_t>(from) * element, element);
        }
      }
    }
  }
  return result;
}

std::size_t bytes_of(const Shape& shape) {
  return static_cast<std::size_t>(std::accumulate(shape.begin(), shape.end(), std::int64_t{1},
                                                  std::multiplies<std::int64_t>())) *
         element;
}

DevicePointer new_memory(const cuda::Device& device, std::size_t num_bytes) {
  DevicePointer pointer = 0;
  require_good(device.driver().allocate(&pointer, std::max<std::size_t>(num_bytes, 1)), device,
               "allocating for cuDNN");
  return pointer;
}

/// Memory of its own with the array at `from`, reordered.
DevicePointer new_reordered(const cuda::Device& device, DevicePointer from, const Shape& shape,
                            const Order& order) {
  std::vector<std::byte> host(bytes_of(shape));
  require_good(device.driver().to_host(host.data(), from, host.size()), device, "reading back");
  host = reordered(host, shape, order);
  const DevicePointer made = new_memory(device, host.size());
  require_good(device.driver().to_device(made, host.data(), host.size()), device, "copying");
  return made;
}

struct Convolutions {
  int (*create_tensor)(void**) = nullptr;
  int (*set_tensor)(void*, int, int, int, int, int, int) = nullptr;
  int (*create_filter)(void**) = nullptr;
  int (*set_filter)(void*, int, int, int, int, int, int) = nullptr;
  int (*create)(void**) = nullptr;
  int (*set)(void*, int, int, int, int, int, int, int, int) = nullptr;
  int (*set_groups)(void*, int) = nullptr;
  int (*set_math)(void*, int) = nullptr;
  int (*get_workspace)(void*, void*, void*, void*, void*, int, std::size_t*) = nullptr;
  int (*run)(void*, const void*, void*, const void*, void*, const void*, void*, int, void*,
             std::size_t, const void*, void*, void*) = nullptr;

  bool find(void* library) {
    return find_function(library, "cudnnCreateTensorDescriptor", create_tensor) &&
           find_function(library, "cudnnSetTensor4dDescriptor", set_tensor) &&
           find_function(library, "cudnnCreateFilterDescriptor", create_filter) &&
           find_function(library, "cudnnSetFilter4dDescriptor", set_filter) &&
           find_function(library, "cudnnCreateConvolutionDescriptor", create) &&
           find_function(library, "cudnnSetConvolution2dDescriptor", set) &&
           find_function(library, "cudnnSetConvolutionGroupCount", set_groups) &&
           find_function(library, "cudnnSetConvolutionMathType", set_math) &&
           find_function(library, "cudnnGetConvolutionForwardWorkspaceSize", get_workspace) &&
           find_function(library, "cudnnConvolutionForward", run);
  }
};

/// Every algorithm that takes the convolution in one layout, its memory included.
void add_algorithms(cuda::Device& device, const Cudnn& cudnn, const Convolutions& functions,
                    const ops::ConvParams& p, bool is_nhwc, std::array<DevicePointer, 3> data,
                    std::vector<GpuPeer>& found) {
  constexpr std::size_t most_workspace = std::size_t{1} << 30;
  const std::int64_t height = p.out_spatial(0), width = p.out_spatial(1);
  const std::int64_t inner = p.ci / p.groups;
  GpuPeer peer = peer_of(cudnn);
  peer.version += is_nhwc ? ", NHWC" : ", NCHW";
  peer.output = data[2];
  // Activations: [n, h, w, c] or [n, c, h, w]. Weights: ours [r, s, i, o] or [o, i, r, s].
  const bool was_nhwc = p.layout == ops::Layout::nhwc;
  if (was_nhwc != is_nhwc) {
    const Shape x = was_nhwc ? Shape{p.n, p.spatial[0], p.spatial[1], p.ci}
                             : Shape{p.n, p.ci, p.spatial[0], p.spatial[1]};
    const Shape y = is_nhwc ? Shape{p.n, height, width, p.co} : Shape{p.n, p.co, height, width};
    const Order to_nchw{0, 3, 1, 2}, to_nhwc{0, 2, 3, 1};
    data[0] = new_reordered(device, data[0], x, is_nhwc ? to_nhwc : to_nchw);
    data[2] = new_memory(device, bytes_of(y));
    peer.output = data[2];
    peer.reorder = [y, order = is_nhwc ? to_nchw : to_nhwc](std::vector<std::byte>& result) {
      result = reordered(result, y, order);
    };
  }
  const Shape w = was_nhwc ? Shape{p.kernel[0], p.kernel[1], inner, p.co}
                           : Shape{p.co, inner, p.kernel[0], p.kernel[1]};
  data[1] = new_reordered(device, data[1], w,
                          was_nhwc ? (is_nhwc ? Order{3, 0, 1, 2} : Order{3, 2, 0, 1})
                                   : (is_nhwc ? Order{0, 2, 3, 1} : Order{0, 1, 2, 3}));
  void *x_form = nullptr, *w_form = nullptr, *y_form = nullptr, *form = nullptr;
  const auto size = [](std::int64_t n) { return static_cast<int>(n); };
  const int format = is_nhwc ? nhwc_format : nchw_format;
  const bool is_ready =
      functions.create_tensor(&x_form) == 0 && functions.create_tensor(&y_form) == 0 &&
      functions.create_filter(&w_form) == 0 && functions.create(&form) == 0 &&
      functions.set_tensor(x_form, format, dnn_f32, size(p.n), size(p.ci), size(p.spatial[0]),
                           size(p.spatial[1])) == 0 &&
      functions.set_tensor(y_form, format, dnn_f32, size(p.n), size(p.co), size(height),
                           size(width)) == 0 &&
      functions.set_filter(w_form, dnn_f32, format, size(p.co), size(inner), size(p.kernel[0]),
                           size(p.kernel[1])) == 0 &&
      functions.set(form, size(p.pad[0]), size(p.pad[1]), size(p.stride[0]), size(p.stride[1]),
                    size(p.dilation[0]), size(p.dilation[1]), cross_correlation, dnn_f32) == 0 &&
      functions.set_groups(form, size(p.groups)) == 0 && functions.set_math(form, fma_math) == 0;
  for (int algorithm = 0; is_ready && algorithm < num_algorithms; ++algorithm) {
    std::size_t num_bytes = 0;
    DevicePointer workspace = 0;
    if (functions.get_workspace(cudnn.handle, x_form, w_form, form, y_form, algorithm,
                                &num_bytes) != 0 ||
        num_bytes > most_workspace ||
        device.driver().allocate(&workspace, std::max<std::size_t>(num_bytes, 1)) != 0) {
      continue;
    }
    GpuPeer one_more = peer;
    one_more.version += ", algorithm " + std::to_string(algorithm);
    one_more.rounding = algorithm >= first_transforming ? transformed_rounding : 1;
    one_more.enqueue = [=, run = functions.run, handle = cudnn.handle]() -> Status {
      return run(handle, &dnn_one, x_form, pointer_of(data[0]), w_form, pointer_of(data[1]), form,
                 algorithm, pointer_of(workspace), num_bytes, &dnn_zero, y_form,
                 pointer_of(data[2]));
    };
    found.push_back(std::move(one_more));
  }
}

}  // namespace

Cudnn open_cudnn(const cuda::Device& device) {
  Cudnn cudnn;
  cudnn.library = cudnn_library(cudnn.absent);
  int (*create)(void**) = nullptr;
  int (*set_stream)(void*, cuda::Stream) = nullptr;
  std::size_t (*get_version)() = nullptr;
  if (cudnn.library == nullptr) {
    return cudnn;
  }
  if (!find_function(cudnn.library, "cudnnCreate", create) ||
      !find_function(cudnn.library, "cudnnSetStream", set_stream) ||
      !find_function(cudnn.library, "cudnnGetVersion", get_version) || create(&cudnn.handle) != 0 ||
      set_stream(cudnn.handle, device.stream()) != 0) {
    cudnn.handle = nullptr;
    cudnn.absent = "cuDNN was found, but cannot be used";
    return cudnn;
  }
  cudnn.version = std::to_string(get_version());
  return cudnn;
}

GpuPeer peer_of(const Cudnn& cudnn) {
  GpuPeer peer;
  peer.name = "cudnn";
  peer.version = cudnn.version;
  peer.absent = cudnn.absent;
  return peer;
}

GpuPeer open_cudnn_convolution(cuda::Device& device, const ops::ConvParams& params, DevicePointer x,
                               DevicePointer w, DevicePointer y) {
  const Cudnn cudnn = open_cudnn(device);
  GpuPeer peer = peer_of(cudnn);
  Convolutions functions;
  if (cudnn.handle == nullptr || !functions.find(cudnn.library)) {
    peer.absent = cudnn.handle == nullptr ? peer.absent : "cuDNN was found, but cannot convolve";
    return peer;
  }
  std::vector<GpuPeer> found;
  for (const bool is_nhwc : {true, false}) {
    add_algorithms(device, cudnn, functions, params, is_nhwc, {x, w, y}, found);
  }
  if (found.empty()) {
    peer.absent = "cuDNN was found, but has nothing for this convolution";
    return peer;
  }
  return fastest_of(device, found);
}

GpuPeer open_cudnn_softmax(cuda::Device& device, std::int64_t rows, std::int64_t columns,
                           DevicePointer x, DevicePointer y) {
  const Cudnn cudnn = open_cudnn(device);
  GpuPeer peer = peer_of(cudnn);
  if (cudnn.handle == nullptr) {
    return peer;
  }
  int (*create_tensor)(void**) = nullptr;
  int (*set_tensor)(void*, int, int, int, int, int, int) = nullptr;
  int (*run)(void*, int, int, const void*, void*, const void*, const void*, void*, void*) = nullptr;
  void* form = nullptr;
  if (!find_function(cudnn.library, "cudnnCreateTensorDescriptor", create_tensor) ||
      !find_function(cudnn.library, "cudnnSetTensor4dDescriptor", set_tensor) ||
      !find_function(cudnn.library, "cudnnSoftmaxForward", run) || create_tensor(&form) != 0 ||
      set_tensor(form, nchw_format, dnn_f32, static_cast<int>(rows), static_cast<int>(columns), 1,
                 1) != 0) {
    peer.absent = "cuDNN was found, but has nothing for this softmax";
    return peer;
  }
  peer.output = y;
  std::vector<GpuPeer> found;
  for (const int mode : {0, 1}) {  // of an instance, of its channels: the same for a matrix
    found.push_back(peer);
    found.back().version += mode == 0 ? ", instances" : ", channels";
    found.back().enqueue = [=, handle = cudnn.handle]() -> Status {
      return run(handle, accurate_softmax, mode, &dnn_one, form, pointer_of(x), &dnn_zero, form,
                 pointer_of(y));
    };
  }
  return fastest_of(device, found);
}

}  // namespace tensorsmith::bench
