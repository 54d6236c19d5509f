// SPDX-License-Identifier: Apache-2.0
// requires: cuda json
#include "bench/gpu/peers.hpp"

#include "bench/gpu/blas.hpp"
#include "bench/gpu/dnn.hpp"

namespace tensorsmith::bench {
namespace {

template <class Params>
bool has_epilogue(const Params& p) {
  if constexpr (requires { p.has_pool; }) {
    bool is_even = true;
    for (std::size_t a = 0; a < 3; ++a) {
      is_even = is_even && p.pad_after(a) == p.pad[a];
    }
    if (p.has_pool || p.has_depthwise || p.batch_norm || !is_even) {
      return true;
    }
  }
  if constexpr (requires { p.transpose_c; }) {
    if (p.transpose_c) {
      return true;
    }
  }
  return p.bias || p.add || p.requant != ops::ByteType::none || p.weights != ops::ByteType::none ||
         p.activation != ops::Activation::none || p.packing != ops::PackingClass::plain;
}

}  // namespace

std::vector<GpuPeer> library_peers(cuda::Device& device, const ops::Workload& workload,
                                   const std::vector<cuda::DevicePointer>& arguments,
                                   bool is_tf32) {
  std::vector<GpuPeer> peers;
  if (const auto* p = std::get_if<ops::GemmParams>(&workload.params); p && !has_epilogue(*p)) {
    const ComputeDag& dag = *workload.dag;
    GpuProduct product{p->batch, p->m, p->n, p->k, p->transpose_a, p->transpose_b};
    product.input = dag.tensor(dag.arguments()[0]).dtype;
    product.output = dag.tensor(dag.arguments()[2]).dtype;
    product.is_tf32 = is_tf32;
    product.a = arguments[0], product.b = arguments[1], product.c = arguments[2];
    peers.push_back(open_cublas(device, product));
    if (p->batch == 1 && !p->transpose_a && !p->transpose_b) {
      peers.push_back(open_cublas_lt(device, product));
    }
  } else if (const auto* c = std::get_if<ops::ConvParams>(&workload.params);
             c && !has_epilogue(*c) && c->rank == 2 && !c->transposed && c->dtype == DType::f32) {
    peers.push_back(open_cudnn_convolution(device, *c, arguments[0], arguments[1], arguments[2]));
  } else if (const auto* r = std::get_if<ops::RowParams>(&workload.params);
             r && r->dtype == DType::f32 && !r->is_transposed) {
    if (r->kind == ops::RowKind::softmax) {
      peers.push_back(open_cudnn_softmax(device, r->rows, r->columns, arguments[0], arguments[1]));
    } else if (r->kind == ops::RowKind::layernorm) {
      peers.push_back(open_cudnn_layernorm(device, r->rows, r->columns, arguments[0], arguments[1],
                                           arguments[2], arguments[3]));
    }
  }
  return peers;
}

GpuPeer sequence_of(std::string name, const std::vector<GpuPeer>& parts) {
  GpuPeer all;
  all.name = std::move(name);
  for (const GpuPeer& part : parts) {
    all.version += (all.version.empty() ? "" : "; ") + part.name + " " + part.version;
    all.absent = all.absent.empty() ? part.absent : all.absent;
    all.output = part.output;
  }
  all.enqueue = [parts] {
    cuda::Status status = 0;
    for (std::size_t i = 0; status == 0 && i < parts.size(); ++i) {
      status = parts[i].enqueue();
    }
    return status;
  };
  return all;
}

}  // namespace tensorsmith::bench
