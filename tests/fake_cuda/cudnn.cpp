// SPDX-License-Identifier: Apache-2.0
// The functions of cuDNN that bench/gpu uses, in f32.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "fake_math.hpp"

using namespace fake_cuda;

namespace {

constexpr int bad_parameter = 2000, not_supported = 3000;

/// Of a tensor, or of weights: n = k.
struct Form {
  std::int64_t n = 1, c = 1, h = 1, w = 1;
  bool is_nhwc = false;

  std::int64_t at(std::int64_t i, std::int64_t j, std::int64_t y, std::int64_t x) const {
    return is_nhwc ? ((i * h + y) * w + x) * c + j : ((i * c + j) * h + y) * w + x;
  }
};
int set_form(void* form, int format, int type, int n, int c, int h, int w) {
  *static_cast<Form*>(form) = {n, c, h, w, format == 1};
  return type == 0 && format <= 1 ? 0 : bad_parameter;
}

struct Convolution {
  int pad[2], stride[2], dilation[2];
  int groups = 1, math = 0;
};

float convolve_at(const Form& fx, const float* x, const Form& fw, const float* w,
                  const Convolution& p, std::int64_t groups_outputs, const std::int64_t (&at)[4]) {
  double sum = 0;
  const std::int64_t first = at[1] / groups_outputs * fw.c;
  for (std::int64_t c = 0; c < fw.c; ++c) {
    for (std::int64_t r = 0; r < fw.h; ++r) {
      for (std::int64_t s = 0; s < fw.w; ++s) {
        const std::int64_t y = at[2] * p.stride[0] + r * p.dilation[0] - p.pad[0];
        const std::int64_t z = at[3] * p.stride[1] + s * p.dilation[1] - p.pad[1];
        if (y >= 0 && y < fx.h && z >= 0 && z < fx.w) {
          sum += static_cast<double>(x[fx.at(at[0], first + c, y, z)]) *
                 static_cast<double>(w[fw.at(at[1], c, r, s)]);
        }
      }
    }
  }
  return static_cast<float>(sum);
}

/// Descriptors of graphs: values by the name of the attribute.
struct Node {
  int kind = 0;
  std::map<int, std::vector<char>> values;

  template <class T>
  T get(int name, std::size_t i = 0) const {
    T value{};
    const auto found = values.find(name);
    if (found != values.end() && found->second.size() >= (i + 1) * sizeof(T)) {
      std::memcpy(&value, found->second.data() + i * sizeof(T), sizeof(T));
    }
    return value;
  }
};

std::size_t size_of_type(int type) {
  return type == 2 ? 1 : type == 3 || type == 0 || type == 6 || type == 15 ? 8 : 4;
}

void normalize(std::int64_t rows, std::int64_t columns, const float* x, const float* scale,
               const float* bias, float epsilon, float* y) {
  for (std::int64_t r = 0; r < rows; ++r, x += columns, y += columns) {
    double sum = 0, squares = 0;
    for (std::int64_t c = 0; c < columns; ++c) {
      sum += static_cast<double>(x[c]);
      squares += static_cast<double>(x[c]) * static_cast<double>(x[c]);
    }
    const double mean = sum / static_cast<double>(columns);
    const double variance = squares / static_cast<double>(columns) - mean * mean;
    for (std::int64_t c = 0; c < columns; ++c) {
      const double value =
          (static_cast<double>(x[c]) - mean) / std::sqrt(variance + static_cast<double>(epsilon));
      y[c] =
          static_cast<float>(value * static_cast<double>(scale[c]) + static_cast<double>(bias[c]));
    }
  }
}

}  // namespace

FAKE_CUDA_API int cudnnCreate(void** handle) {
  *handle = &Machine::instance();
  return 0;
}
FAKE_CUDA_API int cudnnSetStream(void*, void*) { return 0; }
FAKE_CUDA_API std::size_t cudnnGetVersion() { return 90000; }
FAKE_CUDA_API int cudnnCreateTensorDescriptor(void** form) {
  *form = new Form;  // all of these live as long as the process
  return 0;
}
FAKE_CUDA_API int cudnnCreateFilterDescriptor(void** form) {
  *form = new Form;
  return 0;
}
FAKE_CUDA_API int cudnnCreateConvolutionDescriptor(void** form) {
  *form = new Convolution{};
  return 0;
}
FAKE_CUDA_API int cudnnSetTensor4dDescriptor(void* form, int format, int type, int n, int c, int h,
                                             int w) {
  return set_form(form, format, type, n, c, h, w);
}
FAKE_CUDA_API int cudnnSetFilter4dDescriptor(void* form, int type, int format, int k, int c, int h,
                                             int w) {
  return set_form(form, format, type, k, c, h, w);
}
FAKE_CUDA_API int cudnnSetConvolution2dDescriptor(void* form, int pad_h, int pad_w, int stride_h,
                                                  int stride_w, int dilation_h, int dilation_w,
                                                  int mode, int type) {
  *static_cast<Convolution*>(form) = {
      {pad_h, pad_w}, {stride_h, stride_w}, {dilation_h, dilation_w}};
  return mode == 1 && type == 0 ? 0 : not_supported;
}
FAKE_CUDA_API int cudnnSetConvolutionGroupCount(void* form, int groups) {
  static_cast<Convolution*>(form)->groups = groups;
  return 0;
}
FAKE_CUDA_API int cudnnSetConvolutionMathType(void* form, int math) {
  static_cast<Convolution*>(form)->math = math;
  return 0;
}
/// Algorithms 0 and 1, the latter with memory of its own.
FAKE_CUDA_API int cudnnGetConvolutionForwardWorkspaceSize(void*, void*, void*, void*, void*,
                                                          int algorithm, std::size_t* size) {
  *size = algorithm == 1 ? 4096 : 0;
  return algorithm <= 1 ? 0 : not_supported;
}
FAKE_CUDA_API int cudnnConvolutionForward(void*, const void*, void* x_form, const void* x,
                                          void* w_form, const void* w, void* form, int algorithm,
                                          void* workspace, std::size_t num_bytes, const void*,
                                          void* y_form, void* y) {
  const Form &fx = *static_cast<Form*>(x_form), &fw = *static_cast<Form*>(w_form),
             &fy = *static_cast<Form*>(y_form);
  const Convolution& p = *static_cast<Convolution*>(form);
  if (p.math != 3 || fw.c * p.groups != fx.c || fw.n != fy.c || algorithm > 1 ||
      (algorithm == 1 && (workspace == nullptr || num_bytes < 4096))) {
    return bad_parameter;
  }
  const double work = static_cast<double>(fy.n * fy.c * fy.h * fy.w * fw.c * fw.h * fw.w);
  if (!begins_call(3000 + 1e-3 * work * (algorithm == 1 && !fx.is_nhwc ? 1 : 2))) {
    return 0;
  }
  for (std::int64_t n = 0; n < fy.n; ++n) {
    for (std::int64_t k = 0; k < fy.c; ++k) {
      for (std::int64_t h = 0; h < fy.h; ++h) {
        for (std::int64_t v = 0; v < fy.w; ++v) {
          static_cast<float*>(y)[fy.at(n, k, h, v)] =
              convolve_at(fx, static_cast<const float*>(x), fw, static_cast<const float*>(w), p,
                          fy.c / p.groups, {n, k, h, v});
        }
      }
    }
  }
  return 0;
}
FAKE_CUDA_API int cudnnSoftmaxForward(void*, int algorithm, int mode, const void*, void* form,
                                      const void* input, const void*, void*, void* output) {
  const Form& f = *static_cast<Form*>(form);
  if (algorithm != 1 || mode > 1 || f.h != 1 || f.w != 1) {
    return not_supported;
  }
  if (!begins_call(3000 + 1e-3 * static_cast<double>(f.n * f.c) * (mode + 1))) {
    return 0;
  }
  const float* x = static_cast<const float*>(input);
  float* y = static_cast<float*>(output);
  for (std::int64_t n = 0; n < f.n; ++n, x += f.c, y += f.c) {
    const double largest = static_cast<double>(*std::max_element(x, x + f.c));
    double sum = 0;
    for (std::int64_t c = 0; c < f.c; ++c) {
      sum += std::exp(static_cast<double>(x[c]) - largest);
    }
    for (std::int64_t c = 0; c < f.c; ++c) {
      y[c] = static_cast<float>(std::exp(static_cast<double>(x[c]) - largest) / sum);
    }
  }
  return 0;
}

FAKE_CUDA_API int cudnnBackendCreateDescriptor(int kind, void** form) {
  auto* const node = new Node;
  node->kind = kind;
  *form = node;
  return 0;
}
FAKE_CUDA_API int cudnnBackendSetAttribute(void* form, int name, int type, std::int64_t count,
                                           const void* values) {
  const char* const first = static_cast<const char*>(values);
  static_cast<Node*>(form)->values[name] = {first, first + size_of_type(type) *
                                                               static_cast<std::size_t>(count)};
  return 0;
}
FAKE_CUDA_API int cudnnBackendFinalize(void* form) {
  const Node& node = *static_cast<Node*>(form);
  if (node.kind == 29) {  // a normalization: of layers, at inference, with all its tensors
    for (const int name : {2000, 2001, 2002, 2005, 2006, 2007, 2013}) {
      if (node.values.count(name) == 0) {
        return bad_parameter;
      }
    }
    return node.get<int>(2000) == 0 && node.get<int>(2001) == 0 ? 0 : not_supported;
  }
  return 0;
}
/// One configuration per graph, and a workspace of 64 bytes per plan.
FAKE_CUDA_API int cudnnBackendGetAttribute(void* form, int name, int, std::int64_t most,
                                           std::int64_t* count, void* values) {
  const Node& node = *static_cast<Node*>(form);
  *count = std::min<std::int64_t>(1, most);
  if (name == 402) {
    const std::int64_t size = 64;
    std::memcpy(values, &size, sizeof(size));
  } else if (name == 202 && most > 0) {
    static_cast<Node**>(values)[0]->values[1] = node.values.at(201);
  } else {
    return bad_parameter;
  }
  return 0;
}
FAKE_CUDA_API int cudnnBackendExecute(void*, void* plan, void* pack) {
  const Node& chosen = *static_cast<Node*>(static_cast<Node*>(plan)->get<void*>(401));
  const Node& graph = *static_cast<Node*>(chosen.get<void*>(1));
  const Node& norm = *static_cast<Node*>(graph.get<void*>(801));
  const Node& data = *static_cast<Node*>(pack);
  const auto tensor = [&](int name) -> const Node& {
    return *static_cast<Node*>(norm.get<void*>(name));
  };
  const auto pointer = [&](int name) -> float* {
    const auto id = tensor(name).get<std::int64_t>(906);
    for (std::size_t i = 0; i < data.values.at(1000).size() / 8; ++i) {
      if (data.get<std::int64_t>(1000, i) == id) {
        return static_cast<float*>(data.get<void*>(1001, i));
      }
    }
    return nullptr;
  };
  const auto rows = tensor(2002).get<std::int64_t>(902, 0),
             columns = tensor(2002).get<std::int64_t>(902, 1);
  if (data.get<void*>(1003) == nullptr || tensor(2005).get<std::int64_t>(902, 1) != columns ||
      !tensor(2007).get<bool>(908)) {
    return bad_parameter;
  }
  if (begins_call(3000 + 1e-3 * static_cast<double>(rows * columns))) {
    normalize(rows, columns, pointer(2002), pointer(2005), pointer(2006), *pointer(2007),
              pointer(2013));
  }
  return 0;
}
