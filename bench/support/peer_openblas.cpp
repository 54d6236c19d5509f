// OpenBLAS, opened at run time so that its core type can be chosen first.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "bench/support/aligned_buffer.hpp"
#include "bench/support/peer.hpp"
#include "lib/cpu/host.hpp"

namespace tensorsmith::bench {
namespace {

// The part of cblas.h that is used; 32-bit integers, as the distribution builds it.
constexpr int row_major = 101;
constexpr int no_transpose = 111;
constexpr int transpose = 112;
using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                       float, float*, int);
using Sgemv = void (*)(int, int, int, int, float, const float*, int, const float*, int, float,
                       float*, int);

struct Library {
  Sgemm sgemm = nullptr;
  Sgemv sgemv = nullptr;
  void (*set_num_threads)(int) = nullptr;
  int (*get_num_threads)() = nullptr;
  char* (*get_corename)() = nullptr;
  char* (*get_config)() = nullptr;
  std::string forced;
  std::string reason;  ///< why it cannot be used; empty: it can
};

/// The core type of this host's class in OpenBLAS 0.3.x's words; newer cores than the library knows
/// would fall back to Haswell.
const char* core_type_of(const Target& host) {
  if (host.isa == IsaLevel::x86_64_v4) {
    return host.has_bf16_dot ? "Cooperlake" : "SkylakeX";
  }
  return host.isa == IsaLevel::x86_64_v3 ? "Haswell" : nullptr;
}

Library load() {
  Library library;
  const char* found = std::getenv("OPENBLAS_CORETYPE");
  const char* core = std::getenv("TENSORSMITH_OPENBLAS_CORETYPE");
  core = core != nullptr ? core : core_type_of(host_target());
  if (core != nullptr) {
    library.forced = core;
    if (found != nullptr && library.forced != found) {
      library.forced += std::string(", the environment asked for ") + found;
    }
    setenv("OPENBLAS_CORETYPE", core, 1);
  }
  unsetenv("OPENBLAS_L2_SIZE");  // would replace the size that the library reads from the CPU
  std::vector<std::string> candidates;
#if defined(TENSORSMITH_OPENBLAS_LIBRARY)
  candidates.emplace_back(TENSORSMITH_OPENBLAS_LIBRARY);
#endif
  candidates.insert(candidates.end(), {"libopenblas.so.0", "libopenblas.so"});
  void* handle = nullptr;
  for (const std::string& candidate : candidates) {
    handle = handle != nullptr ? handle : dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) {
    library.reason = "libopenblas.so.0 was not found; install libopenblas-dev";
    return library;
  }
  const auto load_symbol = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (function == nullptr && library.reason.empty()) {
      library.reason = std::string("the OpenBLAS found has no ") + name;
    }
  };
  load_symbol(library.sgemm, "cblas_sgemm");
  load_symbol(library.sgemv, "cblas_sgemv");
  load_symbol(library.set_num_threads, "openblas_set_num_threads");
  load_symbol(library.get_num_threads, "openblas_get_num_threads");
  load_symbol(library.get_corename, "openblas_get_corename");
  load_symbol(library.get_config, "openblas_get_config");
  return library;
}

const Library& library() {
  static const Library instance = load();
  return instance;
}

class OpenblasPeer final : public Peer {
 public:
  std::string name() const override { return "openblas"; }
  std::string library_version() const override { return library().get_config(); }
  std::string impl_info() const override {
    return routine_ + " core=" + library().get_corename() +
           (library().forced.empty() ? " (not forced)" : " (forced: " + library().forced + ")");
  }

  Prepared prepare(const Problem& problem, const Buffers& buffers, PackingClass packing,
                   int threads) override {
    buffers_ = buffers;
    threads_ = threads;
    library().set_num_threads(threads);
    if (const int got = library().get_num_threads(); got != threads) {
      return Prepared::no("OpenBLAS was loaded where it may use only " + std::to_string(got) +
                          " threads, wanted " + std::to_string(threads));
    }
    if (packing != PackingClass::plain) {
      return Prepared::no("OpenBLAS has no packed or free layouts");
    }
    if (const auto* gemm = std::get_if<GemmShape>(&problem)) {
      if (gemm->activation == Activation::gelu) {
        return Prepared::no("OpenBLAS has no vector gelu");
      }
      problem_ = problem;
      routine_ = gemm->batch == 1 ? "cblas_sgemm" : "cblas_sgemm in a loop";
      routine_ += gemm->bias ? ", bias copied into C first" : "";
      routine_ += gemm->activation == Activation::relu ? ", relu in a second pass" : "";
      return Prepared::yes();
    }
    if (const auto* reduce = std::get_if<ReduceShape>(&problem);
        reduce != nullptr && reduce->kind != ReduceKind::max) {
      problem_ = problem;
      factors_ = AlignedBuffer(reduce->columns);
      const auto columns = static_cast<float>(reduce->columns);
      factors_.fill(reduce->kind == ReduceKind::mean ? 1.0F / columns : 1.0F);
      routine_ = "cblas_sgemv with a constant vector";
      return Prepared::yes();
    }
    return Prepared::no("OpenBLAS has only matrix products");
  }

  void run() override {
    library().set_num_threads(threads_);
    if (const auto* gemm = std::get_if<GemmShape>(&problem_)) {
      run_gemm(*gemm);
      return;
    }
    const auto& reduce = std::get<ReduceShape>(problem_);
    const int columns = static_cast<int>(reduce.columns);
    library().sgemv(row_major, no_transpose, static_cast<int>(reduce.rows), columns, 1.0F,
                    buffers_.input, columns, factors_.data(), 1, 0.0F, buffers_.output, 1);
  }

  void write_output() override {}

 private:
  void run_gemm(const GemmShape& s) const {
    const int m = static_cast<int>(s.m);
    const int n = static_cast<int>(s.n);
    const int k = static_cast<int>(s.k);
    for (std::int64_t b = 0; b < s.batch; ++b) {
      float* out = buffers_.output + b * s.m * s.n;
      if (s.bias) {
        for (std::int64_t row = 0; row < s.m; ++row) {
          std::copy(buffers_.bias, buffers_.bias + s.n, out + row * s.n);
        }
      }
      library().sgemm(row_major, s.transpose_a ? transpose : no_transpose,
                      s.transpose_b ? transpose : no_transpose, m, n, k, 1.0F,
                      buffers_.input + b * s.m * s.k, s.transpose_a ? m : k,
                      buffers_.weights + b * s.k * s.n, s.transpose_b ? k : n, s.bias ? 1.0F : 0.0F,
                      out, n);
      if (s.activation == Activation::relu) {
        for (std::int64_t i = 0; i < s.m * s.n; ++i)
          out[i] = out[i] > 0 ? out[i] : 0.0F;
      }
    }
  }

  Problem problem_;
  Buffers buffers_;
  AlignedBuffer factors_;
  std::string routine_;
  int threads_ = 1;
};

}  // namespace

FoundPeer make_openblas_peer() {
  FoundPeer found;
  found.name = "openblas";
  found.reason = library().reason;
  if (found.reason.empty()) {
    found.peer = std::make_unique<OpenblasPeer>();
  }
  return found;
}

}  // namespace tensorsmith::bench
