// SPDX-License-Identifier: Apache-2.0
// oneDNN: times every way that it has for a problem and keeps the fastest.
#include <dlfcn.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "bench/support/onednn/plan.hpp"
#include "bench/support/paired.hpp"
#include "bench/support/peer.hpp"
#include "tensorsmith/support/overloaded.hpp"

namespace tensorsmith::bench {
namespace {

/// oneDNN's CPU runtime is the OpenMP library that it brought into the process.
void set_openmp_threads(int threads) {
  using SetThreads = void (*)(int);
  static const auto set_threads =
      reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set_threads != nullptr) {
    set_threads(threads);
  }
}

const char* isa_name(dnnl::cpu_isa isa) {
  switch (isa) {
  case dnnl::cpu_isa::sse41:
    return "sse41";
  case dnnl::cpu_isa::avx:
    return "avx";
  case dnnl::cpu_isa::avx2:
    return "avx2";
  case dnnl::cpu_isa::avx2_vnni:
    return "avx2_vnni";
  case dnnl::cpu_isa::avx512_core:
    return "avx512_core";
  case dnnl::cpu_isa::avx512_core_vnni:
    return "avx512_core_vnni";
  case dnnl::cpu_isa::avx512_core_bf16:
    return "avx512_core_bf16";
  default:
    return "other";
  }
}

class OnednnPeer final : public Peer {
 public:
  explicit OnednnPeer(std::string name) : name_(std::move(name)) {}

  std::string name() const override { return name_; }
  std::string library_version() const override {
    const dnnl_version_t* v = dnnl::version();
    return std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
           std::to_string(v->patch) + " isa=" + isa_name(dnnl::get_effective_cpu_isa());
  }
  std::string impl_info() const override { return plan_.info; }

  Prepared prepare(const Problem& problem, const Buffers& buffers, PackingClass packing,
                   int threads) override {
    threads_ = threads;
    set_openmp_threads(threads);
    std::vector<onednn::Plan> plans;
    try {
      plans = std::visit(
          Overloaded{
              [&](const GemmShape& s) {
                return s.layernorm ? onednn::gemm_layernorm_plans(engine_, s, buffers, packing)
                                   : onednn::gemm_plans(engine_, s, buffers, packing);
              },
              [&](const ConvShape& s) { return onednn::conv_plans(engine_, s, buffers, packing); },
              [&](const SoftmaxShape& s) { return onednn::softmax_plans(engine_, s, buffers); },
              [&](const LayernormShape& s) { return onednn::layernorm_plans(engine_, s, buffers); },
              [&](const ReduceShape& s) { return onednn::reduce_plans(engine_, s, buffers); },
              [&](const PoolShape& s) { return onednn::pool_plans(engine_, s, buffers, packing); },
              [&](const ConvPoolShape& s) {
                return onednn::conv_pool_plans(engine_, s, buffers, packing);
              },
              [&](const ConvDepthwiseShape& s) {
                return onednn::conv_depthwise_plans(engine_, s, buffers, packing);
              },
              [&](const AttentionShape& s) { return onednn::attention_plans(engine_, s, buffers); },
              [&](const PointwiseShape& s) { return onednn::pointwise_plans(engine_, s, buffers); },
          },
          problem);
      choose(plans);
    } catch (const dnnl::error& error) {
      return Prepared::no(std::string("oneDNN refused: ") + error.what());
    }
    return plans.empty() ? Prepared::no("oneDNN has no implementation of this") : Prepared::yes();
  }

  void run() override {
    set_openmp_threads(threads_);
    plan_.run(engine_);
  }
  void rewind() override { plan_.rewind(engine_); }
  void write_output() override { plan_.write_output(engine_); }

 private:
  /// The candidate with the smallest minimum over interleaved rounds; slow ones get five rounds.
  void choose(const std::vector<onednn::Plan>& plans) {
    if (plans.size() < 2) {
      plan_ = plans.empty() ? onednn::Plan{} : plans.front();
      return;
    }
    std::vector<std::function<void()>> contestants;
    for (const onednn::Plan& plan : plans) {
      contestants.emplace_back([this, &plan] { plan.run(engine_); });
    }
    PairOptions options;
    options.pairs = 15;
    options.max_total_ns = 150e6;
    const std::vector<ContestantTimes> times = measure_interleaved(contestants, options);
    const auto best =
        std::min_element(times.begin(), times.end(),
                         [](const auto& a, const auto& b) { return a.min_ns < b.min_ns; });
    plan_ = plans[static_cast<std::size_t>(best - times.begin())];
  }

  std::string name_;
  onednn::Engine engine_;
  onednn::Plan plan_;
  int threads_ = 1;
};

}  // namespace

/// The plug-in's entry: fills found.peer, or found.reason.
extern "C" __attribute__((visibility("default"))) void tensorsmith_open_peer(FoundPeer& found) {
  try {
    found.peer = std::make_unique<OnednnPeer>(found.name);
  } catch (const dnnl::error& error) {
    found.reason = std::string("oneDNN has no CPU engine here: ") + error.what();
  }
}

}  // namespace tensorsmith::bench
