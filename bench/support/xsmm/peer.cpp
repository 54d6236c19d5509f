// SPDX-License-Identifier: Apache-2.0
// libxsmm: kernels made for exactly one size. It blocks for no cache, so it is meant for small
// products; larger ones run as one such kernel all the same.
#include <libxsmm.h>
#include <libxsmm_version.h>
#include <memory>

#include "bench/support/peer.hpp"

namespace tensorsmith::bench {
namespace {

class XsmmPeer final : public Peer {
 public:
  std::string name() const override { return "libxsmm"; }
  std::string library_version() const override {
    return std::string("libxsmm ") + LIBXSMM_VERSION + " arch=" + libxsmm_get_target_arch();
  }
  std::string impl_info() const override {
    return std::string("kernel of this size, ") + libxsmm_get_target_arch();
  }

  Prepared prepare(const Problem& problem, const Buffers& buffers, PackingClass packing,
                   int threads) override {
    const GemmShape* gemm = std::get_if<GemmShape>(&problem);
    if (gemm == nullptr || gemm->bias || gemm->add || gemm->layernorm || gemm->scale != 1 ||
        gemm->activation != Activation::none || gemm->types.input != Element::f32) {
      return Prepared::no("libxsmm has only matrix products, here of f32");
    }
    if (packing != PackingClass::plain || gemm->transpose_a || gemm->transpose_b) {
      return Prepared::no("libxsmm has plain layouts only");
    }
    if (threads > 1) {
      return Prepared::no("libxsmm's kernels have one thread");
    }
    shape_ = *gemm;
    buffers_ = buffers;
    // Column-major: C' = B' * A'.
    const auto n = static_cast<libxsmm_blasint>(gemm->n);
    const auto k = static_cast<libxsmm_blasint>(gemm->k);
    const float alpha = 1;
    const float beta = 0;
    const int flags = LIBXSMM_GEMM_FLAG_NONE;
    const int prefetch = LIBXSMM_PREFETCH_NONE;
    kernel_ = libxsmm_smmdispatch(n, static_cast<libxsmm_blasint>(gemm->m), k, &n, &k, &n, &alpha,
                                  &beta, &flags, &prefetch);
    return kernel_ != nullptr ? Prepared::yes()
                              : Prepared::no("libxsmm has no kernel of this size");
  }

  void run() override {
    const GemmShape& s = shape_;
    for (std::int64_t b = 0; b < s.batch; ++b) {
      kernel_(buffers_.weights + b * s.k * s.n, buffers_.input + b * s.m * s.k,
              buffers_.output + b * s.m * s.n);
    }
  }
  void write_output() override {}

 private:
  GemmShape shape_;
  Buffers buffers_;
  libxsmm_smmfunction kernel_ = nullptr;
};

}  // namespace

/// The plug-in's entry: fills found.peer, or found.reason.
extern "C" __attribute__((visibility("default"))) void tensorsmith_open_peer(FoundPeer& found) {
  libxsmm_init();
  found.peer = std::make_unique<XsmmPeer>();
}

}  // namespace tensorsmith::bench
